"""Presence: what the cells of a release tell somebody with a register of who is in it.

The register is everyone who was ever in the series, in each release with the quasi-identifiers they had then or last
had before, or else will have first. Whoever fits no cell is absent. A cell of r rows, into which n people of the
register fit, holds each of them with probability r / n, and all of them for certain where r = n. Where cells overlap,
as in one table, the probabilities of all cells that fit somebody are added, up to 1, which is an estimate; what is
certain there is certain, and more may be (delta-presence: Nergiz, Atzori and Clifton, SIGMOD 2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.attacks.history import History
from republish.attacks.identity import IdentityResult, Presence, Verdicts, mean
from republish.attacks.matching.coordinates import CommonCoordinates
from republish.attacks.matching.fitting import fitting
from republish.attacks.matching.sightings import MatchedView, require_everyone
from republish.kernels import kernel
from republish.metrics.boxes import real_rows
from republish.release.release import Release


class _Judged(NamedTuple):
    """Of people of the register: whether they are there, her probability of it, and whether the truth is certain."""

    there: BoolArray
    chance: FloatArray
    certain: BoolArray

    def figures(self) -> Presence:
        here, away = self.there, ~self.there
        return Presence(
            present=int(np.count_nonzero(here)),
            absent=int(np.count_nonzero(away)),
            shown_present=mean(self.certain[here]),
            shown_absent=mean(self.certain[away]),
            mean_present=mean(self.chance[here]),
            mean_absent=mean(self.chance[away]),
        )


def presence(history: History, sightings: Sequence[MatchedView], k: int | None = None) -> IdentityResult:
    """What every release says of the presence of everyone who is ever in the series; k plays no part."""
    del k
    require_everyone(history, sightings)
    common = CommonCoordinates.of(sightings)
    register = _register(history.people, [common.points(sighting) for sighting in sightings], sightings)
    known = _known(sightings)
    judged = [_judged(common.back(*seen), known, seen[1]) for seen in zip(register, sightings, strict=True)]
    nobody = _Judged(np.zeros(0, np.bool_), np.zeros(0), np.zeros(0, np.bool_))
    there = np.concatenate([nobody.there, *(part.there for part in judged)])
    chance = np.concatenate([nobody.chance, *(part.chance for part in judged)])
    certain = np.concatenate([nobody.certain, *(part.certain for part in judged)])
    release, place = np.divmod(np.arange(len(there)), max(len(known), 1))
    verdicts = Verdicts(known[place], release, np.where(there, chance, 1.0 - chance), certain)
    overall = _Judged(there, chance, certain).figures()
    parts = [part.figures() for part in judged]
    return IdentityResult.of("presence", overall, parts, verdicts, history.people)


def _known(sightings: Sequence[MatchedView]) -> IntArray:
    """Everyone who was in a view so far: a history that ends early also numbers those who come later."""
    seen = np.unique(np.concatenate([np.zeros(0, np.int64), *(one.person for one in sightings)]))
    return seen[seen >= 0]


def _judged(register: FloatArray, known: IntArray, sighting: MatchedView) -> _Judged:
    """What a release says of the `known` people, whose quasi-identifiers are `register[axis, person]`.

    Whom the series has forgotten she still knows: they are people of her register who are there.
    """
    people = len(known)
    there = np.isin(known, sighting.person[sighting.cell > 0])
    points = np.concatenate([register[:, known], sighting.points[:, sighting.person < 0]], axis=1)
    chance, sure, fits = chances(sighting.release.people, points)
    return _Judged(there, chance[:people], np.where(there, sure[:people], ~fits[:people]))


def _register(
    people: int, points: Sequence[FloatArray], sightings: Sequence[MatchedView]
) -> list[FloatArray]:
    """The quasi-identifiers of everyone at each release, in common coordinates: last known, or first to be known."""
    axes = points[0].shape[0] if points else 0
    known = np.zeros((axes, people))
    for own, sighting in zip(reversed(points), reversed(sightings), strict=True):
        someone = sighting.person >= 0
        known[:, sighting.person[someone]] = own[:, someone]
    found = []
    for own, sighting in zip(points, sightings, strict=True):
        someone = sighting.person >= 0
        known = known.copy()
        known[:, sighting.person[someone]] = own[:, someone]
        found.append(known)
    return found


def chances(people: Release, points: FloatArray) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Of people of a register: the probability to be in a table, whether it is certain, and whether any cell fits."""
    fits = fitting(people, points)
    held = np.bincount(
        fits.group, weights=(fits.end - fits.start).astype(np.float64), minlength=people.group_count
    )
    rows = np.minimum(real_rows(people), held)  # rows of another tool's table may be nobody's
    share = np.divide(rows, held, out=np.zeros(len(rows)), where=held > 0)
    full = (held > 0) & (rows >= held)
    chance, sure, many = _spread(fits, share, full, points.shape[1])
    chance = np.where(sure, 1.0, np.minimum(chance, 1.0))
    return chance, sure, many


@kernel
def _spread(fits, share, full, points):  # type: ignore[no-untyped-def]
    """Of every point the sum of the shares of the groups around it, whether one is full, and whether there is any."""
    chance = np.zeros(points)
    sure, some = np.zeros(points, np.bool_), np.zeros(points, np.bool_)
    for r in range(len(fits.group)):
        g = fits.group[r]
        for i in range(fits.start[r], fits.end[r]):
            point = fits.order[i]
            chance[point] += share[g]
            some[point] = True
            if full[g]:
                sure[point] = True
    return chance, sure, some
