"""Marks for cases that take long and say little that the quick ones do not; `make test-long` runs them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def quick(cases: Iterable[Any], is_quick: Callable[[Any], bool]) -> list[Any]:
    """The cases, all but the quick ones marked as long."""
    return [case if is_quick(case) else pytest.param(case, marks=pytest.mark.long) for case in cases]
