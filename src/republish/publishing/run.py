"""The frame of a release: lock, moment, policy, plausibility, stage, gate and commit, whoever makes its pieces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from republish.arrays import BoolArray
from republish.errors import CannotPublish, LimitBroken
from republish.estimates.usefulness import MOST_ROWS, Usefulness, usefulness_of
from republish.expect import Margins
from republish.expect import compare as compare_margins
from republish.grouping import Grouping
from republish.ledger import Draft, Entry, crash_points
from republish.memory.memory import Arrivals, Memory, compare
from republish.metrics.summary import measures_of
from republish.metrics.sums import Sums
from republish.microdata import read_view
from republish.publishers.contract import MustWait
from republish.publishing.about import Size, about_release
from republish.publishing.as_of import moment_of
from republish.publishing.cells import cells_of, open_axes
from republish.publishing.codebook import write_beside
from republish.publishing.compromised_records import compromised_table, with_compromised
from republish.publishing.correction import Correction, learned, require_correctable
from republish.publishing.led_batches import led_batches
from republish.publishing.plausibility import (
    Expected,
    Turnout,
    require_plausible,
    spelled_alike,
    turnout,
    with_past,
    with_spelling,
)
from republish.publishing.policy_record import policy_record, require_another_release
from republish.publishing.possible_people import possible_table, with_possible
from republish.publishing.preview import ROWS, Preview, changes, margins_of
from republish.publishing.private_files import (
    needs_fresh_base,
    with_margins,
    write_private,
    write_private_table,
)
from republish.publishing.publishable import require_publishable, shapes_of
from republish.publishing.remedies import newcomers_to_hold, offered
from republish.publishing.result import Published, ReleaseOptions
from republish.publishing.steps import CheckedPiece, Piece, Terms
from republish.publishing.stronger import larger_offered
from republish.publishing.view_digest import KEY as VIEW_DIGEST
from republish.publishing.view_digest import contents_sum, digest_of, row_contents
from republish.release.codebook.tables import tables_of
from republish.release.domains import Scales
from republish.release.release import Release
from republish.release.two_tables import TwoTableCounts, stored_release
from republish.sources.identifiers import require_whole
from republish.verify.check import Check, Verification
from republish.verify.hidden_batch import batches_hidden
from republish.verify.sums import verified

if TYPE_CHECKING:
    from republish.gate.run import WithDraft
    from republish.gate.verdict import Verdict
    from republish.publishers import Publisher
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


def publish(
    series: Series,
    view: Any,
    options: ReleaseOptions,
    progress: Progress | None = None,
    make: Callable[[Series, ReleaseOptions, Progress], Maker] = OneProcess,
) -> Published:
    """One release of a view: see `Series.publish`; `make` says who makes its pieces."""
    ledger, dry_run = series.ledger, options.dry_run
    with ledger.lock("publish --dry-run") if dry_run else series.writing("publish"):
        ledger.require_present()
        head, records = ledger.head, series.records
        require_correctable(options.corrects, records)
        last = records[-1].payload["as_of"] if records else None
        dated = partial(moment_of, options.as_of, last, options.corrects is not None)
        if options.as_of != last:  # else it may be a job that runs again, with nothing new
            dated()
        require_another_release(series.policy, records, series.root)

        def released(told: ReleaseOptions) -> Published:
            return _released(make(series, told, progress or (lambda _: None)), view, dated, head)

        def remedies(limit_broken: bool) -> str:
            """What would pass, after it was tried; an engine has no gate, and holds nobody."""
            if make is not OneProcess or not options.remedies:
                return ""
            found = [offered(options, len(records), released)]
            if limit_broken:
                begun = partial(_as_new_series, series, view, options)
                found.append(larger_offered(series.in_force, series.root, len(records), begun))
            return ". ".join(filter(None, found))

        try:
            done = released(options)
            if done.gate is None or done.gate.passed:
                return done
            return replace(done, remedy=remedies(True))
        except (CannotPublish, LimitBroken) as problem:
            remedy = remedies(isinstance(problem, LimitBroken))
            raise type(problem)(f"{problem}. {remedy}" if remedy else str(problem)) from None


def _released(maker: Maker, view: Any, dated: Callable[[], str], head: Entry) -> Published:
    """The release that a maker makes of a view, committed unless it is a dry run."""
    with maker.open:
        found = maker.read(view)
        expected = _expected(maker, found)
        as_of = dated()
        crash_points.reach("view-read")
        maker.group()
        crash_points.reach("grouped")
        with maker.series.ledger.stage(maker.number) as draft:
            done = _made(maker, draft, as_of, found.rows - maker.waiting, expected)
            if not maker.options.dry_run:
                _committed(maker, draft, done, head)
    return done


def _as_new_series(series: Series, view: Any, options: ReleaseOptions, publisher: Publisher) -> Published:
    """A dry run of the view as the first release of a series with another publisher, which is gone afterwards."""
    policy = series.in_force
    with TemporaryDirectory(dir=series.ledger.layout.scratch) as folder:
        begun = type(series).create(
            Path(folder) / "series",
            series.schema,
            publisher,
            seed=policy.seed,
            one_table=policy.one_table,
            gate=policy.gate,
            form=policy.form,
            expect=policy.expectations,
        )
        told = ReleaseOptions(options.as_of, dry_run=True, compromised=options.compromised)
        maker = OneProcess(begun, told, lambda _: None)
        return _released(maker, view, partial(moment_of, told.as_of, None, False), begun.ledger.head)


def _expected(maker: Maker, found: Turnout) -> Expected:
    """Compare the view with the last one, and refuse what is not expected of it unless that is meant."""
    expect, options = maker.policy.expectations, maker.options
    found = with_past(found, maker.view_digest, maker.series.ledger.entries())
    columns = compare_margins(maker.margins, maker.series.margins(), expect)
    return require_plausible(found, (*found.findings(expect), *columns), options.meant, options.expect_anyway)


def _made(maker: Maker, draft: Draft, as_of: str, rows: int, expected: Expected) -> Published:
    """Write the pieces, check them as they lie there, measure them, and ask the gate."""
    pieces = maker.write(draft, as_of)
    verification = maker.checked_pieces(pieces).with_checks(*maker.of_whole(pieces))
    verification.require()
    crash_points.reach("verified")
    suppressed = sum(piece.suppressed for piece in pieces)
    # People without a batch are shown all the same.
    left_out = 0 if maker.policy.form is not None else suppressed
    measures = measures_of([piece.sums for piece in pieces], maker.schema, left_out)
    done = Published(
        number=maker.number,
        as_of=as_of,
        rows=rows,
        suppressed=suppressed,
        counterfeits=measures.counterfeits,
        groups=measures.groups,
        arrivals=maker.arrivals,
        measures=measures,
        verification=verification,
        folder=None if maker.options.dry_run else maker.series.ledger.layout.release(maker.number),
        gate=maker.judge(),
        corrects=maker.correction(),
        meant=expected.meant,
        findings=expected.findings,
        expect_anyway=expected.anyway,
        waiting=maker.waiting,
        two_tables=maker.counts(),
        alike=maker.alike(),
        usefulness=maker.usefulness(),
    )
    return replace(done, preview=_preview(maker, done)) if maker.options.dry_run else done


def _preview(maker: Maker, done: Published) -> Preview:
    """What is seen of a dry run; no rows of what the gate refuses."""
    records = maker.series.records
    before = records[-1].payload if records else None
    change = changes(before, done.as_dict(), maker.policy.publisher.keeps_counts)
    found = replace(maker.preview(), change=change)
    return found if done.gate is None or done.gate.passed else replace(found, tables=())


def _committed(maker: Maker, draft: Draft, done: Published, head: Entry) -> None:
    """Refuse what the gate refuses; write what is kept in private, and commit it all in one step."""
    if done.gate is not None:
        done.gate.require(str(maker.series.root))
    crash_points.reach("gated")
    kept = with_margins(maker.series, draft, maker.margins, maker.keep(draft, done))
    crash_points.reach("private-written")
    maker.step(maker.steps[-1])
    promised = policy_record(maker.series.policy, maker.policy.promises)
    payload = done.as_dict() | kept | promised
    if not maker.options.hold_newcomers:  # else the same view has somebody new to publish
        payload[VIEW_DIGEST] = maker.view_digest
    del payload["folder"]
    maker.series.ledger.commit(draft, "release", payload, head)
