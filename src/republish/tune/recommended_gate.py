"""A gate whose limit was tried: at the beginning on past views and such as might follow, later on releases too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from republish.attacks.source import Source
from republish.errors import PolicyError
from republish.gate.limits import Gate
from republish.microdata import Microdata
from republish.policy import Policy
from republish.schema import Schema
from republish.tune.compare import COMPROMISED, TriedPolicy, determined
from republish.tune.dry_run import simulated
from republish.tune.rehearsal import Rehearsal
from republish.tune.views import past_views

if TYPE_CHECKING:
    from republish.series import Series

COMPARED_ROWS = 1_000
"""Rows of a view that is attacked for a recommendation, for attacks take long."""
_DRAWS, _LEAST_LIMIT, _MOST_LIMIT = 3, 0.01, 0.05


def passing_gate(candidate: TriedPolicy, schema: Schema, views: Sequence[Microdata]) -> Gate | None:
    """A gate that lets a series pass which goes on like these views, twice what was found being allowed.

    `None` where so much is found that a limit would mean nothing.
    """
    policy = Policy(schema, candidate.publisher, 0, form=candidate.form)
    limit = _limit(_worst(Rehearsal.of(policy, views)))
    return None if limit > _MOST_LIMIT else _gate(policy, limit)


def recommended_gate(series: Series, views: Sequence[Any] = ()) -> Gate:
    """The gate that is recommended for a series that goes on: its limit lets its releases pass, and what may follow.

    Tried are the releases so far; with raw `views`, oldest first, also a series that goes on like these.

    Raises:
        PolicyError: nothing is sensitive, there is too little to try it on, or so much is found out that a limit would
            mean nothing.
    """
    stored = series.snapshot()
    policy, schema = stored.policy, stored.schema
    _gate(policy, _LEAST_LIMIT)  # refused before anything is tried
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
    limit = _limit(max(found))
    if limit > _MOST_LIMIT:
        raise PolicyError(
            f"no gate is recommended for this series: {max(found):.1%} of the people are found out already, or by "
            f"releases like these, and a limit of twice as much, above {_MOST_LIMIT:.0%}, would mean nothing. Give "
            "limits of your own, or begin a series with another publisher"
        )
    return _gate(policy, limit)


def _worst(series: Source) -> float:
    """The largest share that is determined in the first two releases, in half of them and in all, in several draws."""
    releases = len(series.records)
    ends = sorted({min(2, releases), (releases + 1) // 2, releases})
    return max(determined(series, end, seed) for end in ends for seed in range(_DRAWS))


def _limit(worst: float) -> float:
    return max(_LEAST_LIMIT, round(2 * worst + 0.0005, 3))


def _gate(policy: Policy, limit: float) -> Gate:
    gate = Gate(max_determined=limit, compromised=COMPROMISED)
    return gate.suiting(policy.publisher.knowledge, policy.schema.sensitive is not None, policy.publisher)
