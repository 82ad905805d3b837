"""Which attacks can be made with what is given, and why the others cannot: one answer for all who make attacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from republish.attacks.adversary import KNOWN, Adversary
from republish.attacks.registry import (
    BELIEVES,
    EXCLUDES,
    IDENTIFIES,
    KINDS,
    MATCHES,
    REPLAYS,
    RETRACES,
    SWAPS,
    kind_of,
    names,
)
from republish.errors import PolicyError
from republish.publishers.contract import DEALT, GATHERED, HALVED, Forming

NO_CLASSES = (
    "beliefs need the classes of people, which are not read from tables of another tool; publish with this tool to "
    "compare"
)


_PUT_TOGETHER = {GATHERED: "gathered, nearest row by nearest row", HALVED: "halved"}


class Choice(NamedTuple):
    """The attacks to make, and why others of all that were considered cannot be made."""

    attacks: list[str]
    left_out: dict[str, str]


def without_views(knowledge: bool = True) -> list[str]:
    """The attacks that need no raw views, nothing but what a series keeps; without knowledge those that need none."""
    return names(EXCLUDES, BELIEVES) if knowledge else names(EXCLUDES)


def with_knowledge() -> list[str]:
    """The attacks by somebody who knows how values follow each other."""
    return names(BELIEVES)


def with_views() -> list[str]:
    """All attacks that somebody who knows who is in which group makes beside each other, where raw views are given."""
    return [*without_views(), *names(RETRACES, IDENTIFIES)]


def obstacle(name: str, adversary: Adversary, views: bool) -> str | None:
    """Why an adversary cannot make an attack, `None` where she can; `views` says whether raw views are given."""
    way = kind_of(name).way
    if way in (EXCLUDES, BELIEVES, RETRACES) and adversary.membership != KNOWN:
        return "it needs to know who is in which group (membership known)"
    if way == BELIEVES and adversary.knowledge is None:
        return "it needs to know how values follow each other; give --knowledge DIR"
    if way in (MATCHES, IDENTIFIES, RETRACES) and not views:
        return "it looks people up by their quasi-identifiers; give the raw views (--truth DIR)"
    if way == SWAPS and not views:
        return "it exchanges values and publishes again; give the raw views (--truth DIR)"
    if way == REPLAYS and not views:
        return "it tries every input of a small series; give the raw views (--truth DIR)"
    return None


def untraceable(name: str, forming: Forming | None) -> str | None:
    """Why an attack by who knows how people are put together cannot be made, `None` where it can."""
    if forming is None:
        return (
            "nothing is told of how this publisher puts people together by which worlds could be weighed; the swap "
            "test (--attack swap) says whether values decide"
        )
    rule = kind_of(name).retraced
    if forming.rule in (rule, DEALT):
        return None
    return f"it is for groups that are {_PUT_TOGETHER[rule]}, and these are {_PUT_TOGETHER[forming.rule]}"


@dataclass(frozen=True)
class Means:
    """What there is to attack with: an adversary, the raw `views` of all releases, and what is attacked and how.

    `foreign` tables were made by another tool. `in_parts` are the attacks that an engine can make, `None` in one
    process. `after_each`: the figures after each release are asked for. `forming` is how the publisher puts people
    together.
    """

    adversary: Adversary
    views: bool = False
    foreign: bool = False
    in_parts: Sequence[str] | None = None
    after_each: bool = False
    forming: Forming | None = None

    def obstacle(self, name: str) -> str | None:
        """Why an attack cannot be made, `None` where it can."""
        way = kind_of(name).way
        if self._needs_all(name):
            return "it needs all people and releases at once"
        if way == BELIEVES and self.foreign:
            return NO_CLASSES
        if way in (REPLAYS, SWAPS) and self.foreign:
            return "the publisher of another tool's tables cannot be run again"
        if way == REPLAYS and self.after_each:
            return "it has no figures after each release; use `republish attack`"
        reason = obstacle(name, self.adversary, self.views)
        if reason is None and way == RETRACES:
            return untraceable(name, self.forming)
        if reason is None and way == MATCHES and self.after_each and self.adversary.membership == KNOWN:
            return "it is for an adversary who does not know who is in which group (membership matched); make it alone"
        return reason

    def require(self, attacks: Sequence[str]) -> list[str]:
        """The attacks that were named, each once; refused where one of them cannot be made."""
        for name in attacks:
            reason = self.obstacle(name)
            if reason is not None and self._needs_all(name):
                *able, last = self.in_parts or ("none",)
                raise PolicyError(
                    f"{name} cannot be made in parts: {reason}. {', '.join(able)} and {last} can; make the others "
                    "without --engine"
                )
            if reason is not None:
                raise PolicyError(f"{name} cannot be made: {reason}")
        if not attacks:
            raise PolicyError("at least one attack must be named")
        return list(dict.fromkeys(attacks))

    def choose(self, attacks: Sequence[str] | None, among: Sequence[str] = tuple(KINDS)) -> Choice:
        """The attacks that were named, or all `among` which she can choose; refused where she can make none."""
        if attacks is not None:
            return Choice(self.require(attacks), {})
        asked = dict.fromkeys(
            names(SWAPS), "it publishes every release again for every pair; name it to have it made"
        )
        found = {name: self.obstacle(name) or asked.get(name) for name in among}
        reasons = {name: reason for name, reason in found.items() if reason is not None}
        if len(reasons) == len(among):
            raise PolicyError(f"no attack can be made with what is given. {_grouped(reasons)}")
        return Choice([name for name in among if name not in reasons], reasons)

    def _needs_all(self, name: str) -> bool:
        return self.in_parts is not None and name not in self.in_parts


def _grouped(reasons: dict[str, str]) -> str:
    """Every reason once, with the attacks it stands in the way of."""
    those: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        those.setdefault(reason, []).append(name)
    return ". ".join(f"{', '.join(attacks)}: {reason}" for reason, attacks in those.items())
