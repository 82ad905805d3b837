"""`attack --engine`: the attacks that can be made in parts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from republish.cli.attack.input import AttackRun
from republish.cli.attack.output import say_left_out, say_summaries
from republish.cli.output import say, say_json

if TYPE_CHECKING:
    from republish.attacks import Adversary
    from republish.cli.attack.options import AttackOptions
    from republish.parts import Engine
    from republish.parts.attack.run import FoundInParts
    from republish.series import Series


def attack_in_parts(folder: Path, where: Engine, options: AttackOptions, as_json: bool) -> None:
    """Make the attacks that were asked for, or all that can be made in parts, and say what they find."""
    from republish.attacks import Means, informed
    from republish.knowledge import read_knowledge
    from republish.parts.attack.run import BELIEFS, IN_PARTS
    from republish.series import Series

    opened = Series.open(folder)
    known = None if options.knowledge is None else read_knowledge(options.knowledge, opened.schema)
    adversary = informed(options.adversary(known), opened)
    wanted, left_out = Means(adversary, in_parts=IN_PARTS).choose(options.attacks)
    found: list[FoundInParts] = []
    if excluding := [name for name in wanted if name != BELIEFS]:
        found += where.attack(opened, adversary, excluding).values()
    if BELIEFS in wanted:
        found += [_believed(opened, where, adversary, look) for look in options.steps]
    made = [AttackRun(result, None) for result in found]
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
    say_left_out(left_out)


def _believed(series: Series, where: Engine, adversary: Adversary, look: int | None) -> FoundInParts:
    """What she believes who looks at so many last values; at most as many as her knowledge has."""
    from republish.parts.attack.beliefs import BeliefsInParts
    from republish.parts.attack.run import BELIEFS

    assert adversary.knowledge is not None
    depth = None if look is None else min(look, adversary.knowledge.order)
    result = where.attack(series, replace(adversary, steps=depth), [BELIEFS])[BELIEFS]
    assert isinstance(result, BeliefsInParts)
    return replace(result, steps=look)  # as it was asked for
