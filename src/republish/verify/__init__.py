"""Independent check of every promise, of one release and over the series; imports no publisher."""

from __future__ import annotations

from republish.verify.check import Check, Verification
from republish.verify.table import verify_table

__all__ = ["Check", "Verification", "verify_table"]
