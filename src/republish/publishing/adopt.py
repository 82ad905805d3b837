"""Releases that another tool made before the series began, taken in, so that attacks, gate and promises count them.

The custodian has the raw view of that time and what was published of it: one table, or two. Who is in which group is
not said by tables: everybody is put where her cells and her value fit (`attacks.matching`), or where a column of the
view says she was. The release is kept in our own form as an entry of the chain that says that it was adopted; nothing
is promised of it. What the publisher needs to go on from it is remembered; where no release that follows could keep
what is promised, it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import IntArray
from republish.attacks.adversary import Adversary
from republish.attacks.matching.fitting import fitting
from republish.attacks.matching.foreign_batches import placed_in_batches, read_foreign_batches
from republish.attacks.matching.other_tools import assigned, foreign_release
from republish.attacks.run import run, target_of
from republish.errors import PolicyError, ViewError
from republish.gate.run import Coming, WithDraft, judge
from republish.grouping import Grouping
from republish.ledger import Draft, crash_points
from republish.ledger.chain import ADOPT
from republish.memory.membership import Membership
from republish.memory.memory import Memory, compare
from republish.metrics.summary import measures_of
from republish.microdata import INTERVAL, Axis, read_view, sensitive_codes
from republish.publishing.about import Size, about_adopted
from republish.publishing.as_of import moment_of
from republish.publishing.plausibility import require_plausible, turnout, with_spelling
from republish.publishing.policy_record import policy_record, require_as_recorded
from republish.publishing.private_files import needs_fresh_base, write_private
from republish.publishing.result import Adopted, AdoptOptions, Published
from republish.publishing.steps import CheckedPiece, Piece, Terms
from republish.release.cells import Cells
from republish.release.domains import Scales
from republish.release.release import Release, plain_numbers
from republish.release.two_tables import (
    BATCH,
    AnyRelease,
    Placed,
    StoredRelease,
    TwoTableCounts,
    any_release_of,
    sides_of,
    stored_release,
    values_schema,
)
from republish.schema import Number
from republish.schema.column_names import listed
from republish.secret import order_of
from republish.series import Series
from republish.sources.identifiers import require_whole
from republish.sources.tables import read_table
from republish.verify.check import Check, Verification
from republish.verify.promises import AuditedRelease, signatures_in
from republish.verify.series import check_against_memory
from republish.verify.table import all_starred, quasi_columns, verify_against_view, verify_frame
from republish.verify.two_tables import verify_stored_release

Progress = Callable[[str], None]
STEPS = (
    "reading view and tables",
    "finding groups",
    "writing",
    "verifying",
    "attacking",
    "remembering",
    "committing",
)
ATTACKS = ("intersection", "linear")
"""What is made on all releases so far when one is adopted."""


def adopt(
    series: Series,
    tables: Sequence[Any],
    view: Any,
    options: AdoptOptions,
    progress: Progress | None = None,
) -> Published:
    """One release that another tool made: see `Series.adopt`."""
    step = progress or (lambda _: None)
    ledger, dry_run = series.ledger, options.dry_run
    with ledger.lock("adopt --dry-run") if dry_run else series.writing("adopt"):
        ledger.require_present()
        head, records = ledger.head, series.records
        own = sum(not entry.adopted for entry in records)
        if own:
            raise PolicyError(
                "releases that were made before must be adopted before the first release of the series' own, since it "
                f"counts with them; this series has {own} of its own. Begin a new series and adopt them there"
            )
        require_as_recorded(series.policy, records)
        as_of = moment_of(options.as_of, records[-1].payload["as_of"] if records else None)
        step(STEPS[0])
        made = _Adoption(series, len(records) + 1, as_of)
        release = made.read(tables, view, options)
        step(STEPS[1])
        made.place(release)
        with ledger.stage(made.number) as draft:
            done = made.written(draft, step, dry_run)
            if not dry_run:
                step(STEPS[5])
                kept = made.keep(draft)
                crash_points.reach("private-written")
                step(STEPS[6])
                payload = done.as_dict() | kept | policy_record(series.policy) | {"promises": _NOTHING}
                del payload["folder"]
                ledger.commit(draft, ADOPT, payload, head)
    return done


_NOTHING: dict[str, Any] = {"one_table": "", "series": []}


@dataclass(frozen=True)
class AdoptedPiece(Piece):
    """A release that another tool made, as one piece; what is remembered of it is what promises can count."""

    def after(self, known: Memory) -> Memory:
        """What the publisher needs of the release to go on."""
        return self.terms.publisher.remember_adopted(self.view, self.grouping, known)

    def _read(self, stored: StoredRelease, folder: Any) -> tuple[AnyRelease, Verification]:
        schema = self.view.schema
        of_people = () if stored.two else None
        found = verify_stored_release(stored, schema, (), of_people, None, folder, strict=False)
        return any_release_of(stored, schema, Scales.of(self.view)), found

    def _against_view(self, release: AnyRelease, placed: Placed) -> tuple[Check, ...]:
        """Whether everyone's value is counted where she is, and her cells hold her; lines of people may be nobody's."""
        if isinstance(release, Release):
            return (verify_against_view(release, self.view, placed.group),)
        people = sides_of(self.view).people
        there = np.flatnonzero(placed.cell > 0)
        outside = np.zeros(len(there), dtype=np.bool_)
        for cells, points in zip(release.people.cells, people.points, strict=True):
            outside |= ~cells.cover(placed.cell[there].astype(np.int64) - 1, points[there])
        wrong = int(outside.sum())
        says = "Everyone lies in the cells of a line of people."
        return (
            Check("true to the view", wrong == 0, says, None, 0, wrong),
            self._values_against_view(release.values, placed.group),
        )

    def _against_memory(self, *_: Any) -> tuple[Check, ...]:
        return ()


class _Adoption:
    """One adoption under way, while the lock is held."""

    def __init__(self, series: Series, number: int, as_of: str) -> None:
        self.series, self.number, self.as_of = series, number, as_of
        self.policy, self.schema, self.secret = series.policy, series.schema, series.secret()
        if self.schema.sensitive is None or self.schema.identifier is None:
            raise PolicyError(
                "a release is adopted by the sensitive values and identifiers of its people; this series lacks one of "
                "both columns"
            )
        self.stated: IntArray | None = None
        self.starred = 0
        self.strange: tuple[str, ...] = ()

    # Who is where ---------------------------------------------------------------------------------

    def read(self, tables: Sequence[Any], view: Any, options: AdoptOptions) -> AnyRelease:
        """Read the view, and the tables as a release in its coordinates."""
        groups, meant = options.groups, options.meant
        if not 1 <= len(tables) <= 2:
            raise PolicyError(f"a release is one table, or two, people and values; {len(tables)} were given")
        known = self.series.known_values() if self.number > 1 else None
        names = None
        if groups is not None:
            view, names = self._split(view, groups)
        raw = read_view(view, self.schema, known)
        self.view, self.memory = raw.pseudonymous(self.secret), self.series.memory()
        assert raw.identifiers is not None
        self.meant = self._plausible(raw.identifiers, meant)
        if names is not None:  # the rows of the view are in the order of pseudonyms now
            names = names.gather(order_of(self.secret.pseudonyms(raw.identifiers)))
        if len(tables) == 1:
            release: AnyRelease = self._one_table(tables[0], names)
        else:
            release = read_foreign_batches(tables[0], tables[1], self.schema, self.view.axes, self.number)
            self._name(read_table(tables[0], self.schema.missing)[BATCH], release.batch, names)
        if not release.rows:
            raise ViewError(
                "the table to be adopted must hold rows, and it has none; give the one that was published"
            )
        return release

    def _plausible(self, identifiers: pl.Series, meant: Collection[str]) -> tuple[str, ...]:
        """Refuse what would be refused of a view to be published; return what is meant of it."""
        people = self.view.people
        assert people is not None
        records = self.series.records
        found = turnout(people, self.memory, records[-1].payload["rows"] if records else 0)
        if not found.known:
            require_whole(identifiers, self.schema)
        found = with_spelling(found, people, identifiers, self.secret, self.memory)
        return require_plausible(found, meant)

    def _one_table(self, table: Any, names: pl.Series | None) -> Release:
        schema = self.schema
        frame = read_table(table, schema.missing)
        columns = quasi_columns(frame, schema)
        starred = all_starred(frame, columns)
        if not starred.all():
            self.starred = int(starred.sum())
            frame = frame.filter(~pl.Series(starred, dtype=pl.Boolean))
        plain = {"group", "level", *columns, *schema.published_columns}
        self.strange = tuple(name for name in frame.columns if name not in plain)
        release = foreign_release(frame, schema, self.view.axes, self.number)
        if names is not None and "group" not in frame.columns:
            raise PolicyError(
                "groups that the view names are those of a column group of the table, which it has not; leave --groups "
                "out"
            )
        self._name(frame["group"] if names is not None else None, release.group, names)
        return release

    def _split(self, view: Any, column: str) -> tuple[pl.DataFrame, pl.Series]:
        """The view without the column that names groups, and that column."""
        schema = self.schema
        declared = (*schema.quasi_identifiers, schema.sensitive)
        frame = read_table(view, schema.missing, [c.name for c in declared if isinstance(c, Number)])
        if column not in frame.columns:
            raise ViewError(
                f"the view has no column {listed([column])}; --groups names the one that says who was where"
            )
        if column in (schema.identifier, *schema.published_columns):
            raise PolicyError(f"column {listed([column])} has a role of its own; --groups names another one")
        return frame.drop(column), frame[column]

    def _name(self, shown: pl.Series | None, number: IntArray, names: pl.Series | None) -> None:
        """Take down in which group the view says everyone was, by the names that the table has."""
        if names is None or shown is None:
            return
        text = [part.cast(pl.String).str.strip_suffix(".0").rename("name") for part in (shown, names)]
        numbers = (
            pl.DataFrame([text[0], pl.Series("number", number, dtype=pl.Int64)]).drop_nulls().unique("name")
        )
        found = text[1].to_frame().join(numbers, on="name", how="left", maintain_order="left")
        unknown = found.filter(pl.col("name").is_not_null() & pl.col("number").is_null()).height
        if unknown:
            raise ViewError(
                f"every group that the view names must be one of the table; those of {unknown} people are not. Give "
                "the view and the table of one release"
            )
        self.stated = found["number"].fill_null(0).to_numpy()

    def place(self, release: AnyRelease) -> None:
        """Put everyone where she fits, and take what nobody is found for as nobody's."""
        assert self.schema.sensitive is not None
        column = self.schema.sensitive
        rows = release.values.rest[column.name]
        codes, values = sensitive_codes(rows, column, self.view.values)
        self.view = replace(self.view, values=values, axes=_widened(release))
        self.elsewhere = 0
        if not isinstance(release, Release):
            found = placed_in_batches(release, self.view, codes.astype(np.int64), self.stated)
            self.placed, self.elsewhere = Placed(found.batch, found.cell), found.elsewhere
        elif self.stated is not None:
            group = self.stated.astype(np.int32)
            self.placed = Placed(group, group)
        else:
            fits, row_group = fitting(release, self.view.points), release.group.astype(np.int64) - 1
            found_group, self.elsewhere = assigned(fits, self.view.codes, row_group, codes.astype(np.int64))
            group = (found_group + 1).astype(np.int32)
            self.placed = Placed(group, group)
        self._require_somebody(release)
        self.grouping = self._grouping(release.values, codes)
        nobodys = np.bincount(self.grouping.counterfeit_group, minlength=release.values.group_count)
        spelled = plain_numbers(values).gather(codes).rename(column.name)
        shown = replace(release.values, rest=release.values.rest.with_columns(spelled), counterfeits=nobodys)
        shown = replace(shown, cells=_on_axes(shown, self.view.axes))
        if not isinstance(release, Release):
            people = replace(release.people, cells=_on_axes(release.people, self.view.axes))
            self.release: AnyRelease = replace(release, people=people, values=shown)
        else:
            self.release = shown

    def _require_somebody(self, release: AnyRelease) -> None:
        """Refuse a view of which nobody is in the table, or whose people are not where it says."""
        view, group = self.view, self.placed.group
        if view.rows and not (self.placed.cell > 0).any():
            raise ViewError(
                "nobody in the raw view fits a row of the table; give the view that it was made of, with the columns "
                "as they were then"
            )
        if self.stated is None:
            return
        if isinstance(release, Release):
            there = np.flatnonzero(group > 0)
            wrong = np.zeros(len(there), dtype=np.bool_)
            for cells, points in zip(release.cells, view.points, strict=True):
                wrong |= ~cells.cover(group[there].astype(np.int64) - 1, points[there])
            strangers = int(wrong.sum())
        else:
            strangers = int(np.count_nonzero((self.stated > 0) & (group != self.stated)))
        if strangers:
            raise ViewError(
                f"everyone must fit the group that the view names for her, and {strangers} people do not; give the "
                "view that the table was made of, or leave --groups out"
            )

    def _grouping(self, values: Release, codes: IntArray) -> Grouping:
        """The groups with rows that nobody takes as counterfeits."""
        shown = pl.DataFrame({"group": values.group.astype(np.int64), "code": codes.astype(np.int64)})
        there = self.placed.group > 0
        held = pl.DataFrame(
            {
                "group": self.placed.group[there].astype(np.int64),
                "code": self.view.codes[there].astype(np.int64),
            }
        )
        key = ["group", "code"]
        spare = (
            shown.group_by(key)
            .len()
            .join(held.group_by(key).len("held"), on=key, how="full", coalesce=True)
            .select(
                *key, n=pl.col("len").fill_null(0).cast(pl.Int64) - pl.col("held").fill_null(0).cast(pl.Int64)
            )
            .sort(key)
        )
        wrong = int(-spare.filter(pl.col("n") < 0)["n"].sum())
        if wrong:
            raise ViewError(
                f"every value must be published in the group that the view names for its person, and {wrong} are not; "
                "give the view that the table was made of, or leave --groups out"
            )
        times = spare["n"].to_numpy()
        group, code = (np.repeat(spare[name].to_numpy(), times).astype(np.int32) for name in key)
        return Grouping((self.placed.group - 1).astype(np.int32), group - 1, code)

    # What is kept ---------------------------------------------------------------------------------

    def written(self, draft: Draft, step: Progress, dry_run: bool) -> Published:
        """Write the release in our form, check it as it lies there, and say how far it keeps what is promised."""
        step(STEPS[2])
        release, series, policy = self.release, self.series, self.policy
        two = not isinstance(release, Release)
        size = Size.of(release, self.grouping)
        release.write(draft.folder, about_adopted(policy, self.number, self.as_of, size))
        draft.adopt_release()
        crash_points.reach("release-written")
        step(STEPS[3])
        people = () if two else None
        terms = Terms(policy.publisher, (), self.secret, policy.seed, self.number, people)
        cells = Grouping((self.placed.cell - 1).astype(np.int32)) if two else None
        digests = self.view.row_digests(self.secret, series.row_digests)
        self.piece = AdoptedPiece(terms, self.view, self.grouping, digests, self.memory, None, cells)
        with stored_release(draft.folder) as stored:
            self.checked: CheckedPiece = self.piece.checked(stored, self.placed, draft.folder)
            kept = self._promised(stored)
        self.checked.verification.require()
        self.seen = self.piece.seen(self.placed.group)
        left_out = int(np.count_nonzero(self.placed.group == 0))
        if policy.publisher.needs_kept_past:
            _require_kept(policy.publisher.name, kept, left_out)
        self.after = self.checked.remembered(self.seen)  # refused where no release could follow
        step(STEPS[4])
        measures = measures_of([self.checked.sums], self.schema, 0 if two else left_out)
        return Published(
            number=self.number,
            as_of=self.as_of,
            rows=self.view.rows,
            suppressed=left_out,
            counterfeits=measures.counterfeits,
            groups=measures.groups,
            arrivals=compare(self.seen, self.number, self.memory),
            measures=measures,
            verification=self.checked.verification,
            folder=None if dry_run else series.ledger.layout.release(self.number),
            meant=self.meant,
            two_tables=TwoTableCounts.of(release) if not isinstance(release, Release) else None,
            adopted=self._adopted(kept, left_out),
        )

    def _promised(self, stored: StoredRelease) -> tuple[Check, ...]:
        """How far the release keeps what the series will promise, of its groups and together with earlier ones."""
        policy, view = self.policy, self.view
        of_groups = verify_frame(stored.values, values_schema(self.schema), policy.requirements).checks
        found = [check for check in of_groups if check.promise != "uniform groups"]
        promises = policy.publisher.series_promises
        if promises:
            assert view.people is not None
            values = self.checked.release.values
            signatures = signatures_in(values.group, self.checked.codes, len(view.values))
            members = Membership(view.people, self.placed.group, view.codes)
            now = AuditedRelease(self.number, members, signatures, self.checked.shown)
            found += check_against_memory(
                promises, now, values.sizes, self.memory, policy.publisher.reasoning
            )
        return tuple(found)

    def _adopted(self, kept: tuple[Check, ...], left_out: int) -> Adopted:
        """What was assumed, what holds, and what attacks find in all releases so far."""
        source = WithDraft(self.series, Coming(self.checked.release, self.view, self.seen, adopted=True))
        adversary = Adversary()
        target = target_of(source, adversary, ATTACKS)
        found = {name: asdict(run(target, adversary, name).summary) for name in ATTACKS}
        broken: tuple[str, ...] = ()
        if self.policy.gate is not None:
            broken = tuple(breach.sentence() for breach in judge(self.policy.gate, source).breaches)
        return Adopted(
            stated=self.stated is not None,
            left_out=left_out,
            elsewhere=self.elsewhere,
            nobodys=self.grouping.counterfeits,
            starred=self.starred,
            without_role=self.strange,
            anew=self._anew(),
            promises=tuple(check.as_dict() for check in kept),
            attacks=found,
            gate=broken,
        )

    def _anew(self) -> int:
        """How many published people have no signature that could be kept, where signatures are."""
        if not any(name.startswith(_SIGNED) for name in self.policy.publisher.series_promises):
            return 0
        there = self.placed.group > 0
        assert self.view.people is not None
        entries = self.after.find(self.view.people[there])
        return int(np.count_nonzero(self.after.signature_column()[entries] < 0))

    def keep(self, draft: Draft) -> dict[str, Any]:
        """Write membership and memory; return what the ledger keeps of them."""
        membership = draft.private_file("membership")
        self.checked.membership(self.seen).write(membership)
        path, earlier = draft.private_file("memory"), self.series.memory_files()
        if needs_fresh_base(sum(earlier.values()) + self.seen.size, self.after.size):
            self.after.write(path)
            memory = {draft.name(path): self.after.size}
        else:
            self.after.seen_in(self.number).write(path)
            memory = {**earlier, draft.name(path): self.seen.size}
        scales = Scales.of(self.view), self.schema
        return write_private(self.series, draft, scales, self.after.counts, draft.name(membership), memory)


