"""Checks that only this paper needs: growth within some releases, curves that descend, too few releases to judge."""

from __future__ import annotations

from republish.papers.checks import Check, graded, prepared
from republish.papers.study import Finding, Lines, Outcome

ENOUGH = 6
"""How many releases must publish something."""


@prepared
def with_enough(lines: Lines, line: str, check: Check) -> Finding:
    """What a check finds, where the line has enough releases: those that publish nothing have no point."""
    releases = len(lines.points[line][0]) if line in lines.points else 0
    if 0 < releases < ENOUGH:
        return Finding(Outcome.OPEN, f"{line}: {releases} releases publish something; {ENOUGH} needed")
    return check(lines)


@prepared
def first_at_most(lines: Lines, line: str, limit: float) -> Finding:
    """At the first place the line is at most the limit; in shape up to half as much again."""
    found = float(lines.y(line)[0])
    return graded(found <= limit, found <= 1.5 * limit, f"{line} {found:.3g} at first, limit {limit:g}")


@prepared
def exceeds_by(lines: Lines, line: str, place: int, limit: float) -> Finding:
    """Up to a place the line has exceeded the limit; in shape if it does so later."""
    above = [int(x) for x, y in zip(*lines.points[line], strict=True) if y > limit]
    if not above:
        return Finding(Outcome.FAILS, f"{line} never above {limit:g}, at most {lines.y(line).max():.3g}")
    return graded(above[0] <= place, True, f"{line} above {limit:g} from release {above[0]}")


@prepared
def descends(lines: Lines, line: str, by: float = 0.1) -> Finding:
    """The last value lies below the highest by this share of it; in shape if it lies below at all."""
    values = lines.y(line)
    top, last = float(values.max()), float(values[-1])
    return graded(last <= (1 - by) * top, last < top, f"{line} {top:.3g} at most, {last:.3g} in the end")


@prepared
def close(lines: Lines, one: str, other: str, within: float) -> Finding:
    """On average two lines differ by at most so much; in shape by twice that."""
    first, second = lines.together(one, other)
    off = float(abs(first - second).mean())
    return graded(off <= within, off <= 2 * within, f"{one} and {other} differ by {off:.3g} on average")


@prepared
def rises_little(lines: Lines, line: str, by: float) -> Finding:
    """The last value exceeds the first by at most so much; in shape by twice that."""
    values = lines.y(line)
    rise = float(values[-1] - values[0])
    said = f"{line} from {values[0]:.3g} to {values[-1]:.3g}, {values.max():.3g} at most"
    return graded(rise <= by, rise <= 2 * by, said)


@prepared
def spared(lines: Lines, line: str, limit: float, share: float) -> Finding:
    """Where x is at most the limit, y is at most the share; in shape up to twice the share."""
    held = [y for x, y in zip(*lines.points[line], strict=True) if float(x) <= limit]
    if len(held) < ENOUGH:
        return Finding(Outcome.OPEN, f"{line}: {len(held)} releases have at most {limit:g}; {ENOUGH} needed")
    said = f"{line}: {len(held)} releases with at most {limit:g} leave out {max(held):.3g} % at most"
    return graded(max(held) <= share, max(held) <= 2 * share, said)
