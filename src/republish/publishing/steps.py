"""What happens to one piece of a release: whole groups, numbered from 1, with their people.

One process makes one piece of all groups, an engine many. Both take these steps, so that they cannot promise different
things.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from republish.arrays import IntArray, WordArray
from republish.grouping import Grouping
from republish.inference import Reasoning
from republish.memory.membership import Membership, with_held
from republish.memory.memory import Memory, sight
from republish.metrics.sums import Sums, sums_of, sums_of_values
from republish.microdata import Microdata
from republish.publishers import Publisher
from republish.release.domains import Scales
from republish.release.release import Release, build_release
from republish.release.two_tables import (
    AnyRelease,
    Placed,
    StoredRelease,
    any_release_of,
    build_two_tables,
    build_values,
    sides_of,
    values_of,
)
from republish.requirements import Requirement
from republish.secret import Secret
from republish.verify.bt_privacy import checks_of_beliefs
from republish.verify.check import Check, Verification
from republish.verify.possible_values import checks_of_possible
from republish.verify.promises import AuditedRelease, signatures_in
from republish.verify.series import check_against_memory
from republish.verify.similarity import Shown, require_beliefs
from republish.verify.table import AtLarge, codes_of, verify_against_view
from republish.verify.two_tables import verify_stored_release, verify_values


@dataclass(frozen=True)
class Terms:
    """What a release is made by, the same for every piece; `of_people` what cells satisfy in two tables."""

    publisher: Publisher
    requirements: tuple[Requirement, ...]
    secret: Secret
    seed: int
    number: int
    of_people: tuple[Requirement, ...] | None = None

    @property
    def reasoning(self) -> Reasoning | None:
        """How the publisher takes an adversary to think, where it thinks of one."""
        return self.publisher.reasoning

    def label(self, *label: object) -> tuple[object, ...]:
        """What the order of rows and the numbers of groups of this release, or of a piece of it, are drawn with."""
        return (self.seed, self.number, *label)


@dataclass(frozen=True)
class Piece:
    """People with digests of their rows, their groups, and what was remembered of them before the release.

    `large` is the table that the piece belongs to, where it is not all of it. `cells` are the groups of people who look
    alike, where they and their values are published in two tables.
    """

    terms: Terms
    view: Microdata
    grouping: Grouping
    digests: WordArray
    memory: Memory
    large: AtLarge | None = None
    cells: Grouping | None = None

    def built(self, *label: object) -> tuple[AnyRelease, Placed]:
        """The release to be written, and where every row of the view is in it; `label` draws the order of its rows."""
        terms = self.terms
        label = terms.label(*label)
        if self.cells is not None:
            return build_two_tables(self.view, self.grouping, self.cells, terms.secret, *label)
        release, group = build_release(self.view, self.grouping, terms.secret, *label)
        return release, Placed(group, group)

    def checked(self, stored: StoredRelease, placed: Placed, folder: Path | None = None) -> CheckedPiece:
        """Check what lies on disk, not what the publisher or this process believes; return it as read back.

        `folder` holds the same tables as text, where there are any.
        """
        view, terms = self.view, self.terms
        release, found = self._read(stored, folder)
        values, codes = release.values, codes_of(release.values, view)
        reasoning = terms.reasoning
        shown = Shown(reasoning.respondents(view), values.group, codes) if reasoning is not None else None
        checks = [
            *self._against_view(release, placed, codes),
            *checks_of_beliefs(terms.publisher.bt, view, placed.group),
            *checks_of_possible(terms.publisher.possible, view, placed.group, values),
            *self._against_memory(release, codes, placed.group, shown),
        ]
        return CheckedPiece(self, release, placed, codes, shown, found.with_checks(*checks))

    def _read(self, stored: StoredRelease, folder: Path | None) -> tuple[AnyRelease, Verification]:
        """What lies on disk, and what it keeps of what is promised of it."""
        schema, terms = self.view.schema, self.terms
        found = verify_stored_release(stored, schema, terms.requirements, terms.of_people, self.large, folder)
        return any_release_of(stored, schema, Scales.of(self.view)), found

    def _against_view(self, release: AnyRelease, placed: Placed, codes: IntArray) -> tuple[Check, ...]:
        """Whether the piece is true to the view: table by table."""
        if isinstance(release, Release):
            return (verify_against_view(release, self.view, placed.group, codes),)
        sides = sides_of(self.view)
        return (
            verify_against_view(release.people, sides.people, placed.cell),
            self._values_against_view(release.values, placed.group, codes),
        )

    def _values_against_view(self, values: Release, group: IntArray, codes: IntArray) -> Check:
        found = verify_against_view(values, sides_of(self.view).values, group, codes)
        return replace(found, promise="values true to the view")

    def _against_memory(
        self, release: AnyRelease, codes: IntArray, group: IntArray, shown: Shown | None
    ) -> tuple[Check, ...]:
        """Whether the piece keeps what is promised over the series."""
        view, terms, values = self.view, self.terms, release.values
        promises = terms.publisher.series_promises
        if not promises:
            return ()
        assert view.people is not None
        signatures = signatures_in(values.group, codes, len(view.values))
        members = Membership(view.people, group, view.codes, held=self.held(group))
        clock = None if isinstance(release, Release) else release.clock
        known = np.arange(view.known)
        now = AuditedRelease(terms.number, members, signatures, shown, published=known, clock=clock)
        return check_against_memory(promises, now, values.sizes, self.memory, terms.reasoning)

    def held(self, group: IntArray) -> Membership | None:
        """Whom batches count as they were earlier; `group` is the published one of every row of the view."""
        grouping = self.grouping
        if grouping.snapshots is None:
            return None
        number = np.zeros(grouping.groups, dtype=np.int32)
        number[grouping.group[grouping.group >= 0]] = group[grouping.group >= 0]
        return Membership(
            grouping.snapshots.held, number[grouping.counterfeit_group], grouping.counterfeit_code
        )

    def seen(self, group: IntArray) -> Memory:
        """The entries of everyone, as they stand after the release."""
        return sight(self.view, self.digests, group, self.terms.number, self.memory)

    def after(self, known: Memory) -> Memory:
        """What the publisher remembers after the release, of what is known of everyone."""
        return self.terms.publisher.remember(self.view, self.grouping, known)


@dataclass(frozen=True)
class ValuesPiece(Piece):
    """A piece whose batches are whole; its people are in cells with others, and published with them.

    `cell` is the published cell of everyone.
    """

    cell: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int32))

    def built(self, *label: object) -> tuple[Release, Placed]:
        """The table of values, and where every row of the view is; `label` draws the order of its rows."""
        terms = self.terms
        values, batch = build_values(self.view, self.grouping, terms.secret, *terms.label(*label))
        return values, Placed(batch, self.cell)

    def _read(self, stored: StoredRelease, folder: Path | None) -> tuple[Release, Verification]:
        schema, terms = self.view.schema, self.terms
        found = verify_values(stored.values, schema, terms.requirements, self.large)
        return values_of(stored.values, schema, Scales.of(self.view)), found

    def _against_view(self, release: AnyRelease, placed: Placed, codes: IntArray) -> tuple[Check, ...]:
        return (self._values_against_view(release.values, placed.group, codes),)


@dataclass(frozen=True)
class CheckedPiece:
    """A piece as it was read back: its tables, where every row of the view is, the code of every published row."""

    piece: Piece
    release: AnyRelease
    placed: Placed
    codes: IntArray
    shown: Shown | None
    verification: Verification

    @cached_property
    def sums(self) -> Sums:
        """What adds up of its measures."""
        large = self.piece.large
        at_large = None if large is None else (large.values, large.whole)
        if isinstance(self.piece, ValuesPiece):
            assert at_large is not None
            return sums_of_values(self.release.values, at_large)
        return sums_of(self.release, at_large)

    @property
    def suppressed(self) -> int:
        """Rows of the view that it leaves out."""
        return self.piece.grouping.suppressed

    def membership(self, seen: Memory) -> Memory:
        """Who is in which group with which code: what is kept in private of this release."""
        columns = {name: seen.columns[name] for name in ("group", "code", "row")}
        if self.piece.cells is not None or isinstance(self.piece, ValuesPiece):
            columns["cell"] = self.placed.cell
        if self.shown is not None:
            columns["class"] = self.shown.people.classes.astype(np.int32)
        members, held = Memory(seen.people, columns), self.held
        return members if held is None else with_held(members, held)

    @property
    def held(self) -> Membership | None:
        """Whom batches count as they were earlier."""
        return self.piece.held(self.placed.group)

    def remembered(self, seen: Memory) -> Memory:
        """The memory after the release; refused unless it believes what the release says of everyone."""
        piece, reasoning = self.piece, self.piece.terms.reasoning
        known = piece.memory.merged(seen)
        after = piece.after(known)
        if reasoning is not None and self.shown is not None:
            require_beliefs(reasoning, self.shown, self.placed.group, known, after)
        return after
