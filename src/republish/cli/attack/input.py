"""What `attack` is asked for, read and made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from republish.errors import PolicyError

if TYPE_CHECKING:
    from republish.attacks import Adversary, Result, Summary, Target, Unclear
    from republish.parts.attack.run import FoundInParts

ALL = "all"
FULL = "full"


@dataclass(frozen=True)
class Made:
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


def chosen(names: str, hindrance: Callable[[str], str | None]) -> tuple[list[str], dict[str, str]]:
    """The attacks that were asked for, and of all those that cannot be made, each with the reason.

    `hindrance` says of an attack why it cannot be made. That none can is refused.
    """
    from republish.attacks import KINDS

    if names == ALL:
        reasons = {name: reason for name in KINDS if (reason := hindrance(name)) is not None}
        if len(reasons) == len(KINDS):
            raise PolicyError(f"no attack can be made with what is given. {_grouped(reasons)}")
        return [name for name in KINDS if name not in reasons], reasons
    wanted = [name.strip() for name in names.split(",")]
    for name in wanted:
        reason = hindrance(name)
        if reason is not None:
            raise PolicyError(f"{name} cannot be made: {reason}")
    return list(dict.fromkeys(wanted)), {}


def _grouped(reasons: dict[str, str]) -> str:
    """Every reason once, with the attacks it stands in the way of."""
    names: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        names.setdefault(reason, []).append(name)
    return ". ".join(f"{', '.join(those)}: {reason}" for reason, those in names.items())


def looks(text: str) -> list[int | None]:
    """How many last values she looks at, `None` for all: one adversary each."""
    words = [word.strip() for word in text.split(",")]
    if not all(word == FULL or (word.isascii() and word.isdigit()) for word in words):
        raise PolicyError(f"--steps is whole numbers and {FULL}, separated by commas, such as 0,1,2,{FULL}")
    return [None if word == FULL else int(word) for word in words]


def make(
    target: Target,
    adversary: Adversary,
    names: Sequence[str],
    steps: Sequence[int | None],
    over_time: bool,
    progress: Callable[[int, int], None],
) -> list[Made]:
    """Make every attack; those that believe once for each number of steps.

    Who looks further back than the knowledge does is the one who knows it all, and is not attacked with twice.
    """
    from republish.attacks import BeliefResult, run
    from republish.attacks import over_time as followed

    todo = list(_todo(adversary, names, steps))
    different = {(name, depth) for name, depth, _ in todo}
    each = max(target.history.releases, 1) if over_time else 1
    done: dict[tuple[str, int | None], Made] = {}
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
            done[name, depth] = Made(found, after)
        one = done[name, depth]
        if isinstance(one.result, BeliefResult):
            one = replace(one, result=replace(one.result, steps=look))  # as it was asked for
        made.append(one)
    return made


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
