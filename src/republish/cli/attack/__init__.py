"""`attack`: what adversaries find out from a series."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from republish.cli.attack.output import (
    draw,
    draw_beliefs,
    say_adversary,
    say_beliefs,
    say_measures,
    say_over_time,
    say_summaries,
)
from republish.cli.engine_options import LOCAL, EngineName, Master, PartRows, engine_of
from republish.cli.output import Json, counted, say, say_json

ALL = "all"
FULL = "full"


def attack(
    series: Annotated[
        Path, typer.Argument(help="Folder of the series, or with --schema of tables that another tool made.")
    ],
    names: Annotated[
        str,
        typer.Option(
            "--attack",
            help="Names by commas, see docs/attacks.md; or all that can be made with what is given.",
        ),
    ] = ALL,
    compromised: Annotated[
        float, typer.Option(help="Share of people whose values the adversary knows already.")
    ] = 0.0,
    membership: Annotated[
        str,
        typer.Option(help="known: she knows who is in which group; matched: she looks for groups that fit."),
    ] = "known",
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
        typer.Option(
            help="Folder of raw views to score by, instead of what the series remembers; matched needs them."
        ),
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(help="For tables of another tool: their schema.toml; needs --truth.")
    ] = None,
    knowledge: Annotated[
        Path | None,
        typer.Option(
            help="Beliefs: folder with knowledge.toml; else what the series' publisher thinks she knows."
        ),
    ] = None,
    posterior: Annotated[
        str, typer.Option(help="Beliefs: additive, omega, sinkhorn, bp, bayes or exact.")
    ] = "exact",
    steps: Annotated[
        str,
        typer.Option(
            help="Beliefs: last values she looks at, several by commas: 0 (each release alone), 1, 2, full."
        ),
    ] = FULL,
    certainty: Annotated[
        float,
        typer.Option(help="Beliefs: how sure she is of compromised people, drawn anew in each release."),
    ] = 1.0,
    cascading: Annotated[
        str, typer.Option(help="Beliefs: what she knows of single people enters the prior or the posterior.")
    ] = "prior",
    over_time: Annotated[
        bool, typer.Option("--over-time", help="Also what she finds after each release, with no later one.")
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw what is found after each release to this PNG file; of beliefs alone, without --over-time, "
            "gain and confidence by release."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws the compromised people.")] = 0,
    engine: EngineName = None,
    master: Master = LOCAL,
    part_rows: PartRows = None,
    as_json: Json = False,
) -> None:
    """Attack the whole series as an adversary would who keeps all releases; every attack is summed up alike."""
    from republish.attacks import BELIEVES, REPLAYS, Adversary, AttackResult, BeliefResult, measure_series
    from republish.attacks import names as names_of
    from republish.cli.attack.input import ALL, chosen, looks, make
    from republish.cli.attack.parts import attack_in_parts
    from republish.cli.attack.replay import replayed, say_replays
    from republish.cli.attack.source import attacked
    from republish.errors import PolicyError

    with engine_of(engine, master, part_rows) as where:
        if where is not None:
            _require_none(truth=truth, schema=schema, over_time=over_time or None, plot=plot)
            her = Adversary(
                compromised,
                events,
                seed,
                cascade,
                posterior=posterior,
                certainty=certainty,
                cascading=cascading,
                membership=membership,
            )
            attack_in_parts(series, where, names, her, knowledge, steps, as_json)
            return
    opened = attacked(series, schema, truth, knowledge)
    adversary = Adversary(
        compromised,
        events,
        seed,
        cascade,
        knowledge=opened.knowledge,
        posterior=posterior,
        certainty=certainty,
        cascading=cascading,
        membership=membership,
    )
    wanted, left_out = chosen(names, lambda name: opened.hindrance(name, adversary))
    replays, wanted = (
        [n for n in wanted if n in names_of(REPLAYS)],
        [n for n in wanted if n not in names_of(REPLAYS)],
    )
    tried, hindrance = replayed(opened.series, opened.files, replays, adversary)
    if hindrance is not None and names != ALL:
        raise PolicyError(f"{' and '.join(replays)} cannot be made: {hindrance}")
    left_out |= {name: hindrance for name in replays if hindrance is not None}
    believers = bool(wanted) and set(wanted) <= set(names_of(BELIEVES))
    follow = over_time or (plot is not None and not believers)
    steps_back = looks(steps)
    target = opened.target(adversary, wanted)
    with counted("attacking") as progress:
        made = make(target, adversary, wanted, steps_back, follow, progress)
    measures = measure_series(target.history, 3)
    beliefs = [one.result for one in made if isinstance(one.result, BeliefResult)]
    if plot is not None:
        draw(made, plot) if follow else draw_beliefs(beliefs, plot)
    if as_json:
        say_json(
            {
                "summaries": [one.as_dict() for one in made],
                "attacks": [one.result.as_dict() for one in made if isinstance(one.result, AttackResult)],
                "beliefs": [result.as_dict() for result in beliefs],
                "replays": [one.as_dict() for one in tried],
                "left_out": left_out,
                "notes": list(opened.notes),
                **({} if opened.assignment is None else {"assignment": asdict(opened.assignment)}),
                "series": measures.as_dict(),
            }
        )
        return
    one_of_many = opened.assignment is not None and opened.assignment.one_of_many
    say_adversary(target.history, adversary, one_of_many)
    for note in opened.notes:
        say(note)
    if made:
        say_summaries(made, one_of_many)
    if follow:
        say_over_time(made)
    if beliefs:
        say_beliefs(beliefs)
    if tried:
        say_replays(tried)
    if plot is not None:
        say(f"drawn to {plot}")
    for name, reason in left_out.items():
        say(f"{name}: left out, for {reason}")
    say_measures(measures)


def _require_none(**options: object) -> None:
    """Refuse options that attacks in parts have no use for."""
    from republish.errors import PolicyError

    given = [f"--{name.replace('_', '-')}" for name, value in options.items() if value is not None]
    if given:
        raise PolicyError(f"{', '.join(given)} cannot be had with --engine; leave it out, or --engine")
