"""How likely it is, at most, that somebody in a series of cohorts is determined: counted in ways out.

An adversary knows every release, who is in which cohort, when everyone came and left, and all values of compromised
people. Somebody is determined if she has the same value in every world that agrees with all of that. A way out is
another such world. The ones counted here exchange two values v and w within a cohort:

- Take the releases as points on a line. A stay with value v is an arrow forward, from the release it began to the one
  after its last; a stay with value w an arrow backward. A counterfeit of v in a release is an arrow one release
  forward, one of w an arrow one release backward: nobody can tell one release's counterfeits from those of the next.
- Go from the end of a person's stay along arrows to its beginning. Everyone on the way, and the person, exchanges the
  two values. In each release as many arrows cross forward as backward, so each shows what it showed: this is a world,
  unless somebody on the way is compromised, or tied to the value by another stay or life.

Ways that share nobody are blocked independently of each other where people are compromised independently. So the
probability that all of them are blocked, a product, bounds the probability to be determined, by whatever attack.
docs/cohorts-proof.md has the proof.

In a batch whose lives begin together, such as a closed one, all that end together could have exchanged values. There
the ways of one person are simply counted (`exchange_risk`). Whoever was forgotten is taken to be compromised: nobody's
way out.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.kernels import kernel
from republish.memory.cohort_stays import FORGOTTEN, FREE, NOBODY, NONE, TIED, Stays

_LONGEST = 8  # people on a way out; longer ones are blocked too easily to matter
_SMALL = 1e-7  # once the bound is that small no further ways are sought


class EscapeRisk(NamedTuple):
    """At most how likely each stay's bearer is determined, 0 for counterfeits; and how many people are expected to be.

    Somebody of several lives counts once in `expected` for each.
    """

    of_stay: FloatArray
    expected: float
    people: int

    @property
    def worst(self) -> float:
        """At most how likely the worst placed person is determined."""
        return float(self.of_stay.max(initial=0.0))

    @property
    def share(self) -> float:
        return self.expected / self.people if self.people else 0.0


def batch_risk(stays: Stays, compromised: float) -> EscapeRisk:
    """At most how likely everyone is determined: by exchanges where all begin together or these do, else by search."""
    found = exchange_risk(stays, compromised)
    open_still = ~_begin_together(stays) & (found.of_stay >= _SMALL)
    if not open_still.any() and not (stays.bearer == TIED).any():
        return found
    sought = escape_risk(stays, compromised, open_still)
    settled = np.where(open_still, 0.0, found.of_stay)
    return EscapeRisk(settled + sought.of_stay, float(settled.sum()) + sought.expected, stays.people)


def _begin_together(stays: Stays) -> BoolArray:
    """Which stays are in a batch that was made once, and in which no life has several stays."""
    made = np.full(int(stays.cohort.max(initial=0)) + 1, -1, dtype=np.int64)
    made[stays.cohort] = stays.since
    other = (stays.since != made[stays.cohort]) | np.isin(stays.bearer, (NOBODY, TIED))
    return ~np.isin(stays.cohort, stays.cohort[other])


def exchange_risk(stays: Stays, compromised: float) -> EscapeRisk:
    """At most how likely everyone of one stay is determined, by exchanges of two people alone: c to the power r.

    r is the number of others whose lives begin and end when hers does, and with whom she can exchange values: they
    differ, and neither would get the value of her life before or after.
    """
    someone, names = stays.bearer == FREE, ("cohort", "since", "until", "code", "previous", "following")
    lives = pl.DataFrame({name: getattr(stays, name)[someone] for name in names}).select(
        pl.struct("cohort", "since", "until").rank("dense").alias("exit"), "code", "previous", "following"
    )
    lives = lives.with_row_index("life")
    barred = (
        lives.unpivot(["previous", "following"], index=["life", "exit", "code"], value_name="barred")
        .filter(pl.col("barred") != NONE)
        .unique(["life", "barred"])
    )
    of_code = lives.group_by("exit", "code").len("same")
    barring = barred.group_by("exit", pl.col("barred").alias("code")).len("bar")
    both = barred.group_by("exit", pl.col("code").alias("barred"), pl.col("barred").alias("code")).len("both")
    # Of a life's own barred values: how many have them, less those counted already, who may not have hers.
    own = (
        barred.join(of_code.rename({"code": "barred"}), on=["exit", "barred"], how="left")
        .join(both, on=["exit", "code", "barred"], how="left")
        .group_by("life")
        .agg(
            own=pl.col("same").fill_null(0).cast(pl.Int64).sum()
            - pl.col("both").fill_null(0).cast(pl.Int64).sum()
        )
    )
    partners = (
        lives.with_columns(all=pl.len().over("exit"))
        .join(of_code, on=["exit", "code"], how="left", maintain_order="left")
        .join(barring, on=["exit", "code"], how="left", maintain_order="left")
        .join(own, on="life", how="left", maintain_order="left")
        .select(pl.all().exclude("life").fill_null(0).cast(pl.Int64))
        .select(pl.col("all") - pl.col("same") - pl.col("bar") - pl.col("own"))
        .to_series()
        .to_numpy()
    )
    risk = np.zeros(stays.count)
    risk[someone] = compromised ** partners.astype(np.float64)
    return EscapeRisk(risk, float(risk.sum()), stays.people)


class _Arrows(NamedTuple):
    """The stays as arrows. A slot is a value of a cohort; those of cohort c are `bounds[c]` to `bounds[c + 1]`.

    `begins[slot, release]` is the first of the free stays that begin there, `more_begin` the next of each; `ends` and
    `more_end` are those of the stays whose last release is the one before. `vacant` tells where counterfeits are.
    """

    cohort: IntArray
    slot: IntArray
    since: IntArray
    until: IntArray
    person: IntArray
    previous: IntArray
    following: IntArray
    bounds: IntArray
    value: IntArray
    begins: IntArray
    more_begin: IntArray
    ends: IntArray
    more_end: IntArray
    vacant: BoolArray


def with_known_counterfeits(stays: Stays) -> Stays:
    """The stays to somebody who knows the values of all counterfeits: these are nobody's way out either."""
    return replace(stays, bearer=np.where(stays.bearer == NOBODY, FORGOTTEN, stays.bearer))


