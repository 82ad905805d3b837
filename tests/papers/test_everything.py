"""A tiny run of everything against everything."""

from __future__ import annotations

from pathlib import Path

import pytest

from republish.papers import Scale, Verdict, everything, reproduce
from republish.papers.study import Cell, Paper


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Paper:
    for sizes, size in ((everything.VIEWS, 3), (everything.ROWS, 200), (everything.PATIENTS, 120)):
        monkeypatch.setitem(sizes, True, size)
    return everything.PAPER


def test_a_tiny_run_judges_every_claim(tiny: Paper, tmp_path: Path) -> None:
    made = reproduce(tiny, tmp_path, Scale(quick=True), workers=1)
    assert made.count(Verdict.NOT_RUN) == 0
    assert all(shown.picture is not None and shown.picture.exists() for shown in made.shown)
    names = {name for shown in made.shown for name in shown.figure.where.values()}
    assert names == {"tau", "compromised", "linear", "beliefs", "joint"}


def test_every_setting_is_a_point_of_its_maps(tiny: Paper) -> None:
    cells: list[Cell] = tiny.cells(Scale(quick=True))
    assert [cell.settings["setting"] for cell in cells] == [*everything.PERSISTENT, *everything.CHANGING]
