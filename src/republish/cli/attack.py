"""`attack`: what adversaries find out from a series."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from republish.cli.output import Json, counted, say, say_json, say_table

if TYPE_CHECKING:
    from republish.attacks import AttackResult

ALL = "all"


def attack(
    series: Annotated[Path, typer.Argument(help="Folder of the series.")],
    names: Annotated[
        str,
        typer.Option(
            "--attack", help="intersection, tau, compromised, historical, separated by commas; or all."
        ),
    ] = ALL,
    compromised: Annotated[
        float, typer.Option(help="Share of people whose values the adversary knows already.")
    ] = 0.0,
    events: Annotated[
        bool,
        typer.Option(
            "--events/--no-events", help="Does she know when each person came, changed, left, returned?"
        ),
    ] = True,
    cascade: Annotated[
        bool,
        typer.Option(
            "--cascade/--no-cascade", help="Does whoever is determined count as known from then on?"
        ),
    ] = True,
    truth: Annotated[
        Path | None,
        typer.Option(help="Folder of raw views to score by, instead of what the series remembers."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws the compromised people.")] = 0,
    as_json: Json = False,
) -> None:
    """Attack the whole series as an adversary would who knows who is in which group."""
    from republish.attacks import ATTACKS, Adversary, history_of, measure_series
    from republish.attacks import attack as attack_history
    from republish.cli.arguments import truth_views
    from republish.series import Series

    opened = Series.open(series)
    chosen = list(ATTACKS) if names == ALL else [name.strip() for name in names.split(",")]
    files = truth_views(truth, len(opened.records)) if truth else []
    views = [opened.true_codes(i, file) for i, file in enumerate(files, start=1)] if truth else None
    adversary = Adversary(compromised=compromised, event_lists=events, seed=seed, cascade=cascade)
    history = history_of(opened, views)
    results: list[AttackResult] = []
    with counted("attacking") as progress:
        for done, name in enumerate(chosen):
            progress(done, len(chosen))
            results += attack_history(history, adversary, [name])
    measures = measure_series(history, 3)
    if as_json:
        say_json({"attacks": [result.as_dict() for result in results], "series": measures.as_dict()})
        return
    say(
        f"{history.releases} releases, {history.people:,} people; the adversary knows who is in which group"
        f"{', when they came, changed and left' if events else ''}"
        f"{f', and the values of {compromised:.1%} of them' if compromised else ''}"
    )
    say_table(
        ("attack", "people", "determined", "fewest candidates", "mean confidence", "worst confidence"),
        [(result.name, *_row(result.overall)) for result in results],
    )
    say("determined: only one value is left; confidence: the adversary's probability of the true value")
    rows = [
        (i, part.people, part.groups, part.counterfeits, part.vulnerable, part.unexplained, part.hc_unsafe)
        for i, part in enumerate(measures.releases, start=1)
    ]
    say_table(("#", "people", "groups", "counterfeits", "vulnerable", "unexplained", "hc-unsafe (n=3)"), rows)
    say(
        "vulnerable: a changed value or a return changed the set of values to hide in; unexplained: it changed without"
    )


def _row(exposure: Any) -> tuple[Any, ...]:
    return (
        exposure.people,
        exposure.determined,
        exposure.fewest_candidates,
        exposure.mean_confidence,
        exposure.worst_confidence,
    )
