"""On Spark releases are measured and attacked as in one process."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from parts.changing import close, schema, views_of
from republish import JSReduce, Series
from republish.attacks import Adversary
from republish.parts import Here, Spark
from republish.parts.attack.run import IN_PARTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def series(tmp_path: Path) -> Series:
    made = Series.create(tmp_path / "series", schema(), JSReduce(4, 0.4, 0.3, crowd=4), seed=7)
    for week, view in enumerate(views_of(120, 3, 1), 1):
        made.publish(view, as_of=f"2026-03-{week:02d}", engine=Here(parts=2), meant=["fewer-rows"])
    return made


def test_measures_on_spark_are_those_of_one_process(
    series: Series, tmp_path: Path, local_spark: SparkSession
) -> None:
    files = []
    for week, view in enumerate(views_of(120, 3, 1), 1):
        files.append(tmp_path / f"{week}.parquet")
        view.write_parquet(files[-1])
    found = Spark(local_spark, parts=3).measure(series, files)
    expected = Here(parts=1).measure(series, files)
    assert {i: m.as_dict() for i, m in found.items()} == {i: close(m.as_dict()) for i, m in expected.items()}


def test_attacks_on_spark_are_those_of_one_process(series: Series, local_spark: SparkSession) -> None:
    found = Spark(local_spark, parts=2).attack(series, Adversary(0.2), IN_PARTS)
    expected = Here(parts=1).attack(series, Adversary(0.2), IN_PARTS)
    assert list(found) == list(expected) == ["intersection", "tau", "compromised", "beliefs"]
    for name, result in expected.items():
        assert asdict(found[name].summary) == close(asdict(result.summary))
        for mine, theirs in zip(found[name].by_release, result.by_release, strict=True):
            assert asdict(mine) == close(asdict(theirs))
    alone, excluding = found["intersection"].summary, found["compromised"].summary
    assert excluding.mean_confidence > alone.mean_confidence
