"""Checks that only this paper needs: stretches of releases, and curves of record linkage over penalty."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from republish.arrays import FloatArray
from republish.papers.checks import Check, below, graded, prepared
from republish.papers.study import Finding, Lines, Outcome

_LEVELS = 10
_ENOUGH = 5
_LEAST = 6


@prepared
def lower(lines: Lines, low: str, high: str, least: int = _LEAST) -> Finding:
    """Line `low` is nowhere above line `high`, in shape if so on average; open with fewer than `least` in common.

    A framework that leaves out all records of most releases must not win by the few that are left, nor lose by them.
    """
    found, common = below(low, high)(lines), len(lines.together(low, high)[0])
    if common >= least:
        return found
    return Finding(Outcome.OPEN, f"{found.number}; {_counted(common, least)}")


@prepared
def during(lines: Lines, check: Check, first: int, last: int) -> Finding:
    """The check over the releases from `first` to `last`; open where too few of them publish anything."""
    points = {}
    for name, (x, y) in lines.points.items():
        keep = [i for i, at in enumerate(x) if first <= float(at) <= last]
        points[name] = ([x[i] for i in keep], y[keep])
    found = check(Lines(points))
    reached = any(x for x, _ in points.values())
    verdict = Outcome.OPEN if reached and found.verdict is Outcome.NOT_RUN else found.verdict
    return Finding(verdict, f"{found.number} (releases {first} to {last})")


@prepared
def ends_lower(lines: Lines, line: str, after: int) -> Finding:
    """The mean after that release is below the mean up to it; in shape if it is below the highest value.

    Open where nothing is published on one side.
    """
    x, y = lines.points[line]
    late = np.array([float(at) > after for at in x])
    if not late.any() or late.all():
        return Finding(Outcome.OPEN, f"{line} publishes nothing on one side of release {after}")
    end, begin = float(y[late].mean()), float(y[~late].mean())
    said = f"{line} {begin:.3g} up to release {after}, {end:.3g} later"
    return graded(end < begin, end < y[~late].max(), said)


@prepared
def wider_gap(lines: Lines, pair: tuple[str, str], than: tuple[str, str], least: int = _LEAST) -> Finding:
    """The first line of a pair exceeds the second by more, on average, than in the other pair; in shape if by size.

    Open where either pair has fewer than `least` releases in common.
    """
    (a, b), (c, d) = lines.together(*pair), lines.together(*than)
    fewest = min(len(a), len(c))
    if not fewest:
        return Finding(Outcome.OPEN, _counted(0, least))
    one, other = float((a - b).mean()), float((c - d).mean())
    said = f"{pair[0]} exceeds {pair[1]} by {one:.3g} on average, {than[0]} exceeds {than[1]} by {other:.3g}"
    if fewest < least:
        return Finding(Outcome.OPEN, f"{said}; {_counted(fewest, least)}")
    return graded(one > max(other, 0.0), abs(one) > abs(other), said)


@prepared
def alike(lines: Lines, one: str, other: str, within: float, least: int = _LEAST) -> Finding:
    """Two lines differ by at most `within` on average; in shape by twice that; open with fewer than `least` points."""
    a, b = lines.together(one, other)
    if len(a) < least:
        return Finding(Outcome.OPEN, f"{one} and {other}: {_counted(len(a), least)}")
    return _apart(float(np.abs(a - b).mean()), within, f"{one} and {other}")


@prepared
def alike_maps(lines: Lines, one: str, other: str, within: float) -> Finding:
    """At equal record linkage the penalties of two lines differ by at most `within` on average; in shape twice.

    Open where too few levels have releases of both; so is `cheaper`.
    """
    a, b = _penalties(lines, one, other)
    if len(a) < _ENOUGH:
        return _too_few(len(a), one, other)
    return _apart(float(np.abs(a - b).mean()), within, f"GCP at equal RL of {one} and {other}")


@prepared
def cheaper(lines: Lines, low: str, high: str, factor: float = 1.05) -> Finding:
    """At each level of record linkage that both reach, `low` has at most `factor` times the penalty of `high`.

    In shape if so on average.
    """
    a, b = _penalties(lines, low, high)
    if len(a) < _ENOUGH:
        return _too_few(len(a), low, high)
    fine = a <= factor * b
    said = (
        f"GCP {a.mean():.4g} for {low} and {b.mean():.4g} for {high} at equal RL; "
        f"so at {np.count_nonzero(fine)} of {len(fine)} levels"
    )
    return graded(fine.all(), a.mean() <= factor * b.mean(), said)


@prepared
def narrower(lines: Lines, narrow: str, wide: str) -> Finding:
    """Penalty and record linkage of one line span less than those of the other; in shape if one of the two does."""
    spans = [(_span(_numbers(x)), _span(y)) for x, y in (lines.points[narrow], lines.points[wide])]
    fewer = sum(mine < theirs for mine, theirs in zip(*spans, strict=True))
    verdict = (Outcome.FAILS, Outcome.SHAPE, Outcome.HOLDS)[fewer]
    said = [
        f"{name}: GCP {min(x):.4g} to {max(x):.4g}, RL {y.min():.4g} to {y.max():.4g}"
        for name in (narrow, wide)
        for x, y in [(_numbers(lines.points[name][0]), lines.points[name][1])]
    ]
    return Finding(verdict, "; ".join(said))


@prepared
def drops_then_stays(lines: Lines, names: Sequence[str], limit: float) -> Finding:
    """From the third release on no line is above its first value or above the limit; in shape up to twice the limit."""
    first = np.array([lines.at(name, 1) for name in names])
    later = np.array([lines.y(name)[2:].max() for name in names])
    dropped = (later < first).all()
    said = (
        f"from {first.min():.3g} to {first.max():.3g} at first; from release 3 on at most {later.max():.3g}"
    )
    return graded(dropped and (later <= limit).all(), dropped and (later <= 2 * limit).all(), said)


def _apart(distance: float, within: float, what: str) -> Finding:
    return graded(distance <= within, distance <= 2 * within, f"{what} differ by {distance:.3g} on average")


def _numbers(x: Sequence[object]) -> FloatArray:
    return np.array([float(at) for at in x])  # type: ignore[arg-type]


def _span(values: FloatArray) -> float:
    return float(values.max() - values.min())


def _too_few(levels: int, one: str, other: str) -> Finding:
    said = f"{one} and {other} both have releases near {levels} of {_LEVELS} levels of RL; {_ENOUGH} needed"
    return Finding(Outcome.OPEN, said)


def _counted(common: int, least: int) -> str:
    return f"{common} releases to compare, {least} needed"


def _penalties(lines: Lines, one: str, other: str) -> tuple[FloatArray, FloatArray]:
    """The penalty of two lines, interpolated, at levels of record linkage that both reach.

    Of ten levels those count near which, within a tenth of the stretch, both lines have a release: where there is
    none an interpolated penalty is that of no release.
    """
    curves = []
    for name in (one, other):
        x, y = lines.points[name]
        linked, of = np.unique(y, return_inverse=True)
        curves.append((linked, np.bincount(of, _numbers(x)) / np.bincount(of)))
    low = max(curve[0][0] for curve in curves)
    high = min(curve[0][-1] for curve in curves)
    if low > high:
        return np.empty(0), np.empty(0)
    levels = np.linspace(low, high, _LEVELS)
    near = (high - low) / _LEVELS + 1e-12
    for linked, _ in curves:
        levels = levels[(np.abs(levels[:, None] - linked) <= near).any(axis=1)]
    first, second = (np.interp(levels, *curve) for curve in curves)
    return first, second
