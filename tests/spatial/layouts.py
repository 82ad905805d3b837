"""Cubes, points and regions for the tests of the spatial room, and how to read an index without its kernels."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from hypothesis import strategies as st

from republish.spatial.cube import Cube, linear
from republish.spatial.keys import cyclic_turns

PLAIN = SimpleNamespace(weight=1.0)


def grid(*bits):
    """A cube whose coordinates are the numbers of its cells."""
    scales = tuple(linear(0.0, float(1 << b), b) for b in bits)
    return Cube(scales, cyclic_turns(np.array(bits, dtype=np.int64)))


def numbers(*widths):
    """Axes of numbers."""
    return [
        SimpleNamespace(width=float(width), kind_code=0, hierarchy=None, column=PLAIN) for width in widths
    ]


def text(words, level):
    """The first bits of a key as a text of 0 and 1."""
    return "".join(f"{int(word):064b}" for word in words)[:level]


def naive_key(cell, bits):
    """The bit string of a cell, dimension after dimension, those without bits left out."""
    strings = [f"{int(c):0{b}b}" if b else "" for c, b in zip(cell, bits, strict=True)]
    return "".join(s[turn] for turn in range(max(bits)) for s in strings if turn < len(s))


def regions(index):
    """The bit strings of all regions."""
    return [text(index.prefix[:, b], int(index.level[b])) for b in range(index.blocks)]


def check(index, rows):
    """Every point in exactly one block: that of the smallest region around it; regions nested; blocks filled."""
    strings = regions(index)
    assert strings[0] == ""
    assert len(set(strings)) == len(strings)
    assert index.block.shape == (rows,)
    keys = [text(index.keys[:, row], index.cube.levels) for row in range(rows)]
    for row, key in enumerate(keys):
        around = [string for string in strings if key.startswith(string)]
        assert strings[index.block[row]] == max(around, key=len)
    for b, string in enumerate(strings[1:], 1):
        around = [other for other in strings if string.startswith(other) and other != string]
        assert strings[index.parent[b]] == max(around, key=len)
    assert index.parent[0] == -1
    assert index.count.tolist() == np.bincount(index.block, minlength=index.blocks).tolist()
    if rows:
        assert index.count.min() >= index.m


@st.composite
def clouds(draw, most=60, highest=5):
    """Bits of some dimensions and points in the cells: uniform, clustered or many alike."""
    bits = draw(st.lists(st.integers(0, highest), min_size=1, max_size=4).filter(lambda b: max(b) > 0))
    rows = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    shape = draw(st.sampled_from(["uniform", "clustered", "alike"]))
    top = np.array([1 << b for b in bits])[:, None]
    if shape == "uniform":
        points = rng.random((len(bits), rows)) * top
    elif shape == "clustered":
        points = np.abs(rng.normal(0.3, 0.1, (len(bits), rows))) * top
    else:
        points = rng.integers(0, 3, (len(bits), rows)).astype(float)
    return bits, np.clip(points, 0, top - 1e-6)
