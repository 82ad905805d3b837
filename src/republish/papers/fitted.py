"""Studies of a paper once more, on the hospital series whose course was fitted to the numbers of JS-reduce.

What holds there was partly put there, so these are papers of their own and counted apart. Nothing was fitted to the
claims: the four parameters of `republish.datasets.progression.COURSES` were set before any of these studies was run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from republish.papers.bayframe import studies as of_bayframe
from republish.papers.js_reduce import studies as of_js_reduce
from republish.papers.study import Cell, Paper, Row, Scale

SEEDS = 3
"""How many series are drawn, with seeds one after the other; figures show the mean, those of points all."""
RUNS: Mapping[str, Callable[..., list[Row]]] = {
    run.__name__: run
    for run in (
        of_js_reduce.run_series,
        of_js_reduce.run_limit,
        of_bayframe.run_frameworks,
        of_bayframe.run_compromised,
        of_bayframe.run_cascading,
        of_bayframe.run_told,
        of_bayframe.run_range,
    )
}
DATA = (
    "The hospital series with the preset `fitted` (`republish generate hospital OUT --preset fitted`): an examination "
    "is unrelated to those before with chance .15, after results of two diseases the next follows the older one with "
    "chance .9, chronic diseases move half as fast as in the other series, and .05 of their examinations end in "
    "discharge. These four numbers were chosen so that the walk of JS-reduce leaves out as little, and gives away as "
    f"little, as that paper reports; limits of divergence are taken in natural logarithms. Means of {SEEDS} series. "
    "What holds here is counted apart. For the rest: "
)


def run_fitted(scale: Scale, *, run: str, draw: int, **settings: Any) -> list[Row]:
    """A cell of a paper on one of the fitted series."""
    return RUNS[run](replace(scale, seed=scale.seed + draw), **settings, preset="fitted")


def fitted(paper: Paper) -> Paper:
    """The studies of a paper on the fitted series; those on Adult are left as they are."""

    def cells(scale: Scale) -> list[Cell]:
        return [
            Cell(cell.study, run_fitted, {**cell.settings, "run": cell.run.__name__, "draw": draw})
            for cell in paper.cells(replace(scale, adult=None))
            for draw in range(1 if scale.quick else SEEDS)
        ]

    figures = tuple(figure for figure in paper.figures if not figure.needs)
    name, title = f"{paper.name}-fitted", f"{paper.title.partition(':')[0]} on a series fitted to JS-reduce"
    data, beside = DATA + paper.data, paper.name
    return replace(paper, name=name, title=title, data=data, cells=cells, figures=figures, counterpart=beside)
