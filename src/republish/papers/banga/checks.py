"""Checks that this paper's claims need beyond those of every paper."""

from __future__ import annotations

import numpy as np

from republish.papers.checks import Check
from republish.papers.study import Finding, Lines, Outcome, Value


def saves(low: str, high: str, x: Value, share: float) -> Check:
    """At x line `low` lies by at least this share below `high`; in shape if below it at all."""

    def check(lines: Lines) -> Finding:
        one, other = lines.at(low, x), lines.at(high, x)
        saved = 1 - one / other
        verdict = Outcome.HOLDS if saved >= share - 1e-12 else Outcome.SHAPE if saved > 0 else Outcome.FAILS
        return Finding(verdict, f"{low} {_apart(saved)} {high} at {x}, the paper {share:.0%} below")

    return check


def saves_above_least(low: str, high: str, x: float, share: float) -> Check:
    """As `saves`, of what both have above x itself, the least that they could have there."""

    def check(lines: Lines) -> Finding:
        one, other = lines.at(low, x) - x, lines.at(high, x) - x
        if other <= 0:
            return Finding(Outcome.FAILS, f"{high} has the least possible at {x}")
        saved = 1 - one / other
        verdict = Outcome.HOLDS if saved >= share else Outcome.SHAPE if saved > 0 else Outcome.FAILS
        return Finding(
            verdict, f"above the least possible, {low} {_apart(saved)} {high}; the paper {share:.0%} below"
        )

    return check


def gap_grows(low: str, high: str) -> Check:
    """The ratio of `high` to `low` rises from the first to the last place, and in three quarters of all pairs.

    In shape if it only ends higher than it begins.
    """

    def check(lines: Lines) -> Finding:
        one, other = lines.together(low, high)
        if len(one) < 2:
            return Finding(Outcome.NOT_RUN, "fewer than two places in common")
        gap = other / one
        steps = (gap[None, :] - gap[:, None])[np.triu_indices(len(gap), 1)]
        rises = gap[-1] > gap[0]
        verdict = (
            Outcome.HOLDS
            if rises and np.mean(steps > 0) >= 0.75
            else Outcome.SHAPE
            if rises
            else Outcome.FAILS
        )
        return Finding(
            verdict, f"{high} over {low} from {gap[0]:.2f} to {gap[-1]:.2f}, at most {gap.max():.2f}"
        )

    return check


def steady(line: str, share: float) -> Check:
    """The highest value exceeds the lowest by at most this share of it; in shape by three times that."""

    def check(lines: Lines) -> Finding:
        values = lines.y(line)
        spread = float(values.max() / values.min() - 1)
        verdict = (
            Outcome.HOLDS
            if spread <= share + 1e-12
            else Outcome.SHAPE
            if spread <= 3 * share + 1e-12
            else Outcome.FAILS
        )
        return Finding(verdict, f"{line} from {values.min():.3g} to {values.max():.3g}, {spread:.0%} apart")

    return check


def steadier(one: str, other: str) -> Check:
    """The values of `one` deviate less from their mean than those of `other`; in shape if so as shares of the mean."""

    def check(lines: Lines) -> Finding:
        first, second = lines.y(one), lines.y(other)
        less = first.std() <= second.std()
        in_shares = first.std() * second.mean() <= second.std() * first.mean()
        verdict = Outcome.HOLDS if less else Outcome.SHAPE if in_shares else Outcome.FAILS
        return Finding(
            verdict, f"standard deviation {first.std():.3g} of {one}, {second.std():.3g} of {other}"
        )

    return check


def takes_times(line: str, x: Value, than: Value, factor: float) -> Check:
    """At x the line is at most `factor` times what it is at `than`; in shape up to half as much again."""

    def check(lines: Lines) -> Finding:
        found = lines.at(line, x) / lines.at(line, than)
        verdict = (
            Outcome.HOLDS if found <= factor else Outcome.SHAPE if found <= 1.5 * factor else Outcome.FAILS
        )
        return Finding(verdict, f"{line} at {x}: {found:.2f} times that at {than}, the paper {factor:.2f}")

    return check


def ratio_falls(low: str, high: str, x: Value, than: Value) -> Check:
    """`low` is the smaller share of `high` at x than at another place."""

    def check(lines: Lines) -> Finding:
        here, there = (lines.at(low, place) / lines.at(high, place) for place in (x, than))
        verdict = Outcome.HOLDS if here <= there else Outcome.FAILS
        return Finding(verdict, f"{low} over {high}: {here:.2f} at {x}, {there:.2f} at {than}")

    return check


def only(one: str, other: str, x: Value) -> Check:
    """At x line `one` has a value and `other` has none."""

    def check(lines: Lines) -> Finding:
        if x not in lines.points[one][0]:
            return Finding(Outcome.NOT_RUN, "not computed in this run")
        if x not in lines.points[other][0]:
            return Finding(Outcome.HOLDS, f"{other} ran out of memory")
        return Finding(Outcome.FAILS, f"{other} finished in {lines.at(other, x):.3g} s")

    return check


def _apart(saved: float) -> str:
    return f"{abs(saved):.1%} {'below' if saved > 0 else 'above'}"
