"""Which part a row goes to, so that no group crosses one; found from counts alone.

Every row has a place on a line of 2**64: the bits of its halvings of space (BANG), or its position on the Hilbert
curve. How many rows lie where is counted ever finer, only where too many lie together, until the pieces fit; then
pieces become parts.

- *Regions* (BangA, Mondrian, R+-tree): the pieces of a BANG directory. A region with too many rows loses the block
  inside it that is nearest to half of them, and keeps the rest.
- *Ranges* (JS-reduce, BayFrame): pieces that follow each other on the curve.
- *Homes* (m-invariance, tau-safety, Cor-Split): regions for people without a signature to keep. Whoever keeps one goes
  where most of those with the same signature are, so that its bucket stays whole; a signature with more people than
  fit in a part is split by region. That is safe: each part balances its own bucket.

A part that could not be a group of its own is joined with a neighbour.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from republish.arrays import BoolArray, FloatArray, IntArray, WordArray
from republish.orders.hilbert import curve_keys
from republish.spatial.cube import Cube, cells
from republish.spatial.keys import interleave

WORD = 64
COUNTS = 1 << 16
"""How many counts a round of counting may bring to the driver, as long as there are fewer crowded pieces."""
_EVEN = 2 / 3
Fits = Callable[[IntArray], BoolArray]
"""Whether parts with such counts of sensitive codes, a line each, can be parts."""


def bang_places(cube: Cube, points: FloatArray) -> WordArray:
    """The first 64 halvings around every row."""
    found: WordArray = interleave(cells(cube, points), cube.bits, cube.turns)[0]
    return found


def hilbert_places(cube: Cube, points: FloatArray) -> WordArray:
    """The position of every row on the Hilbert curve, every axis stretched over the whole grid."""
    used = [q for q, scale in enumerate(cube.scales) if scale.bits]
    if not used:
        return np.zeros(points.shape[1], dtype=np.uint64)
    bits = max(1, min(16, WORD // len(used)))
    grid = np.empty((len(used), points.shape[1]), dtype=np.int64)
    for axis, q in enumerate(used):
        finest = (1 << cube.scales[q].bits) - 1
        share = cube.scales[q].cells(points[q]).astype(np.float64) / finest
        grid[axis] = np.rint(share * ((1 << bits) - 1)).astype(np.int64)
    keys: WordArray = curve_keys(grid, bits)[0]
    return keys << np.uint64(WORD - len(used) * bits)


@dataclass(frozen=True)
class Pieces:
    """Stretches of the line with the rows counted in them: where each begins, how many bits it has in common."""

    start: WordArray
    depth: IntArray
    rows: IntArray

    @classmethod
    def whole(cls, rows: int) -> Pieces:
        return cls(np.zeros(1, np.uint64), np.zeros(1, np.int64), np.array([rows], np.int64))

    def crowded(self, limit: int) -> BoolArray:
        """Which pieces hold more than fit and can be counted finer."""
        return (self.rows > limit) & (self.depth < WORD)

    def step(self, crowded: BoolArray) -> int:
        """The bits by which the counting goes on in crowded pieces."""
        return max(4, min(16, (COUNTS // max(1, int(crowded.sum()))).bit_length() - 1))

    def refined(self, crowded: BoolArray, start: WordArray, depth: IntArray, rows: IntArray) -> Pieces:
        """These pieces with the crowded ones in the finer pieces that were counted."""
        all_starts = np.concatenate([self.start[~crowded], start])
        order = np.argsort(all_starts)
        return Pieces(
            all_starts[order],
            np.concatenate([self.depth[~crowded], depth])[order],
            np.concatenate([self.rows[~crowded], rows])[order],
        )

    def of(self, places: WordArray) -> IntArray:
        found: IntArray = np.searchsorted(self.start, places, side="right") - 1
        return found


def finer_counts(pieces: Pieces, crowded: BoolArray, places: WordArray) -> pl.DataFrame:
    """Rows of some places in the finer pieces of the crowded ones: start, depth, rows."""
    piece = pieces.of(places)
    inside = crowded[piece]
    depth = np.minimum(pieces.depth[piece[inside]] + pieces.step(crowded), WORD)
    shift = (WORD - depth).astype(np.uint64)
    start = places[inside] >> shift << shift
    return (
        pl.DataFrame({"start": start, "depth": depth, "rows": np.ones(len(start), np.int64)})
        .group_by("start", "depth")
        .agg(pl.col("rows").sum())
    )


def ranges(pieces: Pieces, parts: int) -> IntArray:
    """The part of every piece: stretches of the line with about as many rows each."""
    before = np.cumsum(pieces.rows) - pieces.rows
    middle = before + pieces.rows // 2
    part = middle * parts // max(1, int(pieces.rows.sum()))
    return _renumbered(part)


def regions(pieces: Pieces, limit: int) -> IntArray:
    """The part of every piece: regions of at most `limit` rows, as far as pieces allow, one inside the other."""
    part = np.zeros(len(pieces.start), dtype=np.int64)
    waiting, made = [(np.arange(len(pieces.start)), 0)], 0
    while waiting:
        members, depth = waiting.pop()
        total = int(pieces.rows[members].sum())
        inner, below = (None, 0) if total <= limit else _inner(pieces, members, depth, total)
        if inner is None:
            part[members] = made
            made += 1
        else:
            waiting += [(members[~inner], depth), (members[inner], below)]
    return part


def _inner(pieces: Pieces, members: IntArray, depth: int, total: int) -> tuple[BoolArray | None, int]:
    """Those of the members that lie in the block inside the region that is nearest to half of its rows."""
    inside = np.ones(len(members), dtype=np.bool_)
    best: tuple[float, BoolArray | None, int] = (np.inf, None, 0)
    while depth < WORD:
        bit = (pieces.start[members] >> np.uint64(WORD - 1 - depth)) & np.uint64(1) == 1
        fine = pieces.depth[members] > depth
        halves = [inside & fine & ~bit, inside & fine & bit]
        counts = [int(pieces.rows[members[half]].sum()) for half in halves]
        larger = int(counts[1] > counts[0])
        held, depth = counts[larger], depth + 1
        if not held:
            break
        inside = halves[larger]
        if held < total and abs(2 * held - total) < best[0]:
            best = (abs(2 * held - total), inside, depth)
        if held <= _EVEN * total:
            break
    return best[1], best[2]


def joined(part: IntArray, counts: IntArray, fits: Fits) -> IntArray:
    """The parts of all pieces, in the order of the line, with those that do not fit joined to a neighbour.

    `counts[part]` are the counts of sensitive codes in each part.
    """
    part, counts = part.copy(), counts.copy()
    while True:
        alive = np.unique(part)
        wrong = alive[~fits(counts[alive])] if len(alive) > 1 else alive[:0]
        if not len(wrong):
            return _renumbered(part)
        small = int(wrong[np.argmin(counts[wrong].sum(axis=1))])
        at = np.flatnonzero(part == small)
        beside = {int(part[i]) for i in (at[0] - 1, at[-1] + 1) if 0 <= i < len(part)} - {small}
        if not beside:  # it lies around others
            beside = set(alive.tolist()) - {small}
        other = min(beside, key=lambda neighbour: (int(counts[neighbour].sum()), neighbour))
        counts[other] += counts[small]
        part[at] = other


@dataclass(frozen=True)
class Routes:
    """The part of every row: by its place, and for some signatures by what they are."""

    pieces: Pieces
    part: IntArray
    signatures: WordArray = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    home: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def parts(self) -> int:
        return int(self.part.max(initial=0)) + 1

    def of(self, places: WordArray, signature: WordArray | None = None) -> IntArray:
        """The part of rows at these places that keep these signatures, 0 for none."""
        to: IntArray = self.part[self.pieces.of(places)]
        if signature is None or not len(self.signatures):
            return to
        at = np.minimum(np.searchsorted(self.signatures, signature), len(self.signatures) - 1)
        settled = (self.signatures[at] == signature) & (signature > 0)
        found: IntArray = np.where(settled, self.home[at], to)
        return found


def homes(counted: pl.DataFrame, limit: int) -> tuple[WordArray, IntArray]:
    """Where signatures go whole, from how many people of each live in which part (signature, part, rows).

    A signature of more than `limit` people has no home: its people stay where they are.
    """
    totals = counted.group_by("signature").agg(pl.col("rows").sum().alias("total"))
    largest = counted.sort(["rows", "part"], descending=[True, False]).unique(
        "signature", keep="first", maintain_order=True
    )
    small = largest.join(totals.filter(pl.col("total") <= limit), on="signature", how="inner").sort(
        "signature"
    )
    return small["signature"].to_numpy(), small["part"].to_numpy()


def _renumbered(part: IntArray) -> IntArray:
    """The parts as 0, 1, ..., in their order."""
    numbers: IntArray = np.unique(part, return_inverse=True)[1].astype(np.int64)
    return numbers
