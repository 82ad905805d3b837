"""Time of the penalty tree against a sort of 64-bit keys and a k-d tree, and its groups against Mondrian's.

Uniform numbers, k = 5, reading and writing excluded. The reference is four times `np.argsort` of a 64-bit key plus
twice a k-d tree with leaves of 5 rows: an index should take less, with dendrogram and first release less than three
times as much. Warm process, the least of three runs each (one for 10,000,000 rows).
"""

from __future__ import annotations

import numba
import numpy as np
import polars as pl
from scipy.spatial import cKDTree

from bench.mondrian import least
from bench.publish import PeakMemory
from republish import Category, Mondrian, Number, Schema, read_view
from republish.memory.memory import Memory
from republish.metrics import discernibility, global_certainty_penalty, kl_divergence
from republish.microdata import Microdata
from republish.publishers.penalty_tree import PenaltyTree
from republish.release.release import build_release
from republish.secret import Secret
from republish.spatial import bulk_load, cube_of

K = 5
SIZES = (5, 10, 20, 50, 100, 1000)
SECRET = Secret.from_text("the same for every measurement")


def uniform(n: int, columns: int) -> Microdata:
    """Return a view of uniform numbers and 19 sensitive values."""
    rng = np.random.default_rng(0)
    return _view(rng.random((columns, n)), rng.integers(0, 19, n))


def clustered(n: int, columns: int) -> Microdata:
    """Return a view of customers in twenty clusters: whole numbers."""
    rng = np.random.default_rng(1)
    centre = rng.random((20, columns)) * 10_000
    points = rng.normal(centre[rng.integers(0, 20, n)], 400).round().clip(0, 10_000).T
    return _view(points, rng.integers(0, 19, n))


def _view(points: np.ndarray, codes: np.ndarray) -> Microdata:
    names = [f"q{q}" for q in range(len(points))]
    frame = pl.DataFrame({**dict(zip(names, points, strict=True)), "value": pl.Series(codes).cast(pl.String)})
    return read_view(frame, Schema(None, [Number(name) for name in names], Category("value")))


def reference(view: Microdata, runs: int) -> tuple[float, float]:
    """Return the time of one sort of keys and of one k-d tree."""
    keys = np.random.default_rng(0).integers(0, 2**63, view.rows).astype(np.uint64)
    rows = np.ascontiguousarray(view.points.T)
    return least(lambda: np.argsort(keys), runs), least(lambda: cKDTree(rows, leafsize=K), runs)


def speed(n: int, columns: int, runs: int) -> float:
    """Print the times for n rows; return that of index, dendrogram and release together."""
    view = uniform(n, columns)
    sort, tree = reference(view, runs)
    bound = 4 * sort + 2 * tree
    index = least(lambda: bulk_load(cube_of(view), view.points, 1, full=2), runs)
    coarse = least(lambda: bulk_load(cube_of(view), view.points, K), runs)
    with PeakMemory() as memory:
        all_of_it = least(
            lambda: PenaltyTree(K).publish(view, Memory.empty(), np.random.default_rng(0)), runs
        )
    head = f"penalty-tree {n:>10,} x {columns}"
    print(f"{head}  reference        {bound:7.3f} s  = 4 x sort {sort:.3f} s + 2 x k-d tree {tree:.3f} s")
    print(f"{head}  index, M = 1     {index:7.3f} s  {index / bound:5.2f} x reference (at most 1)")
    print(f"{head}  index, M = {K}     {coarse:7.3f} s  {coarse / bound:5.2f} x reference (at most 1)")
    print(f"{head}  first release    {all_of_it:7.3f} s  {all_of_it / bound:5.2f} x reference (at most 3)")
    print(f"{head}  peak memory      {memory.peak / 2**30:7.2f} GB above the view")
    return all_of_it


def with_threads(n: int, columns: int) -> None:
    """Print what a second thread brings."""
    view, most = uniform(n, columns), numba.get_num_threads()
    times = {}
    for threads in (1, min(2, most)):
        numba.set_num_threads(threads)
        times[threads] = least(lambda: PenaltyTree(K).publish(view, Memory.empty(), np.random.default_rng(0)))
    numba.set_num_threads(most)
    gain = times[1] / times[max(times)]
    print(f"penalty-tree {n:>10,} x {columns}  one thread       {times[1]:7.3f} s  {gain:5.2f} x that of two")


def many_sizes(n: int, columns: int) -> None:
    """Print the time of one index for many k, and of each release from it."""
    view = uniform(n, columns)
    once = least(lambda: PenaltyTree(K).index(view, SIZES), 1)
    made = PenaltyTree(K).index(view, SIZES)
    each = least(lambda: [made.release(k) for k in SIZES]) / len(SIZES)
    print(
        f"penalty-tree {n:>10,} x {columns}  index for {len(SIZES)} k  {once:7.3f} s, then {each:.3f} s a release"
    )


def quality(name: str, view: Microdata) -> None:
    """Print penalty, discernibility and KL-divergence over those of Mondrian."""
    one_index = PenaltyTree(K).index(view, SIZES)
    nothing, rng = Memory.empty(), np.random.default_rng(0)
    for k in SIZES:
        groupings = (
            Mondrian(k).publish(view, nothing, rng),
            PenaltyTree(k).publish(view, nothing, rng),
            one_index.release(k),
        )
        releases = [build_release(view, grouping, SECRET, 1)[0] for grouping in groupings]
        rows = [
            (global_certainty_penalty(made), discernibility(made) / view.rows, kl_divergence(made, view))
            for made in releases
        ]
        texts = [
            " ".join(f"{ours / theirs:6.3f}" for ours, theirs in zip(row, rows[0], strict=True))
            for row in rows[1:]
        ]
        shown = f"{rows[0][0]:6.4f} {rows[0][1]:8.1f} {rows[0][2]:7.3f}"
        print(
            f"penalty-tree {name:<10} k={k:<5} mondrian {shown} | own index {texts[0]} | one for all {texts[1]}"
        )


def main(full: bool = False) -> None:
    """Print times at 1,000,000 rows, the quality on 50,000; with `full` also 100,000 and 10,000,000 rows."""
    PenaltyTree(K).publish(uniform(2000, 3), Memory.empty(), np.random.default_rng(0))
    speed(1_000_000, 7, 3)
    with_threads(1_000_000, 7)
    many_sizes(1_000_000, 7)
    if full:
        before = speed(1_000_000, 5, 3)
        after = speed(10_000_000, 5, 1)
        print(f"penalty-tree  10,000,000 x 5  takes {after / before:.2f} x a tenth of the rows (at most 12)")
    print("penalty-tree quality: penalty, discernibility a row, KL-divergence; ours over Mondrian's")
    quality("uniform", uniform(50_000, 7))
    quality("clustered", clustered(50_000, 7))
