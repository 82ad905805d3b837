"""One published table: what is in it, its generalized cells, and what its codes mean."""

from __future__ import annotations

from republish.release.forms import TwoTables
from republish.release.release import LEVEL, Release, build_release
from republish.release.two_tables import TwoTableRelease, read_release

__all__ = ["LEVEL", "Release", "TwoTableRelease", "TwoTables", "build_release", "read_release"]
