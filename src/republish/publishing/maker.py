"""Who makes the pieces of one release: what the frame of a release asks of one process and of an engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from republish.estimates.usefulness import Usefulness
from republish.expect import Margins
from republish.ledger import Draft
from republish.memory.memory import Arrivals
from republish.metrics.sums import Sums
from republish.publishing.correction import Correction
from republish.publishing.plausibility import Turnout
from republish.publishing.preview import Preview
from republish.publishing.result import Published, ReleaseOptions
from republish.release.two_tables import TwoTableCounts
from republish.verify.check import Check, Verification
from republish.verify.sums import verified

if TYPE_CHECKING:
    from republish.gate.verdict import Verdict
    from republish.series import Series

Progress = Callable[[str], None]
STEPS = ("reading the view", "grouping", "writing", "verifying", "attacking", "remembering", "committing")


class MadePiece(Protocol):
    """What a piece of a release tells once it was written and read back."""

    @property
    def verification(self) -> Verification:
        """Its checks."""

    @property
    def sums(self) -> Sums:
        """What adds up of its measures."""

    @property
    def suppressed(self) -> int:
        """Rows of the view that it leaves out."""


class Maker(ABC):
    """Who makes the pieces of one release, step by step, while the lock is held; `open` is closed at the end."""

    steps: ClassVar[tuple[str, ...]] = STEPS
    arrivals: Arrivals
    view_digest: str
    """Of the whole view, once it was read; see `publishing/view_digest.py`."""
    margins: Margins
    waiting = 0
    """People of the view who are left out of the release, as if not in it, and come with a later one."""

    def __init__(self, series: Series, options: ReleaseOptions, step: Progress) -> None:
        self.series, self.options, self.step = series, options, step
        self.policy = series.in_force
        self.schema = replace(series.schema, amended=series.schema.amended.of_today())
        records = series.records
        self.number = len(records) + 1
        self.adopted = sum(entry.adopted for entry in records)
        self.last_rows = records[-1].payload["rows"] if records else 0
        self.secret = series.secret()
        self.open = ExitStack()

    @abstractmethod
    def read(self, view: Any) -> Turnout:
        """Read the view, its margins, and what is remembered; return who turned out."""

    @abstractmethod
    def group(self) -> None:
        """Run the publisher."""

    @abstractmethod
    def write(self, draft: Draft, as_of: str) -> Sequence[MadePiece]:
        """Write what may leave the house; return every piece as it was read back and checked."""

    def checked_pieces(self, pieces: Sequence[Any]) -> Verification:
        """The checks of all pieces as those of one release."""
        return verified([piece.verification for piece in pieces], self.policy.requirements)

    def of_whole(self, pieces: Sequence[Any]) -> Sequence[Check]:
        """What is checked of all pieces together."""
        return ()

    def counts(self) -> TwoTableCounts | None:
        """What is counted of two tables, where there are two."""
        return None

    @abstractmethod
    def alike(self) -> dict[str, int]:
        """How many values of each column are others but for case and blanks around them."""

    def preview(self) -> Preview:
        """What is seen of a draft beside its figures."""
        return Preview()

    def usefulness(self) -> Usefulness | None:
        """How far an analyst is off, where it is measured."""
        return None

    def judge(self) -> Verdict | None:
        """What the gate says of all releases with this one, where the policy has a gate."""
        return None

    def correction(self) -> Correction | None:
        """Which release this one takes the place of; who makes pieces in parts does not say what both give away."""
        corrects = self.options.corrects
        return None if corrects is None else Correction(corrects, {})

    @abstractmethod
    def keep(self, draft: Draft, done: Published) -> dict[str, Any]:
        """Write what is kept in private; return what the ledger keeps of it."""
