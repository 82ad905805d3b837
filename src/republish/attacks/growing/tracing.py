"""Tracing: which rows may be somebody's all the time, by difference, intersection and the ways rows can go.

Byun, Sohn, Bertino and Li 2006 and Byun, Li, Bertino, Li and Sohn 2009, over series that only grow; thesis 2.3.2. She
knows of somebody the quasi-identifiers and since when she is there, and nothing of others.

- *Intersection*: with a value of which her groups hold at least n rows each, at most n rows may be hers all the time.
- *Difference*: rows that cannot have come from anywhere but earlier releases are not those of somebody new.
- *Record tracing*: every row of a release goes on into a comparable cell. What other rows must take of her next group
  is not hers, and what cannot stay with her went elsewhere.

Difference and tracing are answered exactly for two neighbouring releases, by flows: as many rows as any way to lead all
rows of one release into the next can lead along with her. Over more releases the least of all steps counts, which is
sound and may be more than could be found with all at once. In a step in which data did not only grow, counts alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.attacks.growing.correspondence import Correspondence, shared
from republish.attacks.growing.flows import most_along
from republish.attacks.growing.left import Left
from republish.attacks.history import History
from republish.attacks.identity import IdentityResult, Traced, Verdicts, mean
from republish.attacks.matching.sightings import MatchedView
from republish.kernels import kernel


def tracing(history: History, sightings: Sequence[MatchedView], k: int | None = None) -> IdentityResult:
    """How many rows may be everyone's; k is by default the rows of the smallest group."""
    found = Correspondence.of(history, sightings)
    seen, least = found.history, found.least if k is None else k
    count = seen.value_count.astype(np.int64)
    first, second, pair = found.pairs()
    start, one, other = shared(seen, first, second)
    at_most, fresh = np.minimum(count[one], count[other]), count.copy()
    counted = _along(found, pair, start, other, at_most, count)
    for passage in found.passages:
        if passage is not None:
            here = np.flatnonzero((one >= passage.first) & (one < passage.second))
            asked = one[here] - passage.first, other[here] - passage.second
            at_most[here], forced = most_along(passage, *asked)
            fresh[passage.second : passage.second + len(forced)] -= forced
    left = _along(found, pair, start, other, at_most, fresh)
    parted = _along(found, pair, start, other, np.minimum(count[one], count[other]), fresh)
    who, release = seen.who[found.order], seen.release[found.order]

    def figures(here: BoolArray) -> Traced:
        new = here & found.newcomer
        by_counts = mean(counted.of_people(who, here).rows < least)
        by_difference = mean(parted.of_people(who, new).rows < least) if new.any() else None
        return Traced(*left.of_people(who, here).figures(least), by_counts, by_difference)

    parts = [figures(release == i) for i in range(seen.releases)]
    overall = figures(np.ones(len(who), dtype=np.bool_))
    verdicts = Verdicts(who, release, 1.0 / np.maximum(left.rows, 1), left.rows <= 1)
    return IdentityResult.of("tracing", overall, parts, verdicts, history.people)


def _along(
    found: Correspondence,
    pair: IntArray,
    start: IntArray,
    later: IntArray,
    at_most: IntArray,
    fresh: IntArray,
) -> Left:
    """Of every appearance what is left over its life: the least of all steps, value by value.

    Bundle `later[n]` takes `at_most[n]` rows along with somebody, n from `start[p]` for pair p; `fresh` are the rows of
    every bundle that may be somebody's who is new.
    """
    seen = found.history
    bundles = seen.value_start, seen.value_code, seen.value_count.astype(np.int64), fresh
    steps = found.group, found.goes_on, found.newcomer, pair
    rows, values = _walk(bundles, steps, (start, later, at_most), max(seen.values, 1))
    return Left(rows, values)


@kernel
def _walk(bundles, steps, passed, codes):  # type: ignore[no-untyped-def]
    """Walk along every life; what is left at its end is what was left of it all the time."""
    value_start, value_code, count, fresh = bundles
    group, goes_on, newcomer, pair = steps
    start, later, at_most = passed
    rows, values = np.zeros(len(group), np.int64), np.zeros(len(group), np.int64)
    left, next_left = np.zeros(codes, np.int64), np.zeros(codes, np.int64)
    n = 0
    while n < len(group):
        begin = n
        left[:] = 0
        for j in range(value_start[group[n]], value_start[group[n] + 1]):
            left[value_code[j]] = fresh[j] if newcomer[n] else count[j]
        while goes_on[n]:
            next_left[:] = 0
            for place in range(start[pair[n]], start[pair[n] + 1]):
                code = value_code[later[place]]
                next_left[code] = min(left[code], at_most[place])
            left[:] = next_left
            n += 1
        n += 1
        total, several = 0, 0
        for code in range(codes):
            total += left[code]
            several += int(left[code] > 0)
        rows[begin:n], values[begin:n] = total, several
    return rows, values
