"""One published table: what is in it, its generalized cells, and what its codes mean."""

from __future__ import annotations

from republish.release.release import LEVEL, Release, build_release, read_release

__all__ = ["LEVEL", "Release", "build_release", "read_release"]
