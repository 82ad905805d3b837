"""What groups tell the chains of their members: posterior over what was expected."""

from __future__ import annotations

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.kernels import kernel


@kernel
def keep_possible(expected: FloatArray, possible: BoolArray, least: float, rows: IntArray) -> None:
    """Raise what is expected of the chosen rows to the least that a possible value has."""
    for i in rows:
        for x in range(expected.shape[1]):
            if possible[i, x] and expected[i, x] < least:
                expected[i, x] = least


@kernel
def answer(
    p: FloatArray, expected: FloatArray, cut: BoolArray, least: float, rows: IntArray, odds: FloatArray
) -> None:
    """Fill the odds of the chosen rows anew, the largest 1; where there were none there are none.

    Who is cut has the posterior itself.
    """
    for i in rows:
        if cut[i]:
            odds[i] = p[i]
            continue
        most = 0.0
        for x in range(p.shape[1]):
            if expected[i, x] > 0.0:
                most = max(most, p[i, x] / expected[i, x])
        scale = 1.0 / most if most > 0.0 else 1.0
        for x in range(p.shape[1]):
            if odds[i, x] > 0.0:
                ratio = p[i, x] / expected[i, x] * scale if expected[i, x] > 0.0 else 0.0
                odds[i, x] = max(ratio, least)
