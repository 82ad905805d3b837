"""`attack`: what adversaries find out from a series."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from republish.cli.attack import output
from republish.cli.attack.options import AttackOptions
from republish.cli.engine_options import EngineOptions, engine_of
from republish.cli.options import gathered
from republish.cli.output import Json, counted, say, say_json

if TYPE_CHECKING:
    from republish.cli.attack.input import SeriesAttack


@gathered
def attack(
    series: Annotated[
        Path, typer.Argument(help="Folder of the series, or with --schema of tables that another tool made.")
    ],
    options: AttackOptions,
    engine: EngineOptions,
    as_json: Json = False,
) -> None:
    """Attack the whole series as an adversary who keeps all releases; the same figures sum up every attack."""
    from republish.cli.attack.input import attack_series
    from republish.cli.attack.keep import keep_attack
    from republish.cli.attack.parts import attack_in_parts

    with engine_of(engine) as where:
        if where is not None:
            options.require_in_parts()
            attack_in_parts(series, where, options, as_json)
            return
    if options.keep:
        keep_attack(series, options)
    with counted("attacking") as progress:
        found = attack_series(series, options, progress)
    if options.plot is not None:
        output.draw(found.made, options.plot) if found.followed else output.draw_beliefs(
            found.beliefs, options.plot
        )
    if as_json:
        say_json(_document(found) | {"kept": options.keep})
        return
    _say(found, options.plot)
    if options.keep:
        say(f"kept for the report: republish report {series} -o report.html")
    elif found.source.series is not None:
        say("nothing of this is kept; with --keep the report shows it")


def _document(found: SeriesAttack) -> dict[str, Any]:
    from republish.attacks import AttackResult

    assignment = found.source.assignment
    return {
        "summaries": [one.as_dict() for one in found.made],
        "attacks": [one.result.as_dict() for one in found.made if isinstance(one.result, AttackResult)],
        "beliefs": [result.as_dict() for result in found.beliefs],
        "identities": [one.as_dict() for one in found.identities],
        "replays": [one.as_dict() for one in found.replays],
        "left_out": found.left_out,
        "notes": list(found.source.notes),
        **({} if assignment is None else {"assignment": asdict(assignment)}),
        "series": found.measures.as_dict(),
    }


def _say(found: SeriesAttack, plot: Path | None) -> None:
    from republish.cli.attack.replay import say_replays

    assignment = found.source.assignment
    one_of_many = assignment is not None and assignment.one_of_many
    output.say_adversary(found.history, found.adversary, one_of_many)
    for note in found.source.notes:
        say(note)
    if found.made:
        output.say_summaries(found.made, one_of_many)
    if found.followed:
        output.say_over_time(found.made)
    if found.beliefs:
        output.say_beliefs(found.beliefs)
    if found.identities:
        output.say_identities(found.identities)
    if found.replays:
        say_replays(found.replays)
    if plot is not None:
        say(f"drawn to {plot}")
    output.say_left_out(found.left_out)
    output.say_measures(found.measures, found.source.promises)
