"""Spark publishes and verifies value-blind batches, those of one process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from parts.changing import close
from parts.publish.test_together import batches, published
from parts.publish.test_two_tables import cells
from parts.verify.test_run import alike
from republish import measure
from republish.parts import Spark
from republish.secret import VARIABLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_spark_makes_the_value_blind_batches_of_one_process(
    local_spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "the secret of both series")
    engine = Spark(local_spark, parts=3)
    one = published(tmp_path / "one", "open", [None] * 2)
    many = published(tmp_path / "many", "open", [engine] * 2)
    for number in (1, 2):
        assert batches(many, number) == batches(one, number)
        assert cells(many, number) == cells(one, number)
    ours, theirs = many.memory().counts, one.memory().counts
    assert ours is not None and theirs is not None and ours.equals(theirs)
    expected = many.verify()
    assert expected.holds and expected.problems == ()
    alike(expected.as_dict(), many.verify(engine=engine).as_dict())
    assert engine.measure(many)[2].as_dict() == close(measure(many.release(2)).as_dict())
