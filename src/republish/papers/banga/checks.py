"""Checks that this paper's claims need beyond those of every paper."""

from __future__ import annotations

import numpy as np

from republish.papers.checks import graded, prepared
from republish.papers.study import Finding, Lines, Outcome, Value


@prepared
def saves(lines: Lines, low: str, high: str, x: Value, share: float) -> Finding:
    """At x line `low` lies by at least this share below `high`; in shape if below it at all."""
    one, other = lines.at(low, x), lines.at(high, x)
    saved = 1 - one / other
    said = f"{low} {_apart(saved)} {high} at {x}, the paper {share:.0%} below"
    return graded(saved >= share - 1e-12, saved > 0, said)


@prepared
def saves_above_least(lines: Lines, low: str, high: str, x: float, share: float) -> Finding:
    """As `saves`, of what both have above x itself, the least that they could have there."""
    one, other = lines.at(low, x) - x, lines.at(high, x) - x
    if other <= 0:
        return Finding(Outcome.FAILS, f"{high} has the least possible at {x}")
    saved = 1 - one / other
    said = f"above the least possible, {low} {_apart(saved)} {high}; the paper {share:.0%} below"
    return graded(saved >= share, saved > 0, said)


@prepared
def gap_grows(lines: Lines, low: str, high: str) -> Finding:
    """The ratio of `high` to `low` rises from the first to the last place, and in three quarters of all pairs.

    In shape if it only ends higher than it begins.
    """
    one, other = lines.together(low, high)
    if len(one) < 2:
        return Finding(Outcome.NOT_RUN, "fewer than two places in common")
    gap = other / one
    steps = (gap[None, :] - gap[:, None])[np.triu_indices(len(gap), 1)]
    rises = gap[-1] > gap[0]
    said = f"{high} over {low} from {gap[0]:.2f} to {gap[-1]:.2f}, at most {gap.max():.2f}"
    return graded(rises and np.mean(steps > 0) >= 0.75, rises, said)


@prepared
def steady(lines: Lines, line: str, share: float) -> Finding:
    """The highest value exceeds the lowest by at most this share of it; in shape by three times that."""
    values = lines.y(line)
    spread = float(values.max() / values.min() - 1)
    said = f"{line} from {values.min():.3g} to {values.max():.3g}, {spread:.0%} apart"
    return graded(spread <= share + 1e-12, spread <= 3 * share + 1e-12, said)


@prepared
def steadier(lines: Lines, one: str, other: str) -> Finding:
    """The values of `one` deviate less from their mean than those of `other`; in shape if so as shares of the mean."""
    first, second = lines.y(one), lines.y(other)
    less = first.std() <= second.std()
    in_shares = first.std() * second.mean() <= second.std() * first.mean()
    said = f"standard deviation {first.std():.3g} of {one}, {second.std():.3g} of {other}"
    return graded(less, in_shares, said)


@prepared
def takes_times(lines: Lines, line: str, x: Value, than: Value, factor: float) -> Finding:
    """At x the line is at most `factor` times what it is at `than`; in shape up to half as much again."""
    found = lines.at(line, x) / lines.at(line, than)
    said = f"{line} at {x}: {found:.2f} times that at {than}, the paper {factor:.2f}"
    return graded(found <= factor, found <= 1.5 * factor, said)


@prepared
def ratio_falls(lines: Lines, low: str, high: str, x: Value, than: Value) -> Finding:
    """`low` is the smaller share of `high` at x than at another place."""
    here, there = (lines.at(low, place) / lines.at(high, place) for place in (x, than))
    return graded(here <= there, False, f"{low} over {high}: {here:.2f} at {x}, {there:.2f} at {than}")


@prepared
def only(lines: Lines, one: str, other: str, x: Value) -> Finding:
    """At x line `one` has a value and `other` has none."""
    if x not in lines.points[one][0]:
        return Finding(Outcome.NOT_RUN, "not computed in this run")
    if x not in lines.points[other][0]:
        return Finding(Outcome.HOLDS, f"{other} ran out of memory")
    return Finding(Outcome.FAILS, f"{other} finished in {lines.at(other, x):.3g} s")


def _apart(saved: float) -> str:
    return f"{abs(saved):.1%} {'below' if saved > 0 else 'above'}"
