"""The risk gate: limits on what attacks may find, the attacks run on a draft, and what came of it."""

from __future__ import annotations

from republish.gate.limits import LIMITS, Gate, gate_from_mapping, parse_gate

__all__ = ["LIMITS", "Gate", "gate_from_mapping", "parse_gate"]
