"""A release as its codebook describes it: what it is called, its tables, their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any


@dataclass(frozen=True)
class Variable:
    """One column of a table.

    `kind` is a type of Table Schema; `values` are those that occur, where they are listed; `pattern` is what every cell
    looks like; `required` says that no cell is empty.
    """

    name: str
    kind: str
    label: str
    description: str
    role: str = "structure"
    values: tuple[str, ...] = ()
    pattern: str | None = None
    required: bool = False


@dataclass(frozen=True)
class DescribedTable:
    """One table of a release.

    `files` are one CSV file, or the parts of a table in Parquet. `twin` is the Parquet file that says the same as the
    CSV file. `aside` says that the table only counts what belongs to nobody, or says when batches were counted.
    """

    name: str
    files: tuple[str, ...]
    description: str
    variables: tuple[Variable, ...]
    rows: int | None = None
    twin: str | None = None
    aside: bool = False

    @property
    def is_text(self) -> bool:
        return self.files[0].endswith(".csv")


@dataclass(frozen=True)
class Study:
    """What a codebook says of one release: its place in the series, its promises, its tables."""

    number: int
    as_of: str
    title: str
    abstract: str
    promises: tuple[str, ...]
    tool: str
    tables: tuple[DescribedTable, ...]
    contact: str | None = None

    @property
    def moment(self) -> str:
        """When the release is as of: date and time with the offset from UTC."""
        moment = datetime.fromisoformat(self.as_of)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()

    @property
    def own_title(self) -> str:
        """The title of the series with the number of the release."""
        return f"{self.title}, release {self.number}"


def study_of(
    about: Mapping[str, Any], tables: Sequence[DescribedTable], said: Mapping[str, Any] | None = None
) -> Study:
    """The description of a release; `said` is what the custodian says of the series: title, purpose, contact."""
    told = {key: text.strip() for key, text in (said or {}).items() if isinstance(text, str) and text.strip()}
    promises = (
        *(f"Every group: {text}" for text in about["every_group_satisfies"]),
        *(f"Every cell of people: {text}" for text in about.get("every_cell_of_people_satisfies", ())),
        *(f"Over the series: {text}" for text in about["promised_over_the_series"]),
        *(f"Not promised: {text}" for text in about.get("not_promised_over_the_series", ())),
    )
    return Study(
        number=about["release"],
        as_of=about["as_of"],
        title=told.get("title", _title(about)),
        abstract=" ".join([*([told["purpose"]] if "purpose" in told else []), _abstract(about)]),
        promises=promises,
        tool=about["tool"],
        tables=tuple(tables),
        contact=told.get("contact"),
    )


def _title(about: Mapping[str, Any]) -> str:
    """What the columns are about, where the custodian gives the series no title."""
    names: dict[str, list[str]] = {}
    for column in about["columns"]:
        names.setdefault(column["role"], []).append(column.get("label", column["name"]))
    by = names["quasi-identifier"]
    listed = by[0] if len(by) == 1 else f"{', '.join(by[:-1])} and {by[-1]}"
    return f"{names.get('sensitive', ['People'])[0]} by {listed}"


def _abstract(about: Mapping[str, Any]) -> str:
    rows, false = about["rows"], about.get("counterfeit_rows", 0)
    if "form" in about:
        return (
            f"{rows:,} people in one table, and how often each value occurs in a batch of them in another. A person "
            "has each value of her batch with its share of the batch; which person has which is not said."
        )
    counted = f", {false:,} of them counterfeits, which belong to nobody" if false else ""
    return (
        f"{rows:,} rows{counted}. Rows of a group share their cells; who of a group has which value is not said. "
        "A row counts with the share of its group that is no counterfeit."
    )
