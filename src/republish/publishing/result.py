"""What is said to one `publish` besides the view, and what it did."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from republish.expect.findings import Deviation
from republish.hooks import html_of
from republish.memory.memory import Arrivals
from republish.metrics import Measures
from republish.publishing.correction import Correction
from republish.publishing.preview import Preview
from republish.release.two_tables import TwoTableCounts
from republish.verify.check import Verification

if TYPE_CHECKING:
    from republish.estimates.usefulness import Usefulness
    from republish.gate.verdict import Verdict


@dataclass(frozen=True)
class ReleaseOptions:
    """What `Series.publish` is told besides the view; `truth` are the raw views of all earlier releases.

    With `hold_newcomers` people who were in no release before wait for a later one. Without `remedies` nothing else is
    tried where the view is refused.
    """

    as_of: str | None = None
    dry_run: bool = False
    compromised: Any = None
    meant: Collection[str] = ()
    truth: Sequence[Any] = ()
    corrects: int | None = None
    expect_anyway: str | None = None
    hold_newcomers: bool = False
    theta: Any = None
    remedies: bool = True


@dataclass(frozen=True)
class AdoptOptions:
    """What `Series.adopt` is told besides the tables and the view."""

    as_of: str | None = None
    dry_run: bool = False
    groups: str | None = None
    meant: Collection[str] = ()
    expect_anyway: str | None = None


@dataclass(frozen=True)
class Adopted:
    """What was assumed of a release that another tool made, and how far it keeps what the series promises.

    Attributes:
        stated: whether the view says who was in which group; else everybody was put where she fits.
        left_out: people of the view who are in no group.
        elsewhere: people who could be in another group too; one way to put all people was taken.
        nobodys: published values that nobody in the view was found for; they count as counterfeits.
        starred: rows of the table that say nothing but `*` and were left out.
        without_role: how many columns of the table the schema has no role for; they were left out.
        anew: published people without a set of values that could be kept; promises begin anew for them.
        promises: checks of what the series promises of its own releases.
        attacks: what attacks find in all releases so far, by name.
        gate: which limits of the gate all releases so far break; none of the series' own would pass.
    """

    stated: bool
    left_out: int
    elsewhere: int
    nobodys: int
    starred: int
    without_role: int
    anew: int
    promises: tuple[dict[str, Any], ...]
    attacks: dict[str, dict[str, Any]]
    gate: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """A JSON document."""
        return asdict(self)


@dataclass(frozen=True)
class Published:
    """What one `publish` did: the numbers of the release, its verification, and where its files are.

    `gate` is the verdict of the policy's gate, `None` where it has none. Only a dry run returns one that did not pass.
    `meant` is what would have been refused as a mistake, had nobody said that it is meant. `two_tables` counts batches
    where people and values are published apart. `waiting` people of the view are not among the rows: they come with a
    later release. `findings` are figures of the view that broke a limit of `[expect]`; `expect_anyway` is why it was
    published although some of them refuse it. `alike` counts values of columns that are others but for case and
    blanks. `preview` is what is seen of a dry run, and `remedy` what would pass where the gate refuses it.
    `usefulness` is how far an analyst is off, where the view is in memory; an engine does not measure it. `adopted`
    tells of a release of another tool, `corrects` of the release that this one takes the place of.
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
    adopted: Adopted | None = None
    corrects: Correction | None = None
    alike: dict[str, int] = field(default_factory=dict)
    findings: tuple[Deviation, ...] = ()
    expect_anyway: str | None = None
    usefulness: Usefulness | None = None
    preview: Preview | None = field(default=None, compare=False, repr=False)
    remedy: str = ""

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
        if self.adopted is not None:
            document["adopted"] = self.adopted.as_dict()
        if self.corrects is not None:
            document["corrects"] = self.corrects.as_dict()
        if self.alike:
            document["alike"] = self.alike
        if self.remedy:
            document["remedy"] = self.remedy
        if self.meant:
            document["meant"] = list(self.meant)
        if self.findings:
            document["findings"] = [one.as_dict() for one in self.findings]
        if self.expect_anyway is not None:
            document["expect_anyway"] = self.expect_anyway
        if self.usefulness is not None:
            document["usefulness"] = self.usefulness.as_dict()
        if self.preview is not None:
            document |= self.preview.as_dict()
        return document if self.gate is None else document | {"gate": self.gate.as_dict()}

    _repr_html_ = html_of("published_html")
