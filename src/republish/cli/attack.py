"""`attack`: what adversaries find out from a series."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from republish.cli.output import Json, counted, say, say_json, say_table

if TYPE_CHECKING:
    import polars as pl

    from republish.attacks import (
        Adversary,
        AttackResult,
        BeliefResult,
        Believed,
        History,
        Register,
        SeriesMeasures,
    )
    from republish.knowledge import Extracted, Knowledge
    from republish.series import Series

ALL = "all"
BELIEFS = "beliefs"
FULL = "full"
_SURENESS = ("rows", "gain", "|gain|", "confidence", "95 %", "above .5", "above .9", "worst")


def attack(
    series: Annotated[Path, typer.Argument(help="Folder of the series.")],
    names: Annotated[
        str,
        typer.Option(
            "--attack",
            help="intersection, tau, compromised, historical, beliefs, separated by commas; or all.",
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
        typer.Option(
            help="Folder of raw views to score by, instead of what the series remembers; beliefs may need them."
        ),
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
    plot: Annotated[
        Path | None, typer.Option(help="Beliefs: draw gain and confidence by release to this PNG file.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws the compromised people.")] = 0,
    as_json: Json = False,
) -> None:
    """Attack the whole series as an adversary would who knows who is in which group."""
    from republish.attacks import Adversary, history_of, measure_series, register_of
    from republish.attacks import attack as attack_history
    from republish.knowledge import read_knowledge
    from republish.series import Series

    opened = Series.open(series)
    known = read_knowledge(knowledge, opened.schema) if knowledge else None
    if known is None and opened.reasoning is not None:
        known = opened.reasoning.knowledge
    chosen, left_out = _chosen(names, known)
    wants_beliefs = BELIEFS in chosen
    _require(wants_beliefs, known, plot)
    looks = _looks(steps)
    adversary = Adversary(
        compromised,
        events,
        seed,
        cascade,
        knowledge=known,
        posterior=posterior,
        certainty=certainty,
        cascading=cascading,
    )
    views = _views(opened, truth, known if wants_beliefs else None)
    history = history_of(opened, views)
    results: list[AttackResult] = []
    beliefs: list[BeliefResult] = []
    with counted("attacking") as progress:
        for done, name in enumerate(chosen):
            progress(done, len(chosen))
            if name != BELIEFS:
                results += attack_history(history, adversary, [name])
            elif known is not None:
                register = register_of(opened, history, known.classes, views)
                beliefs = _beliefs(history, adversary, looks, register)
    measures = measure_series(history, 3)
    if plot is not None:
        _draw(beliefs, plot)
    if as_json:
        say_json(
            {
                "attacks": [result.as_dict() for result in results],
                "beliefs": [result.as_dict() for result in beliefs],
                "left_out": left_out,
                "series": measures.as_dict(),
            }
        )
        return
    say(
        f"{history.releases} releases, {history.people:,} people; the adversary knows who is in which group"
        f"{', when they came, changed and left' if events else ''}"
        f"{f', and the values of {compromised:.1%} of them' if compromised else ''}"
    )
    if results:
        _say_results(results)
    if beliefs:
        _say_beliefs(beliefs)
    if plot is not None:
        say(f"drawn to {plot}")
    for name in left_out:
        say(f"{name}: left out, for it needs to know how values follow each other; give --knowledge DIR")
    _say_measures(measures)


def _chosen(names: str, known: Knowledge | Extracted | None) -> tuple[list[str], list[str]]:
    """The attacks that were asked for, and those of all that cannot be made."""
    from republish.attacks import ATTACKS
    from republish.errors import PolicyError

    every = [*ATTACKS, BELIEFS]
    if names == ALL:
        left_out = [] if known is not None else [BELIEFS]
        return [name for name in every if name not in left_out], left_out
    chosen = [name.strip() for name in names.split(",")]
    unknown = [name for name in chosen if name not in every]
    if unknown:
        raise PolicyError(f"there is no attack called {unknown[0]}; there are {', '.join(every)}")
    return chosen, []


def _require(wants_beliefs: bool, known: Knowledge | Extracted | None, plot: Path | None) -> None:
    """Refuse beliefs without knowledge and pictures without beliefs, before anything is read."""
    from republish.errors import PolicyError

    if wants_beliefs and known is None:
        raise PolicyError(
            "beliefs needs to know how values follow each other, and this series says nothing of it; give "
            "--knowledge DIR"
        )
    if plot is not None and not wants_beliefs:
        raise PolicyError("--plot draws what beliefs finds; add it to --attack, and give --knowledge DIR")


def _looks(text: str) -> list[int | None]:
    """How many last values she looks at, `None` for all: one adversary each."""
    from republish.errors import PolicyError

    words = [word.strip() for word in text.split(",")]
    if not all(word == FULL or (word.isascii() and word.isdigit()) for word in words):
        raise PolicyError(f"--steps is whole numbers and {FULL}, separated by commas, such as 0,1,2,{FULL}")
    return [None if word == FULL else int(word) for word in words]


def _views(
    series: Series, truth: Path | None, known: Knowledge | Extracted | None
) -> list[pl.DataFrame] | None:
    """Codes, and classes where knowledge needs them, of everyone in the raw views of a folder."""
    from republish.attacks import granted_view
    from republish.cli.arguments import truth_views

    if truth is None:
        return None
    files = enumerate(truth_views(truth, len(series.records)), start=1)
    if known is None:
        return [series.true_codes(i, file) for i, file in files]
    return [granted_view(series, i, file, known.classes) for i, file in files]


def _beliefs(
    history: History, adversary: Adversary, looks: list[int | None], register: Register
) -> list[BeliefResult]:
    """What each adversary believes; who looks further back than the knowledge does is the one who knows it all."""
    from republish.attacks import attack_beliefs

    assert adversary.knowledge is not None
    order = adversary.knowledge.order
    found: dict[int, BeliefResult] = {}
    for look in looks:
        depth = order if look is None else min(look, order)
        if depth not in found:
            found[depth] = attack_beliefs(history, replace(adversary, steps=depth), register=register)
    return [replace(found[order if look is None else min(look, order)], steps=look) for look in looks]


def _draw(beliefs: list[BeliefResult], path: Path) -> None:
    """One curve for each adversary who believes something of her own."""
    from republish.plots import plot_beliefs

    labels: dict[int, list[str]] = {}
    for result in beliefs:
        labels.setdefault(id(result.releases), []).append(result.label)
    curves = {", ".join(labels[id(result.releases)]): result for result in beliefs}
    plot_beliefs({f"{label} ({result.posterior})": result for label, result in curves.items()}, path)


def _say_results(results: list[AttackResult]) -> None:
    say_table(
        ("attack", "people", "determined", "fewest candidates", "mean confidence", "worst confidence"),
        [(result.name, *_row(result.overall)) for result in results],
    )
    say("determined: only one value is left; confidence: the adversary's probability of the true value")


def _say_beliefs(beliefs: list[BeliefResult]) -> None:
    rows = [line for result in beliefs for line in _lines(result.label, result.overall)]
    say_table(("beliefs", *_SURENESS), rows)
    if len(beliefs) == 1:
        parts = enumerate(beliefs[0].releases, start=1)
        say_table(("#", *_SURENESS), [line for i, part in parts for line in _lines(i, part)])
    else:
        by_release = zip(*(result.releases for result in beliefs), strict=True)
        gains = [(i, *(part.everyone.gain for part in parts)) for i, parts in enumerate(by_release, start=1)]
        say_table(("# gain", *(result.label for result in beliefs)), gains)
    say(
        "gain: what she knows beyond the share of the value in the group, (p - share) / (1 - share); confidence p: "
        "her probability of the true value; above .5, .9: shares of rows"
    )
    for result in beliefs:
        made = ", ".join(f"{name} {share:.1%}" for name, share in result.overall.used.items())
        say(
            f"{result.label}: surer than .9 at some time, untold, of {result.ever_above_nine_tenths:.1%} of "
            f"{result.people:,} people; posteriors: {made} of rows, {result.overall.fallbacks:.2%} fell back to shares"
        )


def _lines(name: Any, part: Believed) -> list[tuple[Any, ...]]:
    """A row of figures, and where people were compromised a second one about the others."""
    lines = [(name, *asdict(part.everyone).values())]
    if part.uncompromised is not None:
        lines.append((f"{name}, not told", *asdict(part.uncompromised).values()))
    return lines


def _say_measures(measures: SeriesMeasures) -> None:
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
