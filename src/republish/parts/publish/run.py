"""One release made in parts: the loop of `Series.publish` with its steps run by tasks."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from republish.arrays import IntArray
from republish.errors import ViewError
from republish.ledger import crash_points
from republish.ledger.files import remove
from republish.memory.memory import KEY
from republish.metrics.sums import measures_of
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
from republish.publishing.as_of import moment_of
from republish.publishing.plausibility import Turnout, require_plausible
from republish.publishing.policy_record import policy_record, require_another_release
from republish.publishing.result import Published
from republish.release.domains import Scales
from republish.release.release import ABOUT, COUNTERFEITS, TABLE_PARQUET
from republish.requirements import Whole
from republish.sources.paths import read_parquet, write_parquet
from republish.verify.check import Check, Verification
from republish.verify.sums import verified

if TYPE_CHECKING:
    from republish.ledger import Draft
    from republish.series import Series

FILE = "file"
STEPS = ("looking over the view", "recognising people", "grouping", "writing and verifying", "committing")


def publish_in_parts(
    series: Series,
    view: Any,
    mover: Mover[Any],
    part_rows: int,
    parts: int | None = None,
    as_of: str | None = None,
    dry_run: bool = False,
    progress: Callable[[str], None] | None = None,
    meant: Collection[str] = (),
) -> Published:
    """One release of a view, made in parts of about `part_rows`, or in so many parts.

    The promises, the checks and the one commit are those of `Series.publish`; so is what a failure leaves: nothing.
    """
    step = progress or (lambda _: None)
    with series.ledger.lock("publish --dry-run") if dry_run else series.writing("publish"):
        try:
            return _Run(series, mover, step).publish(view, part_rows, parts, as_of, dry_run, meant)
        finally:
            mover.release()


class _Run:
    """A publication under way; the lock is held."""

    def __init__(self, series: Series, mover: Mover[Any], step: Callable[[str], None]) -> None:
        self.series, self.mover, self.step = series, mover, step
        self.policy = series.policy
        self.records = series.records
        self.number = len(self.records) + 1
        self.secret = series.secret()

    def publish(
        self,
        view: Any,
        part_rows: int,
        parts: int | None,
        as_of: str | None,
        dry_run: bool,
        meant: Collection[str],
    ) -> Published:
        series, ledger = self.series, self.series.ledger
        ledger.require_present()
        head, records = ledger.head, self.records
        moment = moment_of(as_of, records[-1].payload["as_of"] if records else None)
        require_another_release(self.policy, records, series.root)
        require_in_parts(self.policy)
        self.step(STEPS[0])
        domains = self._survey(view)
        sizes = Sizes.of(domains.rows, part_rows, parts)
        self.step(STEPS[1])
        people, found = self._people(view, domains, sizes)
        last = records[-1].payload["rows"] if records else 0
        said = require_plausible(
            Turnout(found.rows, found.rows - found.arrivals.new, found.remembered, last), meant
        )
        crash_points.reach("view-read")
        self.step(STEPS[2])
        making, grouped, facts, whole = self._grouped(people, domains, sizes)
        crash_points.reach("grouped")
        published, lasting = self._lasting(grouped, facts, making, whole)
        groups = (
            np.sum([f.groups for f in facts], axis=0) if facts else np.zeros(sizes.shards, dtype=np.int64)
        )
        groups = groups - (lasting[-1].groups if lasting else 0)
        with ledger.stage(self.number) as draft, _places(draft, sizes.shards) as places:
            self.step(STEPS[3])
            writing = WritingShards(
                making,
                self.policy.requirements,
                places,
                np.cumsum(groups) - groups,
                published,
                tuple(one.against for one in lasting),
            )
            written = self._write(grouped, writing, sizes)
            crash_points.reach("release-written")
            verification = self._checked(written, found, making, published)
            crash_points.reach("verified")
            size = Size(
                sum(w.sums.rows for w in written),
                sum(w.sums.groups for w in written),
                sum(w.suppressed for w in written),
                sum(w.sums.counterfeits for w in written),
            )
            sensitive = domains.schema.sensitive
            done = Published(
                number=self.number,
                as_of=moment,
                rows=found.rows,
                suppressed=size.suppressed,
                counterfeits=size.counterfeits,
                groups=size.groups,
                arrivals=found.arrivals,
                measures=measures_of(
                    [w.sums for w in written],
                    [column.name for column in domains.schema.quasi_identifiers],
                    size.suppressed,
                    (sensitive.distance if sensitive else None) or "equal",
                ),
                verification=verification,
                folder=None if dry_run else ledger.layout.release(self.number),
                meant=said,
            )
            if dry_run:
                return done
            crash_points.reach("gated")
            self.step(STEPS[4])
            draft.adopt({draft.name(p): measured for w in written for p, measured in w.files.items()})
            kept = self._private(draft, making, places, written, found)
            about = about_release(self.policy, self.number, moment, size)
            (draft.folder / ABOUT).write_text(
                json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
            )
            crash_points.reach("private-written")
            payload = done.as_dict() | kept | policy_record(self.policy)
            del payload["folder"]
            ledger.commit(draft, "release", payload, head)
        return done

    def _survey(self, view: Any) -> Domains:
        schema = self.series.schema
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
        making = Making(publisher, domains, self.secret, self.policy.seed, self.number, sizes.shards, counts)
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
        if getattr(making.publisher, "reasoning", None) is None:
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

    def _checked(
        self, written: Sequence[Written], found: Met, making: Making, published: Whole
    ) -> Verification:
        """The checks of all shards together, and that they are the view: nobody lost, nobody twice."""
        verification = verified([w.verification for w in written], self.policy.requirements)
        codes = np.sum([w.codes for w in written], axis=0)
        same_whole = making.domains.schema.sensitive is None or bool(
            np.allclose(making.domains.whole(codes).overall, published.overall, rtol=0, atol=1e-12)
        )
        rows = sum(w.people for w in written)
        complete = rows == found.rows and sum(w.tally for w in written) % 2**64 == found.tally
        verification = verification.with_checks(
            Check(
                "parts make the whole",
                complete and same_whole,
                "Every row of the view is in one part of the release, and the parts are measured by the whole table.",
                None,
                0,
                0 if complete else abs(found.rows - rows),
            )
        )
        verification.require()
        return verification

    def _private(
        self, draft: Draft, making: Making, places: Places, written: Sequence[Written], found: Met
    ) -> dict[str, Any]:
        """Write scales and counts, a fresh base of the memory now and then; return the names the ledger knows."""
        domains = making.domains
        scales = draft.private_file("scales", ".json")
        document = Scales(domains.axes, domains.values).to_json(domains.schema)
        scales.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
        used = {path for w in written for path in w.files}
        draft.give_up([p for p in (*places.membership, *places.memory) if p not in used])
        changed = {places.memory[w.shard]: w for w in written}
        earlier = self.series.memory_files()
        files = {**earlier, **{draft.name(path): w.remembered for path, w in changed.items()}}
        superseded: list[str] = []
        everyone = found.remembered + found.arrivals.new
        if earlier and sum(files.values()) > everyone + everyone // 2:  # a fresh base costs little more
            files = self._fresh_base(draft, [(path, w.files[path]) for path, w in changed.items()], places)
            superseded = list(earlier)
        more: dict[str, Any] = {}
        if making.counts is not None and getattr(making.publisher, "reasoning", None) is not None:
            counts = draft.private_file("counts")
            write_parquet(making.counts, counts)
            more["counts"] = draft.name(counts)
            superseded += [name for name in [self.series.counts_file()] if name]
        return more | {
            "scales": draft.name(scales),
            "membership": [draft.name(places.membership[w.shard]) for w in written],
            "memory": list(files),
            "memory_rows": list(files.values()),
            "erased": superseded,
        }

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
