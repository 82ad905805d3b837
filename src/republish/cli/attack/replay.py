"""The attacks of `attack` that run the publisher again on every input that could lie behind small releases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from republish.cli.output import say, say_table

if TYPE_CHECKING:
    from republish.attacks import Adversary
    from republish.attacks.replaying.input_enumeration import Inferred
    from republish.cli.attack.source import AttackSource

_COLUMNS = (
    "attack", "episodes", "inputs", "make it", "certain before", "after", "confidence before", "after", "gain"
)  # fmt: skip


def replayed(source: AttackSource, names: Sequence[str], adversary: Adversary) -> list[Inferred]:
    """What the publisher's choices give away; refused where its releases cannot be made again."""
    from republish.attacks.replaying.input_enumeration import try_inputs
    from republish.attacks.replaying.replay import replay_of

    assert source.series is not None
    tried = try_inputs(*replay_of(source.series, source.files), known=adversary.known)
    return [tried.minimality() if name == "minimality" else tried.suppression() for name in names]


def say_replays(found: Sequence[Inferred]) -> None:
    """How sure she is of values, before and after she thinks of how the publisher chooses."""
    rows = [
        (
            one.name,
            one.lives,
            one.inputs,
            one.kept,
            one.before.determined,
            one.after.determined,
            one.before.mean_confidence,
            one.after.mean_confidence,
            one.gain,
        )
        for one in found
    ]
    say_table(_COLUMNS, rows)
    say(
        "minimality: what the publisher's choices say of people who were published; suppression: what being left out "
        "says; inputs: all that fit the groups, and how many of them make these very releases"
    )
