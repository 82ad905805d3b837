"""A series that withstands the joint attack: published, verified from what is stored, and tampered with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from republish import JSReduce, Series, read_schema
from republish.datasets import hospital
from republish.inference.joint.trail import CODES, GROUPS
from republish.knowledge import read_knowledge
from republish.verify.withstand import TrailWalk

pytestmark = pytest.mark.jit


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Series:
    folder = tmp_path_factory.mktemp("withstand")
    hospital(views=3, rows=120, seed=3).write(folder / "data")
    schema = read_schema(folder / "data" / "schema.toml")
    knowledge = read_knowledge(folder / "data" / "knowledge", schema)
    publisher = JSReduce(crowd=8, knowledge=knowledge, withstand=0.5)
    made = Series.create(folder / "s", schema, publisher, seed=1)
    for view in sorted((folder / "data" / "views").iterdir()):
        made.publish(view)
    return made


def test_every_release_is_checked_against_all_before_it(series: Series) -> None:
    found = series.verify()
    assert found.holds, found.problems
    for release in found.releases.values():
        checks = [check for check in release.checks if check.promise.startswith("withstand=0.5")]
        assert [check.holds for check in checks] == [True]


def test_a_changed_trail_is_found_and_another_numbering_is_not(
    series: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = series.memory()
    walk: list[TrailWalk] = []
    whole = TrailWalk.differences

    def kept(self: TrailWalk, stored: object) -> list[str]:
        walk.append(self)
        return whole(self, stored)  # type: ignore[arg-type]

    monkeypatch.setattr(TrailWalk, "differences", kept)
    assert series.verify().holds
    groups = memory.columns[GROUPS].copy()
    first = groups[:, 0]
    turned = np.where(first >= 2, first.max() + 2 - first, first)
    for column, wrong in ((turned, False), (np.where(first == first.max(), 2, first), True)):
        other = groups.copy()
        other[:, 0] = column
        changed = replace(memory, columns={**memory.columns, GROUPS: other})
        assert bool(whole(walk[0], changed)) == wrong
    codes = memory.columns[CODES].copy()
    codes[0, 0] += 1
    assert whole(walk[0], replace(memory, columns={**memory.columns, CODES: codes}))


def test_a_series_may_withstand_event_lists_too(tmp_path: Path) -> None:
    hospital(views=2, rows=120, seed=3).write(tmp_path / "data")
    schema = read_schema(tmp_path / "data" / "schema.toml")
    knowledge = read_knowledge(tmp_path / "data" / "knowledge", schema)
    publisher = JSReduce(crowd=8, knowledge=knowledge, withstand=0.5, event_lists=True)
    made = Series.create(tmp_path / "s", schema, publisher, seed=1)
    for view in sorted((tmp_path / "data" / "views").iterdir()):
        made.publish(view)
    found = Series.open(tmp_path / "s").verify()
    assert found.holds, found.problems
    checks = [one for one in found.releases[2].checks if one.promise.startswith("withstand-events=0.5")]
    assert [one.holds for one in checks] == [True]


def test_it_says_what_is_promised(series: Series) -> None:
    assert "withstand=0.5" in series.policy.promises["series"]
    assert Path(series.root / "releases" / "0001" / "about.json").exists()
