"""What `attack` says and draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from republish.cli.attack.input import AttackRun
from republish.cli.output import say, say_table
from republish.show.numbers import percent

if TYPE_CHECKING:
    from republish.attacks import (
        Adversary,
        BeliefResult,
        Believed,
        History,
        Identity,
        IdentityResult,
        Linked,
        SeriesMeasures,
        Unclear,
    )

_FIGURES = ("people", "determined", "share", "above .9", "above .5", "mean", "worst", "gain")
_LINKED = ("people", "alone", "fewer than k", "median left", "median batches", "one batch")
_CRACKED = ("fewest left", "fewer than k", "one value", "median left")
_PRESENCE = ("present", "absent", "shown present", "shown absent", "mean of present", "mean of absent")
_SURENESS = ("rows", "gain", "|gain|", "confidence", "95 %", "above .5", "above .9", "worst")


def say_adversary(history: History, adversary: Adversary, one_of_many: bool = False) -> None:
    """What she has, in a sentence; `one_of_many` where groups are those of one assignment out of many."""
    share, has = adversary.compromised, []
    if adversary.membership == "known":
        has.append(
            "one assignment of people to groups out of many" if one_of_many else "who is in which group"
        )
    if adversary.event_lists:
        has.append("when people came, changed and left")
    if isinstance(share, float) and share:
        has.append(f"the values of {percent(share)} of them")
    knows = f"knows {', and '.join([', '.join(has[:-1]), has[-1]] if has[1:] else has)}"
    if adversary.membership != "known":
        knows = "matches quasi-identifiers to groups" + (f"; she {knows}" if has else "")
    say(f"{history.releases} releases, {history.people:,} people; the adversary {knows}")


def say_summaries(made: Sequence[AttackRun], one_of_many: bool = False) -> None:
    """One line for every attack, and what those with a budget did not get to the end of."""
    say_table(("attack", *_FIGURES), [(one.label, *asdict(one.result.summary).values()) for one in made])
    left = (
        "only one value is left under one assignment of people to groups, of many that fit; the true groups may leave "
        "more (matched needs none)"
        if one_of_many
        else "only one value is left"
    )
    say(
        f"determined: {left}; above .9, .5: shares of people by confidence, the adversary's probability "
        "of the true value; gain: what she knows beyond the share of the value in the group; everyone at the worst"
    )
    for one in made:
        if one.unclear is not None:
            _say_unclear(one.label, one.unclear, one.result.summary.people)


def _say_unclear(label: str, unclear: Unclear, people: int) -> None:
    if unclear.undecided:
        share = unclear.people / max(people, 1)
        say(
            f"{label}: {unclear.people:,} more people ({percent(share)}, {unclear.undecided:,} episodes) are "
            "undecided: the budget ran out before a second value was found, so they may be determined too"
        )
    for sentence in unclear.besides():
        say(f"{label}: {sentence}")


def say_over_time(made: Sequence[AttackRun]) -> None:
    """What was found after each release: the share determined and the mean confidence of every attack."""
    for title, figure in (("determined", "determined_share"), ("mean confidence", "mean_confidence")):
        columns = [[getattr(part, figure) for part in one.after_release or ()] for one in made]
        rows = [(i, *cells) for i, cells in enumerate(zip(*columns, strict=True), start=1)]
        say(f"{title} after each release, of everyone until then")
        say_table(("after", *(one.label for one in made)), rows)


def say_beliefs(beliefs: Sequence[BeliefResult]) -> None:
    """What those who believe are sure of, row by row."""
    rows = [line for result in beliefs for line in _lines(f"{result.name}, {result.label}", result.overall)]
    say_table(("rows of releases", *_SURENESS), rows)
    if len(beliefs) == 1:
        parts = enumerate(beliefs[0].releases, start=1)
        say_table(("#", *_SURENESS), [line for i, part in parts for line in _lines(i, part)])
    else:
        by_release = zip(*(result.releases for result in beliefs), strict=True)
        gains = [(i, *(part.everyone.gain for part in parts)) for i, parts in enumerate(by_release, start=1)]
        several = len({result.name for result in beliefs}) > 1
        names = [f"{result.name}, {result.label}" if several else result.label for result in beliefs]
        say_table(("# gain", *names), gains)
    say(
        "gain: what she knows beyond the share of the value in the group, (p - share) / (1 - share); confidence p: "
        "her probability of the true value; above .5, .9: shares of rows"
    )
    for result in beliefs:
        made = ", ".join(f"{name} {percent(share)}" for name, share in result.overall.used.items())
        share = percent(result.ever_above_nine_tenths)
        say(
            f"{result.name}, {result.label}: surer than .9 at some time, without being told the value, of {share} of "
            f"{result.people:,} people; posteriors: {made} of rows, {result.overall.fallbacks:.2%} fell back to shares"
        )


def say_identities(found: Sequence[IdentityResult]) -> None:
    """What those found who seek no value, of all releases and of each."""
    from republish.attacks import Cracked, Linked, ToldApart

    for one in found:
        parts = [("all", one.overall), *enumerate(one.releases, start=1)]
        if isinstance(one.overall, Linked):
            say_table(("linkage", *_LINKED), [(i, *_linked(part)) for i, part in parts])
            say(
                "alone: nobody else of the last release fits all cells of a person while her quasi-identifiers stayed; "
                "fewer than k: fewer than {one.overall.k} do; batches: those that may be hers, to an adversary who "
                "knows her quasi-identifiers and in which releases she is"
            )
            _say_insensitive(one.overall)
        elif isinstance(one.overall, Cracked):
            ways = [field.name for field in fields(one.overall)][6:]
            say_table(
                (one.name, "people", *_CRACKED, *ways),
                [
                    (i, *(value for at, value in enumerate(asdict(part).values()) if at != 1))
                    for i, part in parts
                ],
            )
            say(
                "left: rows of a person's groups that may still be hers, to an adversary who knows her "
                f"quasi-identifiers and since when she is there; fewer than k: than {one.overall.k}; one value: all "
                f"rows left have it; {', '.join(ways)}: shares with fewer than k by each way alone"
            )
        elif isinstance(one.overall, ToldApart):
            say_table(("swap", "pairs", "distinguished"), [(i, *asdict(part).values()) for i, part in parts])
            say(
                "two people of a group exchange their values and the publisher runs again with the same chance; "
                "distinguished: the share of pairs with whom anything public differs then"
            )
        else:
            say_table(("presence", *_PRESENCE), [(i, *asdict(part).values()) for i, part in parts])
            say(
                "to an adversary who has a register of everyone ever in the series; shown absent: no cell admits them; "
                "shown present: their cell has as many rows as the register people; mean: her probability that they "
                "are present"
            )


def _linked(part: Identity) -> tuple[Any, ...]:
    figures = list(asdict(part).values())
    return (figures[0], *figures[2:7])


def _say_insensitive(found: Linked) -> None:
    """How far insensitive columns lead, where there are any."""
    if found.unique_cells is None:
        return
    more = ""
    if found.same_cells is not None and found.followed_by_cells is not None:
        more = (
            f"; of people in several releases they never change for {percent(found.same_cells)} and name the rows of "
            f"{percent(found.followed_by_cells)} every time"
        )
    say(
        f"insensitive columns are published as they are and link rows too: they are unique in a release for "
        f"{percent(found.unique_cells)} of people{more}"
    )


def say_measures(measures: SeriesMeasures, promises: Sequence[str]) -> None:
    """What happened in every release; to signatures and correlations where the series promises something of them."""
    from republish.verify.promises import CONSTANT_SIGNATURES

    names = {promise.partition("=")[0] for promise in promises}
    signatures, correlations = bool(names & set(CONSTANT_SIGNATURES)), "hc-safety" in names
    rows = [
        (i, part.people, part.groups, part.counterfeits)
        + ((part.vulnerable, part.unexplained) if signatures else ())
        + ((part.hc_unsafe,) if correlations else ())
        for i, part in enumerate(measures.releases, start=1)
    ]
    about_signatures = ("vulnerable", "unexplained") if signatures else ()
    about_correlations = (f"hc-unsafe (n={measures.degree})",) if correlations else ()
    say_table(("#", "people", "groups", "counterfeits", *about_signatures, *about_correlations), rows)
    if signatures:
        said = (
            "vulnerable: people whose set of values to hide in changed after a changed value or a return; unexplained: "
            "it changed for no such reason"
        )
        unsafe = "; hc-unsafe: groups of which all but fewer than n members were in one earlier group"
        say(said + (unsafe if correlations else ""))


def say_left_out(left_out: Mapping[str, str]) -> None:
    """Which attacks were not made, and why."""
    for name, reason in left_out.items():
        say(f"{name}: left out, for {reason}")


def draw(made: Sequence[AttackRun], path: Path) -> None:
    """Every attack over the releases; where only believers were asked for at once, their gain and confidence."""
    from republish.show.plots import plot_attacks

    plot_attacks({one.label: one.after_release or () for one in made}, path)


def draw_beliefs(beliefs: Sequence[BeliefResult], path: Path) -> None:
    """One curve for each adversary who believes something of her own."""
    from republish.show.plots import plot_beliefs

    labels: dict[int, list[str]] = {}
    for result in beliefs:
        labels.setdefault(id(result.releases), []).append(result.label)
    curves = {(result.name, ", ".join(labels[id(result.releases)])): result for result in beliefs}
    several = len({name for name, _ in curves}) > 1
    plot_beliefs(
        {
            f"{f'{name}, ' if several else ''}{label} ({result.posterior})": result
            for (name, label), result in curves.items()
        },
        path,
    )


def _lines(name: Any, part: Believed) -> list[tuple[Any, ...]]:
    """A row of figures, and where people were compromised a second one about the others."""
    lines = [(name, *asdict(part.everyone).values())]
    if part.uncompromised is not None:
        lines.append((f"{name}, not told", *asdict(part.uncompromised).values()))
    return lines
