"""`reproduce`: the experiments of the papers, run again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from republish.cli.output import Json, counted, say, say_json

ALL = "all"


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(
            help="js-reduce, bayframe, cor-split, tau-safety, banga; everything for our own study; the first two with "
            "-fitted, on fitted data; or all."
        ),
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Smaller views: minutes instead of most of an hour.")
    ] = False,
    out: Annotated[
        Path, typer.Option(help="Where tables, plots and index.html go, one folder for each paper.")
    ] = Path("reproduced"),
    adult: Annotated[
        Path | None,
        typer.Option(
            help="Folder or file of UCI Adult; else REPUBLISH_ADULT; without it its figures are left out."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws data, people and queries.")] = 7,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of processes. Without it: one per core.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run the experiments of a paper again and judge its claims; what was finished before is not computed again."""
    from republish.errors import PolicyError
    from republish.papers import NAMES, Outcome, Scale, markdown, page, paper_named
    from republish.papers import reproduce as run

    given = adult or (Path(named) if (named := os.environ.get("REPUBLISH_ADULT")) else None)
    if given is not None and not given.exists():
        raise PolicyError(
            "UCI Adult must be a folder with adult.csv and its hierarchies, or the CSV file; nothing is there. "
            "Give --adult, or leave it out with REPUBLISH_ADULT unset"
        )
    made = []
    for one in map(paper_named, NAMES if paper == ALL else (paper,)):
        with counted(one.name) as step:
            made.append(run(one, out / one.name, Scale(quick, given, seed), workers, step))
    (out / "index.html").write_text(page.html(made), encoding="utf-8")
    (out / markdown.PAGE).write_text(markdown.summary(made), encoding="utf-8")
    if as_json:
        say_json({"papers": [one.as_dict() for one in made]})
        return
    for done in made:
        counts = ", ".join(
            f"{number} {verdict.value}" for verdict in Outcome if (number := done.count(verdict))
        )
        say(f"{done.paper.name}: {counts}")
        for shown in done.shown:
            for judged in shown.judged:
                if judged.finding.verdict is Outcome.FAILS:
                    say(f"  {shown.figure.name} does not hold: {judged.claim.says} ({judged.finding.number})")
    say(f"Open {out / 'index.html'}")
