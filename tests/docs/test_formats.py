"""The pages on file formats have every field and every column that a series really writes, and no other."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

import republish as rp
from docs.pages import DOCS
from republish.datasets import hospital

PAGES = (DOCS / "formats.md", DOCS / "formats-private.md")
VIEWS = 3
_STAMP = re.compile(r"\d{4}-[0-9a-f]+(?:-\d+)?$")


class Example(NamedTuple):
    """A series that writes what few others do: by whom, in which form, and what is done in it."""

    publisher: rp.Publisher | Any
    form: rp.TwoTables | None = None
    gate: rp.Gate | None = None
    then: Callable[[rp.Series, list[pl.DataFrame]], None] | None = None


def _published(series: rp.Series, views: list[pl.DataFrame]) -> None:
    for number, view in enumerate(views, start=1):
        series.publish(view, as_of=f"2026-01-{7 * number:02}")


def _grown(series: rp.Series, views: list[pl.DataFrame]) -> None:
    """Rows are only added, with an age missing for some who come and for a whole group."""
    people = views[0].sort("age")
    gaps = pl.when(pl.int_range(pl.len()) < 30).then(None).otherwise("age").alias("age")
    first = people.with_columns(gaps)
    added = first.head(12).with_columns(pl.col("patient").str.replace("H", "N"))
    series.publish(first, as_of="2026-01-07")
    series.publish(pl.concat([first, added]), as_of="2026-01-14")


def _corrected(series: rp.Series, views: list[pl.DataFrame]) -> None:
    _published(series, views[:2])
    series.publish(views[2], corrects=2, hold_newcomers=True)


def _adopted(series: rp.Series, views: list[pl.DataFrame]) -> None:
    two = series.policy.form is not None
    made = rp.anonymize(views[0], series.schema, rp.Mondrian(k=6, require=[rp.LDiversity(3)]), seed=1)
    assert isinstance(made, rp.Release)
    tables = [made.table()]
    if two:
        renamed = made.table().rename({"group": "batch"})
        values = renamed.group_by("batch", "diagnosis").len("count").cast({"count": pl.Int64})
        tables = [renamed.drop("diagnosis").with_columns(group="batch"), values]
    series.adopt(*tables, view=views[0], as_of="2026-01-07")
    series.publish(views[1], as_of="2026-01-14")


def _known(series: rp.Series, views: list[pl.DataFrame]) -> None:
    told = views[0].select("patient", "diagnosis").head(3).with_columns(p=pl.lit(0.9))
    series.publish(views[0], as_of="2026-01-07", compromised=told)
    series.publish(views[1], as_of="2026-01-14")


EXAMPLES = {
    "tau-safety": Example(rp.TauSafety(m=3), gate=rp.Gate(attacks=("linear",), max_determined=0.5)),
    "two tables": Example(rp.TauSafety(m=3), rp.TwoTables(5), then=_grown),
    "value-blind": Example(rp.ValueBlind(), rp.TwoTables(5)),
    "hidden batch": Example(rp.ValueBlind(), rp.TwoTables(5, hide_batch=True), then=_corrected),
    "cohorts": Example(rp.Cohorts()),
    "cor-split": Example(rp.CorSplit(pad=True)),
    "js-reduce": Example(rp.JSReduce(), then=_known),
    "corrected": Example(rp.TauSafety(m=3), then=_corrected),
    "adopted": Example(rp.TauSafety(m=3), then=_adopted),
    "adopted, two tables": Example(rp.TauSafety(m=3), rp.TwoTables(5), then=_adopted),
    "insert-only": Example(rp.BangA(k=5, insert_only=True), then=_grown),
    "penalty tree": Example(rp.PenaltyTree(k=5, incremental=True), then=_grown),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Fields and columns of every kind of file, over all examples."""
    folder = tmp_path_factory.mktemp("formats")
    hospital(views=VIEWS, rows=240, seed=5).write(folder)
    views = [pl.read_csv(path) for path in sorted((folder / "views").iterdir())]
    schema = rp.read_schema(folder / "schema.toml")
    found: dict[str, set[str]] = defaultdict(set)
    for number, (name, example) in enumerate(EXAMPLES.items()):
        root = folder / str(number)
        alone = name in {"insert-only", "penalty tree"}
        series = rp.Series.create(
            root, schema, example.publisher, seed=1, form=example.form, gate=example.gate, one_table=alone
        )
        (example.then or _published)(series, views)
        series.ledger.close()
        for kind, fields in _fields(root, set(schema.published_columns)):
            found[kind] |= fields
    return found


def _fields(root: Path, published: set[str]) -> Iterator[tuple[str, set[str]]]:
    for path in (root / "releases").rglob("*"):
        if path.name == "about.json":
            yield path.name, set(_keys(json.loads(path.read_text(encoding="utf-8"))))
        elif path.suffix == ".parquet":
            yield path.name, {_column(name, published) for name in pl.read_parquet_schema(path)}
        elif path.suffix == ".csv":
            yield path.name, {_column(name, published) for name in pl.read_csv(path).columns}
    for path in (root / "private").rglob("*.parquet"):
        assert _STAMP.match(path.stem)
        yield path.parent.name, {re.sub(r"\d+$", "N", name) for name in _nested(pl.read_parquet_schema(path))}


def _keys(document: dict[str, Any], above: str = "") -> Iterator[str]:
    """Fields, those of a table with the name of the table before; parameters are those of the publisher."""
    for name, value in document.items():
        yield above + name
        if name in {"parameters", "granted", "limits"}:
            continue
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict):
                yield from _keys(inner, f"{above}{name}.")


def _column(name: str, published: set[str]) -> str:
    """The name of a column, with COLUMN for that of a column of the view."""
    for column in published:
        if name == column or name.removeprefix(column) in {"_lo", "_hi", "_missing"}:
            return "COLUMN" + name.removeprefix(column)
    return name


def _nested(schema: Any) -> Iterator[str]:
    for name, kind in schema.items():
        yield name
        inner = getattr(kind, "inner", None)
        if isinstance(inner, pl.Struct):
            yield from (f"{name}.{field.name}" for field in inner.fields)


def _described() -> dict[tuple[str, ...], set[str]]:
    """What the pages say of files of one heading: names in the first column of the table below it."""
    found: dict[tuple[str, ...], set[str]] = {}
    kinds: tuple[str, ...] = ()
    for line in (line for page in PAGES for line in page.read_text(encoding="utf-8").splitlines()):
        if line.startswith("#"):
            kinds = tuple(re.findall(r"`(?:private/)?([\w.]+)/?`", line))
        elif kinds and line.startswith("| `"):
            found.setdefault(kinds, set()).update(re.findall(r"`([^`]+)`", line.split(" | ")[0]))
    return found


def test_every_kind_of_file_is_described_once(written: dict[str, set[str]]) -> None:
    assert sorted(kind for kinds in _described() for kind in kinds) == sorted(written)


@pytest.mark.parametrize("kinds", _described(), ids=", ".join)
def test_what_is_written_is_described_and_nothing_else(
    kinds: tuple[str, ...], written: dict[str, set[str]]
) -> None:
    assert _described()[kinds] == set().union(*(written[kind] for kind in kinds))
