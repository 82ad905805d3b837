"""Checks that the claims of the tau-safety experiments need beyond the common ones."""

from __future__ import annotations

import numpy as np

from republish.papers.checks import below, graded, prepared
from republish.papers.study import Finding, Lines, Outcome


@prepared
def higher(lines: Lines, high: str, low: str, factor: float) -> Finding:
    """Line `high` is everywhere at least `factor` times line `low`; in shape if it is everywhere above it."""
    one, other = lines.together(high, low)
    if not len(one):
        return Finding(Outcome.NOT_RUN, "no place in common")
    times = one / np.maximum(other, 1e-12)
    least = float(times.min())
    return graded(least >= factor, least > 1, f"{high} {least:.2f} to {times.max():.2f} times {low}")


@prepared
def alike(lines: Lines, one: str, other: str, within: float) -> Finding:
    """The lines differ nowhere by more than this share of the second; in shape by three times that."""
    first, second = lines.together(one, other)
    if not len(first):
        return Finding(Outcome.NOT_RUN, "no place in common")
    off = float(np.max(np.abs(first - second) / np.maximum(second, 1e-12)))
    return graded(off <= within, off <= 3 * within, f"{one} differs from {other} by at most {off:.2%}")


@prepared
def never_fewer(lines: Lines, more: str, fewer: str) -> Finding:
    """Line `more` is nowhere below line `fewer` and somewhere above; in shape if they are the same everywhere.

    Open if both are 0 everywhere: then there is nothing to compare.
    """
    one, other = lines.together(more, fewer)
    if not len(one):
        return Finding(Outcome.NOT_RUN, "no place in common")
    below_it, above = np.count_nonzero(one < other - 1e-12), np.count_nonzero(one > other + 1e-12)
    verdict = Outcome.FAILS if below_it else Outcome.HOLDS if above else Outcome.SHAPE
    if not one.any() and not other.any():
        verdict = Outcome.OPEN
    said = f"{more} above {fewer} at {above}, below at {below_it} of {len(one)} points"
    return Finding(verdict, f"{said}; {one.mean():.3g} and {other.mean():.3g} on average")


@prepared
def some_but_below(lines: Lines, low: str, high: str) -> Finding:
    """As `below`, and open where line `low` is 0 throughout: then it is below whatever the other is."""
    found = below(low, high)(lines)
    nothing = found.verdict is not Outcome.NOT_RUN and not lines.y(low).any()
    return Finding(Outcome.OPEN, f"{found.number}; {low} is 0 throughout") if nothing else found


@prepared
def multiplies(lines: Lines, line: str, factor: float) -> Finding:
    """The last value is at least `factor` times the first, below 1 at most so; in shape if it moves that way."""
    values = lines.y(line)
    if len(values) < 2:
        return Finding(Outcome.NOT_RUN, "fewer than two places")
    times = float(values[-1] / max(values[0], 1e-12))
    enough, moves = (times >= factor, times > 1) if factor > 1 else (times <= factor, times < 1)
    return graded(enough, moves, f"{line} from {values[0]:.4g} to {values[-1]:.4g}, {times:.3g} times")


@prepared
def levels_off(lines: Lines, line: str) -> Finding:
    """The line rises, and no more in its second half than in its first; in shape if it rises at all."""
    values = lines.y(line)
    if len(values) < 3:
        return Finding(Outcome.NOT_RUN, "fewer than three places")
    middle = values[len(values) // 2]
    first, second = float(middle - values[0]), float(values[-1] - middle)
    rises = first + second > 0
    said = f"{line} from {values[0]:.3g} by {middle:.3g} to {values[-1]:.3g}"
    return graded(rises and second <= first, rises, said)


@prepared
def mostly_none(lines: Lines, line: str) -> Finding:
    """At least half of the places are 0; in shape if any is after the first."""
    none = lines.y(line) == 0
    said = f"{line} 0 at {np.count_nonzero(none)} of {len(none)} points"
    return graded(none.mean() >= 0.5, none[1:].any(), said)
