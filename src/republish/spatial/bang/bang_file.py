"""The BANG file: nested regions of the cube that hold the points in blocks (Freeston 1987; thesis 3.5).

A region is the first `level` bits of a key, that is, a box that repeated halving of the cube arrives at. A point
belongs to the smallest region around it, so that a block is its region without the regions nested in it. A block
that overflows is split: the fuller half of the space is halved until the points inside and outside are balanced
best, which leaves at least a third on either side as long as the resolution lasts, and that half becomes a region
of its own. A split that would leave fewer than M points, or what the requirements forbid, on a side is not made:
the block grows until there is a better one.

Everything is built by one sort of the keys. Points can be added to an index and taken away later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from republish.arrays import BoolArray, FloatArray, Int32Array, IntArray, WordArray
from republish.errors import CannotPublish, PolicyError
from republish.requirements import KAnonymity, Whole, compile_rules
from republish.requirements.base import Rules
from republish.requirements.rules import satisfied
from republish.spatial._key_bits import locate, parents_of, truncated
from republish.spatial.bang._repair import dissolve, histograms_of
from republish.spatial.bang._split import Demand, Points, split_all
from republish.spatial.cube import Cube, LinearScale, cells
from republish.spatial.keys import interleave, key_order
from republish.spatial.threads import in_chunks, side_by_side, threads

_GRAIN = 20_000
_MOST_LEVELS = 32_000


@dataclass(frozen=True, eq=False)
class Sensitive:
    """What blocks must satisfy beside their size: compiled rules, and the sensitive code of every row."""

    rules: Rules
    codes: IntArray


@dataclass(frozen=True, eq=False)
class BangIndex:
    """A BANG file: its regions, sorted by prefix and level, and the block of every row.

    Attributes:
        cube: the space that is halved.
        m: no block holds fewer points.
        full: blocks of as many points are split where that can be done.
        prefix: `prefix[word, region]`, the bit string of each region, zeros after its level.
        level: how many bits of it count; 0 for the outermost region, which is the whole cube.
        parent: the smallest region around each, -1 for the outermost.
        count: the own points of each region: the size of its block.
        block: the region that each row belongs to.
        keys: `keys[word, row]`, the full bit string of each row.
    """

    cube: Cube
    m: int
    full: int
    prefix: WordArray
    level: IntArray
    parent: IntArray
    count: IntArray
    block: IntArray
    keys: WordArray

    @property
    def blocks(self) -> int:
        return len(self.level)

    def find(self, points: FloatArray) -> IntArray:
        """Return the smallest region around each of `points[q, i]`."""
        return _find(self, _keys(self.cube, points))

    def insert(self, points: FloatArray, sensitive: Sensitive | None = None) -> BangIndex:
        """Return the index with these points behind its rows; blocks that overflow are split.

        `sensitive` has the codes of all rows, old and new.
        """
        keys = _keys(self.cube, points)
        block = np.concatenate([self.block, _find(self, keys)])
        return _settled(self, np.hstack([self.keys, keys]), block, sensitive)

    def delete(self, rows: IntArray | BoolArray, sensitive: Sensitive | None = None) -> BangIndex:
        """Return the index without these rows, the others in the same order.

        A block that is left with too little goes to the region around it. `sensitive` has the codes of the
        rows that stay.
        """
        stays = np.ones(len(self.block), dtype=np.bool_)
        stays[rows] = False
        return _settled(self, np.ascontiguousarray(self.keys[:, stays]), self.block[stays], sensitive)

    def updated(self, points: FloatArray, sensitive: Sensitive | None = None) -> BangIndex:
        """Return the index of these points alone, grown out of the regions of this one.

        Every point goes to the smallest region around it; then blocks that are left with too little are dissolved
        and those that overflow are split, as if everyone who left or moved had been deleted and everyone who came
        or moved had been inserted, all at once. The rows of this index are not needed for it.
        """
        keys = _keys(self.cube, points)
        return _settled(self, keys, _find(self, keys), sensitive)

    def filled(self, points: FloatArray) -> BangIndex:
        """Return the index of these points in the same regions, of which none is dissolved and none split."""
        keys = _keys(self.cube, points)
        block = _find(self, keys)
        return replace(self, count=np.bincount(block, minlength=self.blocks), block=block, keys=keys)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return everything as plain arrays, as `index_of_arrays` reads them."""
        scales = self.cube.scales
        return {
            "sizes": np.array([self.m, self.full]),
            "prefix": self.prefix,
            "level": self.level,
            "block": self.block,
            "keys": self.keys,
            "turns": self.cube.turns,
            "bits": self.cube.bits,
            "low": np.array([scale.low for scale in scales], dtype=np.float64),
            "step": np.array([scale.step for scale in scales], dtype=np.float64),
            "gaps": np.array([scale.gaps for scale in scales], dtype=np.bool_),
            **{f"breaks{q}": scale.breaks for q, scale in enumerate(scales)},
            **{f"place{q}": scale.place for q, scale in enumerate(scales)},
        }


