"""Work on parts of the rows, on as many threads as numba may use; the kernels hold no lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

from republish.kernels import threads

__all__ = ["in_chunks", "side_by_side", "threads"]

_FEWEST = 50_000

_Part = TypeVar("_Part")
_Result = TypeVar("_Result")


def in_chunks(rows: int, work: Callable[[int, int], object], fewest: int = _FEWEST) -> None:
    """Call `work(begin, end)` for stretches that together are all rows."""
    count = min(4 * threads(), rows // fewest) if threads() > 1 else 1
    bounds = [rows * c // max(count, 1) for c in range(max(count, 1) + 1)]
    side_by_side(lambda part: work(*part), pairwise(bounds))


def side_by_side(work: Callable[[_Part], _Result], parts: Iterable[_Part]) -> list[_Result]:
    """Call `work` for every part, several at a time; what it returns, in the order of the parts."""
    given = list(parts)
    if len(given) < 2 or threads() < 2:
        return [work(part) for part in given]
    with ThreadPoolExecutor(threads()) as pool:
        return list(pool.map(work, given))