_SIGNED = ("m-invariance", "weak-m-invariance", "tau-safety")


def _require_kept(name: str, kept: Sequence[Check], left_out: int) -> None:
    """Refuse a past that a publisher cannot go on from."""
    broken = [check for check in kept if not check.holds]
    if broken:
        raise PolicyError(
            f"{name} promises what all releases together give away, and can count a release made elsewhere only where "
            f"it keeps all that is promised; it does not keep {'; '.join(one.sentence() for one in broken)}. Adopt it "
            "into a series of another publisher, tau-safety in one table for instance"
        )
    if left_out:
        raise PolicyError(
            f"{name} can count a release made elsewhere only where everyone in the view is in it, and {left_out} "
            "people are not; give the view of those who were published"
        )


def _widened(release: AnyRelease) -> tuple[Axis, ...]:
    """The axes of a release that reach as far as its cells."""
    wider = []
    for cells in release.people.cells:
        axis, said = cells.axis, cells.said
        if axis.kind_code == INTERVAL and not axis.labels and said.any():
            low, high = float(cells.low[said].min()), float(cells.high[said].max())
            axis = replace(axis, low=min(axis.low, low), high=max(axis.high, high))
        wider.append(axis)
    return tuple(wider)


def _on_axes(release: Release, axes: Sequence[Axis]) -> tuple[Cells, ...]:
    """The cells of a release on other axes."""
    return tuple(replace(cells, axis=axis) for cells, axis in zip(release.cells, axes, strict=False))
