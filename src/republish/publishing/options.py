"""What is said to one `publish` besides the view."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PublishOptions:
    """When the release is as of, whether it is only tried, what outsiders know, what is meant: see `Series.publish`."""

    as_of: str | None = None
    dry_run: bool = False
    compromised: Any = None
    meant: Collection[str] = ()
