"""A corrected view in place of the last release: which one may be corrected, and what whoever has both finds out.

Nothing calls back what was handed out. So the release that is corrected counts on in memory, gate and promises, as a
withdrawn one does, and a corrected value is to them a value that changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from republish.errors import PolicyError

if TYPE_CHECKING:
    from republish.attacks.source import Source
    from republish.ledger import Entry

ATTACKS = ("intersection", "linear")


@dataclass(frozen=True)
class Correction:
    """Which release is corrected, and what attacks find `before`, in all releases up to it, and `after`, with both.

    `attacks` is empty of a release made in parts.
    """

    release: int
    attacks: dict[str, dict[str, dict[str, Any]]]

    def as_dict(self) -> dict[str, Any]:
        """A JSON document."""
        return asdict(self)


def require_correctable(corrects: int | None, records: Sequence[Entry]) -> None:
    """Refuse to correct a release that is not the last: those after it were made of what it showed."""
    if corrects is None or (records and corrects == len(records)):
        return
    last = f"the last one is release {len(records)}" if records else "nothing is published yet"
    raise PolicyError(
        f"only the last release can be corrected, and {last}, not {corrects}; publish the corrected view as the next "
        "release, and mark the wrong one with `republish withdraw`"
    )


def learned(source: Source) -> dict[str, dict[str, dict[str, Any]]]:
    """What attacks find in all releases but the last, and in all, by somebody who knows who is in which group."""
    from republish.attacks.adversary import Adversary
    from republish.attacks.run import run, target_of

    adversary = Adversary()
    target = target_of(source, adversary, ATTACKS)
    until = {"before": target.until(target.history.releases - 1), "after": target}
    return {
        name: {when: asdict(run(one, adversary, name).summary) for when, one in until.items()}
        for name in ATTACKS
    }
