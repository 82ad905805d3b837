"""One release made in parts: the pieces of `publishing/run.py` made by tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import IntArray
from republish.errors import PolicyError, ViewError
from republish.expect import Margins
from republish.ledger import Draft, crash_points
from republish.ledger.files import remove
from republish.memory.memory import KEY
from republish.parts.batches import BATCHES, batches_together, fit_batches
from republish.parts.blocks import Block, Mover, fact, table_block, tables_of
from republish.parts.files import write_table
from republish.parts.pseudonymize import (
    MEMORY,
    VIEW,
    Met,
    frame_of,
    meet_memory,
    met,
    newest,
    pseudonymize,
    recall,
)
from republish.parts.publish.cells import (
    CELL,
    CELL_NUMBER,
    CELL_SHARD,
    REGIONS,
    CellsInParts,
    cells_in_parts,
)
from republish.parts.publish.clocked import WritingClocked
from republish.parts.publish.codebook import described
from republish.parts.publish.groups import (
    FALSE,
    GROUP,
    GROUPS,
    PART,
    Grouped,
    Making,
    find_broken,
    group_rows,
)
from republish.parts.publish.plan import Sizes, plan, require_in_parts, with_counts
from republish.parts.publish.shards import Places, WritingShards, Written
from republish.parts.publish.together import CLOCK, LISTED, DecidedBatches, batches_in_parts
from republish.parts.publish.two_tables import (
    PEOPLE,
    WritingPeople,
    WritingValues,
    WrittenPeople,
    checked_tables,
    from_cuts_in_parts,
    nobody,
)
from republish.parts.survey import Domains, Surveying, domains_of
from republish.publishing.about import Size, about_release
from republish.publishing.cells import open_axes
from republish.publishing.codebook import write_beside
from republish.publishing.maker import Maker, Progress
from republish.publishing.plausibility import Turnout, spelled_alike
from republish.publishing.private_files import needs_fresh_base, write_private
from republish.publishing.result import Published, ReleaseOptions
from republish.publishing.steps import Terms
from republish.publishing.view_digest import digest_of
from republish.release.domains import Scales
from republish.release.release import COUNTERFEITS, TABLE_PARQUET, write_about
from republish.release.two_tables import BATCHES_CSV, PEOPLE_PARQUET, VALUES_PARQUET, TwoTableCounts
from republish.requirements import Whole
from republish.series import Series
from republish.sources.paths import read_parquet
from republish.verify.check import Check, Verification

FILE = "file"
STEPS = ("looking over the view", "recognising people", "grouping", "writing and verifying", "committing")


@dataclass(frozen=True)
class Workforce:
    """Who moves the blocks of a release made in parts of about `part_rows`, or in so many `parts`."""

    mover: Mover[Any]
    part_rows: int
    parts: int | None


class InParts(Maker):
    """Shards of whole groups, made by tasks that a mover hands their blocks."""

    steps = STEPS

    def __init__(self, workforce: Workforce, series: Series, options: ReleaseOptions, step: Progress) -> None:
        super().__init__(series, options, step)
        require_in_parts(self.policy)
        if options.hold_newcomers:
            raise PolicyError("newcomers are held in one process only; publish without --engine")
        self.workforce, self.mover = workforce, workforce.mover

    def read(self, view: Any) -> Turnout:
        """Look over the view, then let everyone in it meet what is remembered of her."""
        self.step(STEPS[0])
        self.domains = self._survey(view)
        self.schema = self.domains.schema
        self.sizes = Sizes.of(self.domains.rows, self.workforce.part_rows, self.workforce.parts)
        self.step(STEPS[1])
        self.people, found = self._people(view)
        self.found, self.arrivals = found, found.arrivals
        self.view_digest = digest_of(found.total, found.rows, self.secret)
        return Turnout(found.rows, found.rows - found.arrivals.new, found.remembered, self.last_rows)

    def group(self) -> None:
        self.step(STEPS[2])
        mover, people, domains, sizes = self.mover, self.people, self.domains, self.sizes
        policy, release, counted = self.policy, self.number - 1, self.series.counts_file()
        together = policy.publisher.division.together
        before = read_parquet(self.series.ledger.intact(counted)) if counted and not together else None
        publisher, counts = with_counts(mover, people, policy.publisher, domains, before, release, sizes.sums)
        terms = Terms(publisher, policy.requirements, self.secret, policy.seed, self.number, policy.of_people)
        self.cells: CellsInParts | None = None
        self.together: DecidedBatches | None = None
        self.grouped: list[Any]
        self.facts: list[Grouped]
        if policy.form is not None:
            self.cells = cells_in_parts(mover, people, self.series, terms, domains, sizes)
            people = self.cells.people
            if self.series.open_ends:
                domains = replace(domains, axes=open_axes(domains.axes, self.cells.record.domain))
                self.domains = domains
        self.making = Making(terms, domains, sizes.shards, counts)
        if together:
            met = self.people
            self.together = batches_in_parts(mover, self.series, self.making, met, people, sizes.parts)
            self.grouped, self.facts = [self.together.routed, self.together.decided], self.together.facts
            return
        made, whole = plan(mover, people, publisher, domains, sizes, release)
        routed, task = mover.map(people, [VIEW], made.route), partial(group_rows, self.making, whole)
        self.grouped = [mover.keep(mover.exchange([routed], [VIEW], made.routes.parts, task))]
        self.facts = mover.facts(self.grouped[0])

    def write(self, draft: Draft, as_of: str) -> Sequence[Written | WrittenPeople]:
        """Write every shard, as it is checked and remembered; return what all tell."""
        self.published, lasting = self._lasting()
        groups = np.sum([np.zeros(self.sizes.shards, np.int64), *(f.groups for f in self.facts)], axis=0)
        groups = groups - (lasting[-1].groups if lasting else 0)
        self.step(STEPS[3])
        self.places = self.open.enter_context(_places(draft, self.sizes.shards, self.cells is not None))
        against, first = tuple(one.against for one in lasting), np.cumsum(groups) - groups
        terms = (self.making, self.places, first, self.published, against)
        writing = WritingShards(*terms)
        if self.cells is not None:
            kind = WritingValues if self.together is None else WritingClocked
            writing = kind(*terms, self.cells.first)
        grouped = self.grouped if self.sizes.rows else [self.mover.blocks([_nobody(self.domains)])]
        shards = self.mover.exchange(grouped, [VIEW, FALSE, CLOCK], self.sizes.shards, writing)
        if self.cells is not None:
            shards = self.mover.keep(shards)
        self.written: list[Written] = sorted(self.mover.facts(shards), key=lambda w: w.shard)
        self.groups = int(groups.sum())
        self.of_people = [] if self.cells is None else self._write_people(shards, self.cells)
        crash_points.reach("release-written")
        return [*self.written, *self.of_people]

    def _write_people(self, values: Any, cells: CellsInParts) -> list[WrittenPeople]:
        """Write every shard of people, and compare their batches with those of the values."""
        mover, shards = self.mover, self.sizes.shards
        sources = [values, cells.people if self.sizes.rows else mover.blocks(nobody(self.domains))]
        writing = WritingPeople(self.making, self.places, cells.first, cells.leading)
        people = mover.keep(mover.exchange(sources, [PEOPLE, REGIONS], shards, writing))
        written: list[WrittenPeople] = sorted(mover.facts(people), key=lambda w: w.shard)
        self.batches = batches_together(
            mover.facts(mover.exchange([values, people], [BATCHES], shards, fit_batches))
        )
        return written

    def checked_pieces(self, pieces: Sequence[Any]) -> Verification:
        """The checks of all shards, of two tables those of either."""
        if self.cells is None:
            return super().checked_pieces(pieces)
        return checked_tables(self.written, self.of_people, self.batches, self.making.terms)

    def alike(self) -> dict[str, int]:
        return spelled_alike(self.domains.axes, self.domains.values, self.schema)

    def counts(self) -> TwoTableCounts | None:
        """What is counted of two tables, where there are two."""
        if self.cells is None:
            return None
        counts = [w.counts for w in self.written if w.counts is not None]
        return TwoTableCounts.together(counts, self.cells.reaching)

    def of_whole(self, pieces: Sequence[Any]) -> Sequence[Check]:
        """That the shards are the view: nobody lost, nobody twice; and that cells of people come from the cuts."""
        found, domains, written = self.found, self.domains, self.written
        codes = np.sum([w.codes for w in written], axis=0)
        same_whole = domains.schema.sensitive is None or bool(
            np.allclose(domains.whole(codes).overall, self.published.overall, rtol=0, atol=1e-12)
        )
        tables: list[Sequence[Written | WrittenPeople]] = [written]
        tables += [] if self.cells is None else [self.of_people]
        rows = min(sum(w.people for w in table) for table in tables)
        complete = rows == found.rows and all(
            sum(w.tally for w in table) % 2**64 == found.tally for table in tables
        )
        form, more = self.policy.form, list[Check]()
        if self.together is not None:
            more += self.together.checks(written, self.places)
        if form is not None:
            more.append(from_cuts_in_parts(self.of_people, form.k))
        return [
            *more,
            Check(
                "parts make the whole",
                complete and same_whole,
                "Every row of the view is in one part of the release, and the parts are measured by the whole table.",
                None,
                0,
                0 if complete else abs(found.rows - rows),
            ),
        ]

    def keep(self, draft: Draft, done: Published) -> dict[str, Any]:
        """Take over what the shards wrote in private, with a fresh base of the memory now and then."""
        written, places, making = self.written, self.places, self.making
        files = [file for w in written for file in w.files.items()]
        files += [file for w in self.of_people for file in w.files.items()]
        draft.adopt({draft.name(path): measured for path, measured in files})
        used = {path for w in written for path in w.files}
        draft.give_up([p for p in (*places.membership, *places.memory) if p not in used])
        batches = None if self.cells is None else self.groups
        size = Size(done.measures.rows, done.groups, done.suppressed, done.counterfeits, batches)
        told, corrects = (self.policy, self.number, done.as_of, size), self.options.corrects
        about = about_release(*told, adopted=self.adopted, text=False, corrects=corrects)
        write_about(draft.folder, about)
        tables = described(draft.folder, about, self.domains, written, self.of_people)
        write_beside(draft.folder, self.series.root, about, tables)
        changed = {places.memory[w.shard]: w for w in written}
        memory = {draft.name(path): w.remembered for path, w in changed.items()}
        memory = {**self.series.memory_files(), **memory}
        if needs_fresh_base(sum(memory.values()), self.found.remembered + self.found.arrivals.new):
            memory = self._fresh_base(draft, [(path, w.files[path]) for path, w in changed.items()], places)
        kept = write_private(
            self.series,
            draft,
            (Scales(self.domains.axes, self.domains.values), self.schema),
            None if making.terms.reasoning is None else making.counts,
            [draft.name(places.membership[w.shard]) for w in written],
            memory,
        )
        if self.together is not None:
            kept = self.together.kept(draft, self.series, kept, places.aside)
        cells = self.cells
        if cells is None:
            return kept
        cut = cells.record.kept(draft, self.series, kept["erased"], cells.cuts)
        return kept | cut

    def _survey(self, view: Any) -> Domains:
        schema = self.schema
        self.headings = self.mover.columns(view, schema)
        schema.require_labels(self.headings)
        surveying = Surveying(schema)
        columns = schema.amended.found(surveying.columns, self.headings)
        found = self.mover.facts(self.mover.rows(view, schema, columns, surveying))
        known = self.series.known_values() if self.number > 1 else None
        self.margins = Margins.together([one.margins for one in found]).lacking(schema.amended.absent)
        return domains_of(found, schema, known)

    def _people(self, view: Any) -> tuple[Any, Met]:
        """Everyone in the view with what is remembered of her, kept for the steps that follow."""
        domains, parts = self.domains, self.sizes.parts
        task = partial(pseudonymize, domains, self.secret, parts, self.series.row_digests, self.number)
        columns = domains.schema.amended.found(domains.schema.columns, self.headings)
        rows = self.mover.rows(view, domains.schema, columns, task)
        together = self.policy.publisher.division.together
        meeting = partial(meet_memory, self.number, domains.schema.identifier or "", together)
        memory = self._recalled((), parts)
        people = self.mover.keep(self.mover.exchange([rows, memory], [VIEW, MEMORY], parts, meeting))
        found = met([one for one in self.mover.facts(people) if isinstance(one, Met)])
        if found.rows != domains.rows:
            raise ViewError(
                f"the view must be the same each time it is read; it had {domains.rows} rows, then {found.rows}. "
                "Nothing was written: publish a table that nobody changes meanwhile"
            )
        return people, found

    def _recalled(self, newer: Sequence[tuple[Path, dict[str, Any]]], parts: int) -> Any:
        """The lines of all files of the memory, and of newer ones, by bucket."""
        ledger = self.series.ledger
        earlier = [(ledger.path(name), ledger.recorded(name)) for name in self.series.memory_files()]
        files = (*earlier, *newer)
        names = self.mover.blocks([Block(i, FILE, str(i).encode()) for i in range(len(files))])
        return self.mover.map(names, [FILE], partial(recall, files, parts))

    def _lasting(self) -> tuple[Whole, list[_Lost]]:
        """What the published table says of its sensitive values, once all groups satisfy the requirements by it."""
        facts, domains = self.facts, self.domains
        codes = np.sum([np.zeros(len(domains.values), np.int64), *(f.codes for f in facts)], axis=0)
        published, lost = domains.whole(codes), list[_Lost]()
        if self.making.terms.reasoning is None or not any(f.suppressed or f.counterfeits for f in facts):
            return published, lost
        while True:
            against = (*(one.against for one in lost), published)
            task = partial(find_broken, self.policy.requirements, against, self.sizes.shards)
            found = self.mover.facts(self.mover.map(self.grouped[0], [GROUPS], task))
            groups, rows = (np.sum([f[side] for f in found], axis=0) for side in (0, 1))
            if (groups == lost[-1].groups).all() if lost else not groups.any():
                return published, lost
            lost.append(_Lost(published, groups))
            published = domains.whole(codes - rows)

    def _fresh_base(
        self, draft: Draft, changed: Sequence[tuple[Path, dict[str, Any]]], places: Places
    ) -> dict[str, int]:
        """Write everyone's latest line of the memory, and of none else, as new files; return their rows by name."""
        parts = len(places.table)
        base = tuple(draft.private_files("memory", parts))
        task = partial(write_base, base, places.aside)
        found = self.mover.facts(self.mover.exchange([self._recalled(changed, parts)], [MEMORY], parts, task))
        draft.adopt({draft.name(path): measured for path, measured, _ in found})
        there = {path for path, _, _ in found}
        draft.give_up([path for path in (*base, *(path for path, _ in changed)) if path not in there])
        return {draft.name(path): rows for path, _, rows in sorted(found, key=lambda one: str(one[0]))}


