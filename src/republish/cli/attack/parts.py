"""`attack --engine`: the attacks that can be made in parts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from republish.cli.attack.input import Made, chosen, looks
from republish.cli.attack.output import say_summaries
from republish.cli.output import say, say_json

if TYPE_CHECKING:
    from republish.attacks import Adversary
    from republish.parts import Engine
    from republish.parts.attack.run import FoundInParts
    from republish.series import Series


def attack_in_parts(
    folder: Path,
    where: Engine,
    names: str,
    adversary: Adversary,
    knowledge: Path | None,
    steps: str,
    as_json: bool,
) -> None:
    """Make the attacks that were asked for, or all that can be made in parts, and say what they find."""
    from republish.attacks import obstacle
    from republish.attacks.run import informed
    from republish.cli.attack.input import ALL
    from republish.knowledge import read_knowledge
    from republish.parts.attack.run import BELIEFS, IN_PARTS, require_in_parts
    from republish.series import Series

    opened = Series.open(folder)
    if knowledge is not None:
        adversary = replace(adversary, knowledge=read_knowledge(knowledge, opened.schema))
    adversary = informed(adversary, opened)

    def hindrance(name: str) -> str | None:
        if names != ALL:
            require_in_parts([name], adversary)
        return obstacle(name, adversary, views=False) if name in IN_PARTS else "it needs everybody at once"

    wanted, left_out = chosen(names, hindrance)
    found: list[FoundInParts] = []
    if excluding := [name for name in wanted if name != BELIEFS]:
        found += where.attack(opened, adversary, excluding).values()
    if BELIEFS in wanted:
        found += [_believed(opened, where, adversary, look) for look in looks(steps)]
    made = [Made(result, None) for result in found]
    if as_json:
        say_json(
            {
                "summaries": [one.as_dict() for one in made],
                "attacks": [result.as_dict() for result in found if result.name != BELIEFS],
                "beliefs": [result.as_dict() for result in found if result.name == BELIEFS],
                "left_out": left_out,
            }
        )
        return
    say(f"{len(opened.records)} releases, attacked in parts")
    say_summaries(made)
    for name, reason in left_out.items():
        say(f"{name}: left out, for {reason}")


def _believed(series: Series, where: Engine, adversary: Adversary, look: int | None) -> FoundInParts:
    """What she believes who looks at so many last values; at most as many as her knowledge has."""
    from republish.parts.attack.beliefs import BeliefsInParts
    from republish.parts.attack.run import BELIEFS

    assert adversary.knowledge is not None
    depth = None if look is None else min(look, adversary.knowledge.order)
    result = where.attack(series, replace(adversary, steps=depth), [BELIEFS])[BELIEFS]
    assert isinstance(result, BeliefsInParts)
    return replace(result, steps=look)  # as it was asked for
