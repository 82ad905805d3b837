"""The smallest region around each group, and levels that are true of rows, against slow twins."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from republish.spatial.bang.bang_file import bulk_load
from republish.spatial.dendrogram.dendrogram import bounding_boxes
from republish.spatial.enclosing import around_blocks, around_rows, true_levels
from spatial.layouts import clouds, grid


def texts(keys, levels):
    """Bit strings of so many bits."""
    return [
        "".join(f"{int(word):064b}" for word in keys[:, i])[:level]
        for i, level in enumerate(np.broadcast_to(levels, keys.shape[1]).tolist())
    ]


def common(strings):
    """What all of them begin with."""
    first, last = min(strings), max(strings)
    same = [a == b for a, b in zip(first, last, strict=False)]
    return first[: same.index(False) if False in same else min(len(first), len(last))]


def grouped(cloud, m, groups, seed):
    bits, points = cloud
    if points.shape[1] < m:
        return None
    index = bulk_load(grid(*bits), points, m)
    of_block = np.random.default_rng(seed).integers(0, groups, index.blocks)
    of_block = np.unique(of_block, return_inverse=True)[1]
    return index, points, of_block, int(of_block.max()) + 1


@given(clouds(highest=4), st.integers(1, 4), st.integers(1, 6), st.integers(0, 99))
def test_regions_are_what_keys_have_in_common(cloud, m, groups, seed) -> None:
    made = grouped(cloud, m, groups, seed)
    if made is None:
        return
    index, _, of_block, groups = made
    regions, keys = texts(index.prefix, index.level), texts(index.keys, index.cube.levels)
    of_rows = of_block[index.block]
    for found, strings, owner in (
        (around_blocks(index, of_block, groups), regions, of_block),
        (around_rows(index, of_rows, groups), keys, of_rows),
    ):
        told = texts(found.prefix, found.level)
        assert told == [
            common([s for s, g in zip(strings, owner, strict=True) if g == own]) for own in range(groups)
        ]
        assert np.array_equal(found.prefix, found.prefix & _mask(found.level, len(found.prefix)))


def _mask(level, words):
    """Ones in the bits that count."""
    bits = ["".join("1" if i < one else "0" for i in range(64 * words)) for one in level.tolist()]
    return np.array([[int(b[64 * w : 64 * w + 64], 2) for b in bits] for w in range(words)], dtype=np.uint64)


@settings(max_examples=150)
@given(clouds(highest=4), st.integers(1, 3), st.integers(1, 8), st.integers(0, 99))
def test_levels_are_lowered_as_in_the_slow_twin(cloud, m, groups, seed) -> None:
    made = grouped(cloud, m, groups, seed)
    if made is None:
        return
    index, points, of_block, groups = made
    group = of_block[index.block]
    low, high = bounding_boxes(points, group, groups)
    level = around_rows(index, group, groups).level
    found = true_levels(index, points, group, (low, high), level)

    held = ((low[:, None] <= points.T) & (high[:, None] >= points.T)).all(axis=2)
    lies_in = ((low[None] <= low[:, None]) & (high[:, None] <= high[None])).all(axis=2)  # [inner, outer]
    expected = level.copy()
    for _ in range(groups):
        for inner in range(groups):
            for outer in set(group[held[inner]].tolist()):
                if lies_in[inner, outer]:
                    expected[inner] = min(expected[inner], expected[outer])
    assert np.array_equal(found, expected)


def test_blocks_keep_their_levels() -> None:
    rng = np.random.default_rng(3)
    points = (rng.random((2, 400)) ** 3 * 256).round()
    index = bulk_load(grid(8, 8), points, 5)
    own = np.arange(index.blocks)
    level = around_rows(index, index.block, len(own)).level
    boxes = bounding_boxes(points, index.block, index.blocks)
    assert np.array_equal(true_levels(index, points, index.block, boxes, level), level)
    assert np.array_equal(around_blocks(index, own, len(own)).level, index.level)
    assert np.array_equal(around_blocks(index, own, len(own)).prefix, index.prefix)
