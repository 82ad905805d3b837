"""Independent check of what a policy promises, from what is stored and nothing else.

This room imports no publisher. One-table promises are recomputed from the release and the policy
alone; that a release is true to its view is checked while the view is at hand; promises over the
series come from all releases and the private membership.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from republish.errors import BrokenPromise, PolicyError, SchemaError, ViewError
from republish.microdata import Microdata, no_codes, sensitive_codes, whole_of
from republish.release import COUNTERFEITS, TABLE_CSV, TABLE_PARQUET, Release
from republish.requirements import Requirement, parse_requirements
from republish.requirements.histograms import histograms
from republish.schema import Schema
from republish.tables import read_table
from republish.types import BoolArray, IntArray

if TYPE_CHECKING:
    from republish.ledger import Entry, Ledger

ANY = "*"


@dataclass(frozen=True)
class Check:
    """One promise: whether it holds, what the weakest group reaches, how many groups and rows break it."""

    promise: str
    holds: bool
    meaning: str
    reached: float | None = None
    groups: int = 0
    rows: int = 0

    def sentence(self) -> str:
        """The check in words."""
        if self.holds:
            return f"{self.promise}: holds"
        where = f" in {self.groups} groups with {self.rows} rows" if self.groups else ""
        return f"{self.promise}: does not hold{where}"


@dataclass(frozen=True)
class Verification:
    """All checks of one release or table."""

    rows: int
    groups: int
    suppressed: int
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether every promise is kept."""
        return all(check.holds for check in self.checks)

    def with_checks(self, *more: Check) -> Verification:
        """This verification with further checks."""
        return replace(self, checks=(*self.checks, *more))

    def as_dict(self) -> dict[str, Any]:
        """A JSON document; infinite levels become null."""
        document = asdict(self) | {"holds": self.holds}
        for check in document["checks"]:
            if check["reached"] is not None and not np.isfinite(check["reached"]):
                check["reached"] = None
        return document

    def require(self) -> None:
        """Refuse to go on where a promise is broken."""
        if not self.holds:
            broken = "; ".join(check.sentence() for check in self.checks if not check.holds)
            raise BrokenPromise(
                f"the release does not keep what the policy promises: {broken}. Nothing was committed; "
                "this is a defect of the publisher, please report it"
            )


def verify_table(source: Any, schema: Schema, requirements: Sequence[Requirement]) -> Verification:
    """Check any table, also one that another tool made.

    Groups are the `group` column, else equal quasi-identifiers; rows with every quasi-identifier `*`
    count as suppressed.
    """
    frame = read_table(source, schema.missing)
    suppressed = _all_starred(frame, _quasi_columns(frame, schema))
    return verify_frame(frame, schema, requirements, suppressed)


class Table(Protocol):
    """What the checks need of a table: its columns, one at a time."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        ...

    @property
    def schema(self) -> Mapping[str, pl.DataType]:
        """The types of the columns."""
        ...

    @property
    def height(self) -> int:
        """The number of rows."""
        ...

    def __getitem__(self, name: str, /) -> pl.Series:
        """One column."""
        ...


class _StoredTable:
    """A Parquet file whose columns are read when asked for, so that a large release is never whole in memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.schema: Mapping[str, pl.DataType] = pl.read_parquet_schema(path)
        self.columns = list(self.schema)
        self.height = int(pl.scan_parquet(path).select(pl.len()).collect().item())

    def __getitem__(self, name: str, /) -> pl.Series:
        return pl.read_parquet(self._path, columns=[name])[name]


def verify_release(folder: Path, schema: Schema, requirements: Sequence[Requirement]) -> Verification:
    """Check a stored release: its promises from the Parquet table, and that both tables say the same."""
    frame = _StoredTable(folder / TABLE_PARQUET)
    found = verify_frame(frame, schema, requirements)
    return found.with_checks(_same_tables(frame, folder, schema), _counterfeits_fit(frame, folder))


