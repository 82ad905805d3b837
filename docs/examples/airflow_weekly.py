"""Airflow: publish every Monday; the same view twice is skipped, a busy series tried again, the status checked."""

from __future__ import annotations

import os
from datetime import datetime, timedelta

try:
    from airflow.providers.standard.operators.bash import BashOperator
    from airflow.sdk import DAG
except ImportError:  # Airflow 2
    from airflow import DAG
    from airflow.operators.bash import BashOperator

SERIES = os.environ.get("REPUBLISH_SERIES", "/srv/visits")
VIEW = os.environ.get("REPUBLISH_VIEW", "/srv/views/visits.parquet")

with DAG(
    "publish_visits",
    schedule="0 6 * * 1",
    start_date=datetime(2026, 1, 5),
    catchup=False,  # a week that was missed cannot be published later: the view is of today
    max_active_runs=1,
) as dag:
    publish = BashOperator(
        task_id="publish",
        bash_command=f"republish publish '{SERIES}' '{VIEW}' --wait 600 --json",  # the line is the task's XCom
        skip_on_exit_code=99,  # nothing new
        retries=3,
        retry_delay=timedelta(minutes=15),
    )
    status = BashOperator(
        task_id="status",
        bash_command=f"republish status '{SERIES}' --max-age 8d",
        trigger_rule="none_failed",  # also where nothing was new
    )
    publish >> status
