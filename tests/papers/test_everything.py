"""A tiny run of everything against everything."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from republish.papers import Outcome, Scale, everything, reproduce
from republish.papers.study import Cell, Row

FEW = ("mondrian k=5 l=3", "tau-safety m=6", "mondrian l=2", "js-reduce j=.6")


def copied(scale: Scale, *, setting: str, study: str) -> list[Row]:
    """The rows of a setting; of all but the few those of another under its name: the maps are complete."""
    name = "mondrian k=5 l=3" if study == "persistent" else "mondrian l=2"
    return [dict(row) for row in RUN[setting if setting in FEW else name]]


RUN: dict[str, list[Row]] = {}


def test_a_tiny_run_judges_every_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for sizes, size in ((everything.VIEWS, 3), (everything.ROWS, 300), (everything.PATIENTS, 120)):
        monkeypatch.setitem(sizes, True, size)
    quick = Scale(quick=True)

    def cells(scale: Scale) -> list[Cell]:
        made = everything.cells(scale)
        assert [cell.settings["setting"] for cell in made] == [*everything.PERSISTENT, *everything.CHANGING]
        for cell in made:
            if cell.settings["setting"] in FEW:
                RUN[str(cell.settings["setting"])] = cell.run(scale, **cell.settings)
        return [replace(cell, run=copied, settings={**cell.settings, "study": cell.study}) for cell in made]

    made = reproduce(replace(everything.PAPER, cells=cells), tmp_path, quick, workers=1)
    assert made.count(Outcome.NOT_RUN) == 0
    again = everything.run_persistent(quick, setting="tau-safety m=6")
    assert again == RUN["tau-safety m=6"]  # the same seed, the same numbers
    assert all(shown.picture is not None and shown.picture.exists() for shown in made.shown)
    assert {row["attack"] for rows in RUN.values() for row in rows} == {
        *("tau", "compromised", "linear", "beliefs", "joint")
    }
    assert all(0 < float(row["penalty"]) <= 1 for rows in RUN.values() for row in rows)