def verify_frame(
    frame: Table,
    schema: Schema,
    requirements: Sequence[Requirement],
    suppressed: BoolArray | None = None,
) -> Verification:
    """Check a table, `suppressed` rows aside."""
    columns = _quasi_columns(frame, schema)
    if suppressed is None:
        suppressed = np.zeros(frame.height, dtype=np.bool_)
    if any(requirement.needs_sensitive for requirement in requirements) and schema.sensitive is None:
        raise PolicyError("these requirements need a sensitive column; label one in the schema")
    codes, values = (
        sensitive_codes(frame[schema.sensitive.name], schema.sensitive)
        if schema.sensitive is not None
        else no_codes(frame.height)
    )
    whole = whole_of(schema.sensitive, codes, values)
    group, groups = _number_groups(frame, columns)
    kept = ~suppressed
    group, groups = _renumber(group[kept]) if suppressed.any() else (group, groups)
    kept_codes = codes[kept] if suppressed.any() else codes
    sizes = np.bincount(group, minlength=groups)
    holds = np.ones((len(requirements), groups), dtype=np.bool_)
    reached = np.zeros((len(requirements), groups))
    for first, counts in histograms(group, kept_codes, groups, len(values)):
        part = slice(first, first + len(counts))
        for i, requirement in enumerate(requirements):
            reached[i, part] = requirement.achieved(counts, whole)
            holds[i, part] = requirement.holds(counts, whole)
    checks = [
        Check(
            requirement.text,
            bool(holds[i].all()),
            requirement.describe(),
            requirement.worst(reached[i]) if groups else None,
            int(np.count_nonzero(~holds[i])),
            int(sizes[~holds[i]].sum()),
        )
        for i, requirement in enumerate(requirements)
    ]
    if "group" in frame.columns:
        checks.append(_uniform(frame, columns))
    return Verification(frame.height, groups, int(suppressed.sum()), tuple(checks))


def _quasi_columns(frame: Table, schema: Schema) -> list[str]:
    """The columns that hold quasi-identifiers, plain or as bounds."""
    columns = []
    for column in schema.quasi_identifiers:
        spelled = [n for n in (column.name, f"{column.name}_lo", f"{column.name}_hi") if n in frame.columns]
        if not spelled:
            raise SchemaError(
                f"the table has no column {column.name}, a quasi-identifier of the schema; "
                f"it has {', '.join(frame.columns)}"
            )
        extra = f"{column.name}_missing"
        columns += [*spelled, *([extra] if extra in frame.columns else [])]
    if schema.sensitive is not None and schema.sensitive.name not in frame.columns:
        raise SchemaError(
            f"the table has no column {schema.sensitive.name}, the sensitive column of the schema"
        )
    return columns


def _all_starred(frame: pl.DataFrame, columns: list[str]) -> BoolArray:
    texts = [name for name in columns if frame.schema[name] == pl.String]
    if len(texts) < len(columns):
        return np.zeros(frame.height, dtype=np.bool_)
    return frame.select(pl.all_horizontal(pl.col(texts).eq_missing(pl.lit(ANY)))).to_series().to_numpy()


def _number_groups(frame: Table, columns: list[str]) -> tuple[IntArray, int]:
    """Groups as 0, 1, ..."""
    if "group" not in frame.columns:
        ranks = (
            pl.DataFrame([frame[name] for name in columns])
            .select(pl.struct(columns).rank("dense"))
            .to_series()
        )
        return _renumber(ranks.to_numpy()) if frame.height else (np.zeros(0, dtype=np.int64), 0)
    if frame["group"].null_count():
        raise ViewError(f"every row needs a group; {frame['group'].null_count()} rows of the table have none")
    return _renumber(frame["group"].to_numpy())


def _renumber(group: IntArray) -> tuple[IntArray, int]:
    if (
        np.issubdtype(group.dtype, np.integer)
        and len(group)
        and group.min() >= 0
        and group.max() < 4 * len(group)
    ):
        used = np.bincount(group) > 0
        return (np.cumsum(used) - 1)[group], int(used.sum())
    names, place = np.unique(group, return_inverse=True)
    return place.astype(np.int64), len(names)


def _uniform(frame: Table, columns: list[str]) -> Check:
    """All rows of a group must show the same cells: else the group is a claim, not a protection."""
    group, groups = _number_groups(frame, columns)
    first = np.empty(groups, dtype=np.int64)
    first[group] = np.arange(frame.height)
    differs = np.zeros(frame.height, dtype=np.bool_)
    for name in columns:
        column = frame[name]
        differs |= column.ne_missing(column.gather(first).gather(group)).to_numpy()
    broken = np.unique(group[differs])
    return Check(
        "uniform groups",
        not differs.any(),
        "All rows of a group show the same quasi-identifiers.",
        None,
        len(broken),
        int(differs.sum()),
    )


def _same_tables(frame: Table, folder: Path, schema: Schema) -> Check:
    """The CSV table must hold the groups and sensitive values of the Parquet table, row by row."""
    names = ["group", *([schema.sensitive.name] if schema.sensitive else [])]
    types = {name: frame.schema[name] for name in names}
    csv = pl.read_csv(folder / TABLE_CSV, columns=names, schema_overrides=types)
    differs = abs(csv.height - frame.height)
    if not differs:
        differs = int(
            np.logical_or.reduce([csv[name].ne_missing(frame[name]).to_numpy() for name in names]).sum()
        )
    return Check("same tables", differs == 0, "table.csv and table.parquet say the same.", None, 0, differs)