def escape_risk(stays: Stays, compromised: float, among: BoolArray | None = None) -> EscapeRisk:
    """At most how likely everyone is determined, of free stays those `among`, if others are compromised so likely."""
    if not stays.count:
        return EscapeRisk(np.zeros(0), 0.0, 0)
    arrows = _arrows_of(stays)
    risk = np.zeros(stays.count)
    used = np.full(stays.count, -1, dtype=np.int64)
    taken = np.full(arrows.vacant.shape, -1, dtype=np.int64)
    free = (stays.bearer == FREE) if among is None else (stays.bearer == FREE) & among
    _free_risk(arrows, np.flatnonzero(free), compromised, used, taken, risk)
    tied, lives, alike = _tied_lives(stays)
    _tied_risk(arrows, tied, lives, alike, compromised, used, taken, risk)
    expected = risk[stays.bearer == FREE].sum() + risk[tied[lives[:-1]]].sum()
    return EscapeRisk(risk, float(expected), stays.people)


def _tied_lives(stays: Stays) -> tuple[IntArray, IntArray, IntArray]:
    """The stays of lives that have several, life by life; where each life begins; equal numbers for lives alike.

    Lives are alike that were in the same cohorts in the same releases; they come one after the other.
    """
    tied = pl.DataFrame({"stay": np.flatnonzero(stays.bearer == TIED)}).with_columns(
        pl.Series(name, getattr(stays, name)[stays.bearer == TIED])
        for name in ("life", "cohort", "since", "until")
    )
    lives = (
        tied.sort("life", "since")
        .group_by("life", maintain_order=True)
        .agg("stay", "cohort", "since", "until")
        .with_columns(alike=pl.struct("cohort", "since", "until").rank("dense").cast(pl.Int64))
        .sort("alike", "life")
    )
    starts = np.append(0, np.cumsum(lives["stay"].list.len().to_numpy().astype(np.int64)))
    return lives["stay"].explode().drop_nulls().to_numpy().astype(np.int64), starts, lives["alike"].to_numpy()


