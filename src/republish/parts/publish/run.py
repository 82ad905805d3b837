"""One release made in parts: the pieces of `publishing/run.py` made by tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from republish.arrays import IntArray
from republish.errors import ViewError
from republish.ledger.files import remove
from republish.memory.memory import KEY
from republish.parts.blocks import Block, Mover, fact, table_block, tables_of
from republish.parts.files import write_table
from republish.parts.pseudonymize import (
    MEMORY,
    VIEW,
    Meeting,
    Met,
    Pseudonymizing,
    Recalling,
    frame_of,
    met,
    newest,
)
from republish.parts.publish.groups import FALSE, GROUP, GROUPS, PART, Grouped, GroupingRows, Lasting, Making
from republish.parts.publish.plan import Sizes, plan, require_in_parts, with_counts
from republish.parts.publish.shards import Places, WritingShards, Written
from republish.parts.survey import Domains, Surveying, domains_of
from republish.publishing.about import Size, about_release
from republish.publishing.options import PublishOptions
from republish.publishing.plausibility import Turnout
from republish.publishing.private_files import needs_fresh_base, write_private
from republish.publishing.run import Maker, Progress
from republish.publishing.steps import Terms
from republish.release.domains import Scales
from republish.release.release import COUNTERFEITS, TABLE_PARQUET, write_about
from republish.requirements import Whole
from republish.sources.paths import read_parquet
from republish.verify.table import Check

if TYPE_CHECKING:
    from republish.ledger import Draft
    from republish.series import Series

FILE = "file"
STEPS = ("looking over the view", "recognising people", "grouping", "writing and verifying", "committing")


@dataclass(frozen=True)
class Division:
    """Who moves the blocks of a release made in parts of about `part_rows`, or in so many `parts`."""

    mover: Mover[Any]
    part_rows: int
    parts: int | None


class InParts(Maker):
    """Shards of whole groups, made by tasks that a mover hands their blocks."""

    steps = STEPS

    def __init__(self, division: Division, series: Series, options: PublishOptions, step: Progress) -> None:
        super().__init__(series, options, step)
        require_in_parts(self.policy)
        self.division, self.mover = division, division.mover

    def read(self, view: Any) -> Turnout:
        """Look over the view, then let everyone in it meet what is remembered of her."""
        self.step(STEPS[0])
        self.domains = self._survey(view)
        self.schema = self.domains.schema
        self.sizes = Sizes.of(self.domains.rows, self.division.part_rows, self.division.parts)
        self.step(STEPS[1])
        self.people, self.found = self._people(view, self.domains, self.sizes)
        self.arrivals = self.found.arrivals
        records, found = self.series.records, self.found
        last = records[-1].payload["rows"] if records else 0
        return Turnout(found.rows, found.rows - found.arrivals.new, found.remembered, last)

    def group(self) -> None:
        """Run the publisher on every part."""
        self.step(STEPS[2])
        self.making, self.grouped, self.facts, self.whole = self._grouped(
            self.people, self.domains, self.sizes
        )

    def write(self, draft: Draft, as_of: str) -> None:
        """Write every shard, as it is checked and remembered."""
        facts, sizes = self.facts, self.sizes
        self.published, lasting = self._lasting(self.grouped, facts, self.making, self.whole)
        nothing = np.zeros(sizes.shards, dtype=np.int64)
        groups = np.sum([nothing, *(f.groups for f in facts)], axis=0)
        groups = groups - (lasting[-1].groups if lasting else 0)
        self.step(STEPS[3])
        self.places = self.open.enter_context(_places(draft, sizes.shards))
        writing = WritingShards(
            self.making,
            self.places,
            np.cumsum(groups) - groups,
            self.published,
            tuple(one.against for one in lasting),
        )
        self.written = self._write(self.grouped, writing, sizes)

    def check(self, draft: Draft) -> Sequence[Written]:
        """What the shards told of their checks."""
        return self.written

    def of_whole(self, pieces: Sequence[Written]) -> Sequence[Check]:
        """That the shards are the view: nobody lost, nobody twice."""
        found, domains = self.found, self.domains
        codes = np.sum([w.codes for w in pieces], axis=0)
        same_whole = domains.schema.sensitive is None or bool(
            np.allclose(domains.whole(codes).overall, self.published.overall, rtol=0, atol=1e-12)
        )
        rows = sum(w.people for w in pieces)
        complete = rows == found.rows and sum(w.tally for w in pieces) % 2**64 == found.tally
        return [
            Check(
                "parts make the whole",
                complete and same_whole,
                "Every row of the view is in one part of the release, and the parts are measured by the whole table.",
                None,
                0,
                0 if complete else abs(found.rows - rows),
            )
        ]

    def keep(self, draft: Draft, as_of: str, size: Size) -> dict[str, Any]:
        """Take over what the shards wrote in private, with a fresh base of the memory now and then."""
        written, places, making = self.written, self.places, self.making
        draft.adopt({draft.name(p): measured for w in written for p, measured in w.files.items()})
        used = {path for w in written for path in w.files}
        draft.give_up([p for p in (*places.membership, *places.memory) if p not in used])
        about = about_release(self.policy, self.number, as_of, size)
        write_about(draft.folder, about)
        changed = {places.memory[w.shard]: w for w in written}
        memory = {draft.name(path): w.remembered for path, w in changed.items()}
        memory = {**self.series.memory_files(), **memory}
        if needs_fresh_base(sum(memory.values()), self.found.remembered + self.found.arrivals.new):
            memory = self._fresh_base(draft, [(path, w.files[path]) for path, w in changed.items()], places)
        return write_private(
            self.series,
            draft,
            (Scales(self.domains.axes, self.domains.values), self.schema),
            None if making.terms.reasoning is None else making.counts,
            [draft.name(places.membership[w.shard]) for w in written],
            memory,
        )

    def _survey(self, view: Any) -> Domains:
        schema = self.schema
        schema.require_labels(self.mover.columns(view))
        surveying = Surveying(schema)
        found = self.mover.facts(self.mover.rows(view, surveying.columns, surveying))
        known = self.series.known_values() if self.number > 1 else None
        return domains_of(found, schema, known)

    def _people(self, view: Any, domains: Domains, sizes: Sizes) -> tuple[Any, Met]:
        """Everyone in the view with what is remembered of her, kept for the steps that follow."""
        columns = list(domains.schema.columns)
        pseudonymizing = Pseudonymizing(
            domains, self.secret, sizes.parts, self.series.row_digests, self.number
        )
        rows = self.mover.rows(view, columns, pseudonymizing)
        files = tuple(
            (self.series.ledger.path(name), self.series.ledger.recorded(name))
            for name in self.series.memory_files()
        )
        names = self.mover.blocks([Block(i, FILE, str(i).encode()) for i in range(len(files))])
        memory = self.mover.map(names, [FILE], Recalling(files, sizes.parts))
        meeting = Meeting(self.number, domains.schema.identifier or "")
        people = self.mover.keep(self.mover.exchange([rows, memory], [VIEW, MEMORY], sizes.parts, meeting))
        found = met([one for one in self.mover.facts(people) if isinstance(one, Met)])
        if found.rows != domains.rows:
            raise ViewError(
                f"the view must be the same each time it is read; it had {domains.rows} rows, then {found.rows}. "
                "Nothing was written: publish a table that nobody changes meanwhile"
            )
        return people, found

    def _grouped(
        self, people: Any, domains: Domains, sizes: Sizes
    ) -> tuple[Making, Any, list[Grouped], Whole]:
        """The groups of all parts, kept for the steps that follow."""
        mover, release = self.mover, self.number - 1
        counts_file = self.series.counts_file()
        before = read_parquet(self.series.ledger.intact(counts_file)) if counts_file else None
        publisher, counts = with_counts(
            mover, people, self.policy.publisher, domains, before, release, sizes.sums
        )
        made, whole = plan(mover, people, publisher, domains, sizes, release)
        policy = self.policy
        terms = Terms(publisher, policy.requirements, self.secret, policy.seed, self.number)
        making = Making(terms, domains, sizes.shards, counts)
        routed = mover.map(people, [VIEW], made.routing)
        grouped = mover.keep(mover.exchange([routed], [VIEW], made.routes.parts, GroupingRows(making, whole)))
        return making, grouped, mover.facts(grouped), whole

    def _lasting(
        self, grouped: Any, facts: Sequence[Grouped], making: Making, whole: Whole
    ) -> tuple[Whole, list[_Lost]]:
        """What the published table says of its sensitive values, once all groups satisfy the requirements by it."""
        codes = np.sum([f.codes for f in facts], axis=0) if facts else np.zeros(whole.m, dtype=np.int64)
        published = making.domains.whole(codes)
        if not any(f.suppressed or f.counterfeits for f in facts):
            return published, []
        if making.terms.reasoning is None:
            return published, []
        lost: list[_Lost] = []
        while True:
            against = (*(one.against for one in lost), published)
            task = Lasting(self.policy.requirements, against, making.shards)
            found = self.mover.facts(self.mover.map(grouped, [GROUPS], task))
            groups = np.sum([f[0] for f in found], axis=0)
            rows = np.sum([f[1] for f in found], axis=0)
            if not lost and not groups.any():
                return published, []
            if lost and (groups == lost[-1].groups).all():
                return published, lost
            lost.append(_Lost(published, groups))
            published = making.domains.whole(codes - rows)

    def _write(self, grouped: Any, writing: WritingShards, sizes: Sizes) -> list[Written]:
        if not sizes.rows:  # an empty week is a release without groups
            domains = writing.making.domains
            nobody = domains.view(
                np.empty((len(domains.axes), 0)),
                np.empty(0, dtype=np.int32),
                _no_cells(domains.schema.insensitive),
                np.empty((0, 2), dtype=np.uint64),
            )
            frame = _with_groups(frame_of(nobody, np.empty(0, dtype=np.uint64)))
            grouped = self.mover.blocks([table_block(frame, 0, VIEW)])
        shards = self.mover.exchange([grouped], [VIEW, FALSE], sizes.shards, writing)
        return sorted(self.mover.facts(shards), key=lambda w: w.shard)

    def _fresh_base(
        self, draft: Draft, changed: Sequence[tuple[Path, dict[str, Any]]], places: Places
    ) -> dict[str, int]:
        """Write everyone's latest line of the memory, and of none else, as new files; return their rows by name."""
        ledger, parts = self.series.ledger, len(places.table)
        earlier = [(ledger.path(name), ledger.recorded(name)) for name in self.series.memory_files()]
        files = (*earlier, *changed)
        names = self.mover.blocks([Block(i, FILE, str(i).encode()) for i in range(len(files))])
        recalled = self.mover.map(names, [FILE], Recalling(files, parts))
        base = tuple(draft.private_files("memory", parts))
        found = self.mover.facts(
            self.mover.exchange([recalled], [MEMORY], parts, WritingBase(base, places.aside))
        )
        draft.adopt({draft.name(path): measured for path, measured, _ in found})
        there = {path for path, _, _ in found}
        draft.give_up([path for path in (*base, *(path for path, _ in changed)) if path not in there])
        return {draft.name(path): rows for path, _, rows in sorted(found, key=lambda one: str(one[0]))}


