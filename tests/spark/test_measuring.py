"""On Spark releases are measured and attacked as in one process."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engines.changing import close, schema, views_of
from republish import Mondrian, Series
from republish.attacks import Adversary
from republish.engines import Here, Spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def series(tmp_path: Path) -> Series:
    made = Series.create(tmp_path / "series", schema(), Mondrian(2), seed=7, one_table=True)
    for week, view in enumerate(views_of(120, 4, 1), 1):
        made.publish(view, as_of=f"2026-03-{week:02d}", engine=Here(parts=2))
    return made


def test_measures_on_spark_are_those_of_one_process(
    series: Series, tmp_path: Path, local_spark: SparkSession
) -> None:
    files = []
    for week, view in enumerate(views_of(120, 4, 1), 1):
        files.append(tmp_path / f"{week}.parquet")
        view.write_parquet(files[-1])
    found = Spark(local_spark, parts=3).measure(series, files)
    expected = Here(parts=1).measure(series, files)
    assert {i: m.as_dict() for i, m in found.items()} == {i: close(m.as_dict()) for i, m in expected.items()}


def test_attacks_on_spark_are_those_of_one_process(series: Series, local_spark: SparkSession) -> None:
    found = Spark(local_spark, parts=3).attack(series, Adversary(0.2))
    expected = Here(parts=1).attack(series, Adversary(0.2))
    assert list(found) == list(expected) == ["intersection", "tau", "compromised"]
    for name, result in expected.items():
        assert asdict(found[name]) == {
            "name": name,
            "m": result.m,
            "releases": tuple(close(asdict(part)) for part in result.releases),
            "overall": close(asdict(result.overall)),
        }
    assert found["tau"].overall.determined > 0
