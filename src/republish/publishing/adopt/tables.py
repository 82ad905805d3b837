"""Who is where in tables that another tool made: where the view says so, else where cells and values fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import IntArray
from republish.attacks.matching.fitting import fitting
from republish.attacks.matching.foreign_batches import placed_in_batches, read_foreign_batches
from republish.attacks.matching.other_tools import assigned, foreign_release
from republish.errors import PolicyError, ViewError
from republish.expect import Margins, compare
from republish.grouping import Grouping
from republish.microdata import INTERVAL, Axis, read_view, sensitive_codes
from republish.publishing.plausibility import Expected, require_plausible, turnout, with_spelling
from republish.publishing.result import AdoptOptions
from republish.release.cells import Cells
from republish.release.release import Release, plain_numbers
from republish.release.two_tables import BATCH, AnyRelease, Placed
from republish.schema.column_names import listed
from republish.secret import order_of
from republish.series import Series
from republish.sources.identifiers import require_whole
from republish.sources.tables import read_raw, read_table
from republish.verify.table import all_starred, quasi_columns


class AdoptedTables:
    """The tables that another tool made of a view, and who of its people is where in them."""

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
        self.strange = 0

    def read(self, tables: Sequence[Any], view: Any, options: AdoptOptions) -> AnyRelease:
        """Read the view, and the tables as a release in its coordinates."""
        groups = options.groups
        if not 1 <= len(tables) <= 2:
            raise PolicyError(f"a release is one table, or two, people and values; {len(tables)} were given")
        known = self.series.known_values() if self.number > 1 else None
        tables = (self._with_lacking(tables[0], view), *tables[1:])
        names = None
        if groups is not None:
            view, names = self._split(view, groups)
        raw = read_view(view, self.schema, known)
        self.view, self.memory = raw.pseudonymous(self.secret), self.series.memory()
        assert raw.identifiers is not None
        self.margins = Margins.of(raw).lacking(self.schema.amended.optional)
        self.expected = self._plausible(raw.identifiers, options)
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

    def _with_lacking(self, table: Any, view: Any) -> pl.DataFrame:
        """The table with columns of the schema that were not published then: neither it nor its view has them.

        They say nothing of anybody.
        """
        schema = self.schema
        shown, raw = (read_table(one, schema.missing) for one in (table, view))
        spelled = {name.removesuffix("_lo").removesuffix("_hi") for name in shown.columns}
        here = {schema.amended.column_of(name) for name in raw.columns}
        self.lacking = [name for name in schema.may_be_absent if name not in here | spelled]
        before = (*schema.amended.before, *self.lacking)
        self.schema = replace(schema, amended=replace(schema.amended, before=before))
        quasi = [c.name for c in schema.quasi_identifiers if c.name in self.lacking]
        return shown.with_columns(pl.lit("*").alias(name) for name in quasi)

    def _plausible(self, identifiers: pl.Series, options: AdoptOptions) -> Expected:
        """Refuse what would be refused of a view to be published; return what was found and is meant of it."""
        people = self.view.people
        assert people is not None
        records = self.series.records
        found = turnout(people, self.memory, records[-1].payload["rows"] if records else 0)
        if not found.known:
            require_whole(identifiers, self.schema)
        found = with_spelling(found, people, identifiers, self.secret, self.memory)
        expect = self.policy.expectations
        findings = (*found.findings(expect), *compare(self.margins, self.series.margins(), expect))
        return require_plausible(found, findings, options.meant, options.expect_anyway)

    def _one_table(self, table: Any, names: pl.Series | None) -> Release:
        schema = self.schema
        frame = read_table(table, schema.missing)
        columns = quasi_columns(frame, schema)
        starred = all_starred(frame, columns)
        if not starred.all():
            self.starred = int(starred.sum())
            frame = frame.filter(~pl.Series(starred, dtype=pl.Boolean))
        plain = {"group", "level", *columns, *schema.published_columns}
        self.strange = sum(name not in plain for name in frame.columns)
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
        frame = read_raw(view, schema)
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
