"""A gate whose limit was tried: at the beginning on past views and such as might follow, later on releases too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from republish.attacks.registry import BELIEVES, names
from republish.attacks.run import run, target_of
from republish.attacks.source import Source
from republish.errors import CannotPublish, PolicyError
from republish.gate.limits import Gate, gate_from_mapping
from republish.microdata import Microdata
from republish.policy import Policy
from republish.publishers import Publisher, parameters_of
from republish.release.forms import TwoTables
from republish.schema import Schema
from republish.tune.compare import COMPROMISED, TriedPolicy, determined
from republish.tune.dry_run import simulated
from republish.tune.rehearsal import Rehearsal
from republish.tune.views import MOST_ROWS, past_views

if TYPE_CHECKING:
    from republish.knowledge import Extracted, Knowledge
    from republish.series import Series
    from republish.tune.recommend import Recommendation

COMPARED_ROWS = 1_000
"""Rows of a view that is attacked for a recommendation, for attacks take long."""
NOTHING_SENSITIVE = "no gate is set, for no column is sensitive, and there is nothing for attacks to seek"
UNTRIED = "no gate is set, for none was tried: that takes a past view, and publishers that are compared on it"
_LARGE = (
    f"no gate is set, for the views have more than {MOST_ROWS:,} rows: it attacks all releases at every publish, which "
    "then takes long and cannot be made in parts (--gate recommended sets one)"
)
_DRAWS, _LEAST_LIMIT, _MOST_LIMIT = 3, 0.01, 0.05
_MOST_WITH_KNOWLEDGE = 0.2  # for of some people knowledge alone is sure, whatever is released


class TriedGate(NamedTuple):
    """A gate that was tried, `None` where none lets such a series pass; and why none is set unless it is asked for."""

    gate: Gate | None
    why_not: str = ""


def passing_gate(candidate: TriedPolicy, schema: Schema, views: Sequence[Microdata], rows: int) -> TriedGate:
    """A gate that lets a series pass which goes on like these views, twice what was found being allowed.

    The views may be a sample of such as have so many `rows`.
    """
    policy = Policy(schema, candidate.publisher, 0, form=candidate.form)
    worst = _worst(Rehearsal.of(policy, views))
    too_much = worst.too_much("in a series that goes on like these views")
    if not too_much:
        return TriedGate(_gate(policy.publisher, schema, worst.limits), _LARGE if rows > MOST_ROWS else "")
    return TriedGate(
        None, f"no gate is recommended: {too_much}. Give limits of your own, or choose another publisher"
    )


def gate_for(
    publisher: Publisher,
    form: TwoTables | None,
    schema: Schema,
    views: Sequence[Any],
    advice: Recommendation | None = None,
    asked: bool = True,
) -> TriedGate:
    """The gate of a new series: that of the `advice` where the publisher is as advised, else one that is tried now.

    Tried on the raw `views`, oldest first, and such as might follow. Where nobody `asked` for a gate, none is tried
    that was not to be compared, and none set that makes publishing slow.

    Raises:
        RepublishError: a view cannot be read; the message says which.
    """
    if advice is not None and not asked and not (advice.compared and advice.answers.again):
        return TriedGate(None, advice.no_gate)
    if advice is not None and advice.compared and _chosen(advice.publisher) == _chosen(publisher):
        found = TriedGate(advice.gate, advice.no_gate)
    else:
        found = _tried(publisher, form, schema, views)
    return found if asked or not found.why_not else TriedGate(None, found.why_not)


def _chosen(publisher: Publisher) -> tuple[Any, ...]:
    return publisher.name, parameters_of(publisher), publisher.require


def _tried(publisher: Publisher, form: TwoTables | None, schema: Schema, views: Sequence[Any]) -> TriedGate:
    if schema.sensitive is None or not views:
        return TriedGate(None, UNTRIED if schema.sensitive is not None else NOTHING_SENSITIVE)
    read = past_views(views, schema)
    series = simulated(read.only(COMPARED_ROWS, schema))
    try:
        return passing_gate(TriedPolicy(publisher, form), schema, series, read.rows)
    except (CannotPublish, PolicyError) as problem:
        return TriedGate(None, f"no gate could be tried, for {publisher.name} refuses such views: {problem}")


def recommended_gate(series: Series, views: Sequence[Any] = ()) -> Gate:
    """The gate that is recommended for a series that goes on: its limit lets its releases pass, and what may follow.

    Tried are the releases so far; with raw `views`, oldest first, also a series that goes on like these.

    Raises:
        PolicyError: nothing is sensitive, there is too little to try it on, or so much is found out that a limit would
            mean nothing.
    """
    stored = series.snapshot()
    policy, schema = stored.policy, stored.schema
    _gate(policy.publisher, schema, {"max_determined": _LEAST_LIMIT})  # refused before anything is tried
    found = [_worst(stored)] if len(stored.records) > 1 else []
    if views:
        future = simulated(past_views(views, schema).only(COMPARED_ROWS, schema))
        found.append(_worst(Rehearsal.of(Policy(schema, policy.publisher, 0, form=policy.form), future)))
    if not found:
        raise PolicyError(
            "a limit is recommended that was tried on at least two releases, or on past views, and there are "
            f"{len(stored.records)} releases and no view; give views (--from VIEW), or limits such as "
            "max_determined=0.01,compromised=0.04"
        )
    worst = _highest(found)
    if too_much := worst.too_much("already, or by releases like these"):
        raise PolicyError(
            f"no gate is recommended for this series: {too_much}. Give limits of your own, or begin a series with "
            "another publisher"
        )
    return _gate(policy.publisher, schema, worst.limits)


class _Worst(NamedTuple):
    """The largest share that is determined; and of whom an adversary with the publisher's knowledge is surer than .9.

    The latter is `None` where the publisher has no knowledge, and is not limited then.
    """

    determined: float
    nearly_sure: float | None = None

    @property
    def limits(self) -> dict[str, float]:
        """Twice what was found, and at least a hundredth."""
        sure = {} if self.nearly_sure is None else {"max_above_nine_tenths": _limit(self.nearly_sure)}
        return {"max_determined": _limit(self.determined), **sure}

    def too_much(self, when: str) -> str:
        """Why limits would mean nothing, as a clause; empty where they would mean something."""
        most = _MOST_LIMIT if self.nearly_sure is None else _MOST_WITH_KNOWLEDGE
        for found, whom in (
            (self.determined, "of the people are found out"),
            (self.nearly_sure, "of the people have a value of which an adversary is surer than .9"),
        ):
            if found is not None and _limit(found) > most:
                return f"{found:.1%} {whom} {when}, and a limit of twice as much, above {most:.0%}, would mean nothing"
        return ""


def _worst(series: Source) -> _Worst:
    """The worst in the first two releases, in half of them and in all, in several draws."""
    releases = len(series.records)
    ends = sorted({min(2, releases), (releases + 1) // 2, releases})
    if series.reasoning is not None:
        return _believed(series, series.reasoning.knowledge, ends)
    return _Worst(max(determined(series, end, seed) for end in ends for seed in range(_DRAWS)))


def _believed(series: Source, knowledge: Knowledge | Extracted, ends: Sequence[int]) -> _Worst:
    """The worst that the attacks of a gate find with knowledge, which weigh beliefs and exclude nothing."""
    gate = Gate(
        attacks=tuple(names(BELIEVES)), compromised=COMPROMISED, draws=_DRAWS, max_above_nine_tenths=1.0
    )
    adversaries = gate.adversaries(knowledge)
    target = target_of(series, adversaries[0], gate.attacks)
    tried = [
        run(target.until(end), adversary, name).summary
        for name in gate.attacks
        for end in ends
        for adversary in adversaries[: gate.drawn(name)]
    ]
    return _Worst(max(one.determined_share for one in tried), max(one.above_nine_tenths for one in tried))


def _highest(found: Sequence[_Worst]) -> _Worst:
    """The worst of several series of one publisher."""
    sure = [one.nearly_sure for one in found if one.nearly_sure is not None]
    return _Worst(max(one.determined for one in found), max(sure, default=None))


def _limit(worst: float) -> float:
    return max(_LEAST_LIMIT, round(2 * worst + 0.0005, 3))


def _gate(publisher: Publisher, schema: Schema, limits: Mapping[str, float]) -> Gate:
    gate = gate_from_mapping({**limits, "compromised": COMPROMISED, "draws": _DRAWS})
    return gate.suiting(publisher.knowledge, schema.sensitive is not None, publisher)
