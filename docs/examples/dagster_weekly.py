"""Dagster: an asset that is a release; the same view twice makes none, a busy series is tried again later."""

import json
import os
import subprocess

import dagster as dg

SERIES = os.environ.get("REPUBLISH_SERIES", "/srv/visits")
VIEW = os.environ.get("REPUBLISH_VIEW", "/srv/views/visits.parquet")
BUSY, NOTHING_NEW = 75, 99


@dg.asset(output_required=False)
def visits_release(context: dg.AssetExecutionContext):
    """The newest release of the series."""
    command = ["republish", "publish", SERIES, VIEW, "--wait", "600", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = json.loads(done.stdout)
    if done.returncode == NOTHING_NEW:
        context.log.info(said["error"]["message"])
        return
    if done.returncode == BUSY:
        raise dg.RetryRequested(max_retries=3, seconds_to_wait=900)
    if done.returncode:
        raise dg.Failure(said["error"]["message"], allow_retries=False)
    figures = {key: said[key] for key in ("release", "as_of", "rows", "suppressed")}
    yield dg.Output(said["release"], metadata=figures)


@dg.asset_check(asset=visits_release)
def young_enough():
    """The last release is at most eight days old and as it was recorded."""
    command = ["republish", "status", SERIES, "--max-age", "8d", "--json"]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    return dg.AssetCheckResult(passed=found["fine"], metadata={"problems": found["problems"]})


publish_visits = dg.define_asset_job("publish_visits", [visits_release])

defs = dg.Definitions(
    assets=[visits_release],
    asset_checks=[young_enough],
    jobs=[publish_visits],
    schedules=[dg.ScheduleDefinition(job=publish_visits, cron_schedule="0 6 * * 1")],
)
