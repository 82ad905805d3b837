"""What is remembered of each person between releases: signatures, events, stays in cohorts."""

from __future__ import annotations

from republish.memory.membership import Membership
from republish.memory.memory import Memory, read_memory

__all__ = ["Membership", "Memory", "read_memory"]