def index_of_arrays(arrays: Mapping[str, NDArray[np.generic]]) -> BangIndex:
    """Return the index that `BangIndex.arrays` wrote down."""
    scales = tuple(
        LinearScale(int(bits), float(low), float(step), arrays[f"breaks{q}"], arrays[f"place{q}"], bool(gaps))  # type: ignore[arg-type]
        for q, (bits, low, step, gaps) in enumerate(
            zip(*(arrays[name].tolist() for name in ("bits", "low", "step", "gaps")), strict=True)
        )
    )
    prefix: WordArray = arrays["prefix"].astype(np.uint64)
    level: IntArray = arrays["level"].astype(np.int32)
    block: IntArray = arrays["block"].astype(np.int32)
    return BangIndex(
        cube=Cube(scales, arrays["turns"].astype(np.int64)),
        m=int(arrays["sizes"].tolist()[0]),
        full=int(arrays["sizes"].tolist()[1]),
        prefix=prefix,
        level=level,
        parent=parents_of(prefix, level),
        count=np.bincount(block, minlength=len(level)),
        block=block,
        keys=arrays["keys"].astype(np.uint64),
    )


def bulk_load(
    cube: Cube, points: FloatArray, m: int, sensitive: Sensitive | None = None, full: int | None = None
) -> BangIndex:
    """Return the index of `points[q, row]`, every block of at least `m` points that satisfies the rules.

    Blocks are split from `full` points on, from 2 m + 1 where that is not given.

    Raises:
        CannotPublish: all points taken together are too few or do not satisfy the rules.
    """
    m = KAnonymity(m).k
    full = 2 * m + 1 if full is None else full
    if full < 2 * m:
        raise PolicyError(f"a block can be split from 2 m = {2 * m} points on; found {full}")
    if cube.levels > _MOST_LEVELS:
        raise PolicyError(
            f"a cube must have at most {_MOST_LEVELS} levels; found {cube.levels}. Lower the resolution"
        )
    keys = _keys(cube, points)
    return _settled(
        _outermost(cube, m, full, len(keys)), keys, np.zeros(keys.shape[1], dtype=np.int32), sensitive
    )


def _outermost(cube: Cube, m: int, full: int, words: int) -> BangIndex:
    none = np.zeros(0, dtype=np.int32)
    whole = np.zeros(1, dtype=np.int32)
    return BangIndex(
        cube,
        m,
        full,
        np.zeros((words, 1), np.uint64),
        whole,
        whole - 1,
        whole,
        none,
        np.zeros((words, 0), np.uint64),
    )


def _keys(cube: Cube, points: FloatArray) -> WordArray:
    return interleave(cells(cube, points), cube.bits, cube.turns)


def _find(index: BangIndex, keys: WordArray) -> IntArray:
    block = np.empty(keys.shape[1], dtype=np.int32)
    in_chunks(
        len(block),
        lambda begin, end: locate(
            index.prefix, index.level, index.parent, keys[:, begin:end], block[begin:end]
        ),
    )
    return block


def _settled(index: BangIndex, keys: WordArray, block: IntArray, sensitive: Sensitive | None) -> BangIndex:
    """Return the index of these keys after regions with too little are dissolved and full ones split."""
    rules = size_rules(index.m) if sensitive is None else sensitive.rules
    codes = np.zeros(0 if rules.plain else len(block), dtype=np.int32)
    if sensitive is not None and not rules.plain:
        codes = np.ascontiguousarray(sensitive.codes, dtype=np.int32)
        if len(codes) != len(block):
            raise PolicyError(
                f"there must be a sensitive code for each of the {len(block)} rows; found {len(codes)}"
            )
    m = max(index.m, rules.min_size)
    demand = Demand(m, max(index.full, 2 * m), index.cube.levels, rules)
    if len(block) == 0:
        return _outermost(index.cube, index.m, index.full, len(keys))
    _check_whole(codes, len(block), demand)
    prefix, level, block = _repaired(index, block, codes, demand)
    full = np.bincount(block, minlength=len(level)) >= demand.full
    if full.any():
        prefix, level, block = _split_full(prefix, level, block, keys, full, codes, demand)
    return BangIndex(
        index.cube,
        index.m,
        index.full,
        prefix,
        level,
        parents_of(prefix, level),
        np.bincount(block, minlength=len(level)),
        block,
        keys,
    )


