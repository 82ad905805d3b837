"""Publishers side by side on the same views: how many people each kind of adversary finds out, and what it costs.

Each candidate publishes all views in memory and is attacked. Attacks are bounded in time, so that people may be left of
whom they cannot tell: these count as found out here, for nothing may look safe for lack of time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from republish.attacks import Adversary, attack
from republish.attacks.history import history_of
from republish.attacks.linear import WHO, linear
from republish.attacks.replaying.replay import Replay
from republish.attacks.replaying.swap import swap_test
from republish.attacks.results import AttackResult
from republish.attacks.run import attacked
from republish.attacks.source import Source
from republish.errors import CannotPublish, PolicyError
from republish.knowledge import Knowledge
from republish.metrics.queries import query_error
from republish.microdata import Microdata
from republish.policy import Policy
from republish.publishers import Publisher, parameters_of
from republish.release.forms import TwoTables
from republish.requirements import requirements_text
from republish.tune.rehearsal import REHEARSED, Rehearsal

COMPROMISED = 0.04
ADVERSARIES = {
    "releases": "compares releases",
    "together": f"solves all releases together, knowing {COMPROMISED:.0%} of the people",
    "program": "knows the program, and all values but two",
    "order": "knows how values follow each other",
}
"""Whom candidates are tried against. Of pairs she tells apart who knows the program; all other shares are of people."""
_QUICK = replace(WHO, effort=10_000)
_PAIRS, _QUERIES, _ALWAYS = 10, 300, 3
Step = Callable[[int, int], None]


class TriedPolicy(NamedTuple):
    """A publisher and the form that it publishes in."""

    publisher: Publisher
    form: TwoTables | None


@dataclass(frozen=True)
class ComparedPublisher:
    """What came of one candidate over all views.

    Attributes:
        found: the share that each of `ADVERSARIES` finds out; those whom an attack could not tell of are counted in.
        error: how far counts by quasi-identifiers and value are from the true ones, in the median, at the last view.
        faked: rows that are nobody's, as a share of the rows.
        late: rows that wait, are held as they were, or are left out, as a share of the rows.
        refused: why the views cannot be published so; then there is nothing else.
    """

    publisher: Publisher
    form: TwoTables | None
    found: dict[str, float]
    error: float = 0.0
    faked: float = 0.0
    late: float = 0.0
    refused: str = ""
    recommended: bool = False

    @property
    def worst(self) -> float:
        """The most that any of the adversaries finds out."""
        return max(self.found.values(), default=1.0)

    @property
    def title(self) -> str:
        """The publisher and what tells it from others, in a few words."""
        chosen = parameters_of(self.publisher)
        said = [
            f"{name}={chosen[name]}" for name in ("k", "batches", "size", "m", "t", "j") if name in chosen
        ]
        said += [requirements_text(self.publisher.require)] if self.publisher.require else []
        tables = "one table" if self.form is None else "two tables"
        return f"{self.publisher.name} ({', '.join([*said, tables])})"

    def as_dict(self) -> dict[str, Any]:
        """A JSON document."""
        return {
            "publisher": self.publisher.name,
            "parameters": parameters_of(self.publisher),
            "form": None if self.form is None else self.form.document(),
            "title": self.title,
            "found": self.found,
            "worst": None if self.refused else self.worst,
            "error": self.error,
            "faked": self.faked,
            "late": self.late,
            "refused": self.refused,
            "recommended": self.recommended,
        }


def compare(
    tried: Sequence[TriedPolicy],
    views: Sequence[Microdata],
    knowledge: Knowledge | None,
    go_on: Callable[[], bool],
    step: Step,
) -> tuple[ComparedPublisher, ...]:
    """Every candidate on these views, in order, until `go_on` says that time is over; three are always tried."""
    found: list[ComparedPublisher] = []
    for number, candidate in enumerate(tried):
        step(number, len(tried))
        if len(found) >= _ALWAYS and not go_on():
            break
        found.append(compared(candidate, views, knowledge))
    step(len(tried), len(tried))
    return tuple(found)


def compared(
    candidate: TriedPolicy, views: Sequence[Microdata], knowledge: Knowledge | None
) -> ComparedPublisher:
    """One candidate, published and attacked."""
    publisher, form = candidate
    try:
        series = Rehearsal.of(Policy(views[0].schema, publisher, 0, one_table=True, form=form), views)
    except (CannotPublish, PolicyError) as problem:
        return ComparedPublisher(publisher, form, {}, refused=str(problem))
    rows = max(sum(one.rows for one in series.made), 1)
    counted_on = publisher.keeps_counts
    faked = sum(one.counterfeits for one in series.made) / rows
    left = sum(one.suppressed for one in series.made) / rows
    last = series.made[-1]
    return ComparedPublisher(
        publisher,
        form,
        _found(series, knowledge),
        query_error(last.release, last.view, _QUERIES, 1, sensitive=True).median,
        0.0 if counted_on else faked,
        left + faked if counted_on else left,
    )


def _found(series: Rehearsal, knowledge: Knowledge | None) -> dict[str, float]:
    """What each adversary finds out who can be let loose on the series."""
    her = Adversary(compromised=COMPROMISED)
    found = {
        "releases": attack(series, her, ["tau"])[0].summary.determined_share or 0.0,
        "together": determined(series, len(series.made), 0),
    }
    try:
        tested = swap_test(
            Replay(series.publisher, REHEARSED), [one.view for one in series.made[:2]], pairs=_PAIRS
        )
        found["program"] = sum(one.told_apart for one in tested) / max(sum(one.pairs for one in tested), 1)
    except CannotPublish:  # without those who waited
        pass
    if knowledge is not None:
        sure = attack(series, replace(her, knowledge=knowledge), ["joint"])[0].summary
        found["order"] = sure.above_nine_tenths or 0.0
    return found


def determined(series: Source, releases: int, seed: int) -> float:
    """The share of people whom the linear attack determines, or cannot tell of, in the first so many releases."""
    history = attacked(history_of(series).until(releases), "linear").knowing_forgotten()
    known = Adversary(compromised=COMPROMISED, seed=seed).known(history)
    solved = linear(history, known, budget=_QUICK)
    found = AttackResult.of("linear", solved, 2, known).summary
    return (found.determined_share or 0.0) + solved.unclear(known).people / max(found.people, 1)
