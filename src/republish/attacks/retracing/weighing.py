"""What all attacks share that weigh worlds by how groups came about: bucket after bucket, counted or drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import factorial, inf, prod

import numpy as np

from republish.arrays import BoolArray, FloatArray, Int64Array
from republish.attacks.history import History
from republish.attacks.retracing.full_values import full_value_odds
from republish.attacks.retracing.shares import RetracedFindings, Shares, dealt, findings
from republish.attacks.retracing.traces import AlikeGroups, Trace, buckets, known_entries
from republish.spatial.threads import side_by_side

UNSETTLED = 0.1
"""Probabilities whose two standard errors, as walks differ, are more have not settled."""
LARGE = 50
"""Of so many groups a bucket is large."""
_ENOUGH = 50  # so many worlds that break nothing are enough to count no others
_STUCK = 2.0  # so many times as many broken as in another walk
_STARTS = 2  # for every walk that is wanted, so many are begun at most
_ROUND, _COLDEST = 20, 4  # the sweeps of a round, and those at the end of it that count
_SELDOM = 0.3  # a value that was never drawn may be one that is seldom drawn


@dataclass(frozen=True)
class Effort:
    """How hard to try: buckets of at most so many `worlds` and `groups` are counted, others walked through.

    What a world breaks costs `hot` in the first of so many `sweeps` over all groups, ever more in the next, and `cold`
    in the last. Walks that get stuck on the way are begun anew, until there are so many `walks` or no hope. Each then
    goes on for so many `rounds`: it gets as warm as `mild`, grows cold again, and the worlds at the end are counted.
    Small buckets get more of both, at least so many `moves` of a group. In buckets of more than LARGE groups a world
    breaks more, so that walks begin at a cost that is as many times less, and get warm at one of twice that share.
    """

    worlds: int = 2000
    groups: int = 8
    walks: int = 4
    sweeps: int = 500
    rounds: int = 15
    moves: int = 20_000
    hot: float = 0.5
    mild: float = 1.4
    cold: float = 5.0

    def counts_all(self, fixed: BoolArray) -> bool:
        """Whether a bucket, in whose groups these values are known, is small enough."""
        free = (~fixed).sum(axis=1)
        return (prod(factorial(int(k)) for k in free) if len(free) <= self.groups else inf) <= self.worlds

    def cooling(self, groups: int) -> FloatArray:
        """What is broken costs in every sweep until a walk is cold."""
        sweeps = max(self.sweeps, self.moves // groups)
        return _colder(self.hot * min(1.0, LARGE / groups), self.cold, sweeps, sweeps // 20 + 1)

    def going_on(self, groups: int) -> FloatArray:
        """What is broken costs in every sweep from then on."""
        rounds = max(self.rounds, self.moves // (groups * _ROUND))
        return np.tile(_colder(self.mild * min(1.0, 2 * LARGE / groups), self.cold, _ROUND, _COLDEST), rounds)


def _colder(first: float, last: float, sweeps: int, coldest: int) -> FloatArray:
    """Costs that grow from sweep to sweep until the coldest ones."""
    return np.append(np.geomspace(first, last, sweeps - coldest, endpoint=False), np.full(coldest, last))


@dataclass(frozen=True)
class Bucketful:
    """A bucket to be weighed: its groups, the release it is of, whose value is known, and the world as it is."""

    groups: AlikeGroups
    trace: Trace
    fixed: BoolArray
    world: Int64Array

    @property
    def real(self) -> BoolArray:
        return self.groups.entry.ravel() >= 0


Odds = tuple[FloatArray, BoolArray, BoolArray]
"""What every value weighs for every person of a bucket, whether it is possible, and who has not settled."""
Weigh = Callable[[Bucketful, np.random.Generator], Odds | None]
Walk = Callable[[FloatArray, int, Int64Array], float]
"""Goes on from the world where it is: costs, seed, and counts of who has which value; how many are broken when cold."""


def weighed(
    history: History, traces: Sequence[Trace], known: BoolArray, rule: str, key: str, weigh: Weigh
) -> RetracedFindings:
    """What releases by this rule give away, each looked at alone; other releases give shares alone.

    Where `weigh` can say nothing of a bucket its people have not settled. What it says is kept under the `key`.
    """
    parts = []
    for number, trace in enumerate(traces):
        kept = key.encode() + known.tobytes()
        if kept not in trace.found:
            trace.found[kept] = _release(history, number, trace, known, rule, weigh)
        parts.append(trace.found[kept])
    return findings(history, parts)


def _release(
    history: History, number: int, trace: Trace, known: BoolArray, rule: str, weigh: Weigh
) -> Shares:
    """The shares of one release."""
    shares = dealt(history, number, known)
    if trace.zone is not None:
        _weigh_full_values(shares, history, number, trace, known)
    if trace.forming is None or trace.forming.rule != rule:
        return shares
    first = history.member_start[history.group_start[number]]
    rng = np.random.default_rng(number)
    for groups in buckets(history, number, trace):
        fixed = known_entries(history, groups, known)
        if not groups.single or fixed.all() or len(groups.entry) < 2:
            continue
        who = groups.entry[groups.entry >= 0] - first
        odds = weigh(Bucketful(groups, trace, fixed, true_world(history, groups)), rng)
        if odds is None or not odds[0].any():
            shares.unsettled[who] = True
        else:
            shares.put(who, *odds)
    return shares


def _weigh_full_values(shares: Shares, history: History, number: int, trace: Trace, known: BoolArray) -> None:
    """Weigh what heights of buckets say of people who were dealt."""
    assert trace.zone is not None
    first = history.member_start[history.group_start[number]]
    for alike in buckets(history, number, trace):
        for groups in alike.by_zone(trace.zone) if alike.single else ():
            world = true_world(history, groups)
            full = (groups.entry.ravel()[world] >= 0).all(axis=0)
            fixed = known_entries(history, groups, known)
            if full.all() or not full.any() or len(world) < 2 or (fixed == (groups.entry >= 0)).all():
                continue
            who = groups.entry[groups.entry >= 0] - first
            odds = full_value_odds(groups, fixed, world)
            if odds is None:
                shares.unsettled[who] = True
            else:
                shares.put(who, *odds, np.zeros(len(who), dtype=np.bool_))


def counted(weight: FloatArray) -> Odds:
    """Odds of worlds that were counted, all of them."""
    return weight, weight > 0, np.zeros(len(weight), dtype=np.bool_)


def drawn(begin: Callable[[int], Walk], bucket: Bucketful, effort: Effort, rng: np.random.Generator) -> Odds:
    """Odds of worlds that are drawn by walks, each of which begins anywhere by its seed.

    A walk that gets stuck while it cools down, where worlds break far more than in another one, does not count. Where
    every other met enough that break nothing no others count; else all do, those that break little the most. Whose
    probabilities differ from walk to walk has not settled, nor has anybody where only one walk is left.
    """
    n = len(bucket.world)
    found: list[tuple[float, Walk]] = []
    while len(through := _through(found)) < effort.walks and len(found) < _STARTS * effort.walks:
        more = [begin(_seed(rng)) for _ in range(effort.walks - len(through))]
        broken, _ = _walked(more, effort.cooling(n), bucket, rng)
        found += zip(broken, more, strict=True)
    _, counts = _walked(through, effort.going_on(n), bucket, rng)
    whole = counts[:, 1, 0].sum(axis=1).min() >= _ENOUGH
    counts = counts[:, int(whole)]
    likely = counts / counts.sum(axis=2, keepdims=True)
    off = np.ones((len(likely[0]), 1))
    if len(likely) > 1:
        off = 2.0 * likely.std(axis=0, ddof=1) / np.sqrt(len(likely))
    weight = counts.sum(axis=0) + _SELDOM
    return weight, np.ones_like(weight, dtype=np.bool_), off.max(axis=1) > UNSETTLED


def _walked(
    walks: Sequence[Walk], costs: FloatArray, bucket: Bucketful, rng: np.random.Generator
) -> tuple[list[float], Int64Array]:
    """Go on with all walks: what each breaks when cold, and counts of all worlds and of those that break nothing.

    The counts are `[walk, which of the two, person, value]`.
    """
    n, w = bucket.world.shape
    counts = np.zeros((len(walks), 2, n * w, w), dtype=np.int64)
    tasks = [(walk, _seed(rng), own) for walk, own in zip(walks, counts, strict=True)]
    broken = side_by_side(lambda task: task[0](costs, task[1], task[2]), tasks)
    return broken, counts[:, :, bucket.real]


def _through(found: Sequence[tuple[float, Walk]]) -> list[Walk]:
    """The walks that did not get stuck."""
    least = min((broken for broken, _ in found), default=0.0)
    return [walk for broken, walk in found if broken <= _STUCK * (least + 1.0)]


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


def true_world(history: History, bucket: AlikeGroups) -> Int64Array:
    """The entry of each value in every group as it is; rows of nobody have the values that are left."""
    n, w = bucket.entry.shape
    assert history.truth is not None
    world = np.full((n, w), -1, dtype=np.int64)
    group, i = np.nonzero(bucket.entry >= 0)
    value = np.searchsorted(bucket.code, history.truth[bucket.entry[group, i]])
    world[group, value] = group * w + i
    nobodys = np.flatnonzero(bucket.entry.ravel() < 0)  # as many in each group as are missing there
    world[world < 0] = nobodys
    return world
