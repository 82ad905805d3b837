"""BCF attacks: how many rows of somebody's group are hers after counts of two neighbouring releases are compared.

Fung, Wang, Fu and Pei, "Anonymity for continuous data publishing", EDBT 2008; thesis 2.3.2. She knows of somebody the
quasi-identifiers and since when she is there, and nothing of others. A row of her group is *cracked* that cannot be
hers; what is left of the group is her anonymity. With a and b rows of one value in her groups of two releases:

- forward, in the earlier release: a - min(a, b) of the a rows went elsewhere, and she did not;
- cross, in the later one: b - min(a, b) of the b rows came from elsewhere or are new, and she is neither;
- backward, of somebody who is new in a later release of data that only grew: of the rows with her group's value, all
  those of the earlier release in cells comparable with hers, A, went on into comparable cells, C rows in all, hers
  among them; at least A - (C - b) of them went into her group, and are not hers.

Forward and cross leave the same number, the sum of min(a, b); so each counts where it is asked.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.attacks.growing.correspondence import Correspondence, Passage, shared
from republish.attacks.growing.left import Left
from republish.attacks.history import History
from republish.attacks.identity import Corresponding, IdentityResult, Verdicts, mean
from republish.attacks.matching.sightings import MatchedView
from republish.kernels import kernel


def bcf(history: History, sightings: Sequence[MatchedView], k: int | None = None) -> IdentityResult:
    """What is left of everyone's groups; k is by default the rows of the smallest group."""
    found = Correspondence.of(history, sightings)
    seen, least = found.history, found.least if k is None else k
    together, values = _in_common(found)
    rows, kinds = seen.sizes[found.group], np.diff(seen.value_start)[found.group]
    forward = Left(np.where(found.goes_on, together, rows), np.where(found.goes_on, values, kinds))
    came = np.append(False, found.goes_on[:-1])[: len(rows)]
    cross = Left(np.where(came, np.roll(together, 1), rows), np.where(came, np.roll(values, 1), kinds))
    new_left, new_values = _of_newcomers(found)
    backward = Left(
        np.where(found.newcomer, new_left[found.group], rows),
        np.where(found.newcomer, new_values[found.group], kinds),
    )
    worst = forward.least(cross).least(backward)
    ways = ((forward, found.goes_on), (cross, came), (backward, found.newcomer))
    who, release = seen.who[found.order], seen.release[found.order]

    def figures(here: BoolArray) -> Corresponding:
        shares = [
            mean(way.of_people(who, here & asked).rows < least) if (here & asked).any() else None
            for way, asked in ways
        ]
        return Corresponding(*worst.of_people(who, here).figures(least), *shares)

    parts = [figures(release == i) for i in range(seen.releases)]
    overall = figures(np.ones(len(who), dtype=np.bool_))
    verdicts = Verdicts(who, release, 1.0 / np.maximum(worst.rows, 1), worst.rows <= 1)
    return IdentityResult.of("bcf", overall, parts, verdicts, history.people)


def _in_common(found: Correspondence) -> tuple[IntArray, IntArray]:
    """Of everyone who goes on, the sum of min(a, b) over values, and how many values her two groups share."""
    count = found.history.value_count.astype(np.int64)
    first, second, pair = found.pairs()
    start, one, other = shared(found.history, first, second)
    so_far = np.append(0, np.cumsum(np.minimum(count[one], count[other])))
    rows, values = np.diff(so_far[start]), np.diff(start)
    return np.append(rows, 0)[pair], np.append(values, 0)[pair]


def _of_newcomers(found: Correspondence) -> tuple[IntArray, IntArray]:
    """Of every group the rows, and the values, that somebody new may have."""
    left = found.history.value_count.astype(np.int64)
    for passage in found.passages:
        if passage is not None:
            rows = slice(passage.second, passage.second + len(passage.room))
            left[rows] -= cracked(passage)
    group = np.repeat(np.arange(found.history.groups), np.diff(found.history.value_start))
    groups = found.history.groups
    return (
        np.bincount(group, weights=left, minlength=groups).astype(np.int64),
        np.bincount(group, weights=left > 0, minlength=groups).astype(np.int64),
    )


def cracked(passage: Passage) -> IntArray:
    """Of every bundle of the later release, how many rows at least are not new, as the backward attack counts."""
    order = np.argsort(passage.to, kind="stable")
    into = np.append(0, np.cumsum(np.bincount(passage.to, minlength=len(passage.room)))).astype(np.int64)
    found: IntArray = _cracked(passage, into, passage.source[order])
    return found


@kernel
def _cracked(passage, into, origin):  # type: ignore[no-untyped-def]
    """A - (C - b) of every bundle, at least 0; `origin[into[v]:into[v + 1]]` are those comparable with bundle v."""
    found = np.zeros(len(passage.room), np.int64)
    counted = np.full(len(passage.room), -1, np.int64)
    for v in range(len(passage.room)):
        before, after = 0, 0
        for place in range(into[v], into[v + 1]):
            u = origin[place]
            before += passage.supply[u]
            for edge in range(passage.start[u], passage.start[u + 1]):
                w = passage.to[edge]
                if counted[w] != v:
                    counted[w] = v
                    after += passage.room[w]
        found[v] = max(0, before - (after - passage.room[v])) if before > 0 else 0
    return found