def _arrows_of(stays: Stays) -> _Arrows:
    cohorts, cohort = np.unique(stays.cohort, return_inverse=True)
    slots, slot = np.unique(np.column_stack([cohort, stays.code]), axis=0, return_inverse=True)
    bounds = np.searchsorted(slots[:, 0], np.arange(len(cohorts) + 1))
    shape = len(slots), int(stays.until.max()) + 2
    since, until, person, previous, following = (
        np.ascontiguousarray(getattr(stays, name), dtype=np.int64)
        for name in ("since", "until", "person", "previous", "following")
    )
    arrows = _Arrows(
        cohort=cohort.astype(np.int64),
        slot=slot.ravel().astype(np.int64),
        since=since,
        until=until,
        person=person,
        previous=previous,
        following=following,
        bounds=bounds.astype(np.int64),
        value=np.ascontiguousarray(slots[:, 1], dtype=np.int64),
        begins=np.full(shape, -1, dtype=np.int64),
        more_begin=np.full(stays.count, -1, dtype=np.int64),
        ends=np.full(shape, -1, dtype=np.int64),
        more_end=np.full(stays.count, -1, dtype=np.int64),
        vacant=np.zeros(shape, dtype=np.bool_),
    )
    _string(arrows, np.ascontiguousarray(stays.bearer, dtype=np.int64))
    return arrows


@kernel
def _string(arrows, bearer):  # type: ignore[no-untyped-def]
    """Put every free stay in the lists of its slot, and mark the releases with counterfeits."""
    for i in range(len(bearer)):
        slot, first, last = arrows.slot[i], arrows.since[i], arrows.until[i]
        if bearer[i] == NOBODY:
            arrows.vacant[slot, first : last + 1] = True
        elif bearer[i] == FREE:
            arrows.more_begin[i] = arrows.begins[slot, first]
            arrows.begins[slot, first] = i
            arrows.more_end[i] = arrows.ends[slot, last + 1]
            arrows.ends[slot, last + 1] = i


@kernel
def _free_risk(arrows, stays, p, used, taken, risk):  # type: ignore[no-untyped-def]
    """For lives of one stay: the probability that ways out that share nobody are all blocked, short ones first."""
    room = _room(arrows)
    for i in stays:
        c, v = arrows.cohort[i], arrows.slot[i]
        used[arrows.person[i]] = i
        risk[i] = 1.0
        for longest in range(_LONGEST + 1):
            for w in range(arrows.bounds[c], arrows.bounds[c + 1]):
                while risk[i] >= _SMALL and w != v and _may_have(arrows, i, arrows.value[w]):
                    needed = _way(arrows, i, w, used, i, longest, taken, room)
                    if needed < 0:
                        break
                    risk[i] *= 1.0 - math.pow(1.0 - p, needed)


@kernel
def _tied_risk(arrows, stays, lives, alike, p, used, taken, risk):  # type: ignore[no-untyped-def]
    """For lives of several stays: each must have a way out by the same value, and all these share nothing.

    Lives with the same stays, equal numbers in `alike`, can simply exchange their values.
    """
    room = _room(arrows)
    for k in range(len(lives) - 1):
        mine = stays[lives[k] : lives[k + 1]]
        sign = -2 - mine[0]
        used[arrows.person[mine[0]]] = sign
        blocked = _like(arrows, stays, lives, alike, k, p, used, sign)
        c = arrows.cohort[mine[0]]
        for w in range(arrows.bounds[c], arrows.bounds[c + 1]):
            value = arrows.value[w]
            if blocked < _SMALL:
                break
            if w == arrows.slot[mine[0]] or not _may_have(arrows, mine[0], value):
                continue
            needed = 0
            for i in mine:
                there = _slot_of(arrows, arrows.cohort[i], value)
                one = -1
                longest = 0
                while there >= 0 and one < 0 and longest <= _LONGEST:
                    one = _way(arrows, i, there, used, sign, longest, taken, room)
                    longest += 1
                if one < 0:
                    needed = -1
                    break
                needed += one
            if needed >= 0:
                blocked *= 1.0 - math.pow(1.0 - p, needed)
        for i in mine:
            risk[i] = blocked


