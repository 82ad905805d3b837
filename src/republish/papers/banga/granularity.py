"""Runs with many k from one index (section 3.6.2), and tables that only grow (section 3.8.3)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from republish.grouping import Grouping
from republish.memory.memory import Memory
from republish.metrics import global_certainty_penalty
from republish.microdata import Microdata
from republish.papers.banga.data import BANGA, PENALTY, M, about, customers, released
from republish.papers.checks import at_least, below
from republish.papers.study import Cell, Claim, Row, Scale, figure
from republish.publishers.banga import BangA
from republish.publishers.penalty_tree import PenaltyTree
from republish.publishers.rplus_tree import RPlusTree

SIZES = (5, 10, 20, 50, 100, 1000, 10_000)
ONE_BANGA, ONE_PENALTY, ONE_RPLUS = "BangA, one index", "penalty tree, one index", "R+-tree, one index"
OWN_BANGA, OWN_PENALTY, OWN_RPLUS = "BangA, made for k", "penalty tree, made for k", "R+-tree, made for k"
GROWN, ANEW = "BangA, groups kept", "BangA, new index"
TREE_GROWN, TREE_ANEW = "penalty tree, index kept and grown", "penalty tree, new index"
_GROWING: dict[str, Callable[[], BangA | PenaltyTree]] = {
    GROWN: lambda: BangA(M, insert_only=True),
    ANEW: lambda: BangA(M),
    TREE_GROWN: lambda: PenaltyTree(M, m=M, incremental=True),
    TREE_ANEW: lambda: PenaltyTree(M, m=M),
}
RELEASES = 6
_FIRST = 0.5  # of the rows are there in the first release, the others come in equal parts


def run_granular(scale: Scale, *, how: str) -> list[Row]:
    """Penalty at every k: cuts of one index with blocks of 5 rows, or an index with blocks of k rows each time."""
    view = customers(scale, clustered=True)
    sizes = [k for k in SIZES if k <= view.rows]
    return [
        {"k": k, "penalty": global_certainty_penalty(released(view, grouping))}
        for k, grouping in zip(sizes, _groupings(view, how, sizes), strict=True)
    ]


def run_growing(scale: Scale, *, how: str) -> list[Row]:
    """Penalty and smallest group of every release of a table to which rows are only added."""
    publisher = _GROWING[how]()
    memory, rows = Memory.empty(), list[Row]()
    for release in range(RELEASES):
        share = _FIRST + (1 - _FIRST) * release / (RELEASES - 1)
        view = customers(scale, clustered=True, share=share)
        grouping = publisher.publish(view, memory, np.random.default_rng(0))
        memory = publisher.remember(view, grouping, memory)
        penalty = global_certainty_penalty(released(view, grouping))
        smallest = int(np.bincount(grouping.group).min())
        rows.append({"release": release + 1, "penalty": penalty, "smallest": smallest})
    return rows


def cells(scale: Scale) -> list[Cell]:
    """A cell a line."""
    lines = (ONE_BANGA, OWN_BANGA, ONE_PENALTY, OWN_PENALTY, ONE_RPLUS, OWN_RPLUS)
    return [
        *(Cell("banga-granular", run_granular, {"how": how}) for how in lines),
        *(Cell("banga-growing", run_growing, {"how": how}) for how in _GROWING),
    ]


def _groupings(view: Microdata, how: str, sizes: list[int]) -> list[Grouping]:
    if how == ONE_BANGA:
        clustered = BangA(M).index(view)
        return [clustered.release(k) for k in sizes]
    if how == ONE_PENALTY:
        divided = PenaltyTree(M, m=M).index(view, sizes)
        return [divided.release(k) for k in sizes]
    if how == ONE_RPLUS:
        tree = RPlusTree(M).index(view)
        return [Grouping(group=tree.cut(k)) for k in sizes]
    kind = {OWN_BANGA: BangA, OWN_PENALTY: PenaltyTree, OWN_RPLUS: RPlusTree}[how]
    made = (kind(k, m=k) for k in sizes)
    return [publisher.publish(view, Memory.empty(), np.random.default_rng(0)) for publisher in made]


def _many(line: str, one: str, own: str) -> tuple[Claim, ...]:
    return (
        Claim(
            f"Cuts of the dendrogram of {about(line)} are better than the R+-tree's scan of leaves, which joins "
            "neighbours in the order of the tree.",
            "Its penalty from one index at most that of the R+-tree's at every k; in shape if on average.",
            below(one, ONE_RPLUS),
            own=line != BANGA,
        ),
        Claim(
            f"One index of {about(line)} with small blocks serves every k as well as an index made for that k.",
            "Its penalty from one index at most 5 % above that of one made for k, at every k; in shape if on average.",
            below(one, own, 1.05),
            own=line != BANGA,
        ),
    )


def _stays_useful(line: str, grown: str, anew: str) -> Claim:
    return Claim(
        f"Where rows are only added, {about(line)} goes on from what it has and stays as useful.",
        "Penalty at most 5 % above that of a new index at every release; in shape if on average.",
        below(grown, anew, 1.05),
        own=line != BANGA,
    )


def _stays_safe(line: str, grown: str) -> Claim:
    return Claim(
        f"New rows join earlier groups of {about(line)} without breaking k-anonymity.",
        "No group of any release has fewer than 5 rows.",
        at_least(grown, float(M), loosely=float(M)),
        own=line != BANGA,
    )


FIGURES = (
    figure(
        "Section 3.6.2, quality",
        "certainty penalty at many k, from one index and made for each",
        "banga-granular",
        ("k", "k (rows)"),
        ("penalty", "certainty penalty (share of the domain, mean)"),
        *_many(BANGA, ONE_BANGA, OWN_BANGA),
        *_many(PENALTY, ONE_PENALTY, OWN_PENALTY),
        line="how",
        log="xy",
    ),
    figure(
        "Section 3.8.3, quality",
        "certainty penalty of a table that doubles",
        "banga-growing",
        ("release", "release"),
        ("penalty", "certainty penalty (share of the domain, mean)"),
        _stays_useful(BANGA, GROWN, ANEW),
        _stays_useful(PENALTY, TREE_GROWN, TREE_ANEW),
        line="how",
    ),
    figure(
        "Section 3.8.3, smallest group",
        "rows of the smallest group of a table that grows, k = 5",
        "banga-growing",
        ("release", "release"),
        ("smallest", "rows of the smallest group"),
        _stays_safe(BANGA, GROWN),
        _stays_safe(PENALTY, TREE_GROWN),
        line="how",
        bars=True,
    ),
)