@dataclass(frozen=True)
class WritingBase:
    """The task that writes one bucket of a fresh base of the memory."""

    places: tuple[Path, ...]
    aside: Path

    def __call__(self, blocks: Sequence[Block]) -> Iterator[Block]:
        """The file, its digest and size, and its rows."""
        latest, place = newest(tables_of(blocks, MEMORY)), self.places[blocks[0].to]
        latest = latest.sort(KEY)
        yield fact((place, write_table(latest, place, self.aside, compression="lz4"), latest.height))


@dataclass(frozen=True)
class _Lost:
    """Groups of each shard that do not satisfy the requirements against one of the wholes so far, this one the last."""

    against: Whole
    groups: IntArray


@contextmanager
def _places(draft: Draft, shards: int) -> Iterator[Places]:
    """Names for the files of every shard; those that turn out not to be needed are given up."""
    aside = draft.folder.with_name(f"{draft.token}-aside")
    tables, counterfeits = draft.folder / TABLE_PARQUET, draft.folder / COUNTERFEITS
    tables.mkdir()
    aside.mkdir()
    places = Places(
        tuple(tables / f"part-{shard:05d}.parquet" for shard in range(shards)),
        tuple(counterfeits / f"part-{shard:05d}.csv" for shard in range(shards)),
        tuple(draft.private_files("membership", shards)),
        tuple(draft.private_files("memory", shards)),
        aside,
    )
    try:
        yield places
    finally:
        remove(aside)


def _no_cells(names: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame(schema=dict.fromkeys(names, pl.String()))


def _with_groups(frame: pl.DataFrame) -> pl.DataFrame:
    """People without a part and a group, of whom there are none."""
    return frame.with_columns(pl.lit(0, pl.Int32).alias(PART), pl.lit(-1, pl.Int32).alias(GROUP))