@kernel
def _like(arrows, stays, lives, alike, k, p, used, sign):  # type: ignore[no-untyped-def]
    """The probability that everyone with the same stays as life k and another value is compromised; they are used then.

    Such a person may have other lives, and must not be on a way out as well.
    """
    mine = stays[lives[k]]
    blocked = 1.0
    for step in (-1, 1):  # lives that are alike stand side by side
        j = k + step
        while 0 <= j < len(alike) and alike[j] == alike[k] and blocked >= _SMALL:
            other = stays[lives[j]]
            v, w = arrows.value[arrows.slot[mine]], arrows.value[arrows.slot[other]]
            if v != w and _may_have(arrows, mine, w) and _may_have(arrows, other, v):
                blocked *= p
                used[arrows.person[other]] = sign
            j += step
    return blocked


@kernel
def _may_have(arrows, i, value):  # type: ignore[no-untyped-def]
    """Whether a person could have had this value in the life of a stay, for all the lives before and after say."""
    return value != arrows.previous[i] and value != arrows.following[i]


@kernel
def _slot_of(arrows, cohort, value):  # type: ignore[no-untyped-def]
    for w in range(arrows.bounds[cohort], arrows.bounds[cohort + 1]):
        if arrows.value[w] == value:
            return w
    return -1


@kernel
def _way(arrows, i, w, used, sign, longest, taken, room):  # type: ignore[no-untyped-def]
    """Find a shortest way by w of at most `longest` people from the end of stay i to its beginning; mark them as used.

    Returns the number of people on it, -1 where there is none.
    """
    goal, start = arrows.since[i], arrows.until[i] + 1
    v = arrows.slot[i]
    _search(arrows, goal, start, v, w, used, sign, longest, taken, room)
    distance, by, came, _, _ = room
    if distance[goal] > longest:
        return -1
    t = goal
    while t != start:
        if by[t] >= 0:
            used[arrows.person[by[t]]] = sign
        elif sign < -1:  # ways of several stays make one world, in which a counterfeit has one value
            taken[w if t < came[t] else v, min(t, came[t])] = sign
        t = came[t]
    return distance[goal]


@kernel
def _room(arrows):  # type: ignore[no-untyped-def]
    """What a search writes: by release the distance, the stay it was reached by, from where, whether done; a queue."""
    end = arrows.vacant.shape[1]
    numbers = np.empty((3, end), dtype=np.int64)
    return (
        numbers[0],
        numbers[1],
        numbers[2],
        np.empty(end, dtype=np.bool_),
        np.empty(6 * (end + 1), dtype=np.int64),
    )


@kernel
def _search(arrows, goal, start, v, w, used, sign, longest, taken, room):  # type: ignore[no-untyped-def]
    """Fewest people from `start` to every release, up to `longest`; the stay each was reached by, and from where.

    Counterfeits cost nothing, so releases reached by them come first in the queue, which grows at both ends.
    """
    _, _, since, until, person, previous, following, _, value, begins, more_begin, ends, more_end, vacant = (
        arrows
    )
    distance, by, came, done, queue = room
    mine, other = value[v], value[w]
    distance[:] = longest + 1
    done[:] = False
    head = tail = len(queue) // 2
    distance[start] = 0
    queue[tail] = start
    tail += 1
    while head < tail:
        t = queue[head]
        head += 1
        if done[t]:
            continue
        done[t] = True
        if t == goal:
            break
        below = t > 0 and vacant[w, t - 1] and taken[w, t - 1] != sign
        above = vacant[v, t] and taken[v, t] != sign
        for to, free in ((t - 1, below), (t + 1, above)):
            if free and distance[to] > distance[t]:
                distance[to], by[to], came[to] = distance[t], -1, t
                head -= 1
                queue[head] = to
        if distance[t] == longest:
            continue
        further = distance[t] + 1
        for backward in (True, False):
            k, barred = (ends[w, t], mine) if backward else (begins[v, t], other)
            while k >= 0 and distance[goal] > further:
                to = since[k] if backward else until[k] + 1
                free = previous[k] != barred and following[k] != barred and used[person[k]] != sign
                if free and distance[to] > further:
                    distance[to], by[to], came[to] = further, k, t
                    queue[tail] = to
                    tail += 1
                k = more_end[k] if backward else more_begin[k]