def size_rules(m: int) -> Rules:
    """Return the rules that ask for m points and nothing else."""
    return compile_rules((KAnonymity(m),), Whole(np.ones(1)))


def _check_whole(codes: IntArray, rows: int, demand: Demand) -> None:
    counts = np.bincount(codes, minlength=demand.rules.overall.size).astype(np.int64)
    if rows < demand.m or not satisfied(demand.rules, counts, rows):
        raise CannotPublish(
            f"all points, taken as one block, must be at least {demand.m} and satisfy the requirements; these {rows} "
            "do not; lower the requirement or wait for more rows"
        )


def _repaired(
    index: BangIndex, block: IntArray, codes: IntArray, demand: Demand
) -> tuple[WordArray, IntArray, IntArray]:
    """Return the regions that stay and the block of every row among them."""
    rules = demand.rules
    if index.blocks == 1:
        return index.prefix, index.level, block
    histogram = (
        np.zeros((0, 0), dtype=np.int64)
        if rules.plain
        else histograms_of(block, codes, index.blocks, rules.overall.size)
    )
    count = np.bincount(block, minlength=index.blocks)
    taker = dissolve(index.parent, np.argsort(-index.level), count, histogram, rules, demand.m)
    stays = taker == np.arange(index.blocks)
    number = (np.cumsum(stays) - 1).astype(np.int32)
    return index.prefix[:, stays], index.level[stays], number[taker[block]]


def _split_full(
    prefix: WordArray,
    level: IntArray,
    block: IntArray,
    keys: WordArray,
    full: BoolArray,
    codes: IntArray,
    demand: Demand,
) -> tuple[WordArray, IntArray, IntArray]:
    """Return all regions after the full blocks were split, and the block of every row."""
    rows = np.arange(len(block)) if full.all() else np.flatnonzero(full[block])
    order = key_order(keys if len(rows) == len(block) else keys[:, rows])
    if len(level) > 1:
        order = order[np.argsort(block[rows][order], kind="stable")]
    ordered: Int32Array = rows[order].astype(np.int32)
    ends = np.cumsum(np.bincount(block[ordered], minlength=len(level))[full])
    runs = np.column_stack([np.append(0, ends[:-1]), ends, level[full]])
    points = Points(
        keys=_gathered(keys, ordered),
        row=ordered,
        codes=codes.astype(np.int32, copy=False),
        mark=np.zeros(len(ordered), dtype=np.int16),
        word=np.empty(len(ordered), dtype=np.uint64),
        number=np.empty(len(ordered), dtype=np.int32),
    )
    _split_runs(points, demand, runs)

    begins = np.flatnonzero(points.mark)
    deeper = (points.mark[begins] - 1).astype(np.int32)
    levels = np.concatenate([level[~full], deeper])
    prefixes = np.hstack([prefix[:, ~full], truncated(points.keys, begins, deeper)])
    order = key_order(np.vstack([prefixes, levels[None].astype(np.uint64)]))
    number = np.empty(len(levels), dtype=np.int32)
    number[order] = np.arange(len(levels), dtype=np.int32)
    kept = np.cumsum(~full) - 1
    placed = number[kept[block]] if len(rows) < len(block) else np.empty(len(block), dtype=np.int32)
    new = number[len(levels) - len(begins) :]
    placed[points.row] = np.repeat(new, np.diff(begins, append=len(rows)))
    return np.ascontiguousarray(prefixes[:, order]), levels[order], placed


def _gathered(keys: WordArray, rows: IntArray) -> WordArray:
    taken = np.empty((len(keys), len(rows)), dtype=np.uint64)
    in_chunks(
        len(rows),
        lambda begin, end: np.take(keys, rows[begin:end], axis=1, out=taken[:, begin:end], mode="clip"),
    )
    return taken


def _split_runs(points: Points, demand: Demand, runs: IntArray) -> None:
    """Split every run, large ones in parts that several threads take on."""
    if threads() < 2 or len(points.row) <= _GRAIN:
        split_all(points, demand, runs, 0)
        return
    grain = max(_GRAIN, len(points.row) // (16 * threads()))
    parts = split_all(points, demand, runs, grain)
    chunks = min(len(parts), 16 * threads())
    side_by_side(
        lambda chunk: split_all(points, demand, chunk, 0), (parts[c::chunks].copy() for c in range(chunks))
    )
