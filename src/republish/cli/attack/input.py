"""The attacks that `attack` is asked for, made in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from republish.cli.attack.options import FULL, AttackOptions
from republish.errors import PolicyError

if TYPE_CHECKING:
    from republish.attacks import (
        Adversary,
        BeliefResult,
        History,
        IdentityResult,
        Result,
        SeriesMeasures,
        Summary,
        Target,
        Unclear,
    )
    from republish.attacks.replaying.input_enumeration import Inferred
    from republish.cli.attack.source import AttackSource
    from republish.parts.attack.run import FoundInParts


@dataclass(frozen=True)
class AttackRun:
    """One attack that was made, and what it found after each release, where that was asked for."""

    result: Result | FoundInParts
    after_release: tuple[Summary, ...] | None

    @property
    def label(self) -> str:
        """The attack; where there are several of one name, also what tells them apart."""
        name, label = self.result.name, self.result.label
        return name if label in (name, FULL) else f"{name}, {label}"

    @property
    def unclear(self) -> Unclear | None:
        """What an attack with a budget did not get to the end of."""
        from republish.attacks import AttackResult

        return self.result.unclear if isinstance(self.result, AttackResult) else None

    def as_dict(self) -> dict[str, Any]:
        """The figures that every attack has, as a JSON document, and what is unclear where it has a budget."""
        document: dict[str, Any] = {
            "attack": self.label,
            "overall": asdict(self.result.summary),
            "releases": _numbered(self.result.by_release),
        }
        if self.unclear is not None:
            document["unclear"] = asdict(self.unclear)
        if self.after_release is not None:
            document["after_release"] = _numbered(self.after_release)
        return document


def _numbered(parts: Sequence[Summary]) -> list[dict[str, Any]]:
    return [{"release": i, **asdict(part)} for i, part in enumerate(parts, start=1)]


@dataclass(frozen=True)
class SeriesAttack:
    """All attacks on one series: what they found, and why others were left out.

    `followed` says whether the figures after each release were asked for.
    """

    source: AttackSource
    history: History
    adversary: Adversary
    made: Sequence[AttackRun]
    identities: Sequence[IdentityResult]
    replays: Sequence[Inferred]
    left_out: dict[str, str]
    followed: bool

    @property
    def beliefs(self) -> list[BeliefResult]:
        """What those found who weigh values."""
        from republish.attacks import BeliefResult

        return [one.result for one in self.made if isinstance(one.result, BeliefResult)]

    @cached_property
    def measures(self) -> SeriesMeasures:
        """What happened in every release, with the degree of hc-safety that is promised, else 3."""
        from republish.attacks import measure_series

        degrees = [int(one.partition("=")[2]) for one in self.source.promises if one.startswith("hc-safety=")]
        return measure_series(self.history, *degrees or (3,))


def attack_series(folder: Path, options: AttackOptions, progress: Callable[[int, int], None]) -> SeriesAttack:
    """Make the attacks that were asked for, or all that can be made with what is given."""
    from republish.attacks import BELIEVES, IDENTIFIES, REPLAYS, SWAPS
    from republish.attacks import names as names_of
    from republish.cli.attack.replay import replayed
    from republish.cli.attack.source import source_of

    source = source_of(folder, options)
    adversary = options.adversary(source.knowledge)
    chosen, left_out = source.means(adversary).choose(options.attacks)
    replays: Sequence[Inferred] = ()
    if again := [name for name in chosen if name in names_of(REPLAYS)]:
        try:
            replays = replayed(source, again, adversary)
        except PolicyError as problem:
            if options.attacks is not None:
                raise PolicyError(f"{' and '.join(again)} cannot be made: {problem}") from None
            left_out |= dict.fromkeys(again, str(problem))
    identifying = [name for name in chosen if name in names_of(IDENTIFIES, SWAPS)]
    wanted = [name for name in chosen if name not in (*again, *identifying)]
    believers = bool(wanted) and set(wanted) <= set(names_of(BELIEVES))
    follow = options.over_time or (options.plot is not None and not believers)
    steps, target = options.steps, source.target(adversary, [*wanted, *identifying])
    made = make(target, adversary, wanted, steps, progress, follow)
    identities = identified(target, adversary, identifying)
    return SeriesAttack(source, target.history, adversary, made, identities, replays, left_out, follow)


def make(
    target: Target,
    adversary: Adversary,
    names: Sequence[str],
    steps: Sequence[int | None],
    progress: Callable[[int, int], None],
    over_time: bool,
) -> list[AttackRun]:
    """Make every attack; those that believe once for each number of steps.

    Who looks further back than the knowledge does is the one who knows it all, and is not attacked with twice.
    """
    from republish.attacks import BeliefResult, run
    from republish.attacks import over_time as followed

    todo = list(_todo(adversary, names, steps))
    different = {(name, depth) for name, depth, _ in todo}
    each = max(target.history.releases, 1) if over_time else 1
    done: dict[tuple[str, int | None], AttackRun] = {}
    made = []
    for name, depth, look in todo:
        if (name, depth) not in done:
            before = len(done) * each
            progress(before, len(different) * each)
            her = replace(adversary, steps=depth)
            found = run(target, her, name)

            def further(release: int, _all: int, before: int = before) -> None:
                progress(before + release, len(different) * each)

            after = followed(target, her, name, further, found) if over_time else None
            done[name, depth] = AttackRun(found, after)
        one = done[name, depth]
        if isinstance(one.result, BeliefResult):
            one = replace(one, result=replace(one.result, steps=look))  # as it was asked for
        made.append(one)
    return made


def identified(target: Target, adversary: Adversary, names: Sequence[str]) -> list[IdentityResult]:
    """Make the attacks that seek no value."""
    from republish.attacks import IdentityResult, run

    found = [run(target, adversary, name) for name in names]
    return [one for one in found if isinstance(one, IdentityResult)]


def _todo(
    adversary: Adversary, names: Sequence[str], steps: Sequence[int | None]
) -> Iterator[tuple[str, int | None, int | None]]:
    """Attack, number of last values (`None` where it does not matter), and how that was asked for."""
    from republish.attacks import BELIEVES, KINDS

    for name in names:
        if KINDS[name].way != BELIEVES:
            yield name, None, None
            continue
        assert adversary.knowledge is not None
        order = adversary.knowledge.order
        for look in steps:
            yield name, order if look is None else min(look, order), look
