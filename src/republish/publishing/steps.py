"""What happens to one piece of a release: whole groups, numbered from 1, with their people.

One process makes one piece of all groups, an engine many. Both take these steps, so that they cannot promise different
things.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from republish.arrays import IntArray, WordArray
from republish.grouping import Grouping
from republish.inference import Reasoning
from republish.memory.membership import Membership
from republish.memory.memory import Memory, sight
from republish.metrics.sums import Sums, sums_of
from republish.microdata import Microdata, no_codes, sensitive_codes
from republish.publishers import Publisher
from republish.release.domains import Scales
from republish.release.grouped_table import GroupedTable
from republish.release.release import Release, build_release, release_of
from republish.requirements import Requirement
from republish.secret import Secret
from republish.verify.bt_privacy import checks_of_beliefs
from republish.verify.check import Check, Verification
from republish.verify.promises import AuditedRelease, signatures_in
from republish.verify.series import check_against_memory
from republish.verify.similarity import Shown, require_beliefs
from republish.verify.table import AtLarge, verify_against_view, verify_stored


@dataclass(frozen=True)
class Terms:
    """What a release is made by, the same for every piece."""

    publisher: Publisher
    requirements: tuple[Requirement, ...]
    secret: Secret
    seed: int
    number: int

    @property
    def reasoning(self) -> Reasoning | None:
        """How the publisher takes an adversary to think, where it thinks of one."""
        return self.publisher.reasoning


@dataclass(frozen=True)
class Piece:
    """People with digests of their rows, their groups, and what was remembered of them before the release.

    `large` is the table that the piece belongs to, where it is not all of it.
    """

    terms: Terms
    view: Microdata
    grouping: Grouping
    digests: WordArray
    memory: Memory
    large: AtLarge | None = None

    def built(self, *label: object) -> tuple[Release, IntArray]:
        """The table to be written, and the published group of every row of the view; `label` draws their order."""
        terms = self.terms
        return build_release(self.view, self.grouping, terms.secret, terms.seed, terms.number, *label)

    def checked(self, table: GroupedTable, group: IntArray, csv: Path | None = None) -> CheckedPiece:
        """Check what lies on disk, not what the publisher or this process believes; return it as read back.

        `csv` is the same table as text, where there is one.
        """
        view, terms = self.view, self.terms
        found = verify_stored(table, view.schema, terms.requirements, self.large, csv)
        release = release_of(table, view.schema, Scales.of(view))
        sensitive = view.schema.sensitive
        codes, _ = (
            sensitive_codes(release.rest[sensitive.name], sensitive, view.values)
            if sensitive is not None
            else no_codes(release.rows)
        )
        reasoning = terms.reasoning
        shown = Shown(reasoning.respondents(view), release.group, codes) if reasoning is not None else None
        checks = [
            verify_against_view(release, view, group),
            *checks_of_beliefs(terms.publisher.bt, view, group),
            *self._against_memory(release, codes, group, shown),
        ]
        return CheckedPiece(self, release, group, codes, shown, found.with_checks(*checks))

    def _against_memory(
        self, release: Release, codes: IntArray, group: IntArray, shown: Shown | None
    ) -> tuple[Check, ...]:
        """Whether the piece keeps what is promised over the series."""
        view, terms = self.view, self.terms
        promises = terms.publisher.series_promises
        if not promises:
            return ()
        assert view.people is not None
        signatures = signatures_in(release.group, codes, len(view.values))
        members = Membership(view.people, group, view.codes)
        now = AuditedRelease(terms.number, members, signatures, shown)
        return check_against_memory(promises, now, release.sizes, self.memory, terms.reasoning)

    def seen(self, group: IntArray) -> Memory:
        """The entries of everyone, as they stand after the release."""
        return sight(self.view, self.digests, group, self.terms.number, self.memory)


@dataclass(frozen=True)
class CheckedPiece:
    """A piece as it was read back: its table, the group of every row of the view, the code of every published row."""

    piece: Piece
    release: Release
    group: IntArray
    codes: IntArray
    shown: Shown | None
    verification: Verification

    @cached_property
    def sums(self) -> Sums:
        """What adds up of its measures."""
        large = self.piece.large
        return sums_of(self.release, None if large is None else (large.values, large.whole))

    @property
    def suppressed(self) -> int:
        """Rows of the view that it leaves out."""
        return self.piece.grouping.suppressed

    def membership(self, seen: Memory) -> Memory:
        """Who is in which group with which code: what is kept in private of this release."""
        columns = {name: seen.columns[name] for name in ("group", "code", "row")}
        if self.shown is not None:
            columns["class"] = self.shown.people.classes.astype(np.int32)
        return Memory(seen.people, columns)

    def remembered(self, seen: Memory) -> Memory:
        """The memory after the release; refused unless it believes what the release says of everyone."""
        piece, reasoning = self.piece, self.piece.terms.reasoning
        known = piece.memory.merged(seen)
        after = piece.terms.publisher.remember(piece.view, piece.grouping, known)
        if reasoning is not None and self.shown is not None:
            require_beliefs(reasoning, self.shown, self.group, known, after)
        return after
