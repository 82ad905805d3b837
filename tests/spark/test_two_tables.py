"""Spark publishes, verifies, measures and attacks a series in two tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from parts.changing import close
from parts.publish.test_two_tables import cells
from parts.verify.test_run import alike
from parts.weeks import PUBLISHERS, SCHEMA, weeks, write
from republish import Adversary, Series, attack, measure
from republish.parts import Spark
from republish.release.forms import TwoTables
from republish.secret import VARIABLE
from spatial.test_leaves import tree_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_spark_makes_two_tables_with_the_cells_of_one_process(
    local_spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "the secret of both series")
    engine = Spark(local_spark, parts=3)
    one, many = (
        Series.create(tmp_path / name, SCHEMA, PUBLISHERS["tau-safety"], seed=3, form=TwoTables(4))
        for name in ("one", "many")
    )
    for path in write(tmp_path / "views", weeks(200, 3)):
        one.publish(path)
        many.publish(str(path), engine=engine)
    for number in (1, 2, 3):
        assert cells(many, number) == cells(one, number)
    assert tree_of(many.cuts()) == tree_of(one.cuts())
    expected = many.verify()
    assert expected.holds and expected.problems == ()
    alike(expected.as_dict(), many.verify(engine=engine).as_dict())
    (found,) = attack(many, Adversary(), ["tau"])
    assert engine.attack(many, attacks=["tau"])["tau"].summary.people == found.summary.people
    measured = engine.measure(many)[3].as_dict()
    assert measured == close(measure(many.release(3)).as_dict())
