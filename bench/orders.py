"""Time of the two orders against a sort and the queries of a k-d tree on the same rows.

Three tables: five uniform quasi-identifiers, seven, and the age, gender and weight of a hospital, at most 3,720
distinct points. The reference of the Hilbert order is one lexical sort of the columns; that of nearest point next is
a k-d tree of the distinct points that finds the nearest other one of each, without deletions. Warm process.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from bench.mondrian import least
from republish.orders import hilbert_order, nearest_point_next


def tables(n: int) -> dict[str, np.ndarray]:
    """Return the points of every table."""
    rng = np.random.default_rng(0)
    hospital = [rng.integers(20, 80, n), rng.integers(0, 2, n), rng.normal(70, 9, n).round().clip(45, 75)]
    return {
        "5 uniform": rng.random((5, n)),
        "7 uniform": rng.random((7, n)),
        "age, gender, weight": np.array(hospital, dtype=np.float64),
    }


def queries(points: np.ndarray) -> object:
    """Return the nearest other point of every point."""
    return cKDTree(points.T, balanced_tree=False).query(points.T, k=2)


def main(full: bool = False) -> None:
    """Print times and ratios at 100,000 rows, and at 1,000,000 with `full`."""
    for points in tables(1000).values():
        hilbert_order(points)
        nearest_point_next(points)
    for n in [100_000, *([1_000_000] if full else [])]:
        runs = 3 if n == 100_000 else 1
        for name, points in tables(n).items():
            sort = least(lambda points=points: np.lexsort(points), runs)
            curve = least(lambda points=points: hilbert_order(points), runs)
            distinct = np.unique(points, axis=1)
            tree = least(lambda distinct=distinct: queries(distinct), runs)
            walk = least(lambda points=points: nearest_point_next(points), runs)
            print(f"orders {n:>10,}  {name:<20} hilbert {curve:7.3f} s  {curve / sort:5.2f} x lexical sort")
            print(f"orders {n:>10,}  {name:<20} nearest {walk:7.3f} s  {walk / tree:5.2f} x k-d tree queries")
