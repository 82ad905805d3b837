"""Newcomers into buckets: places that others left, then signatures of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from republish.arrays import BoolArray, Int64Array
from republish.errors import CannotPublish
from republish.publishers._buckets.disjoint_kernels import Sites, accompany, place_apart
from republish.publishers._buckets.kernels import (
    Bars,
    Ragged,
    UnfilledBuckets,
    find_places,
    place_nearest,
    place_random,
    plan,
    plan_rises,
    tallest,
)
from republish.publishers._buckets.lists import lists_of, positions_by
from republish.publishers._buckets.optimal_places import place_optimal
from republish.publishers._kernels.geometry import Geometry


@dataclass(frozen=True)
class FillOptions:
    """How newcomers are chosen.

    Attributes:
        eligible: in balancing, never take a newcomer whose absence would leave the rest without m-eligibility;
            otherwise as many as there are places.
        nearest: in balancing, take the newcomers nearest to the rows of the bucket; otherwise any, at random.
        pad: counterfeits make newcomers m-eligible where they are not; otherwise that is refused.
        optimal: in balancing, the assignment of newcomers to places with the least sum of squared distances,
            value by value; implies `nearest`.
        existing: the newcomers that balancing leaves join buckets that there are, one of each value at a time, as long
            as those left stay m-eligible; otherwise all of them get new signatures.
        hidden: a bucket with a value that was never published holds at least so many people; 0 asks for nothing.
        instead: what to choose where newcomers are refused, for the message.
        possible: the codes that these people may have; any where it is not given.
    """

    eligible: bool = True
    nearest: bool = False
    pad: bool = False
    optimal: bool = False
    existing: bool = False
    hidden: int = 0
    instead: str = "tau-safety"
    possible: BoolArray | None = None


@dataclass(frozen=True)
class Work:
    """What filling the buckets of one view needs beside the buckets."""

    codes: Int64Array
    domain: int
    known: int  # the codes below it were published before
    space: Geometry
    keeps: BoolArray
    bars: Bars
    m: int
    rng: np.random.Generator
    filling: FillOptions
    first: bool  # whether this is the first release, so that the policy can still be changed


_ROUNDS = 4
_ANEW = (
    "a new series knows nothing of the signatures of this one, so people published in both are not protected "
    "between the two"
)


def require_values(work: Work, draft: UnfilledBuckets) -> None:
    """Refuse newcomers that no balanced buckets of m values can hold."""
    left = _left(work, draft)
    newcomers, largest = int(left.sum()), int(left.max(initial=0))
    values = work.domain if work.filling.possible is None else int(work.filling.possible.sum())
    if newcomers and values < work.m:
        which = "" if work.filling.possible is None else " that are possible for all of some people"
        raise CannotPublish(
            f"groups of m={work.m} different values need as many values; the sensitive column has "
            f"{values}{which} so far; "
            + (
                "choose a smaller m"
                if work.first
                else f"wait until more have occurred, or start a new series with a smaller m: {_ANEW}"
            )
        )
    if work.filling.pad or work.m * largest <= newcomers:
        return
    if work.first:
        raise CannotPublish(
            f"at most one in m={work.m} newcomers may have the same sensitive value; of {newcomers} newcomers "
            f"{largest} have; choose a smaller m, {work.filling.instead}, which adds counterfeits, or merge rare "
            "values"
        )
    raise CannotPublish(
        f"at most one in m={work.m} people who need a new signature may have the same sensitive value; of "
        f"{newcomers} (newcomers and those with a changed value) {largest} have; leave some of them out "
        f"until a later view brings other values, or start a new series with {work.filling.instead}, which adds "
        f"counterfeits: {_ANEW}"
    )


def balance(work: Work, draft: UnfilledBuckets) -> UnfilledBuckets:
    """Return the buckets with their open places filled by newcomers, as far as there are any."""
    heights = tallest(draft.signatures, draft.held)
    wanted = np.repeat(heights, np.diff(draft.signatures.offsets)) - draft.held
    if work.filling.optimal:
        draft = UnfilledBuckets(draft.signatures, draft.held.copy(), draft.bucket.copy())
        members = positions_by(draft.bucket, len(heights))
        newcomers = _newcomers(work, draft.bucket < 0)
        place_optimal(work.space, draft, wanted, newcomers, members, work.bars)
    return _place(work, draft, wanted, work.m if work.filling.eligible else 0, work.filling.nearest)


def assign(work: Work, draft: UnfilledBuckets) -> UnfilledBuckets:
    """Return the buckets with all remaining newcomers in new ones, or in old ones of the same signature."""
    if work.filling.existing:
        draft = _risen(work, draft)
    for _ in range(_ROUNDS):
        filled = _assigned(work, draft)
        stuck = np.flatnonzero(filled.bucket < 0)
        if not stuck.size:
            return filled
        draft = _accompanied(work, draft, stuck)
    return _with_counterfeits(work, _assigned(work, draft))


def _risen(work: Work, draft: UnfilledBuckets) -> UnfilledBuckets:
    """Return the buckets with newcomers of all values of a bucket in it, that with most people first."""
    order = np.argsort(-tallest(draft.signatures, draft.held), kind="stable")
    rises = plan_rises(draft.signatures, order, _left(work, draft), work.m)
    return _place(work, draft, np.repeat(rises, np.diff(draft.signatures.offsets)), 0, nearest=False)


def _assigned(work: Work, draft: UnfilledBuckets) -> UnfilledBuckets:
    """Return the buckets with the remaining newcomers in new ones; left out is who found none apart."""
    padded = _padded(work, _left(work, draft))
    heights, ends, codes = plan(padded, work.m)
    draft, target = extended(draft, np.split(codes, ends[:-1]) if len(ends) else [])
    higher = np.bincount(target, weights=heights, minlength=len(draft.signatures.offsets) - 1)
    wanted = np.repeat(higher.astype(np.int64), np.diff(draft.signatures.offsets))
    # At random, for then all values of a bucket are spread alike. Buckets filled with the nearest rows, one
    # after the other, leave ever wider rings to the last: a third more certainty penalty on census data.
    draft = _place(work, draft, wanted, 0, nearest=False)
    _place_apart(work, draft, higher=False)
    return draft


def _accompanied(work: Work, draft: UnfilledBuckets, stuck: Int64Array) -> UnfilledBuckets:
    """Return the buckets with rows that found none apart in one, as far as free newcomers can join them there.

    Where no bucket can become higher, signatures with the most frequent values that are not barred are tried.
    """
    draft = _raised(work, draft, stuck)
    alone = stuck[draft.bucket[stuck] < 0]
    free = np.bincount(work.codes[_free(work, draft)], minlength=work.domain)
    order = np.argsort(-free, kind="stable")
    tried = [_companions(work, int(row), order) for row in alone]
    draft, _ = extended(draft, [signature for signature in tried if len(signature) == work.m])
    return _raised(work, draft, alone)


def _raised(work: Work, draft: UnfilledBuckets, rows: Int64Array) -> UnfilledBuckets:
    """Return the buckets with these rows, each with a free newcomer for every other value, where there are any."""
    draft = UnfilledBuckets(draft.signatures, draft.held.copy(), draft.bucket.copy())
    if rows.size:
        sites = _sites(work, draft, _newcomers(work, _free(work, draft)))
        accompany(draft, rows, work.codes, sites, work.bars, _left(work, draft), work.m)
    return draft


def _companions(work: Work, row: int, order: Int64Array) -> Int64Array:
    """Return the code of the row and the first m - 1 in order that may share a bucket with it."""
    others = order[_allowed(work, row)[order]][: work.m - 1]
    return np.append(others, work.codes[row])


def _sites(work: Work, draft: UnfilledBuckets, movable: Ragged) -> Sites:
    owner = np.repeat(np.arange(len(draft.signatures.offsets) - 1), np.diff(draft.signatures.offsets))
    return Sites(positions_by(draft.signatures.items, work.domain), owner, movable)


def _padded(work: Work, left: Int64Array) -> Int64Array:
    """Return the newcomers of each code with the counterfeits that make them m-eligible.

    The codes are chosen without regard to what is frequent: otherwise a rare value among common ones would
    show who is real.
    """
    largest = int(left.max(initial=0))
    lacking = work.m * largest - int(left.sum())
    if lacking <= 0:
        return left
    order = work.rng.permutation(work.domain)
    if work.filling.possible is not None:
        order = order[work.filling.possible[order]]
    told = order[(order < work.known) | (left[order] > 0)]
    if work.filling.hidden and len(told) >= work.m:
        order = told  # a new value that nobody here has would need people to hide among
    room = np.cumsum(largest - left[order])
    padded = left.copy()
    padded[order] += np.diff(np.minimum(room, lacking), prepend=0)
    return padded


def _place(
    work: Work, draft: UnfilledBuckets, wanted: Int64Array, least: int, nearest: bool
) -> UnfilledBuckets:
    """Return the buckets with newcomers in the places wanted, as many of each place as there are."""
    draft = UnfilledBuckets(draft.signatures, draft.held.copy(), draft.bucket.copy())
    members = positions_by(draft.bucket, len(draft.signatures.offsets) - 1)
    if work.bars.of_row.size:  # those who fit into fewer buckets choose first
        newcomers = _newcomers(work, (work.bars.of_row >= 0) & (draft.bucket < 0))
        place_nearest(work.space, draft, wanted, newcomers, members, work.bars)
    newcomers = _newcomers(work, _free(work, draft))
    if nearest:
        place_nearest(work.space, draft, wanted, newcomers, members, work.bars)
    else:
        place_random(draft, wanted, newcomers, np.diff(newcomers.offsets), least)
    return draft


def _place_apart(work: Work, draft: UnfilledBuckets, higher: bool) -> None:
    """Put who found no bucket apart from the old signature into one, as far as there are any; `draft` is changed."""
    rows = np.flatnonzero(draft.bucket < 0)
    if not rows.size:
        return
    movable = positions_by(np.where(work.keeps, -1, work.codes), work.domain)
    place_apart(draft, rows, work.codes, _sites(work, draft, movable), work.bars, higher)


def _with_counterfeits(work: Work, draft: UnfilledBuckets) -> UnfilledBuckets:
    """Return the buckets with everyone in one, at the price of counterfeits: in higher buckets, or in new ones."""
    _place_apart(work, draft, higher=True)
    rows = np.flatnonzero(draft.bucket < 0)
    signatures: list[Int64Array] = []
    joined = np.full(len(work.codes), -1, dtype=np.int64)
    while rows.size:
        # No bucket takes the first row, not even a higher one: so none has the signature that is made for it.
        signature = _apart_signature(work, int(rows[0]))
        fits = np.isin(work.codes[rows], signature) & ~_meets(work, signature)[work.bars.of_row[rows]]
        joined[rows[fits]] = len(signatures)
        signatures.append(signature)
        rows = rows[~fits]
    draft, target = extended(draft, signatures)
    there = np.flatnonzero(joined >= 0)
    draft.bucket[there] = target[joined[there]]
    return counted(work, draft)


def _meets(work: Work, signature: Int64Array) -> BoolArray:
    """Return of every list of barred codes whether it has a code of the signature."""
    barred = work.bars.codes
    hits = np.append(0, np.cumsum(np.isin(barred.items, signature)))
    found: BoolArray = np.diff(hits[barred.offsets]) > 0
    return found


def _allowed(work: Work, row: int) -> BoolArray:
    """Return which codes may share a bucket with a row, its own aside."""
    barred = work.bars.codes
    mine = int(work.bars.of_row[row])
    allowed = np.ones(work.domain, dtype=np.bool_)
    allowed[barred.items[barred.offsets[mine] : barred.offsets[mine + 1]]] = False
    allowed[work.codes[row]] = False
    return allowed


def _apart_signature(work: Work, row: int) -> Int64Array:
    """Return the code of the row and m - 1 others at random, none of them barred."""
    others = np.flatnonzero(_allowed(work, row))
    if len(others) < work.m - 1:
        raise CannotPublish(
            f"a new signature apart from an old one needs {work.m} values outside the old one; the sensitive "
            f"column has {len(others) + 1} of its {work.domain} there; leave people with a changed value out until "
            f"more values have occurred, or start a new series with a smaller m or signatures=any: {_ANEW}"
        )
    told = others[others < work.known]
    if work.filling.hidden and len(told) >= work.m - 1:
        others = told
    return np.append(work.rng.choice(others, work.m - 1, replace=False), work.codes[row])


def extended(draft: UnfilledBuckets, signatures: list[Int64Array]) -> tuple[UnfilledBuckets, Int64Array]:
    """Return the draft with buckets of these signatures too, and the bucket of each of them."""
    offsets, items = draft.signatures
    bucket_of = {items[offsets[b] : offsets[b + 1]].tobytes(): b for b in range(len(offsets) - 1)}
    fresh: list[Int64Array] = []
    target = np.empty(len(signatures), dtype=np.int64)
    for i, codes in enumerate(signatures):
        ordered = np.sort(codes).astype(np.int64)
        key = ordered.tobytes()
        if key not in bucket_of:
            bucket_of[key] = len(bucket_of)
            fresh.append(ordered)
        target[i] = bucket_of[key]
    added = lists_of(fresh)
    extended = Ragged(
        np.concatenate([offsets, offsets[-1] + added.offsets[1:]]), np.concatenate([items, added.items])
    )
    held = np.concatenate([draft.held, np.zeros(len(added.items), dtype=np.int64)])
    return UnfilledBuckets(extended, held, draft.bucket.copy()), target


def _newcomers(work: Work, among: BoolArray) -> Ragged:
    """Return rows by code, those of one code in random order."""
    rows = work.rng.permutation(np.flatnonzero(among))
    by_code = positions_by(work.codes[rows], work.domain)
    return Ragged(by_code.offsets, rows[by_code.items])


def _free(work: Work, draft: UnfilledBuckets) -> BoolArray:
    """Return who is in no bucket yet and may join any."""
    free: BoolArray = draft.bucket < 0
    return free & (work.bars.of_row < 0) if work.bars.of_row.size else free


def counted(work: Work, draft: UnfilledBuckets) -> UnfilledBuckets:
    """Return the draft with its places counted anew."""
    places = find_places(draft.signatures, draft.bucket, work.codes)
    held = np.bincount(places[places >= 0], minlength=len(draft.signatures.items))
    return UnfilledBuckets(draft.signatures, held.astype(np.int64), draft.bucket)


def _left(work: Work, draft: UnfilledBuckets) -> Int64Array:
    return np.bincount(work.codes[draft.bucket < 0], minlength=work.domain)
