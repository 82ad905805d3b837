"""What is said to one `publish` besides the view, and what it did."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from republish.hooks import html_of
from republish.memory.memory import Arrivals
from republish.metrics import Measures
from republish.release.two_tables import TwoTableCounts
from republish.verify.check import Verification

if TYPE_CHECKING:
    from republish.gate.verdict import Verdict


@dataclass(frozen=True)
class ReleaseOptions:
    """What `Series.publish` is told besides the view; `truth` are the raw views of all earlier releases."""

    as_of: str | None = None
    dry_run: bool = False
    compromised: Any = None
    meant: Collection[str] = ()
    truth: Sequence[Any] = ()


@dataclass(frozen=True)
class Published:
    """What one `publish` did: the numbers of the release, its verification, and where its files are.

    `gate` is the verdict of the policy's gate, `None` where it has none. Only a dry run returns one that did not pass.
    `meant` is what would have been refused as a mistake, had nobody said that it is meant. `two_tables` counts batches
    where people and values are published apart. `waiting` people of the view are not among the rows: they come with a
    later release. Of a dry run, `sample` is the head of every table.
    """

    number: int
    as_of: str
    rows: int
    suppressed: int
    counterfeits: int
    groups: int
    arrivals: Arrivals
    measures: Measures
    verification: Verification
    folder: Path | None
    gate: Verdict | None = None
    meant: tuple[str, ...] = ()
    two_tables: TwoTableCounts | None = None
    waiting: int = 0
    sample: tuple[pl.DataFrame, ...] = field(default=(), compare=False, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """A JSON document."""
        document = {
            "release": self.number,
            "as_of": self.as_of,
            "rows": self.rows,
            "groups": self.groups,
            "suppressed": self.suppressed,
            "counterfeits": self.counterfeits,
            "arrivals": asdict(self.arrivals),
            "measures": self.measures.as_dict(),
            "verification": self.verification.as_dict(),
            "folder": str(self.folder) if self.folder else None,
        }
        if self.two_tables is not None:
            document["two_tables"] = self.two_tables.as_dict()
        if self.waiting:
            document["waiting"] = self.waiting
        if self.meant:
            document["meant"] = list(self.meant)
        return document if self.gate is None else document | {"gate": self.gate.as_dict()}

    _repr_html_ = html_of("published_html")
