"""Differencing: two releases whose people differ by few give away the values of those few.

Take some groups of one release and some of another. Whoever is in both sides with one life has the same value in both.
So what the values of the first side, counted together, have more than those of the second are values of people who are
in the first side only, and the other way round. Where the two surpluses are as large as the people they come from,
they are exactly these people's values. A single person who came, left, or was grouped elsewhere is then determined.

Sides are unions of groups that overlap. Tried are all pairs of groups; unions grown best first from every group, the
group that leaves the fewest people on one side only being added next, up to a limit of groups; and all groups that
are connected at all, however many they are. Other unions are not: what is found is certain, what is not is no promise.

What is found joins the published groups: with `cascade`, values that others must have are excluded in both until
nothing changes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from republish.arrays import BoolArray, IntArray, WordArray
from republish.attacks.excluding.candidates import Unknowns, _intersect, lives
from republish.attacks.excluding.compromised import starting_sets
from republish.attacks.excluding.tau import _eliminate
from republish.attacks.history import History
from republish.attacks.matching.fitting import doubled
from republish.attacks.results import Findings
from republish.errors import PolicyError
from republish.kernels import kernel

_NOBODY = -1


@dataclass(frozen=True)
class Limits:
    """Differences of at most `people` rows between unions of at most `groups` groups, components aside."""

    people: int = 4
    groups: int = 8

    def __post_init__(self) -> None:
        if self.people < 1 or self.groups < 2:
            raise PolicyError("differencing needs at least 1 person of difference and unions of 2 groups")


@dataclass(frozen=True)
class Difference:
    """Two unions of groups that differ by few rows: their releases (1, 2, ...), and sizes alone.

    `first_only` and `second_only` count the rows of unknown value on one side only; some may belong to nobody.
    """

    first: int
    second: int
    first_groups: int
    second_groups: int
    first_only: int
    second_only: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class _Rest(NamedTuple):
    """The groups without known people and their rows; values are counted in the same places as in the history."""

    member_start: IntArray
    member: IntArray
    value_count: IntArray
    rows: IntArray


class _Found(NamedTuple):
    """What differences say: `member[d, side]` and `code[d, side]` with -1 beyond their ends, and their sizes."""

    sizes: IntArray
    member: IntArray
    code: IntArray


def differencing(
    history: History, known: BoolArray | None = None, cascade: bool = True, limits: Limits | None = None
) -> Findings:
    """What remains of every life after all differences that were found; see `differences` for those.

    Without `cascade` she takes what the differences say and does not ask what it excludes for others.
    """
    unknowns, sets, rest = _prepared(history, known)
    found = _all_differences(unknowns, rest, limits or Limits())
    _exclude(unknowns, sets, found, cascade)
    return Findings.even(unknowns, sets)


def differences(
    history: History, known: BoolArray | None = None, limits: Limits | None = None
) -> tuple[Difference, ...]:
    """The differences that give away values, in numbers without names."""
    unknowns, _, rest = _prepared(history, known)
    found = _all_differences(unknowns, rest, limits or Limits())
    return tuple(Difference(*sizes) for sizes in found.sizes.tolist())


def _prepared(history: History, known: BoolArray | None) -> tuple[Unknowns, WordArray, _Rest]:
    unknowns = lives(history)
    known = np.zeros(history.people, dtype=np.bool_) if known is None else known
    return unknowns, starting_sets(unknowns, known), _without(unknowns, known)


def _without(unknowns: Unknowns, known: BoolArray) -> _Rest:
    history = unknowns.history
    there = np.ones(len(history.person), dtype=np.bool_)
    count = history.value_count.astype(np.int64)
    if history.truth is not None:
        there = ~known[history.person]
        held = np.repeat(np.arange(history.groups), np.diff(history.value_start)) * history.values
        theirs = history.group[~there] * history.values + history.truth[~there]
        np.subtract.at(count, np.searchsorted(held + history.value_code, theirs), 1)
    group = history.group[there]
    starts = np.append(0, np.cumsum(np.bincount(group, minlength=history.groups))).astype(np.int64)
    totals = np.append(0, np.cumsum(count))
    rows = totals[history.value_start[1:]] - totals[history.value_start[:-1]]
    return _Rest(starts, unknowns.of_appearance[there], count, rows)


def _all_differences(unknowns: Unknowns, rest: _Rest, limits: Limits) -> _Found:
    """The differences between any two releases."""
    history = unknowns.history
    parts = [_nothing(limits.people)]
    if history.events is not None:  # without event lists no two appearances are known to have one value
        place = np.full((history.releases, unknowns.count), _NOBODY, dtype=np.int64)
        group = np.repeat(np.arange(history.groups), np.diff(rest.member_start))
        release = np.repeat(np.arange(history.releases), np.diff(history.group_start))[group]
        place[release, rest.member] = group
        for i in range(history.releases):
            for j in range(i + 1, history.releases):
                parts.append(_between(history, rest, place, (i, j), limits))
    return _Found(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _nothing(people: int) -> _Found:
    none = np.zeros((0, 2, people), dtype=np.int64)
    return _Found(np.zeros((0, 6), dtype=np.int64), none, none)


def _between(history: History, rest: _Rest, place: IntArray, pair: tuple[int, int], limits: Limits) -> _Found:
    """The differences between two releases."""
    i, j = pair
    groups = np.concatenate([np.arange(*history.group_start[k : k + 2]) for k in pair])
    number = np.full(history.groups, _NOBODY, dtype=np.int64)
    number[groups] = np.arange(len(groups))
    both = np.flatnonzero((place[i] >= 0) & (place[j] >= 0))
    edges, shared = np.unique(
        number[place[i, both]] * len(groups) + number[place[j, both]], return_counts=True
    )
    ends = np.stack(np.divmod(edges, max(len(groups), 1)))
    start, union = _candidates(ends, shared, rest.rows[groups], limits)
    sizes, member, code, told = _compared(
        start,
        groups[union],
        place[i],
        place[j],
        history.group_start[j],
        rest,
        history.value_start,
        history.value_code,
        history.values,
        limits.people,
    )
    sizes = np.column_stack([np.tile([i + 1, j + 1], (len(sizes), 1)), sizes])
    return _Found(sizes[told], member[told], code[told])


def _candidates(
    ends: IntArray, shared: IntArray, rows: IntArray, limits: Limits
) -> tuple[IntArray, IntArray]:
    """Unions that leave few rows over and not none: pairs of groups, unions grown from each group, components."""
    from scipy.sparse import coo_matrix

    groups = len(rows)
    both = np.concatenate([ends, ends[::-1]], axis=1)
    graph = coo_matrix((np.tile(shared, 2), both), shape=(groups, groups)).tocsr()
    left = rows[ends].sum(axis=0) - 2 * shared
    pairs = ends[:, (left > 0) & (left <= limits.people)]
    keys = np.random.default_rng(0).integers(0, 2**63, groups, dtype=np.uint64)
    start, union, mark = _unions(
        graph.indptr, graph.indices, graph.data, rows, keys, limits.people, limits.groups
    )
    sizes = np.concatenate([np.full(pairs.shape[1], 2), np.diff(start)])
    union = np.concatenate([pairs.T.ravel(), union])
    first = np.unique(np.concatenate([keys[pairs].sum(axis=0, dtype=np.uint64), mark]), return_index=True)[1]
    fresh = np.zeros(len(sizes), dtype=np.bool_)  # a union is found from several of its groups
    fresh[first] = True
    union, sizes = union[np.repeat(fresh, sizes)], sizes[fresh]
    more, components = _components(graph, rows, limits)
    return np.append(0, np.cumsum(np.concatenate([sizes, more]))), np.concatenate([union, components])


def _components(graph: Any, rows: IntArray, limits: Limits) -> tuple[IntArray, IntArray]:
    """Sizes and groups of the components that are too large to be grown and leave few rows over."""
    from scipy.sparse.csgraph import connected_components

    count, label = connected_components(graph, directed=False)
    shared = np.bincount(label, weights=np.asarray(graph.sum(axis=1)).ravel(), minlength=count)
    left = (
        np.bincount(label, weights=rows, minlength=count) - shared
    )  # a shared row is counted from both ends
    sizes = np.bincount(label, minlength=count)
    large = (sizes > limits.groups) & (left > 0) & (left <= limits.people)
    order = np.argsort(label, kind="stable")
    return sizes[large], order[large[label[order]]]


def _exclude(unknowns: Unknowns, sets: WordArray, found: _Found, cascade: bool) -> None:
    """Shrink candidate sets, in place, by the groups and by what the differences say."""
    history = unknowns.history
    member = found.member.reshape(-1, found.member.shape[2])
    code = found.code.reshape(-1, found.code.shape[2])
    some = (member >= 0).any(axis=1)
    member, code = member[some], np.sort(code[some], axis=1)
    spelled, owner = code[code >= 0], np.repeat(np.arange(len(code)), (code >= 0).sum(axis=1))
    cells, count = np.unique(owner * max(history.values, 1) + spelled, return_counts=True)
    more_values = np.bincount(cells // max(history.values, 1), minlength=len(code))
    members = np.concatenate([unknowns.of_appearance, member[member >= 0]])
    member_start = _continued(history.member_start, (member >= 0).sum(axis=1))
    value_start = _continued(history.value_start, more_values)
    value_code = np.concatenate([history.value_code, (cells % max(history.values, 1)).astype(np.int32)])
    value_count = np.concatenate([history.value_count, count.astype(np.int32)])
    _intersect(sets, member_start, members, value_start, value_code)
    if not cascade:
        return
    group = np.repeat(np.arange(len(member_start) - 1), np.diff(member_start))
    place = group[np.argsort(members, kind="stable")]
    place_start = np.append(0, np.cumsum(np.bincount(members, minlength=unknowns.count))).astype(np.int64)
    _eliminate(
        sets,
        unknowns.previous,
        members,
        place_start,
        place,
        member_start,
        value_start,
        value_code,
        value_count,
    )


def _continued(start: IntArray, more: IntArray) -> IntArray:
    return np.concatenate([start, start[-1] + np.cumsum(more)]).astype(np.int64)


@kernel
def _unions(first, other, shared, rows, keys, most_people, most_groups):  # type: ignore[no-untyped-def]
    """Unions grown from every group, where at most `most_people` rows and not none lie on one side only.

    `rows` on one side only are all rows less twice the shared ones; a union is known again by the sum of its keys.
    """
    room, made, wide, used = 1024, 0, 1024, 0
    start, mark = np.zeros(room + 1, np.int64), np.empty(room, np.uint64)
    union = np.empty(wide, np.int64)
    common = np.zeros(len(rows), np.int64)
    chosen, is_chosen = np.empty(most_groups, np.int64), np.zeros(len(rows), np.bool_)
    touched, is_touched = np.empty(len(rows), np.int64), np.zeros(len(rows), np.bool_)
    for seed in range(len(rows)):
        many, near, left, key = 0, 0, 0, np.uint64(0)
        best = seed
        while best >= 0:
            left += rows[best] - 2 * common[best]
            chosen[many], is_chosen[best] = best, True
            key += keys[best]
            many += 1
            for e in range(first[best], first[best + 1]):
                g = other[e]
                common[g] += shared[e]
                if not is_touched[g]:
                    is_touched[g], touched[near] = True, g
                    near += 1
            if many > 1 and 0 < left <= most_people:
                if made == len(mark):
                    start, mark = doubled(start), doubled(mark)
                while used + many > len(union):
                    union = doubled(union)
                union[used : used + many] = chosen[:many]
                mark[made] = key
                used += many
                made += 1
                start[made] = used
            if many == most_groups or left == 0:
                break
            best = -1
            for t in range(near):
                g = touched[t]
                if not is_chosen[g] and (best < 0 or rows[g] - 2 * common[g] < rows[best] - 2 * common[best]):
                    best = g
        for t in range(near):
            common[touched[t]], is_touched[touched[t]] = 0, False
        for t in range(many):
            is_chosen[chosen[t]] = False
    return start[: made + 1].copy(), union[:used].copy(), mark[:made].copy()


@kernel
def _compared(start, union, first_place, second_place, border, rest, value_start, value_code, values, most):  # type: ignore[no-untyped-def]
    """Of every union: groups and lone rows of both sides, lone people, their values, and whether these are certain.

    Groups from `border` on are those of the second release.
    """
    count = len(start) - 1
    sizes = np.zeros((count, 4), np.int64)
    member, code = np.full((count, 2, most), -1, np.int64), np.full((count, 2, most), -1, np.int64)
    told = np.zeros(count, np.bool_)
    held = np.zeros(len(rest.rows), np.bool_)
    surplus = np.zeros(values, np.int64)
    for d in range(count):
        here = union[start[d] : start[d + 1]]
        for g in here:
            held[g] = True
        rows, lone = np.zeros(2, np.int64), np.zeros(2, np.int64)
        for g in here:
            side = 1 if g >= border else 0
            sizes[d, side] += 1
            rows[side] += rest.rows[g]
            for j in range(value_start[g], value_start[g + 1]):
                surplus[value_code[j]] += (1 - 2 * side) * rest.value_count[j]
            for a in range(rest.member_start[g], rest.member_start[g + 1]):
                u = rest.member[a]
                elsewhere = first_place[u] if side else second_place[u]
                if elsewhere >= 0 and held[elsewhere]:
                    rows[side] -= 1
                else:
                    if lone[side] < most:
                        member[d, side, lone[side]] = u
                    lone[side] += 1
        more = np.zeros(2, np.int64)
        for s in range(values):
            side = 0 if surplus[s] > 0 else 1
            for _ in range(abs(surplus[s])):
                if more[side] < most:
                    code[d, side, more[side]] = s
                more[side] += 1
        sizes[d, 2], sizes[d, 3] = rows[0], rows[1]
        told[d] = rows[0] == more[0] and rows[1] == more[1] and lone.sum() > 0
        for g in here:
            held[g] = False
            for j in range(value_start[g], value_start[g + 1]):
                surplus[value_code[j]] = 0
    return sizes, member, code, told
