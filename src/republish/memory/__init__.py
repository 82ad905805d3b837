"""What is remembered of each person between releases: signatures, events, stays in cohorts."""

from __future__ import annotations

from republish.memory.memory import Memory, read_membership, read_memory

__all__ = ["Memory", "read_membership", "read_memory"]
