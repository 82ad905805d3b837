"""Buckets cut by the regions of a BANG file: each region takes as many of every value, against a slow twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish import PolicyError, TauSafety
from republish.publishers._buckets.partition import Stacks
from republish.publishers._buckets.regions import split_by_regions


def naive(bits, columns, limit):
    """The blocks of one bucket: columns of rows by value in the order of their keys, None for counterfeits."""
    size = len(columns[0])
    if size <= limit:
        return [columns]
    rows = [[r for r in column if r is not None] for column in columns]
    groups, region, prefix = 0, None, ""
    for _ in range(len(bits[0])):
        halves = [sum(bits[r].startswith(prefix + bit) for column in rows for r in column) for bit in "01"]
        prefix += "1" if halves[1] > halves[0] else "0"
        taken = int(max(halves) / len(columns) + 0.5)
        if taken == 0:
            break
        if taken < size and (not groups or abs(2 * taken - size) < abs(2 * groups - size)):
            groups, region = taken, prefix
        if 2 * taken <= size:
            break
    inner, outer = [], []
    for column in rows:
        lies = [i for i, r in enumerate(column) if region is not None and bits[r].startswith(region)]
        if region is None:
            groups = size // 2
            lies = list(range(min(groups, len(column))))
        before = sum(bits[r] < region for r in column) if region is not None else 0
        begin = lies[0] if lies else before
        take = max(min(len(lies), groups), len(column) - (size - groups))
        if take > len(lies):
            begin = min(max(begin - (take - len(lies)) // 2, 0), len(column) - take)
        chosen = column[begin : begin + take]
        left = [r for r in column if r not in chosen]
        inner.append(chosen + [None] * (groups - len(chosen)))
        outer.append(left + [None] * (size - groups - len(left)))
    return naive(bits, outer, limit) + naive(bits, inner, limit)


@settings(max_examples=150)
@given(
    st.integers(1, 4),
    st.integers(1, 12),
    st.integers(1, 7),
    st.integers(0, 10_000),
    st.floats(0, 0.6),
    st.integers(1, 3),
)
def test_buckets_are_split_as_in_the_slow_twin(width, height, levels, seed, gaps, limit) -> None:
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 1 << levels, width * height)
    bits = [f"{int(word):0{levels}b}" for word in words]
    keys = (words.astype(np.uint64) << np.uint64(64 - levels))[None]
    columns = []
    for p in range(width):
        rows = sorted(range(p * height, (p + 1) * height), key=lambda r: (bits[r], r))
        missing = int(gaps * height) if p else 0  # the first value has no counterfeits
        columns.append([*rows[: height - missing], *[None] * missing])
    row = np.array([-1 if r is None else r for column in columns for r in column], dtype=np.int64)
    stacks = Stacks(np.array([0]), np.array([height]), np.array([width]))
    parts = split_by_regions(keys, levels, row, stacks, limit)
    entries = row.reshape(width, height)
    found = [entries[:, low:high].tolist() for _, low, high in parts.tolist()]
    expected = [
        [[-1 if r is None else r for r in column] for column in block]
        for block in naive(bits, columns, limit)
    ]
    assert found == expected


def test_dealing_by_chance_knows_no_places() -> None:
    with pytest.raises(PolicyError, match='membership = "nearest"'):
        TauSafety(3, partition="bang")
    with pytest.raises(PolicyError, match="partition must be gathered or bang"):
        TauSafety(3, membership="nearest", partition="magic")
