"""How claims are judged: each check is made of what is expected, and looks at the lines of a figure.

A claim *holds* within its tolerance, *holds in shape* where the tendency is right and the size is not, *cannot be
judged* where the run leaves too little to compare, else it does not hold. Of several findings the worst counts: one
that does not hold refutes the claim whatever the others say; then one that was not run, one that cannot be judged, one
that holds in shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Concatenate, ParamSpec

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.papers.study import Claim, Finding, Lines, Outcome, Value

Check = Callable[[Lines], Finding]
P = ParamSpec("P")

_WORST = (Outcome.FAILS, Outcome.NOT_RUN, Outcome.OPEN, Outcome.SHAPE, Outcome.HOLDS)


def prepared(finds: Callable[Concatenate[Lines, P], Finding]) -> Callable[P, Check]:
    """Makes checks of what is expected; the lines, which `finds` takes first, come later."""

    @wraps(finds)
    def expecting(*expected: P.args, **named: P.kwargs) -> Check:
        return lambda lines: finds(lines, *expected, **named)

    return expecting


def graded(holds: bool | np.bool, in_shape: bool | np.bool, number: str) -> Finding:
    """A finding that holds, or else holds in shape, or else does not."""
    return Finding(Outcome.HOLDS if holds else Outcome.SHAPE if in_shape else Outcome.FAILS, number)


@prepared
def below(lines: Lines, low: str, high: str, factor: float = 1.0) -> Finding:
    """Line `low` is nowhere above `factor` times line `high`; in shape if so on average."""
    one, other = lines.together(low, high)
    if not len(one):
        return Finding(Outcome.NOT_RUN, "no place in common")
    fine = one <= factor * other + 1e-12
    on_average = one.mean() <= factor * other.mean() + 1e-12
    places = f"at {np.count_nonzero(fine)} of {len(fine)} points"
    said = f"{low} {_said(one.mean())}, {high} {_said(other.mean())} on average; so {places}"
    return graded(fine.all(), on_average, said)


@prepared
def lower(lines: Lines, low: str, high: str) -> Finding:
    """Line `low` is lower than line `high` on average, wherever their points lie; there is no shape of this."""
    one, other = float(lines.y(low).mean()), float(lines.y(high).mean())
    return graded(one <= other, False, f"{low} {_said(one)}, {high} {_said(other)}")


def at_most(line: str, limit: float, loosely: float | None = None) -> Check:
    """No value of the line exceeds the limit; in shape up to `loosely`, by default half as much again."""
    bounds = limit, limit * 1.5 if loosely is None else loosely
    return _bounded(line, "at most", bounds, np.max, lambda v, bound: v <= bound + 1e-12)


def reaches(line: str, limit: float, loosely: float | None = None) -> Check:
    """Somewhere the line is as high as the limit; in shape from `loosely`, by default two thirds of it."""
    bounds = limit, limit / 1.5 if loosely is None else loosely
    return _bounded(line, "reaches", bounds, np.max, lambda v, bound: v >= bound - 1e-12)


def at_least(line: str, limit: float, loosely: float | None = None) -> Check:
    """No value of the line lies below the limit; in shape down to `loosely`, by default two thirds of it."""
    bounds = limit, limit / 1.5 if loosely is None else loosely
    return _bounded(line, "at least", bounds, np.min, lambda v, bound: v >= bound - 1e-12)


@prepared
def near(lines: Lines, line: str, x: Value, value: float, within: float) -> Finding:
    """The line has this value at x, give or take `within`; in shape within three times that."""
    found = lines.at(line, x)
    off = abs(found - value)
    return graded(off <= within, off <= 3 * within, f"{line} {_said(found)} at {x}, the paper {_said(value)}")


def grows(line: str, by: float = 0.0) -> Check:
    """From the first to the last place the line rises by at least `by`, step by step; in shape if it rises at all.

    Step by step means that at least three quarters of its pairs of points at different places rise.
    """
    return _trend(line, 1.0, by)


def falls(line: str, by: float = 0.0) -> Check:
    """As `grows`, downwards."""
    return _trend(line, -1.0, by)


@prepared
def flat(lines: Lines, line: str, within: float) -> Finding:
    """Highest and lowest value differ by at most `within`; in shape if by twice that."""
    values = lines.y(line)
    spread = float(values.max() - values.min())
    said = f"{line} between {_said(values.min())} and {_said(values.max())}"
    return graded(spread <= within, spread <= 2 * within, said)


@prepared
def told(lines: Lines, line: str) -> Finding:
    """The values of a line for information; it holds whatever they are."""
    values = lines.y(line)
    said = _said(values[0]) if len(values) == 1 else f"{_said(values.min())} to {_said(values.max())}"
    return Finding(Outcome.HOLDS, f"{line} {said} (not judged)")


@prepared
def all_of(lines: Lines, *checks: Check) -> Finding:
    """The worst of several findings, with all their numbers."""
    found = [one(lines) for one in checks]
    worst = min((f.verdict for f in found), key=_WORST.index)
    return Finding(worst, "; ".join(f.number for f in found))


@prepared
def best_of(lines: Lines, checks: Mapping[str, Check]) -> Finding:
    """The best of several findings and of what it is, with the numbers of all: for what a paper leaves open.

    Of findings that are equally good it is the first.
    """
    found = {name: check(lines) for name, check in checks.items()}
    best = max(found, key=lambda name: _WORST.index(found[name].verdict))
    others = [f"{name} ({one.verdict.value}): {one.number}" for name, one in found.items() if name != best]
    return Finding(found[best].verdict, "; ".join([f"judged by {best}: {found[best].number}", *others]))


def judge(claim: Claim, lines: Lines) -> Finding:
    """What is found of a claim; where a line that it asks for was not computed, `not run`."""
    try:
        found = claim.check(lines)
    except KeyError:
        return Finding(Outcome.NOT_RUN, "not computed in this run")
    other = claim.baseline and found.verdict is Outcome.FAILS
    return Finding(Outcome.OTHER, found.number) if other else found


@prepared
def _bounded(
    lines: Lines,
    line: str,
    word: str,
    bounds: tuple[float, float],
    of: Callable[[FloatArray], float],
    fits: Callable[[float, float], bool],
) -> Finding:
    found, (limit, loosely) = float(of(lines.y(line))), bounds
    said = f"{line} {word} {_said(found)}; limit {_said(limit)}"
    return graded(fits(found, limit), fits(found, loosely), said)


@prepared
def _trend(lines: Lines, line: str, sign: float, by: float) -> Finding:
    means = list(lines.places(line).values())
    if len(means) < 2:
        return Finding(Outcome.NOT_RUN, "fewer than two places")
    values, place = sign * lines.y(line), _ranks(lines.points[line][0])
    steps = values[None, :] - values[:, None]
    share = float(np.mean(steps[place[:, None] < place[None, :]] >= -1e-12))
    change = sign * (means[-1] - means[0])
    said = f"{line} from {_said(means[0])} to {_said(means[-1])}"
    return graded(change >= by and change > 0 and share >= 0.75, change > 0, said)


def _ranks(places: list[Value]) -> IntArray:
    known = {place: rank for rank, place in enumerate(dict.fromkeys(places))}
    return np.array([known[place] for place in places], dtype=np.int64)


def _said(number: float) -> str:
    return f"{number:.3g}"
