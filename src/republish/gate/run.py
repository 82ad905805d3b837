"""The attacks of a gate on a series, with or without a release that is still to be committed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from republish.arrays import IntArray
from republish.attacks.identity import IdentityResult, exchanged
from republish.attacks.results import AttackResult
from republish.attacks.run import Result, run, target_of
from republish.attacks.source import Source
from republish.errors import PolicyError
from republish.gate.limits import Gate
from republish.gate.verdict import AttackFigures, Verdict
from republish.inference import Reasoning
from republish.memory.membership import Membership
from republish.memory.memory import Memory
from republish.microdata import Microdata
from republish.publishers.contract import Publisher
from republish.release.two_tables import AnyRelease
from republish.schema import Schema
from republish.secret import Secret

if TYPE_CHECKING:
    from republish.policy import Policy
    from republish.series import Series

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Coming:
    """A release that was verified and is not committed: the table, its view, and who is in which group.

    In two tables `cell` is everybody's group in the table of people, and `moved` how far frames of columns moved. One
    that is to be `adopted` was made by another tool. `held` are those whom batches count as they were.
    """

    release: AnyRelease
    view: Microdata
    seen: Memory
    cell: IntArray | None = None
    moved: Mapping[str, float] = field(default_factory=dict)
    held: Membership | None = None
    adopted: bool = False

    @property
    def payload(self) -> dict[str, Any]:
        """What the entry of the release will say of how frames moved."""
        return {"moved": dict(self.moved)}


class WithDraft:
    """A series as an adversary would have it once a release is out: all releases so far, and that one.

    True values are the codes that the series remembers, and those of the view.
    """

    def __init__(self, series: Series, coming: Coming) -> None:
        self._series, self._coming = series, coming
        self._count = len(series.records)

    def snapshot(self) -> WithDraft:
        """The same: who makes a draft holds the lock, and nothing else is committed."""
        return self

    @property
    def records(self) -> tuple[Any, ...]:
        """One entry a release, and what there will be of the coming one."""
        return (*self._series.records, self._coming)

    @property
    def schema(self) -> Schema:
        return self._coming.view.schema

    @property
    def policy(self) -> Policy:
        return self._series.policy

    @property
    def reasoning(self) -> Reasoning | None:
        return self._series.reasoning

    @property
    def publisher(self) -> Publisher:
        return self._series.publisher

    def release(self, number: int) -> AnyRelease:
        return self._series.release(number) if number <= self._count else self._coming.release

    def values_at(self, number: int) -> pl.Series:
        return self._series.values_at(number) if number <= self._count else self.known_values()

    def known_values(self) -> pl.Series:
        return self._coming.view.values

    def members(self, number: int) -> Membership:
        if number <= self._count:
            return self._series.members(number)
        seen, reasoning = self._coming.seen, self.reasoning
        group, code, row = (seen.columns[name] for name in ("group", "code", "row"))
        classes = None if reasoning is None else reasoning.respondents(self._coming.view).classes
        coming = self._coming
        return Membership(seen.people, group, code, row, classes, coming.cell, coming.held)

    def secret(self) -> Secret:
        return self._series.secret()

    def newcomers_exchanged(self, allowed: float) -> IdentityResult:
        """The share of pairs told apart among those who are new in the coming release; it is made anew for each."""
        from republish.attacks.replaying.replay import Replay
        from republish.attacks.replaying.swap import swap_newcomers

        if self._coming.adopted:  # another tool made it, which cannot be run again
            return exchanged([])
        secret, seed = self.secret(), self.policy.seed
        return swap_newcomers(
            Replay(self.publisher, secret),
            self._coming.view,
            self._series.memory(),
            lambda number: secret.generator(seed, number, "publisher"),
            allowed,
        )


def judge(
    gate: Gate, source: Source, progress: Progress | None = None, views: Sequence[Any] | None = None
) -> Verdict:
    """What the attacks of a gate find in all releases together, and whether its limits hold.

    `views` are the raw views, one a release, for attacks that look people up by their quasi-identifiers.

    Raises:
        PolicyError: nobody is left to attack, an attack cannot give a figure that is limited, or views are missing.
    """
    gate.require_views(0 if views is None else len(views), len(source.records))
    knowledge = None if source.reasoning is None else source.reasoning.knowledge
    adversaries = gate.adversaries(knowledge)
    target = target_of(source, adversaries[0], gate.attacks, views=views if gate.needs_views else None)
    found = []
    for name in gate.attacks:
        for adversary in adversaries[: gate.drawn(name)]:
            if progress is not None:
                progress(name)
            if gate.tries_newcomers(name) and isinstance(source, WithDraft):
                result: Result = source.newcomers_exchanged(gate.limits.get("max_told_apart", 1.0))
                found.append(_found(gate, name, result))
                continue
            result = run(target, adversary, name, certain=gate.asks_what_is_certain)
            if len(target.history.person) and not result.summary.people:
                raise PolicyError(
                    "the gate needs people who are not compromised, and all were drawn; publish a larger view, or "
                    "begin a series with a smaller share compromised"
                )
            found.append(_found(gate, name, result))
    return Verdict(gate.limits, tuple(found))


def judge_again(
    series: Series, progress: Progress | None = None, views: Sequence[Any] | None = None
) -> Verdict:
    """The verdict on a series as it is stored, whatever was recorded; `views` as `judge` needs them.

    Raises:
        PolicyError: the series has no gate, nothing was published, or views are missing.
    """
    gate = series.gate
    if gate is None:
        raise PolicyError("this series has no gate; `republish attack` says what adversaries find out")
    if not series.records:
        raise PolicyError("the gate judges releases and there are none yet; publish one")
    # A series keeps no view to try newcomers on: everybody is exchanged instead.
    return judge(replace(gate, exchanged=None), series, progress, views)


def broken_already(series: Series) -> list[str]:
    """Where what is out already breaks the gate: most views to come would be refused."""
    if series.gate is None or not series.records or replace(series.gate, exchanged=None).needs_views:
        return []
    return [
        f"the releases so far break it, so that later ones mostly will: {breach.sentence()}"
        for breach in judge_again(series).breaches
    ]


def _found(gate: Gate, name: str, result: Result) -> AttackFigures:
    above = 0
    if gate.max_confidence is not None:
        with np.errstate(invalid="ignore"):
            above = int(np.count_nonzero(result.risk > gate.max_confidence))
    unclear = result.unclear if isinstance(result, AttackResult) else None
    identity = result.overall if isinstance(result, IdentityResult) else None
    return AttackFigures(name, result.summary, above, unclear, identity)
