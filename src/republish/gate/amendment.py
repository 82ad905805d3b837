"""A gate that is amended while a series goes on: what is tighter, what is looser, and which gate is in force.

A tighter gate promises more and needs no reason. A looser one needs a reason; both are entries of the ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from republish.errors import PolicyError
from republish.gate.limits import LIMITS, Gate, gate_from_mapping, parse_settings
from republish.ledger import Entry

NONE = "none"
"""What is written for a limit, or a gate, that is to be taken away."""
_MORE_IS_TIGHTER = ("compromised", "draws", "event_lists", "cascade")


@dataclass(frozen=True)
class GateAmendment:
    """The gate before and after, the settings that were loosened, and why."""

    before: Gate | None
    after: Gate | None
    reason: str = ""

    @property
    def loosened(self) -> tuple[str, ...]:
        """The settings that let pass what was refused before; where it cannot be told, a setting counts as one."""
        if self.before is None:
            return ()
        if self.after is None:
            return ("gate",)
        return tuple(name for name in asdict(self.before) if _is_looser(name, self.before, self.after))

    def require_reason(self) -> None:
        """Refuse to change nothing, and to loosen without a reason."""
        if self.before == self.after:
            raise PolicyError("the gate is so already; nothing was written")
        if self.loosened and not self.reason.strip():
            raise PolicyError(
                f"{', '.join(self.loosened)} would be looser than before, which needs a reason, for the ledger and "
                "the report; give a reason (--reason TEXT), without names. Nothing was written"
            )

    def payload(self) -> dict[str, Any]:
        """What the ledger records."""
        after = None if self.after is None else self.after.document()
        return {"gate": after, "loosened": list(self.loosened), "reason": self.reason}

    def change(self) -> str:
        """What became of the gate."""
        how = f"loosened ({', '.join(self.loosened)})" if self.loosened else "tightened"
        now = "there is none any more" if self.after is None else self.after.sentence()
        return f"the gate was {how}: {now}"

    def sentence(self) -> str:
        """What became of the gate and why, in a line."""
        return self.change() + (f". Reason: {self.reason}" if self.reason else "")


def _is_looser(name: str, before: Gate, after: Gate) -> bool:
    was, now = getattr(before, name), getattr(after, name)
    if was == now:
        return False
    if name == "attacks":
        return bool(set(was) - set(now))
    if name in LIMITS:
        return was is not None and (now is None or now > was)
    if name in _MORE_IS_TIGHTER:
        return bool(now < was)
    if name == "exchanged":
        return now is not None  # newcomers instead of everybody
    return True  # another draw, or another way to reckon, may find less


def amended(before: Gate | None, text: str) -> Gate | None:
    """The gate with the settings of a text: NAME=VALUE by commas, `none` for no limit; all else stays as it is.

    Raises:
        PolicyError: a setting does not exist or is out of range.
    """
    if text.strip() == NONE:
        return None
    settings = {name: None if value == NONE else value for name, value in parse_settings(text).items()}
    kept = {} if before is None else before.document()
    return gate_from_mapping({name: value for name, value in (kept | settings).items() if value is not None})


def gate_after(first: Gate | None, amendments: Sequence[Entry]) -> Gate | None:
    """The gate that is in force after these entries of the ledger; `first` is that of the policy."""
    if not amendments:
        return first
    document = amendments[-1].payload["gate"]
    return None if document is None else gate_from_mapping(document)


def amendments_of(first: Gate | None, entries: Sequence[Entry]) -> list[tuple[Entry, GateAmendment]]:
    """Every amendment of the gate that the ledger holds, oldest first."""
    made: list[tuple[Entry, GateAmendment]] = []
    seen: list[Entry] = []
    for entry in (one for one in entries if one.kind == "amend" and "gate" in one.payload):
        before = gate_after(first, seen)
        seen.append(entry)
        made.append((entry, GateAmendment(before, gate_after(first, seen), entry.payload.get("reason", ""))))
    return made


def amendment_problems(entry: Entry, first: Gate | None, earlier: Sequence[Entry]) -> list[str]:
    """What is wrong with an amendment of the gate: that it loosened and nobody said why."""
    ((_, made),) = amendments_of(first, [*earlier, entry])[-1:]
    unsaid = made.loosened and not made.reason.strip()
    return [f"entry {entry.seq} of the ledger loosens the gate and gives no reason"] if unsaid else []
