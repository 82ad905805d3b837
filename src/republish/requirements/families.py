"""Families of requirements that ask for the same number: uniqueness of m values, diversity of a real l."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from republish.errors import PolicyError
from republish.requirements.base import TOLERANCE, Requirement
from republish.requirements.parameters import number_at_least, plain, whole_number


@dataclass(frozen=True)
class Uniqueness(Requirement):
    """A group reaches its number of values, 0 where one occurs too often; at least `m` are asked for."""

    m: int

    key: ClassVar[str]
    """The requirement's name on the command line."""
    at_least: ClassVar[bool] = True

    def __post_init__(self) -> None:
        found = whole_number("m", self.m)
        if found < 2:
            raise PolicyError(f"m must be at least 2, found {found}; a single value hides nothing")
        object.__setattr__(self, "m", found)

    @property
    def text(self) -> str:
        """Such as `m-unique=6`."""
        return f"{self.key}={self.m}"

    @property
    def bound(self) -> float:
        """The number of values asked for."""
        return float(self.m)

    @property
    def fewest_rows(self) -> int:
        """One row for each value."""
        return self.m


@dataclass(frozen=True)
class RealDiversity(Requirement):
    """A group reaches as many values as it is worth, with n rows n at most; at least `l` are asked for."""

    l: float  # noqa: E741 - the literature's name

    key: ClassVar[str]
    """The requirement's name on the command line."""
    at_least: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", number_at_least(self.key, self.l, 1))

    @property
    def text(self) -> str:
        """Such as `entropy-l=2`."""
        return f"{self.key}={plain(self.l)}"

    @property
    def bound(self) -> float:
        """The l asked for."""
        return self.l

    @property
    def fewest_rows(self) -> int:
        """A group of n rows reaches n at most."""
        return math.ceil(self.l * (1 - TOLERANCE))
