"""Newcomers into buckets: places that others left, then signatures of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from republish.errors import CannotPublish
from republish.publishers._bucket_kernels import (
    Bars,
    Draft,
    Lists,
    place_apart,
    place_nearest,
    place_random,
    plan,
    tallest,
)
from republish.publishers._bucket_lists import lists_of, positions_by
from republish.publishers._bucket_optimal import place_optimal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from republish.publishers._geometry import Geometry
    from republish.types import BoolArray

    Longs = NDArray[np.int64]


@dataclass(frozen=True)
class Filling:
    """How newcomers are chosen.

    Attributes:
        eligible: in balancing, never take a newcomer whose absence would leave the rest without m-eligibility;
            otherwise as many as there are places.
        nearest: in balancing, take the newcomers nearest to the rows of the bucket; otherwise any, at random.
        pad: counterfeits make newcomers m-eligible where they are not; otherwise that is refused.
        optimal: in balancing, the assignment of newcomers to places with the least sum of squared distances,
            value by value; implies `nearest`.
    """

    eligible: bool = True
    nearest: bool = False
    pad: bool = False
    optimal: bool = False


@dataclass(frozen=True)
class Work:
    """What filling the buckets of one view needs beside the buckets."""

    codes: Longs
    domain: int
    space: Geometry
    bars: Bars
    m: int
    rng: np.random.Generator
    filling: Filling


def require_values(work: Work, draft: Draft) -> None:
    """Refuse newcomers that no balanced buckets of m values can hold."""
    left = _left(work, draft)
    newcomers, largest = int(left.sum()), int(left.max(initial=0))
    if newcomers and work.domain < work.m:
        raise CannotPublish(
            f"groups of m={work.m} different values need as many values; the sensitive column has "
            f"{work.domain} so far; choose a smaller m"
        )
    if not work.filling.pad and work.m * largest > newcomers:
        raise CannotPublish(
            f"at most one in m={work.m} newcomers may have the same sensitive value; of {newcomers} newcomers "
            f"{largest} have; choose a smaller m, tau-safety, which adds counterfeits, or merge rare values"
        )


def balance(work: Work, draft: Draft) -> Draft:
    """Return the buckets with their open places filled by newcomers, as far as there are any."""
    heights = tallest(draft.signatures, draft.held)
    wanted = np.repeat(heights, np.diff(draft.signatures.offsets)) - draft.held
    if work.filling.optimal:
        draft = Draft(draft.signatures, draft.held.copy(), draft.bucket.copy())
        members = positions_by(draft.bucket, len(heights))
        newcomers = _newcomers(work, draft.bucket < 0)
        place_optimal(work.space, draft, wanted, newcomers, members, work.bars)
    return _place(work, draft, wanted, work.m if work.filling.eligible else 0, work.filling.nearest)


def assign(work: Work, draft: Draft) -> Draft:
    """Return the buckets with all remaining newcomers in new ones, or in old ones of the same signature."""
    padded = _padded(work, _left(work, draft))
    heights, ends, codes = plan(padded, work.m)
    draft, target = _extended(draft, np.split(codes, ends[:-1]) if len(ends) else [])
    higher = np.bincount(target, weights=heights, minlength=len(draft.signatures.offsets) - 1)
    wanted = np.repeat(higher.astype(np.int64), np.diff(draft.signatures.offsets))
    # At random, for then all values of a bucket are spread alike. Buckets filled with the nearest rows, one
    # after the other, leave ever wider rings to the last: a third more certainty penalty on census data.
    draft = _place(work, draft, wanted, 0, nearest=False)
    return _place_apart(work, draft)


def _padded(work: Work, left: Longs) -> Longs:
    """Return the newcomers of each code with the counterfeits that make them m-eligible.

    The codes are chosen without regard to what is frequent: otherwise a rare value among common ones would
    show who is real.
    """
    largest = int(left.max(initial=0))
    lacking = work.m * largest - int(left.sum())
    if lacking <= 0:
        return left
    order = work.rng.permutation(work.domain)
    room = np.cumsum(largest - left[order])
    padded = left.copy()
    padded[order] += np.diff(np.minimum(room, lacking), prepend=0)
    return padded


def _place(work: Work, draft: Draft, wanted: Longs, least: int, nearest: bool) -> Draft:
    """Return the buckets with newcomers in the places wanted, as many of each place as there are."""
    draft = Draft(draft.signatures, draft.held.copy(), draft.bucket.copy())
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


def _place_apart(work: Work, draft: Draft) -> Draft:
    """Return the buckets with everyone in one who found none apart from the old signature."""
    while True:
        rows = np.flatnonzero(draft.bucket < 0)
        if not rows.size:
            return draft
        owner = np.repeat(np.arange(len(draft.signatures.offsets) - 1), np.diff(draft.signatures.offsets))
        by_code = positions_by(draft.signatures.items, work.domain)
        place_apart(draft, rows, work.codes, by_code, owner, work.bars)
        rows = np.flatnonzero(draft.bucket < 0)
        if rows.size:
            draft, _ = _extended(draft, [_apart_signature(work, int(rows[0]))])


def _apart_signature(work: Work, row: int) -> Longs:
    """Return the code of the row and m - 1 others at random, none of them barred."""
    barred = work.bars.codes
    mine = int(work.bars.of_row[row])
    allowed = np.ones(work.domain, dtype=np.bool_)
    allowed[barred.items[barred.offsets[mine] : barred.offsets[mine + 1]]] = False
    allowed[work.codes[row]] = False
    others = np.flatnonzero(allowed)
    if len(others) < work.m - 1:
        raise CannotPublish(
            f"a new signature apart from an old one needs {work.m} values outside the old one; the sensitive "
            f"column has {len(others) + 1} of its {work.domain} there; choose a smaller m or let signatures overlap"
        )
    return np.append(work.rng.choice(others, work.m - 1, replace=False), work.codes[row])


def _extended(draft: Draft, signatures: list[Longs]) -> tuple[Draft, Longs]:
    """Return the draft with buckets of these signatures too, and the bucket of each of them."""
    offsets, items = draft.signatures
    bucket_of = {items[offsets[b] : offsets[b + 1]].tobytes(): b for b in range(len(offsets) - 1)}
    fresh: list[Longs] = []
    target = np.empty(len(signatures), dtype=np.int64)
    for i, codes in enumerate(signatures):
        ordered = np.sort(codes).astype(np.int64)
        key = ordered.tobytes()
        if key not in bucket_of:
            bucket_of[key] = len(bucket_of)
            fresh.append(ordered)
        target[i] = bucket_of[key]
    added = lists_of(fresh)
    extended = Lists(
        np.concatenate([offsets, offsets[-1] + added.offsets[1:]]), np.concatenate([items, added.items])
    )
    held = np.concatenate([draft.held, np.zeros(len(added.items), dtype=np.int64)])
    return Draft(extended, held, draft.bucket.copy()), target


def _newcomers(work: Work, among: BoolArray) -> Lists:
    """Return rows by code, those of one code in random order."""
    rows = work.rng.permutation(np.flatnonzero(among))
    by_code = positions_by(work.codes[rows], work.domain)
    return Lists(by_code.offsets, rows[by_code.items])


def _free(work: Work, draft: Draft) -> BoolArray:
    """Return who is in no bucket yet and may join any."""
    free: BoolArray = draft.bucket < 0
    return free & (work.bars.of_row < 0) if work.bars.of_row.size else free


def _left(work: Work, draft: Draft) -> Longs:
    return np.bincount(work.codes[draft.bucket < 0], minlength=work.domain)
