"""What a series shows of itself to be attacked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from republish.publishers.contract import Publisher
from republish.release.two_tables import AnyRelease
from republish.secret import Secret
from republish.verify.series import PublishedSeries


class Source(PublishedSeries, Protocol):
    """A published series, or one with a release that is still to be committed."""

    def snapshot(self) -> Source:
        """The same as it stands now, whatever is committed while it is read."""

    @property
    def records(self) -> Sequence[Any]: ...

    @property
    def publisher(self) -> Publisher:
        """What made its releases, which is no secret."""

    def release(self, number: int) -> AnyRelease: ...

    def secret(self) -> Secret:
        """The secret that pseudonyms are made with."""
