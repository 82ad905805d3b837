"""What a series shows of itself to be attacked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import polars as pl

from republish.inference import Reasoning
from republish.memory.membership import Membership
from republish.release.release import Release
from republish.schema import Schema
from republish.secret import Secret
from republish.verify.series import Promising


class Source(Protocol):
    """A published series, or one with a release that is still to be committed."""

    def snapshot(self) -> Source:
        """The same as it stands now, whatever is committed while it is read."""

    @property
    def records(self) -> Sequence[Any]: ...

    @property
    def schema(self) -> Schema:
        """The schema with all amendments."""

    @property
    def policy(self) -> Promising:
        """The policy, which is no secret."""

    @property
    def reasoning(self) -> Reasoning | None:
        """How the publisher takes an adversary to think, where it thinks of one."""

    def release(self, number: int) -> Release: ...

    def values_at(self, number: int) -> pl.Series:
        """The sensitive values that were known at a release."""

    def known_values(self) -> pl.Series: ...

    def members(self, number: int) -> Membership:
        """Private: who is in a release, and of which class where the series' own knowledge has classes."""

    def secret(self) -> Secret:
        """The secret that pseudonyms are made with."""
