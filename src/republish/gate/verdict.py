"""What the gate decided about a release, from figures that belong to nobody in particular."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from republish.errors import LimitBroken, PolicyError
from republish.gate.amendment import amendment_problems, gate_after
from republish.gate.limits import LIMITS, OF_IDENTITIES, Gate, limits_attack
from republish.ledger import Entry
from republish.ledger.chain import WITH_RELEASE

if TYPE_CHECKING:
    from republish.attacks.identity import Identity
    from republish.attacks.results import Unclear
    from republish.attacks.summary import Summary

_ROUNDING = 1e-9
_OF_PEOPLE = {
    "max_determined": "are determined exactly",
    "max_undecided": "are undecided: no second value was found before the budget ran out",
    "max_above_nine_tenths": "have a value of which she is surer than .9",
    "max_above_half": "have a value of which she is surer than .5",
    "max_alone": "are alone in the cells that were theirs",
    "max_below_k": "are with fewer others than the smallest cell holds in the cells that were theirs",
    "max_shown_present": "are present for certain",
    "max_shown_absent": "are absent for certain",
    "max_cracked": "have fewer rows left than the smallest group has when two releases are compared",
    "max_traced": "have fewer rows left than the smallest group has when rows are followed",
    "max_told_apart": "are distinguished by an adversary who knows the program and all other values",
}
_WOULD_PASS = {
    "max_told_apart": ", for people are put together by their values; a new series that leaves this to chance "
    "(membership=random) would pass, or one of value-blind batches; where groups are cut from an order, cut=optimal "
    "without withstand tells less"
}
_COUNTED = {"max_shown_present": "present", "max_shown_absent": "absent", "max_told_apart": "pairs"}
_OF_ALL = {"max_mean_confidence": "the mean confidence", "max_gain": "the mean gain"}


@dataclass(frozen=True)
class AttackFigures:
    """What an attack found with one draw of compromised people.

    `above_limit` counts the people of whom she is surer than `max_confidence`, 0 where that is no limit. `unclear` is
    what the attack did not get to the end of, `None` where it always does. `identity` are the figures of an attack that
    seeks no value.
    """

    attack: str
    summary: Summary
    above_limit: int = 0
    unclear: Unclear | None = None
    identity: Identity | None = None

    @property
    def undecided(self) -> int:
        """At most so many more people than those determined may be: the attack gave up on them."""
        return 0 if self.unclear is None else self.unclear.people

    @property
    def undecided_share(self) -> float | None:
        """The share of people the attack gave up on, `None` where it never does."""
        return None if self.unclear is None else self.undecided / max(self.summary.people, 1)

    @property
    def perhaps_determined(self) -> int:
        """How many people are determined at most, as far as the attack can tell."""
        return self.summary.determined + self.undecided

    def figure(self, limit: str) -> float:
        """The figure that a limit is about.

        Raises:
            PolicyError: the attack does not give it. Nothing may pass for lack of a figure.
        """
        name = LIMITS[limit]
        of = self.identity if limit in OF_IDENTITIES else self if name == "undecided_share" else self.summary
        value: float | None = getattr(of, name, None)
        if value is None or not math.isfinite(value):
            raise PolicyError(
                f"{limit} limits a figure that {self.attack} does not give; leave the limit or the attack out of the "
                "gate"
            )
        return value


@dataclass(frozen=True)
class LimitBreach:
    """A limit that an attack breaks, and the draw in which it is broken most."""

    limit: str
    allowed: float
    found: AttackFigures

    @property
    def excess(self) -> float:
        return self.found.figure(self.limit) - self.allowed

    @property
    def among(self) -> int:
        """Of how many people the figure is; of presence, how often somebody was there, or not; of swap, pairs."""
        identity = self.found.identity
        counted = _COUNTED.get(self.limit, "people")
        return int(getattr(self.found.summary if identity is None else identity, counted))

    @property
    def people(self) -> int:
        """How many people it concerns: those determined, or above the limit; of a mean, all who were attacked."""
        if self.limit == "max_confidence":
            return self.found.above_limit
        if self.limit in _OF_ALL:
            return self.among
        return round(self.found.figure(self.limit) * self.among)

    def sentence(self) -> str:
        """Which attack, which limit, by how much, for how many people; never who."""
        figure, everyone = self.found.figure(self.limit), f"{self.among:,}"
        start = f"{self.limit}={self.allowed:g}, {self.found.attack}: "
        if self.limit in _OF_PEOPLE:
            return (
                f"{start}{self.people:,} of {everyone} {self._counted} ({figure:.2%}) {_OF_PEOPLE[self.limit]}, "
                f"{100 * self.excess:.2f} points too many{self._besides()}{_WOULD_PASS.get(self.limit, '')}"
            )
        if self.limit == "max_confidence":
            return (
                f"{start}she is sure of a person's value with {figure:.4f}, {self.excess:.4f} too much, and of "
                f"{self.people:,} of {everyone} people surer than allowed"
            )
        return (
            f"{start}{_OF_ALL[self.limit]} over {everyone} people is {figure:.4f}, {self.excess:.4f} too high"
        )

    @property
    def _counted(self) -> str:
        return "pairs" if _COUNTED.get(self.limit) == "pairs" else "people"

    def _besides(self) -> str:
        more = self.found.undecided if self.limit == "max_determined" else 0
        return f", and {more:,} more are undecided" if more else ""

    def as_dict(self) -> dict[str, Any]:
        return {
            "attack": self.found.attack,
            "limit": self.limit,
            "allowed": self.allowed,
            "found": self.found.figure(self.limit),
            "excess": self.excess,
            "people": self.people,
        }


def used(figure: float, limit: float) -> float:
    """How much of its limit a figure uses up, by which the worst is found; of a limit of 0, all or more."""
    return figure / limit if limit else float("inf") if figure else 1.0


@dataclass(frozen=True)
class Verdict:
    """The limits of a gate and what each attack found, once a draw."""

    limits: Mapping[str, float]
    found: tuple[AttackFigures, ...]

    def worst(self) -> dict[str, dict[str, float]]:
        """For every attack and every limit on it the highest figure of any draw."""
        return {
            attack: {
                limit: self._worst(attack, limit).figure(limit)
                for limit in self.limits
                if limits_attack(limit, attack)
            }
            for attack in self._attacks()
        }

    def undecided(self) -> dict[str, AttackFigures]:
        """The draw in which most people are determined or undecided, for every attack that left any undecided."""
        return {
            attack: max(self._draws(attack), key=lambda one: one.perhaps_determined)
            for attack in self._attacks()
            if any(one.undecided for one in self._draws(attack))
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """What the figures do not say: how many more people may be determined, and what else attacks gave up on."""
        said = [
            f"{attack}: {one.summary.determined:,} of {one.summary.people:,} people are determined, and "
            f"{one.undecided:,} more are undecided, for the budget ran out before a second value was found; so up to "
            f"{one.perhaps_determined / max(one.summary.people, 1):.2%} may be determined"
            for attack, one in self.undecided().items()
        ]
        besides = [
            f"{attack}: {text}"
            for attack in self._attacks()
            for text in _most([one.unclear for one in self._draws(attack) if one.unclear is not None])
        ]
        return (*said, *besides)

    def _attacks(self) -> list[str]:
        return list(dict.fromkeys(one.attack for one in self.found))

    def _worst(self, attack: str, limit: str) -> AttackFigures:
        return max(self._draws(attack), key=lambda one: one.figure(limit))

    def _draws(self, attack: str) -> list[AttackFigures]:
        return [one for one in self.found if one.attack == attack]

    @property
    def breaches(self) -> tuple[LimitBreach, ...]:
        """Every limit that is broken, once an attack."""
        worst = [
            LimitBreach(limit, allowed, self._worst(attack, limit))
            for attack in self._attacks()
            for limit, allowed in self.limits.items()
            if limits_attack(limit, attack)
        ]
        return tuple(breach for breach in worst if breach.excess > _ROUNDING)

    @property
    def passed(self) -> bool:
        return not self.breaches

    def require(self, series: str) -> None:
        """Raise `LimitBroken` where a limit is broken, with the command that would let this series pass."""
        if self.passed:
            return
        sentences = "; ".join(breach.sentence() for breach in self.breaches)
        raise LimitBroken(
            f"the release breaks a limit of the gate. {sentences}. Nothing was published and the series is as it was. "
            "Leave this release out or publish another view. With a reason, "
            f"`republish amend {shlex.quote(series)} --gate "
            f'"{self._would_pass()}" --reason TEXT` would let it pass'
        )

    def _would_pass(self) -> str:
        """The limits that are broken, as high as what was found."""
        found: dict[str, float] = {}
        for breach in self.breaches:
            figure = math.ceil(breach.found.figure(breach.limit) * 1e4 - 1e-6) / 1e4
            found[breach.limit] = max(figure, found.get(breach.limit, 0.0))
        return ",".join(f"{limit}={figure:g}" for limit, figure in found.items())

    def as_dict(self) -> dict[str, Any]:
        """A JSON document of the figures; nothing in it belongs to a single person."""
        return {
            "passed": self.passed,
            "limits": dict(self.limits),
            "found": [
                {
                    "attack": one.attack,
                    **asdict(one.summary),
                    "above_limit": one.above_limit,
                    "unclear": None if one.unclear is None else asdict(one.unclear),
                    **({} if one.identity is None else {"identity": asdict(one.identity)}),
                }
                for one in self.found
            ],
            "breaches": [breach.as_dict() for breach in self.breaches],
            "notes": list(self.notes),
        }


def _most(draws: Sequence[Unclear]) -> list[str]:
    """What else than undecided people any draw of an attack left, the most of it."""
    worst = max(draws, key=lambda one: one.unsettled + one.unsolved, default=None)
    return [] if worst is None else worst.besides()


def verdict_from(document: Mapping[str, Any]) -> Verdict:
    """The verdict that a ledger recorded."""
    from republish.attacks.identity import IDENTITIES
    from republish.attacks.results import Unclear
    from republish.attacks.summary import Summary

    found = []
    for one in document["found"]:
        figures = dict(one)
        attack, above = figures.pop("attack"), figures.pop("above_limit")
        unclear = figures.pop("unclear", None)  # older records have none
        identity = figures.pop("identity", None)
        found.append(
            AttackFigures(
                attack,
                Summary(**figures),
                above,
                None if unclear is None else Unclear(**unclear),
                None if identity is None else IDENTITIES[attack](**identity),
            )
        )
    return Verdict(document["limits"], tuple(found))


def recorded_problems(first: Gate | None, entries: Sequence[Entry]) -> list[str]:
    """What is wrong with the verdicts that the ledger holds, by the gate of the policy and its amendments."""
    problems: list[str] = []
    amended: list[Entry] = []
    number = published = 0
    for entry in entries:
        if entry.kind == "amend" and "gate" in entry.payload:
            problems += amendment_problems(entry, first, amended)
            amended.append(entry)
        if entry.kind not in WITH_RELEASE:
            continue
        number += 1
        gate = gate_after(first, amended)
        published += entry.payload["rows"] - entry.payload["suppressed"]
        recorded = entry.payload.get("gate")
        said = entry.payload.get("promises", {}).get("gate")
        if not entry.adopted and said != (None if gate is None else gate.public()):
            problems.append(f"release {number} records another gate than the one that was in force")
        if entry.adopted or gate is None:
            continue  # what was published before cannot be refused
        if recorded is None:
            problems.append(f"release {number} records no verdict of the gate")
            continue
        try:
            sound = _sound(gate, verdict_from(recorded), published > 0)
        except (KeyError, TypeError, AttributeError, PolicyError):
            sound = False
        if not sound:
            problems.append(f"release {number} records figures that the gate does not let pass")
    return problems


def _sound(gate: Gate, verdict: Verdict, people: bool) -> bool:
    """Whether limits are those of the gate, every draw of every attack was made and counted people, and all pass."""
    made = Counter(one.attack for one in verdict.found)
    return (
        dict(verdict.limits) == gate.limits
        and made == {attack: gate.drawn(attack) for attack in gate.attacks}
        and all(
            one.summary.people > 0 for one in verdict.found if people and not gate.tries_newcomers(one.attack)
        )
        and verdict.passed
    )
