"""Releases made in parts, in a store: tables, counterfeit counts, membership and memory all lie in parts there."""

from __future__ import annotations

from pathlib import Path

import pytest

from parts.weeks import PUBLISHERS, SCHEMA, weeks, write
from republish import Series
from republish.attacks import Adversary, attack
from republish.parts import Here
from republish.release.forms import TwoTables
from slow import quick


@pytest.mark.parametrize("form", [None, TwoTables(4)], ids=["one table", "two tables"])
@pytest.mark.parametrize("store", quick(["memory", "s3"], lambda where: where == "memory"), indirect=True)
def test_a_series_made_in_parts_lives_in_a_store(store: str, form: TwoTables | None, tmp_path: Path) -> None:
    series = Series.create(tmp_path / "s", SCHEMA, PUBLISHERS["tau-safety"], seed=3, store=store, form=form)
    for path in write(tmp_path / "views", weeks(200, 3)):
        series.publish(path, engine=Here(parts=4))
    assert sum(entry.payload["counterfeits"] for entry in series.records) > 0
    reader = Series.open(series.root)
    found = reader.verify()
    assert found.holds, found.problems
    assert reader.verify(engine=Here(parts=3)).holds
    (found,) = attack(reader, Adversary(), ["tau"])
    assert found.overall.people > 200 and found.overall.below_m == 0
    assert reader.release(3).counterfeits.sum() == reader.record(3).payload["counterfeits"]
