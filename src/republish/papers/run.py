"""Reproduces a paper: computes, draws, judges, and writes a page."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from republish.papers import markdown, page
from republish.papers.cells import Progress, code_of, files_of, run_cells, seconds_of
from republish.papers.checks import judge
from republish.papers.pictures import draw
from republish.papers.study import Claim, Figure, Finding, Outcome, Paper, Scale


@dataclass(frozen=True)
class JudgedClaim:
    """A claim and what was found of it."""

    claim: Claim
    finding: Finding


@dataclass(frozen=True)
class FigureResult:
    """A figure of a run: its claims judged, and its picture, or none where nothing was computed for it."""

    figure: Figure
    judged: tuple[JudgedClaim, ...]
    picture: Path | None


@dataclass(frozen=True)
class Reproduction:
    """What came out of one paper."""

    paper: Paper
    scale: Scale
    shown: tuple[FigureResult, ...]
    date: datetime.date
    seconds: float
    code: str = "code not recorded"

    def count(self, verdict: Outcome, own: bool | None = None) -> int:
        """How many claims have a verdict: all, only our `own`, or only the paper's."""
        return sum(
            one.finding.verdict is verdict and own in (None, one.claim.own)
            for shown in self.shown
            for one in shown.judged
        )

    def _repr_html_(self) -> str:
        return page.reproduction_html(self)

    def as_dict(self) -> dict[str, object]:
        return {
            "paper": self.paper.name,
            "quick": self.scale.quick,
            "seed": self.scale.seed,
            "date": self.date.isoformat(),
            "seconds": self.seconds,
            "code": self.code,
            "claims": [
                {
                    "figure": shown.figure.name,
                    "own": one.claim.own,
                    "says": one.claim.says,
                    "tolerance": one.claim.tolerance,
                    "found": one.finding.number,
                    "verdict": one.finding.verdict.value,
                }
                for shown in self.shown
                for one in shown.judged
            ],
        }


def reproduce(
    paper: Paper,
    out: Path,
    scale: Scale | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Compute every figure of a paper, and write CSV files, pictures, and pages in HTML and Markdown to `out`.

    What an earlier run with the same scale and version finished there is not computed again.
    """
    scale = scale or Scale()
    cells, kept = paper.cells(scale), out / "cells"
    studies = run_cells(cells, scale, kept, workers or os.cpu_count() or 1, progress or (lambda *_: None))
    files = files_of(cells, scale, kept)
    shown = tuple(_show(figure, studies, out, scale.quick) for figure in paper.figures)
    made = Reproduction(paper, scale, shown, datetime.date.today(), seconds_of(files), code_of(files))
    (out / "index.html").write_text(page.html([made]), encoding="utf-8")
    (out / markdown.PAGE).write_text(markdown.markdown(made), encoding="utf-8")
    (out / markdown.CLAIMS).write_text(markdown.claims(made), encoding="utf-8")
    return made


def _show(figure: Figure, studies: Mapping[str, pl.DataFrame], out: Path, quick: bool) -> FigureResult:
    table = figure.table(studies)
    if not table.height:
        missing = Finding(Outcome.NOT_RUN, figure.needs or "nothing was computed for it")
        return FigureResult(figure, tuple(JudgedClaim(claim, missing) for claim in figure.claims), None)
    lines = figure.lines(table)
    table.write_csv(out / f"{figure.file}.csv")
    picture = out / f"{figure.file}.png"
    draw(figure, lines, picture, quick)
    judged = tuple(JudgedClaim(claim, judge(claim, lines)) for claim in figure.claims)
    return FigureResult(figure, judged, picture)