def _counterfeits_fit(frame: Table, folder: Path) -> Check:
    """Counterfeit statistics may name published groups only, and never more rows than the group has."""
    path = folder / COUNTERFEITS
    wrong = 0
    if path.exists():
        sizes = frame["group"].to_frame().group_by("group").len()
        stated = pl.read_csv(path, schema_overrides={"group": pl.Int32}).join(sizes, on="group", how="left")
        wrong = stated.filter(
            pl.col("len").is_null() | (pl.col("count") < 1) | (pl.col("count") > pl.col("len"))
        ).height
    return Check(
        "counterfeit statistics", wrong == 0, "Counterfeit counts fit the groups they name.", None, wrong, 0
    )


def verify_against_view(release: Release, view: Microdata, group_of_row: IntArray) -> Check:
    """A release must be true: every row of the view lies in the cells of its group, every value is published once."""
    kept = group_of_row > 0
    place = group_of_row[kept].astype(np.int64) - 1
    outside = np.zeros(int(kept.sum()), dtype=np.bool_)
    for q, cells in enumerate(release.cells):
        outside |= ~cells.cover(place, view.points[q][kept])
    wrong = int(outside.sum())
    sensitive = view.schema.sensitive
    codes, values = (
        sensitive_codes(release.rest[sensitive.name], sensitive, view.values)
        if sensitive is not None
        else no_codes(release.rows)
    )
    m = len(values)
    extra = np.zeros(release.group_count, dtype=np.int64)
    pairs = zip(
        histograms(release.group.astype(np.int64) - 1, codes, release.group_count, m),
        histograms(place, view.codes[kept], release.group_count, m),
        strict=True,
    )
    for (first, published), (_, real) in pairs:
        wrong += int(np.maximum(real - published, 0).sum())
        extra[first : first + len(real)] = (published - real).sum(axis=1)
    wrong += int(np.count_nonzero(extra != release.counterfeits))
    return Check(
        "true to the view",
        wrong == 0,
        "Every published row is a row of the view in its own group, counterfeits aside.",
        None,
        0,
        wrong,
    )


@dataclass(frozen=True)
class SeriesVerification:
    """What is wrong with the ledger and its files, and the checks of every release."""

    problems: tuple[str, ...]
    releases: dict[int, Verification]

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems and all(verification.holds for verification in self.releases.values())

    def as_dict(self) -> dict[str, Any]:
        """A JSON document."""
        return {
            "holds": self.holds,
            "problems": list(self.problems),
            "releases": {
                str(number): verification.as_dict() for number, verification in self.releases.items()
            },
        }


class Stored(Protocol):
    """What a series shows of itself to be verified."""

    @property
    def ledger(self) -> Ledger:
        """Its ledger."""
        ...

    @property
    def schema(self) -> Schema:
        """Its schema with all amendments."""
        ...

    def membership_file(self, number: int) -> str:
        """The name of the membership file of a release."""
        ...


def verify_series(series: Stored, progress: Callable[[int, int], None] | None = None) -> SeriesVerification:
    """Check the chain and all files, then every promise of every release, from what is stored."""
    problems = tuple(series.ledger.check())
    releases: dict[int, Verification] = {}
    records, schema = series.ledger.releases(), series.schema
    for done, entry in enumerate(records, start=1):
        number = entry.release or done
        try:
            releases[number] = _verify_stored(series, entry, schema)
        except (OSError, pl.exceptions.PolarsError, SchemaError, ViewError):
            problems = (*problems, f"release {number} cannot be read any more")
        if progress:
            progress(done, len(records))
    return SeriesVerification(problems, releases)


def _verify_stored(series: Stored, entry: Entry, schema: Schema) -> Verification:
    number = entry.release or 0
    requirements = parse_requirements(entry.payload["promises"]["one_table"])
    folder = series.ledger.folder(number)
    found = verify_release(folder, schema, requirements)
    members = pl.read_parquet(series.ledger.path(series.membership_file(number)))
    return found.with_checks(_members_fit(folder, members))


def _members_fit(folder: Path, members: pl.DataFrame) -> Check:
    """The private membership must account for every row of every group, counterfeits aside."""
    group = pl.read_parquet(folder / TABLE_PARQUET, columns=["group"])["group"].to_numpy()
    groups = int(group.max()) if len(group) else 0
    stated = np.zeros(groups + 1, dtype=np.int64)
    if (folder / COUNTERFEITS).exists():
        held = pl.read_csv(folder / COUNTERFEITS)
        stated[held["group"].to_numpy()] = held["count"].to_numpy()
    owned = np.bincount(members["group"].to_numpy(), minlength=groups + 1)[: groups + 1]
    differs = (np.bincount(group, minlength=groups + 1) - stated != owned)[1:]
    stray = int((members["group"] > groups).sum())
    return Check(
        "membership",
        not differs.any() and not stray,
        "Every published row belongs to one remembered person, counterfeits aside.",
        None,
        int(differs.sum()),
        stray,
    )
