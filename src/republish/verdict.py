"""What the gate decided about a release, from figures that belong to nobody in particular."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from republish.errors import LimitBroken
from republish.gate import LIMITS, Gate
from republish.ledger import Entry

if TYPE_CHECKING:
    from republish.attacks.summary import Summary

_ROUNDING = 1e-9
_OF_PEOPLE = {
    "max_determined": "are determined exactly",
    "max_above_nine_tenths": "have a value of which she is surer than .9",
    "max_above_half": "have a value of which she is surer than .5",
}
_OF_ALL = {"max_mean_confidence": "the mean confidence", "max_gain": "the mean gain"}


@dataclass(frozen=True)
class Found:
    """What an attack found with one draw of compromised people.

    `above_limit` counts the people of whom she is surer than `max_confidence`, 0 where that is no limit.
    """

    attack: str
    summary: Summary
    above_limit: int = 0

    def figure(self, limit: str) -> float:
        """The figure that a limit is about."""
        value: float | None = getattr(self.summary, LIMITS[limit])
        return value or 0.0


@dataclass(frozen=True)
class Breach:
    """A limit that an attack breaks, and the draw in which it is broken most."""

    limit: str
    allowed: float
    found: Found

    @property
    def excess(self) -> float:
        """By how much the figure is too high."""
        return self.found.figure(self.limit) - self.allowed

    @property
    def people(self) -> int:
        """How many people it concerns: those determined, or above the limit; of a mean, all who were attacked."""
        summary = self.found.summary
        if self.limit == "max_confidence":
            return self.found.above_limit
        if self.limit in _OF_ALL:
            return summary.people
        return round(self.found.figure(self.limit) * summary.people)

    def sentence(self) -> str:
        """Which attack, which limit, by how much, for how many people; never who."""
        figure, everyone = self.found.figure(self.limit), f"{self.found.summary.people:,}"
        start = f"{self.limit}={self.allowed:g}, {self.found.attack}: "
        if self.limit in _OF_PEOPLE:
            return (
                f"{start}{self.people:,} of {everyone} people ({figure:.2%}) {_OF_PEOPLE[self.limit]}, "
                f"{100 * self.excess:.2f} points too many"
            )
        if self.limit == "max_confidence":
            return (
                f"{start}she is sure of somebody's value with {figure:.4f}, {self.excess:.4f} too much, and of "
                f"{self.people:,} of {everyone} people surer than allowed"
            )
        return (
            f"{start}{_OF_ALL[self.limit]} over {everyone} people is {figure:.4f}, {self.excess:.4f} too high"
        )

    def as_dict(self) -> dict[str, Any]:
        """A JSON document."""
        return {
            "attack": self.found.attack,
            "limit": self.limit,
            "allowed": self.allowed,
            "found": self.found.figure(self.limit),
            "excess": self.excess,
            "people": self.people,
        }


@dataclass(frozen=True)
class Verdict:
    """The limits of a gate and what each attack found, once a draw."""

    limits: Mapping[str, float]
    found: tuple[Found, ...]

    def worst(self) -> dict[str, dict[str, float]]:
        """For every attack and every limit the highest figure of any draw."""
        return {
            attack: {limit: self._worst(attack, limit).figure(limit) for limit in self.limits}
            for attack in self._attacks()
        }

    def _attacks(self) -> list[str]:
        return list(dict.fromkeys(one.attack for one in self.found))

    def _worst(self, attack: str, limit: str) -> Found:
        draws = [one for one in self.found if one.attack == attack]
        return max(draws, key=lambda one: one.figure(limit))

    @property
    def breaches(self) -> tuple[Breach, ...]:
        """Every limit that is broken, once an attack."""
        worst = [
            Breach(limit, allowed, self._worst(attack, limit))
            for attack in self._attacks()
            for limit, allowed in self.limits.items()
        ]
        return tuple(breach for breach in worst if breach.excess > _ROUNDING)

    @property
    def passed(self) -> bool:
        """Whether no limit is broken."""
        return not self.breaches

    def require(self) -> None:
        """Raise where a limit is broken."""
        if self.passed:
            return
        sentences = "; ".join(breach.sentence() for breach in self.breaches)
        raise LimitBroken(
            f"the release breaks a limit of the gate. {sentences}. Nothing was published and the series is as it was. "
            "Leave this release out or publish another view; stronger parameters or other limits need a new series"
        )

    def as_dict(self) -> dict[str, Any]:
        """A JSON document of the figures; nothing in it belongs to a single person."""
        return {
            "passed": self.passed,
            "limits": dict(self.limits),
            "found": [
                {"attack": one.attack, **asdict(one.summary), "above_limit": one.above_limit}
                for one in self.found
            ],
            "breaches": [breach.as_dict() for breach in self.breaches],
        }


def verdict_from(document: Mapping[str, Any]) -> Verdict:
    """The verdict that a ledger recorded."""
    from republish.attacks.summary import Summary

    found = []
    for one in document["found"]:
        figures = dict(one)
        attack, above = figures.pop("attack"), figures.pop("above_limit")
        found.append(Found(attack, Summary(**figures), above))
    return Verdict(document["limits"], tuple(found))


def recorded_problems(gate: Gate | None, releases: Sequence[Entry]) -> list[str]:
    """What is wrong with the verdicts that the ledger holds, by the limits of the policy."""
    if gate is None:
        return []
    problems = []
    for number, entry in enumerate(releases, start=1):
        recorded = entry.payload.get("gate")
        if recorded is None:
            problems.append(f"release {number} records no verdict of the gate")
            continue
        try:
            verdict = verdict_from(recorded)
            made = {one.attack for one in verdict.found}
            sound = dict(verdict.limits) == gate.limits and _all_made(gate.attacks, made) and verdict.passed
        except (KeyError, TypeError, AttributeError):
            sound = False
        if not sound:
            problems.append(f"release {number} records figures that the gate does not let pass")
    return problems


def _all_made(attacks: Iterable[str], made: set[str]) -> bool:
    return set(attacks) <= made
