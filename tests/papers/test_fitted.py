"""Studies on the fitted hospital series: the cells of a paper, each on every draw, under a name of their own."""

from __future__ import annotations

import math

import pytest

from republish.papers import Scale, paper_named
from republish.papers.bayframe import studies as of_bayframe
from republish.papers.fitted import RUNS, SEEDS, run_fitted
from republish.papers.js_reduce import protocol
from republish.papers.js_reduce.protocol import DK, FITTED, PAPERS, SeriesSize


@pytest.mark.parametrize("name", ["js-reduce", "bayframe"])
def test_every_cell_is_run_on_every_draw(name: str) -> None:
    scale = Scale(quick=False)
    plain, fitted = paper_named(name), paper_named(f"{name}-fitted")
    cells = fitted.cells(scale)
    assert len(cells) == SEEDS * len(plain.cells(scale))
    assert {cell.settings["run"] for cell in cells} <= set(RUNS)
    assert {figure.study for figure in fitted.figures} <= {cell.study for cell in cells}
    assert fitted.title != plain.title and "fitted" in fitted.data


def test_limits_are_of_natural_logarithms_and_the_series_is_the_fitted_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(protocol.SIZES, "quick", SeriesSize(views=2, rows=200, queries=0))
    rows = run_fitted(Scale(quick=True, seed=5), run="run_limit", draw=1, technique=PAPERS, j=0.6)
    size = SeriesSize(2, 200, 0, FITTED)
    views = protocol.series(size, 6)
    publisher = protocol.publisher_of(PAPERS, views.knowledge, 0.6 / math.log(2))
    assert rows == protocol.published(views, publisher, protocol.adversaries((DK,), size, 6))


def test_bayframe_is_run_on_the_fitted_series_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(of_bayframe.SIZES, "quick", (2, 200))
    settings = {"framework": "js-reduce", "steps": 1}
    found = run_fitted(Scale(quick=True, seed=5), run="run_frameworks", draw=1, **settings)
    again = of_bayframe.run_frameworks(Scale(quick=True, seed=6), **settings, preset="fitted")  # type: ignore[arg-type]
    plain = of_bayframe.run_frameworks(Scale(quick=True, seed=6), **settings)  # type: ignore[arg-type]
    assert found == again != plain
