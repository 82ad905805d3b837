"""Time of Mondrian against a k-d tree on the same rows.

Five uniform quasi-identifiers, k = 10, both in one warm process; the least of three runs each.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy.spatial import cKDTree

from republish.publishers._kernels.mondrian import Space
from republish.publishers.mondrian import divide
from republish.requirements import KAnonymity, LDiversity, Requirement, Whole

K, COLUMNS, VALUES = 10, 5, 19
CASES: dict[str, tuple[tuple[Requirement, ...], bool]] = {
    "strict, k": ((KAnonymity(K),), True),
    "relaxed, k": ((KAnonymity(K),), False),
    "strict, k and l": ((KAnonymity(K), LDiversity(5)), True),
}


def least(work: Callable[[], object], runs: int = 3) -> float:
    """Return the least wall-clock time of some runs."""
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def space_of(n: int) -> tuple[Space, np.ndarray, Whole]:
    """Return n uniform rows and their sensitive values."""
    rng = np.random.default_rng(0)
    points = rng.random((COLUMNS, n))
    codes = rng.integers(0, VALUES, n).astype(np.int32)
    nothing, zeros, ones = np.zeros(0, np.int32), np.zeros(COLUMNS, np.int64), np.ones(COLUMNS)
    space = Space(points, ones, ones, np.zeros(COLUMNS, np.int8), nothing, nothing, zeros, zeros)
    return space, codes, Whole.of(codes, VALUES)


def measure(n: int) -> dict[str, float]:
    """Return the time of every case and of the k-d tree for n rows."""
    space, codes, whole = space_of(n)
    times = {
        name: least(lambda asked=asked, strict=strict: divide(space, codes, whole, asked, strict))
        for name, (asked, strict) in CASES.items()
    }
    times["k-d tree"] = least(lambda: cKDTree(space.points.T, leafsize=K))
    return times


def main(full: bool = False) -> None:
    """Print the ratios at 1,000,000 rows, and at 10,000,000 with `full`."""
    measure(10_000)
    before: dict[str, float] = {}
    for n in [1_000_000, *([10_000_000] if full else [])]:
        times = measure(n)
        for name, seconds in times.items():
            ratio = seconds / times["k-d tree"]
            growth = f"  {seconds / before[name]:5.2f} x a tenth of the rows" if before else ""
            print(f"mondrian {n:>10,}  {name:<16} {seconds:7.3f} s  {ratio:5.2f} x k-d tree{growth}")
        before = times
