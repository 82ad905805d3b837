"""What an attack found, in numbers without names."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from republish.attacks.candidates import Unknowns, members, sizes
from republish.types import BoolArray, FloatArray, IntArray, WordArray


@dataclass(frozen=True)
class Exposure:
    """How exposed people are: how many were attacked, how many have one candidate left, and how sure she is.

    Confidence is the adversary's probability of the true value, of the likeliest one where truth is not given.
    `below_m` is the share of people left with fewer than m candidates.
    """

    people: int
    determined: int
    fewest_candidates: int | None
    below_m: float
    mean_confidence: float
    worst_confidence: float


@dataclass(frozen=True)
class Findings:
    """What an attack leaves of every unknown: its candidates, and the adversary's confidence.

    `likeliest` is the probability of the value she would bet on.
    """

    unknowns: Unknowns
    sets: WordArray
    confidence: FloatArray
    likeliest: FloatArray

    @classmethod
    def even(cls, unknowns: Unknowns, sets: WordArray) -> Findings:
        """Findings of an adversary to whom all candidates are alike."""
        each = 1.0 / np.maximum(sizes(sets), 1)
        return cls(unknowns, sets, each, each)

    def candidates_of(self, person: int, release: int) -> frozenset[int]:
        """The codes that somebody may have in a release (0, 1, ...); empty where she was not published."""
        history = self.unknowns.history
        first, last = np.searchsorted(history.release, [release, release + 1])
        found = np.flatnonzero(history.person[first:last] == person)
        return (
            members(self.sets[self.unknowns.of_appearance[first + found[0]]]) if len(found) else frozenset()
        )


@dataclass(frozen=True)
class AttackResult:
    """What one attack found: figures of each release and of all, and arrays for those who may see them.

    An adversary reads all releases before she judges the first. `candidates` and `confidence` run parallel to the
    appearances of the history, `risk` holds each person's highest confidence (nan for who was not attacked).
    """

    name: str
    m: int
    releases: tuple[Exposure, ...]
    overall: Exposure
    candidates: IntArray = field(repr=False)
    confidence: FloatArray = field(repr=False)
    risk: FloatArray = field(repr=False)
    findings: Findings = field(repr=False)

    @classmethod
    def of(cls, name: str, findings: Findings, m: int, spared: BoolArray) -> AttackResult:
        """The figures of what was found; people in `spared` were known beforehand and do not count."""
        history, unknown = findings.unknowns.history, findings.unknowns.of_appearance
        candidates, confidence = sizes(findings.sets)[unknown], findings.confidence[unknown]
        counted = ~spared[history.person]
        bounds = np.searchsorted(history.release, np.arange(history.releases + 1))
        releases = tuple(
            _exposure(candidates[a:b][counted[a:b]], confidence[a:b][counted[a:b]], m)
            for a, b in pairwise(bounds)
        )
        risk = np.full(history.people, -np.inf)
        np.maximum.at(risk, history.person[counted], confidence[counted])
        fewest = np.full(history.people, np.iinfo(np.int64).max)
        np.minimum.at(fewest, history.person[counted], candidates[counted])
        attacked = np.isfinite(risk)
        overall = _exposure(fewest[attacked], risk[attacked], m)
        risk[~attacked] = np.nan
        return cls(name, m, releases, overall, candidates, confidence, risk, findings)

    def as_dict(self) -> dict[str, Any]:
        """A JSON document of the figures; nothing in it belongs to a single person."""
        return {
            "attack": self.name,
            "m": self.m,
            "overall": asdict(self.overall),
            "releases": [{"release": i, **asdict(part)} for i, part in enumerate(self.releases, 1)],
        }


def _exposure(candidates: IntArray, confidence: FloatArray, m: int) -> Exposure:
    people = len(candidates)
    if not people:
        return Exposure(0, 0, None, 0.0, 0.0, 0.0)
    return Exposure(
        people=people,
        determined=int(np.count_nonzero(candidates == 1)),
        fewest_candidates=int(candidates.min()),
        below_m=float(np.count_nonzero(candidates < m) / people),
        mean_confidence=float(confidence.mean()),
        worst_confidence=float(confidence.max()),
    )
