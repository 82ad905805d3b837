"""A series verified by Spark says what it says verified by one process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from parts.verify.test_run import alike, edited, members_of
from parts.weeks import PUBLISHERS, SCHEMA, weeks
from republish import Series
from republish.parts import Here, Spark
from republish.publishing.maintenance import forget

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("name", ["cor-split", "js-reduce"])
def test_spark_verifies_as_one_process_does(local_spark: SparkSession, tmp_path: Path, name: str) -> None:
    series = Series.create(tmp_path / "s", SCHEMA, PUBLISHERS[name], seed=3)
    first, second = weeks(160, 2)
    for view in (first, first.clear(), second):
        series.publish(view, engine=Here(parts=2), meant=["fewer-rows"])
    engine = Spark(local_spark, parts=2)
    found = series.verify()
    assert found.holds
    alike(found.as_dict(), series.verify(engine=engine).as_dict())
    forget(series, first.select("id")[:5])
    there = pl.col("group").filter(pl.col("group") > 0)
    turned = pl.when(pl.col("group") > 0).then(there.min() + there.max() - pl.col("group")).otherwise(0)
    edited(members_of(series, 3), lambda members: members.with_columns(group=turned.cast(pl.Int32)))
    damaged = series.verify().as_dict()
    assert "was altered" in damaged["problems"][0]
    alike(damaged, series.verify(engine=engine).as_dict())
