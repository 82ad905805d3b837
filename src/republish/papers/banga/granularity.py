"""Runs with many k from one index (section 3.6.2), and tables that only grow (section 3.8.3)."""

from __future__ import annotations

import numpy as np

from republish.grouping import Grouping
from republish.memory.memory import Memory
from republish.metrics import global_certainty_penalty
from republish.microdata import Microdata
from republish.papers.banga.data import M, customers, released
from republish.papers.checks import at_least, below
from republish.papers.study import Cell, Claim, Row, Scale, figure
from republish.publishers.banga import BangA
from republish.publishers.rplus_tree import RPlusTree

SIZES = (5, 10, 20, 50, 100, 1000, 10_000)
ONE_BANGA, ONE_RPLUS, ONE_DENSITY = (
    "BangA, one index",
    "R+-tree, one index",
    "BangA by density, one index",
)
OWN_BANGA, OWN_RPLUS = "BangA, made for k", "R+-tree, made for k"
GROWN, ANEW = "index kept and grown", "new index"
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
    publisher = BangA(M, m=M, incremental=how == GROWN)
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
    lines = (ONE_BANGA, OWN_BANGA, ONE_RPLUS, OWN_RPLUS, ONE_DENSITY)
    return [
        *(Cell("banga-granular", run_granular, {"how": how}) for how in lines),
        *(Cell("banga-growing", run_growing, {"how": how}) for how in (GROWN, ANEW)),
    ]


def _groupings(view: Microdata, how: str, sizes: list[int]) -> list[Grouping]:
    if how in (ONE_BANGA, ONE_DENSITY):
        merge = "density" if how == ONE_DENSITY else "penalty"
        index = BangA(M, m=M, merge=merge).index(view, sizes)
        return [index.release(k) for k in sizes]
    if how == ONE_RPLUS:
        tree = RPlusTree(M).index(view)
        return [Grouping(group=tree.cut(k)) for k in sizes]
    made = (BangA(k, m=k) if how == OWN_BANGA else RPlusTree(k) for k in sizes)
    return [publisher.publish(view, Memory.empty(), np.random.default_rng(0)) for publisher in made]


FIGURES = (
    figure(
        "Section 3.6.2, quality",
        "certainty penalty at many k, from one index and made for each",
        "banga-granular",
        ("k", "k (rows)"),
        ("penalty", "certainty penalty (share of the domain, mean)"),
        Claim(
            "(our BangA) Cuts of the dendrogram are better than the R+-tree's scan of leaves, which joins "
            "neighbours in the order of the tree.",
            "BangA's penalty from one index at most that of the R+-tree's at every k; in shape if on average.",
            below(ONE_BANGA, ONE_RPLUS),
        ),
        Claim(
            "So are cuts of the dendrogram of the thesis, by density.",
            "Its penalty at most that of the R+-tree's from one index at every k; in shape if on average.",
            below(ONE_DENSITY, ONE_RPLUS),
        ),
        Claim(
            "(our BangA) One index with small blocks serves every k as well as an index made for that k.",
            "BangA's penalty from one index at most 5 % above that of one made for k, at every k; in shape if on "
            "average.",
            below(ONE_BANGA, OWN_BANGA, 1.05),
        ),
        line="how",
        log="xy",
    ),
    figure(
        "Section 3.8.3, quality",
        "certainty penalty of a table that doubles",
        "banga-growing",
        ("release", "release"),
        ("penalty", "certainty penalty (share of the domain, mean)"),
        Claim(
            "(our BangA) Where rows are only added, an index that is kept and grown stays as useful.",
            "Penalty at most 5 % above that of a new index at every release; in shape if on average.",
            below(GROWN, ANEW, 1.05),
        ),
        line="how",
    ),
    figure(
        "Section 3.8.3, smallest group",
        "rows of the smallest group of a table that grows, k = 5",
        "banga-growing",
        ("release", "release"),
        ("smallest", "rows of the smallest group"),
        Claim(
            "(our BangA) New rows join earlier groups without breaking k-anonymity.",
            "No group of any release has fewer than 5 rows.",
            at_least(GROWN, float(M), loosely=float(M)),
        ),
        line="how",
        bars=True,
    ),
)
