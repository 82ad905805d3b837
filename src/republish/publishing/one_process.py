"""One release made as one piece, in this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from republish.arrays import BoolArray
from republish.estimates.usefulness import MOST_ROWS, Usefulness, usefulness_of
from republish.expect import Margins
from republish.grouping import Grouping
from republish.ledger import Draft, crash_points
from republish.memory.memory import Memory, compare
from republish.microdata import read_view
from republish.publishers.contract import MustWait
from republish.publishing.about import Size, about_release
from republish.publishing.cells import cells_of, open_axes
from republish.publishing.codebook import write_beside
from republish.publishing.compromised_records import compromised_table, with_compromised
from republish.publishing.correction import Correction, learned
from republish.publishing.led_batches import led_batches
from republish.publishing.maker import STEPS, Maker
from republish.publishing.plausibility import Turnout, spelled_alike, turnout, with_spelling
from republish.publishing.possible_people import possible_table, with_possible
from republish.publishing.preview import ROWS, Preview, margins_of
from republish.publishing.private_files import needs_fresh_base, write_private, write_private_table
from republish.publishing.publishable import require_publishable, shapes_of
from republish.publishing.remedies import newcomers_to_hold
from republish.publishing.result import Published
from republish.publishing.steps import CheckedPiece, Piece, Terms
from republish.publishing.view_digest import contents_sum, digest_of, row_contents
from republish.release.codebook.tables import tables_of
from republish.release.domains import Scales
from republish.release.release import Release
from republish.release.two_tables import TwoTableCounts, stored_release
from republish.sources.identifiers import require_whole
from republish.verify.check import Check
from republish.verify.hidden_batch import batches_hidden

if TYPE_CHECKING:
    from republish.gate.run import WithDraft
    from republish.gate.verdict import Verdict


class OneProcess(Maker):
    """The whole release as one piece."""

    def read(self, view: Any) -> Turnout:
        """Read and check the view, and replace identifiers by pseudonyms."""
        series = self.series
        if self.policy.gate is not None:
            self.policy.gate.require_views(len(self.options.truth) + 1, self.number)
        self.step(STEPS[0])
        self.view = read_view(view, self.schema, series.known_values() if self.number > 1 else None)
        self.margins = Margins.of(self.view).lacking(self.schema.amended.absent)
        require_publishable(self.schema, shapes_of(self.view))
        self.raw, self.memory = self.view.pseudonymous(self.secret), series.memory()
        assert self.raw.people is not None
        self.digests = self.raw.row_digests(self.secret, series.row_digests)
        total = contents_sum(row_contents(self.raw, self.digests, self.secret))
        self.view_digest = digest_of(total, self.raw.rows, self.secret)
        found = turnout(self.raw.people, self.memory, self.last_rows)
        assert self.view.identifiers is not None
        self.found = with_spelling(found, self.raw.people, self.view.identifiers, self.secret, self.memory)
        return self.found

    def group(self) -> None:
        """Run the publisher on the whole view."""
        if not self.found.known:
            assert self.view.identifiers is not None
            require_whole(self.view.identifiers, self.schema)
        if not self._is_measured_for_use:
            self.view = self.view.only(np.empty(0, dtype=np.int64))  # a large view is not held twice
        if self.options.compromised is not None:
            self.raw = with_compromised(self.raw, self.options.compromised, self.policy, self.secret)
        if self.options.theta is not None:
            self.raw = with_possible(self.raw, self.options.theta, self.policy, self.secret)
        self.step(STEPS[1])
        policy = self.policy
        if self.options.hold_newcomers:
            self._let_wait(newcomers_to_hold(self.raw, self.memory))
        self._let_wait(policy.publisher.waits(self.raw, self.memory))
        terms = Terms(
            policy.publisher, policy.requirements, self.secret, policy.seed, self.number, policy.of_people
        )
        try:
            grouping = self._grouped()
        except MustWait as found:
            self._let_wait(found.rows)
            grouping = self._grouped()
        self.piece = Piece(terms, self.raw, grouping, self.digests, self.memory)
        self.cells = None
        if policy.form is not None:
            self.cells = cells_of(self.raw, self.series, policy.form.k)
            if policy.form.hide_batch:
                self.cells = self.cells.hiding(self.raw, grouping.listed, policy.form.k)
            if self.series.open_ends:
                self.raw = replace(self.raw, axes=open_axes(self.raw.axes, self.cells.divided.domain))
            self.piece = replace(self.piece, view=self.raw, cells=self.cells.grouping)

    @property
    def _is_measured_for_use(self) -> bool:
        return self.found.rows <= MOST_ROWS or self.options.dry_run

    def _grouped(self) -> Grouping:
        rng = self.secret.generator(self.policy.seed, self.number, "publisher")
        return self.policy.publisher.publish(self.raw, self.memory, rng)

    def _let_wait(self, rows: BoolArray) -> None:
        """Go on as if these rows were not in the view."""
        self.waiting += int(rows.sum())
        if rows.any():
            self.raw, self.digests = self.raw.without(rows), self.digests[~rows]

    def write(self, draft: Draft, as_of: str) -> Sequence[CheckedPiece]:
        """Write the table for people and for programs, and say who is new in it, came back, left or changed."""
        self.step(STEPS[2])
        grouping = self.piece.grouping
        release, placed = self.piece.built()
        size = Size.of(release, grouping)
        size = size._replace(waiting=self.waiting, newcomers_held=self.options.hold_newcomers)
        told, corrects = (self.policy, self.number, as_of, size), self.options.corrects
        about = about_release(*told, adopted=self.adopted, corrects=corrects)
        release.write(draft.folder, about)
        write_beside(draft.folder, self.series.root, about, tables_of(release, about))
        draft.adopt_release()
        del release  # what is checked is read back
        crash_points.reach("release-written")
        self.step(STEPS[3])
        with stored_release(draft.folder) as stored:
            self.checked = self.piece.checked(stored, placed, draft.folder)
        self.seen = self.piece.seen(placed.group)
        self.arrivals = compare(self.seen, self.number, self.memory)
        return [self.checked]

    def of_whole(self, pieces: Sequence[Any]) -> Sequence[Check]:
        """Whether cells of people, and batches that look at no value, come from quasi-identifiers and cuts alone."""
        if self.cells is None or self.policy.form is None:
            return ()
        checks = [self.cells.check(self.raw, self.checked.placed, self.policy.form)]
        release = self.checked.release
        if self.policy.form.hide_batch and not isinstance(release, Release):
            checks.append(batches_hidden(release.people, release.batch))
        piece, listed = self.piece, self.checked.placed.listed
        return (
            *checks,
            *led_batches(self.policy.publisher, piece.view, piece.memory, piece.grouping, listed),
        )

    def alike(self) -> dict[str, int]:
        return spelled_alike(self.view.axes, self.view.values, self.schema)

    def counts(self) -> TwoTableCounts | None:
        """What is counted of two tables, where there are two."""
        release = self.checked.release
        if self.cells is None or isinstance(release, Release):
            return None
        return TwoTableCounts.of(release, self.cells.reaching)

    def preview(self) -> Preview:
        """The first rows of every table, and the margins of the sensitive column."""
        release, sensitive = self.checked.release, self.schema.sensitive
        people = release.head(ROWS)
        tables = (people,) if isinstance(release, Release) else (people, release.batches().head(ROWS))
        if sensitive is None:
            return Preview(tables)
        raw, released = self.view.values.gather(self.view.codes), self.raw.values.gather(self.checked.codes)
        return Preview(tables, *margins_of(raw, released, sensitive))

    def usefulness(self) -> Usefulness | None:
        return usefulness_of(self.checked.release, self.view) if self._is_measured_for_use else None

    def judge(self) -> Verdict | None:
        """The attacks of the gate on the series with this draft."""
        if self.policy.gate is None:
            return None
        from republish.gate.run import judge  # attacks are loaded where they are made

        self.step(STEPS[4])
        views = [*self.options.truth, self.raw]
        return judge(
            self.policy.gate, self._with_draft(), lambda name: self.step(f"{STEPS[4]}: {name}"), views
        )

    def correction(self) -> Correction | None:
        """Which release this one takes the place of, and what an adversary finds who has both."""
        found = super().correction()
        if found is None:
            return None
        self.step(STEPS[4])
        return replace(found, attacks=learned(self._with_draft()))

    def _with_draft(self) -> WithDraft:
        """The series as an adversary would have it once this release is out."""
        from republish.gate.run import Coming, WithDraft

        coming = Coming(self.checked.release, self.raw, self.seen, held=self.checked.held)
        if self.cells is not None:
            coming = replace(coming, cell=self.checked.placed.cell, moved=self.cells.moved)
        return WithDraft(self.series, coming)

    def keep(self, draft: Draft, done: Published) -> dict[str, Any]:
        """Write membership and memory, each as one file."""
        self.step(STEPS[5])
        membership = draft.private_file("membership")
        self.checked.membership(self.seen).write(membership)
        after = self.checked.remembered(self.seen)
        memory = self._write_memory(draft, after)
        scales = Scales.of(self.raw), self.schema
        kept = write_private(self.series, draft, scales, after.counts, draft.name(membership), memory)
        if self.cells is not None:
            kept = self.cells.kept(draft, self.series, kept, self.checked.placed.cell)
        if self.raw.compromised is not None:
            kept["compromised"] = write_private_table(draft, "compromised", compromised_table(self.raw))
        if self.raw.possible is not None:
            kept["possible"] = write_private_table(draft, "possible", possible_table(self.raw))
        return kept

    def _write_memory(self, draft: Draft, after: Memory) -> dict[str, int]:
        """Write everyone who is in the release, now and then everyone at all; return the lines of all files by name."""
        path, earlier = draft.private_file("memory"), self.series.memory_files()
        if needs_fresh_base(sum(earlier.values()) + self.seen.size, after.size):
            after.write(path)
            return {draft.name(path): after.size}
        after.seen_in(self.number).write(path)
        return {**earlier, draft.name(path): self.seen.size}