def write_base(places: tuple[Path, ...], aside: Path, blocks: Sequence[Block]) -> Iterator[Block]:
    """The task that writes one bucket of a fresh base of the memory.

    The file, its digest and size, and its rows.
    """
    latest, place = newest(tables_of(blocks, MEMORY)), places[blocks[0].to]
    latest = latest.sort(KEY)
    yield fact((place, write_table(latest, place, aside, compression="lz4"), latest.height))


@dataclass(frozen=True)
class _Lost:
    """Groups of each shard that do not satisfy the requirements against one of the wholes so far, this one the last."""

    against: Whole
    groups: IntArray


@contextmanager
def _places(draft: Draft, shards: int, two_tables: bool) -> Iterator[Places]:
    """Names for the files of every shard; those that turn out not to be needed are given up."""
    aside = draft.folder.with_name(f"{draft.token}-aside")
    tables = draft.folder / (VALUES_PARQUET if two_tables else TABLE_PARQUET)
    people, counterfeits = draft.folder / PEOPLE_PARQUET, draft.folder / COUNTERFEITS
    for folder in (tables, aside, *([people] if two_tables else [])):
        folder.mkdir()
    places = Places(
        tuple(tables / f"part-{shard:05d}.parquet" for shard in range(shards)),
        tuple(counterfeits / f"part-{shard:05d}.csv" for shard in range(shards)),
        tuple(draft.private_files("membership", shards)),
        tuple(draft.private_files("memory", shards)),
        aside,
        tuple(people / f"part-{shard:05d}.parquet" for shard in range(shards)),
        tuple(draft.folder / BATCHES_CSV / f"part-{shard:05d}.csv" for shard in range(shards)),
    )
    try:
        yield places
    finally:
        remove(aside)


def _nobody(domains: Domains) -> Block:
    """The people of an empty week, which is a release without groups."""
    cells = pl.DataFrame(schema=dict.fromkeys(domains.schema.insensitive, pl.String()))
    people, points = np.empty((0, 2), dtype=np.uint64), np.empty((len(domains.axes), 0))
    empty = domains.view(points, np.empty(0, dtype=np.int32), cells, people)
    group = (pl.lit(0, pl.Int32).alias(PART), *(pl.lit(-1, pl.Int32).alias(name) for name in (GROUP, LISTED)))
    cell = (pl.lit(0, pl.Int32).alias(name) for name in (CELL, CELL_NUMBER, CELL_SHARD))
    return table_block(frame_of(empty, np.empty(0, dtype=np.uint64)).with_columns(*group, *cell), 0, VIEW)
