"""Why BangA's groups are wide: the same blocks joined in other ways, at many k and by the size of blocks."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.grouping import Grouping
from republish.metrics import discernibility, global_certainty_penalty
from republish.microdata import Microdata
from republish.papers.banga.checks import steady
from republish.papers.banga.data import BANGA, RPLUS, M, customers, published, released, uci_adult
from republish.papers.banga.quality import NEEDS_ADULT, SIZES
from republish.papers.banga.times import BLOCKS, BLOCKS_K
from republish.papers.checks import below
from republish.papers.study import Cell, Claim, Row, Scale, figure
from republish.publishers.banga import BangA, ClusteredView
from republish.release.release import Release
from republish.spatial.dendrogram.dendrogram import dendrogram_of, neighbours, volumes

ROUNDS, CLOSEST, PENALTY = (
    f"{BANGA}: by density, in rounds",
    "by density, closest pair first",
    "by least penalty",
)


def closest_first(
    count: IntArray, volume: FloatArray, start: IntArray, near: IntArray
) -> tuple[IntArray, FloatArray]:
    """Return merges and volumes as `merged_by_density` does, one merge after the other: always the closest pair.

    The other way to read section 3.6.1. Of pairs that are equally close it is the first by number; clusters without
    neighbours are merged last.
    """
    blocks = len(count)
    size, space = np.zeros(2 * blocks - 1), np.zeros(2 * blocks - 1)
    size[:blocks], space[:blocks] = count, volume
    density = np.log(np.maximum(size, 1)) - np.log(np.maximum(space, np.finfo(float).tiny))
    beside = [set(near[start[b] : start[b + 1]].tolist()) - {b} for b in range(blocks)]
    waiting = [(abs(density[a] - density[b]), a, b) for a in range(blocks) for b in beside[a] if a < b]
    heapq.heapify(waiting)
    alive = set(range(blocks))
    child = np.empty((blocks - 1, 2), dtype=np.int32)
    for made in range(blocks, 2 * blocks - 1):
        pair = _closest(waiting, alive)
        child[made - blocks] = pair
        size[made], space[made] = size[list(pair)].sum(), space[list(pair)].sum()
        density[made] = np.log(size[made]) - np.log(space[made])
        alive.difference_update(pair)
        beside.append((beside[pair[0]] | beside[pair[1]]) & alive)
        for other in beside[made]:
            beside[other].add(made)
            heapq.heappush(waiting, (abs(density[made] - density[other]), other, made))
        alive.add(made)
    return child, space


def _closest(waiting: list[tuple[float, int, int]], alive: set[int]) -> tuple[int, int]:
    while waiting:
        _, one, other = heapq.heappop(waiting)
        if one in alive and other in alive:
            return one, other
    one, other = sorted(alive)[:2]
    return one, other


def _in_rounds(clustered: ClusteredView, k: int) -> IntArray:
    return clustered.groups(k)


def _closest_first(clustered: ClusteredView, k: int) -> IntArray:
    index, tree = clustered.index, clustered.dendrogram
    count = np.maximum(index.count, 1)
    child, space = closest_first(count, volumes(index), *neighbours(index))
    size = np.concatenate([index.count, np.zeros(len(child), dtype=np.int64)]).astype(np.int64)
    for node, (one, other) in enumerate(child, start=index.blocks):
        size[node] = size[one] + size[other]
    density = np.log(np.maximum(size, 1)) - np.log(space)
    return replace(tree, child=child, size=size, density=density).cut(k)


def _by_penalty(clustered: ClusteredView, k: int) -> IntArray:
    view = clustered.view
    return dendrogram_of(clustered.index, view.points, view.axes, wanted=(k,)).cut(k)


_JOINS: Final[Mapping[str, Callable[[ClusteredView, int], IntArray]]] = MappingProxyType(
    {ROUNDS: _in_rounds, CLOSEST: _closest_first, PENALTY: _by_penalty}
)


def joined(view: Microdata, how: str, k: int, m: int) -> Release:
    """BangA's blocks of m rows joined for k, published in the bounding boxes of the groups."""
    clustered = BangA(k, m=m).index(view)
    return released(view, Grouping(group=_JOINS[how](clustered, k)[clustered.index.block]))


def run_joins(scale: Scale, *, how: str) -> list[Row]:
    """Rows alike and penalty on UCI Adult at every k, of blocks of 5 rows, or of the R+-tree."""
    view, rows = uci_adult(scale), list[Row]()
    for k in SIZES:
        if k > view.rows:
            continue
        release = published(view, RPLUS, k) if how == RPLUS else joined(view, how, k, M)
        alike, penalty = discernibility(release) / view.rows, global_certainty_penalty(release)
        rows.append({"k": k, "alike": alike, "penalty": penalty})
    return rows


def run_blocks_joined(scale: Scale, *, how: str) -> list[Row]:
    """Penalty at k = 100 on Customer in clusters by the size of blocks."""
    view = customers(scale, clustered=True)
    return [{"m": m, "penalty": global_certainty_penalty(joined(view, how, BLOCKS_K, m))} for m in BLOCKS]


def cells(scale: Scale) -> list[Cell]:
    """A cell a line; without UCI Adult those by the size of blocks."""
    lines = (ROUNDS, CLOSEST, PENALTY, RPLUS) if scale.adult is not None else ()
    return [
        *(Cell("banga-blocks-joined", run_blocks_joined, {"how": how}) for how in (ROUNDS, PENALTY)),
        *(Cell("banga-joins", run_joins, {"how": how}) for how in lines),
    ]


FIGURES = (
    figure(
        "Section 3.7.2, blocks joined otherwise",
        "certainty penalty at k = 100 of the same blocks, by how they are joined",
        "banga-blocks-joined",
        ("m", "least rows of a block, M"),
        ("penalty", "certainty penalty (share of the domain, mean)"),
        Claim(
            "Our own: it is joining by density that makes quality depend on the size of blocks; joined by least "
            "penalty the same blocks are as good whatever their size.",
            "Highest and lowest penalty at most 5 % apart; in shape up to 15 %.",
            steady(PENALTY, 0.05),
            own=True,
        ),
        line="how",
    ),
    figure(
        "Fig. 3.11, other pairings",
        "discernibility by k on UCI Adult of the same blocks, by how they are joined",
        "banga-joins",
        ("k", "k (rows)"),
        ("alike", "discernibility (rows alike, mean a row)"),
        Claim(
            "Our own: in rounds is the better reading of the two; the closest pair first makes groups less equal.",
            "Discernibility in rounds at most that of the closest pair first at every k; in shape if on average.",
            below(ROUNDS, CLOSEST),
            own=True,
        ),
        Claim(
            "Our own: joined by least penalty the same blocks have less discernibility than the R+-tree.",
            "At most that of the R+-tree at every k; in shape if on average.",
            below(PENALTY, RPLUS),
            own=True,
        ),
        line="how",
        log="xy",
        needs=NEEDS_ADULT,
    ),
)
