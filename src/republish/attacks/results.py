"""What an attack found, in numbers without names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray, WordArray
from republish.attacks.confidence import signed_gain
from republish.attacks.excluding.candidates import Unknowns, members, sizes
from republish.attacks.summary import Summary, highest, joined, scored, shares, worst
from republish.hooks import html_of

if TYPE_CHECKING:
    from republish.attacks.linear import LinearFindings


@dataclass(frozen=True)
class Exposure(Summary):
    """The summary, the fewest candidates of anyone, and the share of people left with fewer than m."""

    fewest_candidates: int | None
    below_m: float

    @property
    def summary(self) -> Summary:
        return Summary(**{part.name: getattr(self, part.name) for part in fields(Summary)})


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

    def unclear(self, spared: BoolArray) -> Unclear | None:
        """What an attack with a budget did not get to the end of, of people who are not `spared`."""
        return None

    def candidates_of(self, person: int, release: int) -> frozenset[int]:
        """The codes that a person may have in a release (0, 1, ...); empty where she was not published."""
        history = self.unknowns.history
        first, last = np.searchsorted(history.release, [release, release + 1])
        found = np.flatnonzero(history.person[first:last] == person)
        return (
            members(self.sets[self.unknowns.of_appearance[first + found[0]]]) if len(found) else frozenset()
        )


@dataclass(frozen=True)
class Unclear:
    """What an attack with a budget did not get to the end of; all 0 where it did.

    `people` are those, neither compromised nor determined, of whom no second value was found. They may be determined.
    The others count episodes: `undecided` for that reason, `unsettled` with probabilities that were still moving,
    `unsolved` with more equations than can be solved.
    """

    people: int
    undecided: int
    unsettled: int
    unsolved: int

    @classmethod
    def of(cls, findings: LinearFindings, spared: BoolArray) -> Unclear:
        """What is unclear about people who are not `spared`."""
        unknowns, stages = findings.unknowns, findings.stages
        counts = (np.diff(unknowns.place_start) > 0) & ~spared[unknowns.person]
        who = unknowns.person if unknowns.history.bearer is None else unknowns.history.bearer[unknowns.person]
        determined = who[counts & (sizes(findings.sets) == 1)]
        people = np.setdiff1d(who[counts & findings.undecided], determined)
        return cls(len(people), stages.undecided, stages.unsettled, stages.unsolved)

    def besides(self) -> list[str]:
        """What else than undecided people there is to say, a sentence each."""
        said = []
        if self.unsettled:
            said.append(f"the probabilities of {self.unsettled:,} episodes had not settled")
        if self.unsolved:
            said.append(
                f"the equations of {self.unsolved:,} episodes were too many to solve, and they were only searched"
            )
        return said


@dataclass(frozen=True)
class Figures:
    """What one attack found, in figures of each release and of all; nothing in them belongs to a single person."""

    name: str
    m: int
    releases: tuple[Exposure, ...]
    overall: Exposure

    @property
    def label(self) -> str:
        return self.name

    @property
    def summary(self) -> Summary:
        return self.overall.summary

    @property
    def by_release(self) -> tuple[Summary, ...]:
        return tuple(part.summary for part in self.releases)

    def as_dict(self) -> dict[str, Any]:
        return {
            "attack": self.name,
            "m": self.m,
            "overall": asdict(self.overall),
            "releases": [{"release": i, **asdict(part)} for i, part in enumerate(self.releases, 1)],
        }


@dataclass(frozen=True)
class AttackResult(Figures):
    """What one attack found: figures of each release and of all, and arrays for those who may see them.

    An adversary reads all releases before she judges the first. `candidates` and `confidence` run parallel to the
    appearances of the history, `risk` holds each person's highest confidence (nan for who was not attacked). `unclear`
    is what an attack with a budget did not get to the end of, `None` for others.
    """

    candidates: IntArray = field(repr=False)
    confidence: FloatArray = field(repr=False)
    risk: FloatArray = field(repr=False)
    findings: Findings = field(repr=False)
    unclear: Unclear | None = None

    @classmethod
    def of(cls, name: str, findings: Findings, m: int, spared: BoolArray) -> AttackResult:
        """The figures of what was found; people in `spared` were known beforehand and do not count."""
        history, unknown = findings.unknowns.history, findings.unknowns.of_appearance
        candidates, confidence = sizes(findings.sets)[unknown], findings.confidence[unknown]
        counted = ~spared[history.person]
        truth = history.truth
        gain = None if truth is None else signed_gain(confidence, shares(history, truth))
        found = scored(history, confidence, candidates == 1, gain, counted)
        bounds = np.searchsorted(history.release, np.arange(history.releases + 1))
        who = None if history.bearer is None else history.who
        releases = []
        for part, (a, b) in zip(found.releases, pairwise(bounds), strict=True):
            here = np.flatnonzero(counted[a:b]) + a
            releases.append(_exposure(part, -worst(-candidates[here], None if who is None else who[here]), m))
        fewest = -highest(history.real, history.who[counted], -candidates[counted].astype(np.float64))
        overall = _exposure(found.overall, fewest[np.isfinite(fewest)].astype(np.int64), m)
        return cls(name, m, tuple(releases), overall, candidates, confidence, found.risk, findings)

    _repr_html_ = html_of("attack_html")

    def as_dict(self) -> dict[str, Any]:
        """A JSON document of the figures; nothing in it belongs to a single person."""
        document = super().as_dict()
        return document if self.unclear is None else document | {"unclear": asdict(self.unclear)}


def _exposure(found: Summary, candidates: IntArray, m: int) -> Exposure:
    people = len(candidates)
    return Exposure(
        **asdict(found),
        fewest_candidates=int(candidates.min()) if people else None,
        below_m=float(np.count_nonzero(candidates < m) / people) if people else 0.0,
    )


def together(parts: Sequence[Exposure]) -> Exposure:
    """The figures of everybody from those of some people each, nobody in two parts."""
    found = joined([part.summary for part in parts])
    below = sum(part.below_m * part.people for part in parts)
    fewest = [part.fewest_candidates for part in parts if part.fewest_candidates is not None]
    return Exposure(
        **asdict(found),
        fewest_candidates=min(fewest, default=None),
        below_m=below / found.people if found.people else 0.0,
    )
