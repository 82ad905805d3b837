"""The tables of a release with every column: its type, what it means, what its cells look like, which values occur."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from republish.microdata import FLAT
from republish.release.codebook.study import DescribedTable, Variable
from republish.release.release import LEVEL, TABLE_PARQUET, Release
from republish.release.two_tables import (
    AS_OF,
    BATCH,
    COUNT,
    PEOPLE_PARQUET,
    VALUES_PARQUET,
    WAITING,
    AnyRelease,
)

_LISTED = 1000  # of a column with more different values none is listed
_NUMBER = r"-?\d+(\.\d+)?([eE][+-]?\d+)?"
_DAY = r"[+-]?\d{4,}-\d\d-\d\d"
_REST = "* says nothing; an empty cell is a missing value"
_CELLS = {
    "number": (
        "One number for the whole group, or a range: [51-52], with a minus [-5..-2]; <=23 and >=61 do not say where "
        f"they end; {_REST}."
    ),
    "date": (
        "One day for the whole group, or a range: [2024-01-05..2024-02-01]; <= and >= stand before a day where a range "
        f"does not say where it ends; {_REST}."
    ),
    "ordered": f"One value for the whole group, or a range of values, lowest first: [low-high]; {_REST}.",
    "category": f"One value for the whole group, a node of a hierarchy, or a set {{a|b}}; {_REST}.",
}
_ENDS = {
    "_lo": "The lowest value of the cell; none where the cell is open below, or says nothing.",
    "_hi": "The highest value of the cell; none where the cell is open above, or says nothing.",
    "_missing": "True where the value of the whole group is missing, none where that of some is, and else false.",
}
_OWN = {
    "group": (
        "Group",
        "Rows of one group have the same cells. Numbers of groups mean nothing in another release.",
    ),
    LEVEL: (
        "Level",
        "Rows lie in the cells of their group, and in those of no group of a higher level inside them.",
    ),
    BATCH: (
        "Batch",
        "Its counts hold for all people of it. Numbers of batches mean nothing in another release.",
    ),
    COUNT: ("Count", "How many rows or values."),
    AS_OF: ("As of", "The release in which the batch was last counted."),
    WAITING: ("Waiting", "How many people of the batch came or changed since, and are not counted yet."),
}
_PURPOSE = {
    "table": "The published rows. Rows of one group share their cells; the order of rows says nothing.",
    "people": "One line a person: quasi-identifiers, insensitive columns and the number of a batch, if she has one.",
    "values": "How often each sensitive value is counted in a batch, counterfeits included.",
    "counterfeits": "How many rows of a group, or values of a batch, belong to nobody; 0 where it is not named.",
    "batches": "When each batch was last counted, and how many of its people wait.",
}
_HELD = "How many values of a batch are counted although a person left or changed since then; 0 where it is not named."
_TWINS = {"table": TABLE_PARQUET, "people": PEOPLE_PARQUET, "values": VALUES_PARQUET}


@dataclass(frozen=True)
class ColumnFacts:
    """What is known of the columns of a release: what `about.json` says, types in Parquet, values that occur."""

    about: Mapping[str, Any]
    types: Mapping[str, Any]
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, Mapping[str, str]]:
        """What `about.json` says of each published column."""
        return {column["name"]: column for column in self.about["columns"]}

    def named(self, *roles: str) -> list[str]:
        """The columns of these roles, in their order."""
        return [name for name, said in self.columns.items() if said["role"] in roles]

    def text(self, name: str) -> Variable:
        """A column of a table as text."""
        if name in _OWN:
            label, says = _OWN[name]
            return Variable(name, "integer", label, says)
        said = self.columns[name]
        if said["role"] != "quasi-identifier":
            return self._plain(name, said)
        ends = {"number": _NUMBER, "date": _DAY}.get(said["kind"])
        looks = None if ends is None else rf"\*|(<=|>=)?{ends}|\[{ends}(-|\.\.){ends}\]"
        return self._variable(
            name, "string", _CELLS[said["kind"]], pattern=looks, values=self.values.get(name, ())
        )

    def typed(self, name: str) -> Variable:
        """A column of a table in Parquet."""
        if name in _OWN or (name in self.columns and self.columns[name]["role"] != "quasi-identifier"):
            return self.text(name)
        kind = table_schema_type(self.types[name])
        for end, says in _ENDS.items():
            if name.endswith(end) and name.removesuffix(end) in self.columns:
                return Variable(name, kind, name, says, "quasi-identifier")
        return self._variable(name, kind, _CELLS[self.columns[name]["kind"]])

    def _plain(self, name: str, said: Mapping[str, str]) -> Variable:
        """A column that is published as it is."""
        kind = table_schema_type(self.types[name])
        says = "Published as it is; an empty cell is a missing value."
        if said["role"] == "sensitive":
            says = "The sensitive value; an empty cell is a missing value, which counts as a value."
        return self._variable(name, kind, says, values=self.values.get(name, ()))

    def _variable(self, name: str, kind: str, says: str, **more: Any) -> Variable:
        said = self.columns[name]
        told = " ".join([*([said["description"]] if "description" in said else []), says])
        return Variable(name, kind, said.get("label", name), told, said["role"], **more)


def table_schema_type(kind: Any) -> str:
    """The type of Table Schema that holds what a column of polars holds, as CSV has it."""
    if kind.is_integer():
        return "integer"
    if kind.is_float():
        return "number"
    if isinstance(kind, pl.List):
        return "array"
    return {pl.Boolean: "boolean", pl.Date: "date"}.get(kind.base_type(), "string")


def listed_values(column: pl.Series) -> tuple[str, ...]:
    """The different texts of a column, sorted; none where they are too many to be listed."""
    if column.dtype != pl.String:
        return ()
    found = column.drop_nulls().unique()
    return tuple(found.sort().to_list()) if len(found) <= _LISTED else ()


def tables_of(release: AnyRelease, about: Mapping[str, Any]) -> list[DescribedTable]:
    """The tables of a release that is written as text, each with its twin in types."""
    people, values = release.people, release.values
    listed = {
        cells.axis.column.name: listed_values(cells.texts())
        for cells in people.cells
        if cells.axis.kind_code == FLAT
    }
    if release.schema.sensitive is not None:
        name = release.schema.sensitive.name
        listed[name] = listed_values(values.rest[name])
    facts = ColumnFacts(about, {**people.rest.schema, **values.rest.schema}, listed)
    shown = [*([LEVEL] if people.level is not None else []), *facts.named("quasi-identifier", "insensitive")]
    sensitive = facts.named("sensitive")
    if isinstance(release, Release):
        columns = {"table": ["group", *shown, *sensitive]}
    else:
        columns = {"people": ["group", *shown, BATCH], "values": [BATCH, *sensitive, COUNT]}
    clock = None if isinstance(release, Release) else release.clock
    columns |= _aside(bool(release.counterfeits.any()), clock is not None, isinstance(release, Release))
    return [
        replace(
            _table(name, [f"{name}.csv"], [facts.text(one) for one in names], clock is not None),
            rows=release.rows if name in ("table", "people") else None,
            twin=_TWINS.get(name),
        )
        for name, names in columns.items()
    ]


def tables_in_parts(
    about: Mapping[str, Any],
    parts: Mapping[str, Sequence[str]],
    types: Mapping[str, Mapping[str, Any]],
    values: Mapping[str, tuple[str, ...]],
) -> list[DescribedTable]:
    """The tables of a release that lies there in parts, by the names of these; large ones in Parquet of these types."""
    aside, found = _aside(True, True, "table" in parts), []
    for name in (name for name in _PURPOSE if name in parts):
        facts = ColumnFacts(about, types.get(name, {}), values)
        variables = (
            [facts.text(one) for one in aside[name]] if name in aside else map(facts.typed, facts.types)
        )
        found.append(_table(name, parts[name], list(variables), "batches" in parts))
    return found


def _aside(counterfeits: bool, clock: bool, one_table: bool) -> dict[str, list[str]]:
    """The columns of the small tables that lie beside the others."""
    named = {"counterfeits": ["group" if one_table else BATCH, COUNT]} if counterfeits else {}
    return named | ({"batches": [BATCH, AS_OF, WAITING]} if clock else {})


def _table(name: str, files: Sequence[str], variables: Sequence[Variable], clocked: bool) -> DescribedTable:
    says = _HELD if clocked and name == "counterfeits" else _PURPOSE[name]
    known = tuple(
        replace(one, required=one.name in _OWN and (one.name, name) != (BATCH, "people")) for one in variables
    )
    return DescribedTable(name, tuple(files), says, known, aside=name not in _TWINS)
