"""What an adversary reads: every release, who is in which group, and what she is granted beyond that.

Each paper behind these attacks grants her the respondents of every group. She is never told which rows are
counterfeit, only how many. Event lists are granted or not; true values serve to score her, and to tell her
those of compromised people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl

from republish.arrays import BoolArray, IntArray
from republish.attacks.excluding.signature_rule import SignatureRule, rule_of
from republish.attacks.snapshots import CountedRows, counted_anew, lives_apart
from republish.attacks.source import Source
from republish.attacks.tables import LEFT_OUT, Table, groups_of_table, require_possible
from republish.errors import PolicyError
from republish.memory.event_lists import Appearances, Events, events_of
from republish.release.release import Release
from republish.release.two_tables import AS_OF, AnyRelease, TwoTableRelease

_FORGOTTEN = "0" * 32


@dataclass(frozen=True)
class History:
    """All releases as arrays; appearances are sorted by release and group, groups numbered through the series.

    `group_start[i]` is the first group of release i, `member_start[g]` the first appearance in group g, and group g
    holds the value `value_code[j]` `value_count[j]` times for j from `value_start[g]` to `value_start[g + 1]`.
    `rule` is what the publisher is known to do with changed values; `forgotten` lists the groups of people who were
    forgotten since.

    Where batches count people as they were, `snapshots` is the same series by whom each counts: see `snapshots.py`. In
    such a history somebody may go by several names; `bearer[name]` is who that is, `None` where everyone has one.
    `renewed` is the same series with those batches alone that a release counts anew, to attacks that weigh values.
    """

    people: int
    values: int
    group_start: IntArray
    member_start: IntArray
    person: IntArray
    value_start: IntArray
    value_code: IntArray
    value_count: IntArray
    events: Events | None = None
    truth: IntArray | None = None
    names: pl.Series | None = field(default=None, repr=False)
    rule: SignatureRule | None = None
    forgotten: IntArray | None = None
    bearer: IntArray | None = None
    snapshots: History | None = field(default=None, repr=False)
    renewed: History | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        people: int,
        values: int,
        tables: Sequence[Table],
        events: Events | None = None,
        truth: Sequence[IntArray] | None = None,
        names: pl.Series | None = None,
    ) -> History:
        """The history of releases given as arrays; `truth` runs parallel to the members of each table."""
        if truth is not None and len(truth) != len(tables):
            raise PolicyError(
                f"truth must hold one array a release; there are {len(truth)} for {len(tables)}"
            )
        if events is not None and (events.people, events.releases) != (people, len(tables)):
            raise PolicyError(
                f"event lists must cover {people} people and {len(tables)} releases; "
                f"they cover {events.people} and {events.releases}"
            )
        groups = [groups_of_table(table, people, values, number) for number, table in enumerate(tables, 1)]
        if events is not None:
            require_possible(events, tables)
        group_start = np.append(0, np.cumsum(groups, dtype=np.int64)).astype(np.int64)
        kept = [np.flatnonzero(table.group != LEFT_OUT) for table in tables]
        joined = _joined([t.group[k] + s for t, k, s in zip(tables, kept, group_start, strict=False)])
        order = np.argsort(joined, kind="stable")
        rows = _joined([table.row_group + start for table, start in zip(tables, group_start, strict=False)])
        cells = rows * values + _joined([table.row_code for table in tables])
        distinct, count = np.unique(cells, return_counts=True)
        history = cls(
            people=people,
            values=values,
            group_start=group_start,
            member_start=_starts(joined, int(group_start[-1])),
            person=_joined([t.person[k] for t, k in zip(tables, kept, strict=True)])[order],
            value_start=_starts(distinct // max(values, 1), int(group_start[-1])),
            value_code=(distinct % max(values, 1)).astype(np.int32),
            value_count=count.astype(np.int32),
            events=events,
            truth=None
            if truth is None
            else _joined([codes[k] for codes, k in zip(truth, kept, strict=True)])[order].astype(np.int32),
            names=names,
        )
        history._require_consistency()
        return history

    @property
    def releases(self) -> int:
        return len(self.group_start) - 1

    @property
    def groups(self) -> int:
        return len(self.member_start) - 1

    @cached_property
    def group(self) -> IntArray:
        return np.repeat(np.arange(self.groups), np.diff(self.member_start))

    @cached_property
    def release(self) -> IntArray:
        return np.repeat(np.arange(self.releases), np.diff(self.group_start))[self.group]

    @property
    def real(self) -> int:
        """How many people there are, whatever names they go by; each has the name of her own number."""
        return self.people if self.bearer is None else int(self.bearer.max(initial=-1)) + 1

    @cached_property
    def who(self) -> IntArray:
        """Whose every appearance is."""
        return self.person if self.bearer is None else self.bearer[self.person]

    @cached_property
    def sizes(self) -> IntArray:
        return _sums(self.value_count, self.value_start)

    @property
    def nobodys(self) -> IntArray:
        """Rows of every group that belong to no member: counterfeits, and people forgotten since."""
        return self.sizes - np.diff(self.member_start)

    @property
    def diversity(self) -> int:
        """Fewest distinct values of any group that has members: what each release alone seems to promise."""
        peopled = np.diff(self.member_start) > 0
        return int(np.diff(self.value_start)[peopled].min()) if peopled.any() else 0

    def until(self, release: int) -> History:
        """What was published up to a release (1, 2, ...); people and values keep their numbers."""
        if not 1 <= release <= self.releases:
            raise PolicyError(f"a release from 1 to {self.releases} must be given; found {release}")
        groups = int(self.group_start[release])
        shown = slice(self.value_start[groups])
        appearances = slice(self.member_start[groups])
        return replace(
            self,
            group_start=self.group_start[: release + 1],
            member_start=self.member_start[: groups + 1],
            person=self.person[appearances],
            value_start=self.value_start[: groups + 1],
            value_code=self.value_code[shown],
            value_count=self.value_count[shown],
            events=None if self.events is None else self.events.until(release),
            truth=None if self.truth is None else self.truth[appearances],
            rule=None if self.rule is None else self.rule._replace(values=self.rule.values[:release]),
            forgotten=None if self.forgotten is None else self.forgotten[self.forgotten < groups],
            snapshots=None if self.snapshots is None else self.snapshots.until(release),
            renewed=None if self.renewed is None else self.renewed.until(release),
        )

    def knowing_forgotten(self) -> History:
        """The same to an adversary who knows what people had who were forgotten, and which rows are counterfeits there.

        Whose rows they were nobody remembers, so she is granted all rows of their groups but those of the other
        members: nobody is to hide behind a person of whom we know no more than that she was there.
        """
        if self.forgotten is None or not len(self.forgotten) or self.truth is None:
            return self
        among = np.zeros(self.groups, dtype=np.bool_)
        among[self.forgotten] = True
        row_group = np.repeat(np.arange(self.groups), np.diff(self.value_start))
        place = np.searchsorted(
            row_group * self.values + self.value_code, self.group * self.values + self.truth
        )
        held = np.bincount(place, minlength=len(row_group))
        count = np.where(among[row_group], held, self.value_count).astype(self.value_count.dtype)
        kept = count > 0
        start = np.append(0, np.cumsum(np.bincount(row_group[kept], minlength=self.groups)))
        return replace(
            self,
            value_start=start.astype(self.value_start.dtype),
            value_code=self.value_code[kept],
            value_count=count[kept],
        )

    def _require_consistency(self) -> None:
        if (self.nobodys < 0).any():
            raise PolicyError(
                f"a group cannot have more members than published rows; {np.count_nonzero(self.nobodys < 0)} have"
            )
        if self.truth is None:
            return
        held = np.repeat(np.arange(self.groups), np.diff(self.value_start)) * self.values + self.value_code
        true, count = np.unique(self.group * self.values + self.truth, return_counts=True)
        place = np.minimum(np.searchsorted(held, true), max(len(held) - 1, 0))
        wrong = (
            (held[place] != true) | (self.value_count[place] < count) if len(true) else np.zeros(0, np.bool_)
        )
        if wrong.any():
            raise PolicyError(
                f"true values must be among those published for their group; {np.count_nonzero(wrong)} are not. "
                "Give the views that these releases were made from"
            )


def history_of(series: Source, truth: Sequence[pl.DataFrame] | None = None) -> History:
    """The history of a published series, event lists included.

    True values are those the series keeps in private; `truth` puts others in their place, one frame a release
    with the columns person (pseudonym) and code.
    """
    series = series.snapshot()
    numbers = range(1, len(series.records) + 1)
    if series.schema.sensitive is None:
        raise PolicyError("attacks seek sensitive values and this series has no sensitive column")
    if truth is not None and len(truth) != len(numbers):
        raise PolicyError(f"truth must hold one table a release; there are {len(truth)} for {len(numbers)}")
    values = series.values_at(numbers[-1]) if numbers else pl.Series("", [], dtype=pl.String)
    members = [series.members(number) for number in numbers]
    everybody = [one.table() for one in members]
    seen = [frame.filter(pl.col("person") != _FORGOTTEN) for frame in everybody]
    if truth is not None:
        seen = [_with_truth(frame, codes) for frame, codes in zip(seen, truth, strict=True)]
    everyone = (
        pl.concat([frame["person"] for frame in seen]) if seen else pl.Series("person", [], dtype=pl.String)
    )
    names = everyone.unique().sort().rename("person")
    index = names.to_frame().with_row_index("index")
    who = [
        _column(frame.join(index, on="person", how="left", maintain_order="left"), "index") for frame in seen
    ]
    codes = [_column(frame, "code") for frame in seen]
    appearances = [
        Appearances(person, code, frame["row"].to_numpy())
        for person, code, frame in zip(who, codes, seen, strict=True)
    ]
    tables = [
        Table(person, _column(frame, "group") - 1, *_rows(series.release(number).values, values))
        for number, person, frame in zip(numbers, who, seen, strict=True)
    ]
    events = events_of(len(names), appearances)
    history = History.of(len(names), len(values), tables, events, codes, names)
    known = np.array([len(series.values_at(number)) for number in numbers], dtype=np.int64)
    gone = [
        _column(frame.filter((pl.col("person") == _FORGOTTEN) & (pl.col("group") > 0)), "group") - 1 + start
        for frame, start in zip(everybody, history.group_start, strict=False)
    ]
    promises = series.policy.promises["series"]
    adopted = sum(entry.adopted for entry in series.records)
    rule = rule_of(promises, known, adopted)
    history = replace(history, rule=rule, forgotten=np.unique(_joined(gone)))
    if "value-blind" not in promises:
        return history
    nobody = pl.DataFrame(schema={"person": pl.String, "group": pl.Int32, "code": pl.Int32})
    held = [nobody if one.held is None else one.held.table() for one in members]
    fresh = [_fresh(series.release(number), number) for number in numbers]
    return replace(
        history,
        snapshots=_snapshots(history, tables, codes, held),
        renewed=_renewed(history, tables, codes, held, fresh),
    )


def _fresh(release: AnyRelease, number: int) -> BoolArray:
    """Which batches of a release were counted in it."""
    clock = release.clock if isinstance(release, TwoTableRelease) else None
    if clock is None:
        return np.ones(release.values.group_count, dtype=np.bool_)
    return np.asarray(clock[AS_OF].to_numpy() == number)


def _renewed(
    history: History,
    tables: list[Table],
    codes: list[IntArray],
    held: list[pl.DataFrame],
    fresh: list[BoolArray],
) -> History:
    """The history of those batches that each release counts anew, without the rows of who is held."""
    counted = []
    for table, gone, anew in zip(tables, held, fresh, strict=True):
        known = gone.filter(pl.col("person") != _FORGOTTEN)
        group, rows = counted_anew(
            anew,
            table.group,
            CountedRows(table.row_group, table.row_code),
            CountedRows(_column(known, "group") - 1, _column(known, "code")),
        )
        counted.append(Table(table.person, group, *rows))
    return History.of(history.people, history.values, counted, history.events, codes, history.names)


def _snapshots(
    history: History, tables: list[Table], codes: list[IntArray], held: list[pl.DataFrame]
) -> History:
    """The history of whom batches count: everyone who is there and counted, and who is held as she was."""
    assert history.names is not None
    index = history.names.to_frame().with_row_index("index")
    known = [frame.join(index, on="person", how="inner", maintain_order="left") for frame in held]
    shown = [table.group != LEFT_OUT for table in tables]
    who = [np.append(t.person[s], _column(k, "index")) for t, s, k in zip(tables, shown, known, strict=True)]
    code = [np.append(c[s], _column(k, "code")) for c, s, k in zip(codes, shown, known, strict=True)]
    group = [
        np.append(t.group[s], _column(k, "group") - 1) for t, s, k in zip(tables, shown, known, strict=True)
    ]
    release = np.repeat(np.arange(len(tables)), [len(one) for one in who])
    name, bearer = lives_apart(history.people, _joined(who), release, _joined(code))
    named = np.split(name, np.cumsum([len(one) for one in who])[:-1]) if who else []
    appearances = [
        Appearances(n, c, np.zeros(len(n), dtype=np.uint64)) for n, c in zip(named, code, strict=True)
    ]
    counted = [
        Table(n, g, table.row_group, table.row_code) for n, g, table in zip(named, group, tables, strict=True)
    ]
    made = History.of(
        len(bearer), history.values, counted, events_of(len(bearer), appearances), code, history.names
    )
    gone = [
        _column(frame.filter(pl.col("person") == _FORGOTTEN), "group") - 1 + start
        for frame, start in zip(held, history.group_start, strict=False)
    ]
    assert history.forgotten is not None
    forgotten = np.unique(np.append(history.forgotten, _joined(gone)))
    return replace(made, forgotten=forgotten, bearer=bearer)


def _with_truth(seen: pl.DataFrame, truth: pl.DataFrame) -> pl.DataFrame:
    joined = seen.drop("code").join(
        truth.select("person", "code"), on="person", how="left", maintain_order="left", validate="m:1"
    )
    missing = joined["code"].null_count()
    if missing:
        raise PolicyError(
            f"truth must cover everyone in a release; {missing} of {seen.height} people are missing"
        )
    return joined


def _rows(release: Release, values: pl.Series) -> tuple[IntArray, IntArray]:
    """Group and sensitive code of every published row."""
    assert release.schema.sensitive is not None
    published = release.rest[release.schema.sensitive.name].cast(values.dtype).to_frame("value")
    places = values.to_frame("value").with_row_index("code")
    coded = published.join(places, on="value", how="left", nulls_equal=True, maintain_order="left")
    return release.group.astype(np.int64) - 1, _column(coded, "code")


def _column(frame: pl.DataFrame, name: str) -> IntArray:
    return frame[name].cast(pl.Int64).to_numpy()


def _joined(parts: list[IntArray]) -> IntArray:
    return np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, dtype=np.int64)


def _starts(group: IntArray, groups: int) -> IntArray:
    """Where each group starts among items sorted by group."""
    return np.append(0, np.cumsum(np.bincount(group, minlength=groups))).astype(np.int64)


def _sums(counts: IntArray, starts: IntArray) -> IntArray:
    totals = np.append(0, np.cumsum(counts, dtype=np.int64))
    summed: IntArray = totals[starts[1:]] - totals[starts[:-1]]
    return summed
