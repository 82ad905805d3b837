"""The cluster itself: it runs kernels, carries frames, survives the loss of a worker, and leaves nothing behind."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

from republish.orders import hilbert_keys
from republish.spatial.quickselect import quickselect
from spark.cluster import Cluster, environment, members, until

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches = Iterator[pa.RecordBatch]


def keys_of(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Places on the curve over the grid of 32 x 32 cells."""
    points = np.array([x, y], dtype=np.float64)
    return hilbert_keys(points, np.zeros(2), np.full(2, 31.0), 5)[0].astype(np.int64)


def along_the_curve(batches: Batches) -> Batches:
    for batch in batches:
        x, y = (batch.column(name).to_numpy() for name in ("x", "y"))
        yield pa.RecordBatch.from_arrays(
            [batch.column("x"), batch.column("y"), keys_of(x, y)], ["x", "y", "key"]
        )


def median(group: pa.Table) -> pa.Table:
    values = group.column("value").to_numpy().astype(np.float64)
    return pa.table(
        {"name": [group.column("name")[0].as_py()], "median": [quickselect(values, len(values) // 2)]}
    )


def test_a_kernel_gives_the_same_in_map_in_arrow_as_here(spark: SparkSession) -> None:
    cells = spark.range(1024).selectExpr("cast(id % 32 as int) as x", "cast(id div 32 as int) as y")
    found = cells.repartition(8).mapInArrow(along_the_curve, "x int, y int, key long").toArrow()
    x, y, key = (found.column(name).to_numpy() for name in ("x", "y", "key"))
    assert sorted(key) == list(range(1024))
    assert np.array_equal(key, keys_of(x, y))


def test_a_kernel_runs_once_for_every_group_in_apply_in_arrow(spark: SparkSession) -> None:
    rows = spark.range(30).selectExpr(
        "element_at(array('a', 'b', 'c'), cast(id % 3 as int) + 1) as name", "id as value"
    )
    found = rows.repartition(5).groupBy("name").applyInArrow(median, "name string, median double").toArrow()
    assert sorted(zip(*found.to_pydict().values(), strict=True)) == [("a", 15.0), ("b", 16.0), ("c", 17.0)]


def packed(frame: pl.DataFrame) -> bytes:
    out = io.BytesIO()
    frame.write_ipc_stream(out)
    return out.getvalue()


def doubled(batches: Batches) -> Batches:
    for batch in batches:
        frames = [pl.read_ipc_stream(cell.as_py()) for cell in batch.column("frame")]
        changed = [packed(frame.with_columns(pl.col("age") * 2)) for frame in frames]
        yield pa.RecordBatch.from_arrays(
            [batch.column("part"), pa.array(changed, pa.binary())], ["part", "frame"]
        )


def test_frames_travel_in_a_binary_column_and_come_back(spark: SparkSession) -> None:
    frames = [pl.DataFrame({"age": [part, None, 7], "town": ["a", "é", None]}) for part in range(4)]
    sent = pa.table({"part": list(range(4)), "frame": pa.array(map(packed, frames), pa.binary())})
    found = (
        spark.createDataFrame(sent)
        .repartition(4, "part")
        .mapInArrow(doubled, "part long, frame binary")
        .toArrow()
    )
    came = dict(zip(*found.to_pydict().values(), strict=True))
    for part in range(4):
        expected = pl.DataFrame({"age": [part * 2, None, 14], "town": ["a", "é", None]})
        assert_frame_equal(pl.read_ipc_stream(came[part]), expected)


def held_up(rows: DataFrame, folder: Path) -> DataFrame:
    """Sums of the partitions; every task leaves a mark in the folder and waits there for a file named go."""

    def add(batches: Batches) -> Batches:
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None
        part = task.partitionId()
        (folder / f"{part}-{task.attemptNumber()}").touch()
        until((folder / "go").exists, "the test to go on")
        total = sum(int(batch.column("id").to_numpy().sum()) for batch in batches)
        yield pa.RecordBatch.from_pydict({"part": [part], "total": [total]})

    return rows.mapInArrow(add, "part long, total long")


def test_a_worker_killed_in_the_middle_does_not_change_the_result(
    spark: SparkSession, cluster: Cluster, tmp_path: Path
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    job = held_up(spark.range(0, 4000, 1, 4), marks)
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(job.toArrow)
        until(lambda: len(list(marks.iterdir())) == 2, "a task on each of the two workers")
        cluster.kill_worker(0)
        (marks / "go").touch()
        found = running.result()
    assert found.sort_by("part").to_pydict() == {
        "part": [0, 1, 2, 3],
        "total": [499500, 1499500, 2499500, 3499500],
    }
    again = [mark.name for mark in marks.iterdir() if mark.name.endswith("-1")]
    assert len(again) == 1


@pytest.mark.long
def test_a_worker_added_takes_the_place_of_a_killed_one(free_cluster: Cluster) -> None:
    free_cluster.kill_worker(1)
    assert free_cluster.workers == 1
    free_cluster.add_worker()
    assert free_cluster.workers == 2


def test_a_local_session_runs_kernels_too(local_spark: SparkSession) -> None:
    rows = local_spark.range(9).selectExpr("'a' as name", "id as value")
    found = rows.groupBy("name").applyInArrow(median, "name string, median double").toArrow()
    assert found.to_pydict() == {"name": ["a"], "median": [4.0]}


DRIVER = """
import sys
from spark.cluster import Cluster
with Cluster(workers=1) as cluster, cluster.session("killed") as spark:
    spark.range(4).mapInArrow(lambda batches: batches, "id long").count()
    print(len(cluster.processes()), *cluster.leaders(), flush=True)
    sys.stdin.read()
"""


@pytest.mark.long
def test_nothing_is_left_of_a_cluster_whose_starter_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER],
        env=environment() | {"TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as starter:
        assert starter.stdout is not None
        try:
            processes, *leaders = map(int, starter.stdout.readline().split())
            assert processes >= 4  # master, worker, executor, its Python daemon
        finally:
            starter.send_signal(signal.SIGKILL)
    until(lambda: not any(members(leader) for leader in leaders), "the cluster to end")
