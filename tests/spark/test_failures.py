"""What fails while a release is made: a machine, a task, the driver. The release is the same, or there is none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from parts.contract import series
from parts.weeks import PUBLISHERS, weeks, write
from republish import LedgerError, Series
from republish.ledger import Draft, crash_points
from republish.parts import Here, Spark
from republish.parts.publish import run
from republish.parts.publish.shards import Places
from republish.secret import VARIABLE
from spark.cluster import Cluster, environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTS = 6
DRIVER = """
import sys
from republish import Series
from republish.parts import Spark
from spark.cluster import session

root, view, master, *conf = sys.argv[1:]
with session("driver", master, **dict(pair.split("=") for pair in conf)) as started:
    Series.open(root).publish(view, engine=Spark(started, parts=6))
"""


def digests(made: Series, number: int = 1) -> list[str]:
    found = made.records[number - 1].payload["files"]
    return sorted(measured["digest"] for name, measured in found.items() if name.endswith("parquet"))


@pytest.fixture
def expected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[str]]:
    """A view, and the digests of its release where nothing fails."""
    monkeypatch.setenv(VARIABLE, "the secret of all series")
    (path,) = write(tmp_path, weeks(900, 1))
    undisturbed = series(tmp_path / "undisturbed", PUBLISHERS["penalty-tree"])
    undisturbed.publish(path, engine=Here(parts=PARTS))
    return path, digests(undisturbed)


def drive(
    root: Path, view: Path, cluster: Cluster, *conf: str, fault: str | None = None
) -> subprocess.CompletedProcess[str]:
    told = (
        environment() | {VARIABLE: os.environ[VARIABLE]} | ({crash_points.VARIABLE: fault} if fault else {})
    )
    command = [sys.executable, "-c", DRIVER, str(root), str(view), cluster.master, *conf]
    return subprocess.run(command, capture_output=True, text=True, env=told, check=False, timeout=300)


def test_a_worker_killed_in_the_middle_changes_nothing(
    spark: SparkSession, cluster: Cluster, expected: tuple[Path, list[str]], tmp_path: Path
) -> None:
    path, undisturbed = expected
    made = series(tmp_path / "s", PUBLISHERS["penalty-tree"])
    killed = threading.Event()

    def kill() -> None:
        cluster.kill_worker(0)
        killed.set()

    def progress(step: str) -> None:
        if step == "writing and verifying":  # groups are kept on the disks of both workers by now
            threading.Timer(0.5, kill).start()

    made.publish(path, progress=progress, engine=Spark(spark, parts=PARTS))
    assert killed.wait(60)
    assert digests(made) == undisturbed
    assert made.verify().holds


@pytest.mark.long
def test_a_lost_worker_takes_groups_with_it_and_they_are_made_again(
    spark: SparkSession, cluster: Cluster, expected: tuple[Path, list[str]], tmp_path: Path
) -> None:
    path, undisturbed = expected
    made = series(tmp_path / "s", PUBLISHERS["penalty-tree"])

    def progress(step: str) -> None:
        if step == "writing and verifying":
            cluster.kill_worker(0)

    made.publish(path, progress=progress, engine=Spark(spark, parts=PARTS))
    assert digests(made) == undisturbed


def test_speculative_tasks_change_nothing(
    free_cluster: Cluster, expected: tuple[Path, list[str]], tmp_path: Path
) -> None:
    path, undisturbed = expected
    made = series(tmp_path / "s", PUBLISHERS["penalty-tree"])
    conf = {
        "spark.speculation": "true",
        "spark.speculation.interval": "10ms",
        "spark.speculation.multiplier": "1.01",
        "spark.speculation.quantile": "0.1",
        "spark.speculation.minTaskRuntime": "1ms",
    }
    done = drive(made.root, path, free_cluster, *(f"{key}={value}" for key, value in conf.items()))
    assert done.returncode == 0, done.stderr
    assert digests(made) == undisturbed
    assert {path.name for path in (made.root / "releases" / "0001").iterdir()} == {
        "about.json",
        "codebook.xml",
        "datapackage.json",
        "dcat.jsonld",
        "table.parquet",
    }


def test_a_driver_killed_before_the_commit_leaves_no_release(
    free_cluster: Cluster, expected: tuple[Path, list[str]], tmp_path: Path
) -> None:
    path, undisturbed = expected
    made = series(tmp_path / "s", PUBLISHERS["penalty-tree"])
    done = drive(made.root, path, free_cluster, fault="before-commit")
    assert done.returncode == -signal.SIGKILL
    assert not made.records and not list((made.root / "releases").iterdir())
    made.publish(path, engine=Here(parts=PARTS))
    assert digests(made) == undisturbed
    assert not list((made.root / "private" / "staging").iterdir())
    assert made.verify().holds


@pytest.mark.long
def test_a_driver_killed_after_the_commit_leaves_the_release(
    free_cluster: Cluster, expected: tuple[Path, list[str]], tmp_path: Path
) -> None:
    path, undisturbed = expected
    made = series(tmp_path / "s", PUBLISHERS["penalty-tree"])
    assert drive(made.root, path, free_cluster, fault="after-commit").returncode == -signal.SIGKILL
    reader = Series.open(made.root)
    assert digests(reader) == undisturbed and reader.verify().holds


def test_files_that_cannot_be_written_are_a_clear_error(
    local_spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = series(tmp_path / "s", PUBLISHERS["penalty-tree"])
    (path,) = write(tmp_path, weeks(60, 1))
    monkeypatch.setattr(run, "_places", partial(elsewhere, tmp_path / "nowhere"))
    with pytest.raises(LedgerError, match="Spark gave up"):
        made.publish(path, engine=Spark(local_spark, parts=2))
    assert not made.records


def elsewhere(folder: Path, draft: Draft, shards: int, two_tables: bool) -> AbstractContextManager[Places]:
    """Places in a folder that is not there."""
    names = tuple(folder / "deeper" / str(shard) for shard in range(shards))
    return nullcontext(Places(names, names, names, names, folder))
