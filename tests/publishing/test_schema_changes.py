"""Columns of the source that are added, dropped, renamed or recoded: what a series can follow, and what it refuses."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from republish import (
    Category,
    Number,
    PolicyError,
    Schema,
    SchemaError,
    Series,
    TauSafety,
    TwoTables,
    ValueBlind,
    ViewError,
)
from republish.cli import app
from republish.parts import Engine, Here
from republish.publishing.maintenance import forget
from republish.publishing.schema_changes import absent_change, drop_change, recode_change, rename_change

ENGINES = pytest.mark.parametrize("engine", [None, Here(parts=2)], ids=["whole", "in parts"])
SCHEMA = Schema(
    "id", [Number("age"), Category("town", domain=("a", "b", "c"))], Category("dx"), insensitive=["ward"]
)
WHY = "the source changed"


def view(rows: int = 40, first: int = 0) -> pl.DataFrame:
    numbers = range(first, first + rows)
    return pl.DataFrame(
        {
            "id": [f"p{i}" for i in numbers],
            "age": [20 + i % 30 for i in numbers],
            "town": ["abc"[i % 3] for i in numbers],
            "dx": [f"d{i % 5}" for i in numbers],
            "ward": [f"w{i % 2}" for i in numbers],
        }
    )


def made(folder: Path, form: TwoTables | None = None) -> Series:
    series = Series.create(folder / "my series", SCHEMA, TauSafety(2), seed=3, form=form)
    series.publish(view())
    return series


@pytest.fixture
def series(tmp_path: Path) -> Series:
    return made(tmp_path)


def type_offered(message: str, change: str) -> None:
    """Type the command that a message offers for a change, as a shell would read it."""
    offered = next(one for one in re.findall(r"`(republish amend [^`]*)`", message) if f"--{change} " in one)
    words = shlex.split(offered.replace("--reason WHY", f"--reason {shlex.quote(WHY)}"))[1:]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output


def refused(series: Series, one: pl.DataFrame, engine: Engine | None = None) -> str:
    with pytest.raises(SchemaError) as problem:
        Series.open(series.root).publish(one, engine=engine)
    return str(problem.value)


@pytest.mark.parametrize(
    ("name", "engine"), [("extra", None), ("two words", Here(parts=2)), ("it's", None)], ids=str
)
def test_a_new_column_is_left_out_by_the_command_that_is_offered(
    series: Series, engine: Engine | None, name: str
) -> None:
    later = view().with_columns(pl.lit("x").alias(name))
    type_offered(refused(series, later, engine), "drop")
    assert Series.open(series.root).publish(later, engine=engine, meant=["same-view"]).number == 2
    assert series.verify().holds


@pytest.mark.parametrize(
    ("column", "engine"),
    [
        ("id", None),
        ("age", None),
        ("town", Here(parts=2)),
        ("dx", None),
        ("dx", Here(parts=2)),
        ("ward", None),
    ],
    ids=str,
)
def test_a_renamed_column_is_read_by_the_command_that_is_offered(
    series: Series, engine: Engine | None, column: str
) -> None:
    later = view(44).rename({column: "anew"})
    message = refused(series, later, engine)
    assert f"without one: anew; the schema names columns that the table does not have: {column}" in message
    type_offered(message, "rename")
    opened = Series.open(series.root)
    done = opened.publish(later, engine=engine, meant=["same-view"])
    assert (done.arrivals.new, done.arrivals.changed_value, done.arrivals.changed_quasi_identifiers) == (
        4,
        0,
        0,
    )
    tables = [pl.read_parquet(opened.ledger.folder(n) / "table.parquet").columns for n in (1, 2)]
    assert tables[0] == tables[1]
    assert series.verify().holds


@pytest.mark.parametrize(
    ("column", "engine", "form"),
    [
        ("age", None, None),
        ("town", Here(parts=2), None),
        ("ward", None, None),
        ("age", Here(parts=2), TwoTables(2)),
        ("town", None, TwoTables(2)),
    ],
    ids=str,
)
def test_a_column_that_is_gone_is_missing_by_the_command_that_is_offered(
    tmp_path: Path, engine: Engine | None, column: str, form: TwoTables | None
) -> None:
    series = made(tmp_path, form)
    later = view().drop(column)
    type_offered(refused(series, later, engine), "absent")
    done = Series.open(series.root).publish(later, engine=engine, meant=["same-view"])
    assert (done.number, done.findings) == (2, ())
    assert (
        Series.open(series.root).publish(view(), engine=engine, meant=["same-view"]).number == 3
    )  # it may come back
    assert series.verify().holds


@ENGINES
@pytest.mark.parametrize("column", ["town", "dx"])
def test_new_codes_are_read_as_those_they_stand_for(
    series: Series, tmp_path: Path, engine: Engine | None, column: str
) -> None:
    old = sorted(view()[column].unique().to_list())
    codes = tmp_path / "codes.csv"
    codes.write_text("old,new\n" + "".join(f"{one},N-{one}\n" for one in old))
    series.amend([recode_change(column, codes)], WHY)
    later = view().with_columns(pl.col(column).str.replace("^", "N-"))
    done = Series.open(series.root).publish(later, engine=engine, meant=["same-view"])
    assert (done.arrivals.changed_value, done.arrivals.changed_quasi_identifiers) == (0, 0)
    assert series.values_at(2).to_list() == series.values_at(1).to_list()
    assert (
        Series.open(series.root).publish(view(), engine=engine, meant=["same-view"]).arrivals.changed_value
        == 0
    )
    assert series.verify().holds


def test_codes_that_a_list_does_not_know_are_offered_to_be_recoded(series: Series, tmp_path: Path) -> None:
    later = view().with_columns(town=pl.col("town").str.to_uppercase())
    with pytest.raises(ViewError, match=r"amend SERIES --recode town=FILE --reason WHY"):
        series.publish(later)
    (tmp_path / "codes.csv").write_text("old,new\na,A\nb,B\nc,C\n")
    words = ["amend", str(series.root), "--recode", f"town={tmp_path / 'codes.csv'}", "--reason", WHY]
    done = CliRunner().invoke(app, words)
    assert done.stdout == "column town: 3 codes stand for others\n"
    assert (
        Series.open(series.root).publish(later, meant=["same-view"]).arrivals.changed_quasi_identifiers == 0
    )


@pytest.mark.parametrize(
    ("codes", "words"),
    [
        ("old,new\na,b\n", "1 of 1 are, and views of before and after could not be distinguished"),
        ("old,new\nz,y\n", "an old code is one that the series knows; 1 of 1 are not"),
        ("old,new\na,x\nb,x\n", "1 stand for several"),
        ("old,new\na,\n", "1 lack one"),
        ("a,x\n", "columns old and new"),
        ("old,new\na,a\n", "must add codes"),
    ],
)
def test_codes_that_could_be_read_in_two_ways_are_refused(
    series: Series, tmp_path: Path, codes: str, words: str
) -> None:
    (tmp_path / "codes.csv").write_text(codes)
    with pytest.raises((PolicyError, ViewError), match=words):
        series.amend([recode_change("town", tmp_path / "codes.csv")], WHY)
    assert len(series.ledger.entries()) == 2


def test_a_code_is_not_recoded_again(series: Series) -> None:
    series.amend([recode_change("town", pl.DataFrame({"old": ["a"], "new": ["x"]}))], WHY)
    with pytest.raises(PolicyError, match="1 stand for another one already"):
        series.amend([recode_change("town", pl.DataFrame({"old": ["b"], "new": ["x"]}))], WHY)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (drop_change("town"), "`--absent town` if the source has it no more; .*`republish adopt NEW"),
        (drop_change("dx"), "is a column of the series.*`republish adopt NEW"),
        (rename_change("zip", "plz"), "no column zip; it has id, age, town, ward, dx"),
        (rename_change("age", "town"), "is a column of the series"),
        (rename_change("age", "1999-01-01"), "no address, date or code"),
        (absent_change("id"), "nobody is recognised again.*`--rename id=NEW`"),
        (absent_change("dx"), "is the sensitive one.*`--rename dx=NEW`.*`republish adopt NEW"),
        (absent_change("zip"), "no column zip"),
    ],
)
def test_what_would_hurt_a_promise_is_refused(series: Series, change: object, words: str) -> None:
    with pytest.raises((PolicyError, ViewError), match=words):
        series.amend([change], WHY)  # type: ignore[list-item]
    assert len(series.ledger.entries()) == 2


@pytest.mark.parametrize("column", ["id", "age", "ward", "zip"])
def test_only_codes_of_categories_stand_for_others(series: Series, column: str) -> None:
    with pytest.raises(
        PolicyError, match="columns of categories that are generalized or sensitive: town, dx"
    ):
        series.amend([recode_change(column, pl.DataFrame({"old": ["a"], "new": ["x"]}))], WHY)


def test_all_changes_are_one_row_of_the_chain_or_none(series: Series) -> None:
    with pytest.raises(PolicyError, match="has a meaning already"):
        series.amend([rename_change("age", "years"), drop_change("years")], WHY)
    assert len(series.ledger.entries()) == 2
    said = series.amend([rename_change("age", "years"), absent_change("ward"), drop_change("x")], WHY)
    assert said == ["column age is read from years too", "column ward may be absent", "column x is left out"]
    assert [entry.kind for entry in series.ledger.entries()] == ["init", "release", "amend"]


def test_a_reason_is_needed(series: Series) -> None:
    with pytest.raises(PolicyError, match="--reason WHY"):
        series.amend([drop_change("x")], " ")


@pytest.mark.parametrize("role", ["quasi-identifier", "insensitive"])
@pytest.mark.parametrize("kind", ["one table", "two tables", "value-blind"])
def test_to_publish_a_new_column_a_new_series_adopts_the_releases_of_the_old(
    tmp_path: Path, kind: str, role: str
) -> None:
    """The remedy that is offered, as it is typed."""
    method = ValueBlind(size=12, m=2) if kind == "value-blind" else TauSafety(2)
    form = None if kind == "one table" else TwoTables(2)
    series = Series.create(tmp_path / "old", SCHEMA, method, seed=3, form=form)
    series.publish(view())
    message = refused(series, view().with_columns(floor=pl.lit("1")))
    for name, one in (("1", view()), ("2", view(44).with_columns(floor=pl.lit("1")))):
        one.write_csv(tmp_path / f"{name}.csv")
    columns = [
        ("id", "identifier"),
        ("age", "quasi-identifier"),
        ("town", "quasi-identifier"),
        ("dx", "sensitive"),
    ]
    columns += [("ward", "insensitive"), ("floor", role)]
    schema = "".join(f'[columns.{name}]\nrole = "{role}"\n' for name, role in columns)
    (tmp_path / "schema.toml").write_text(schema.replace("[columns.town]", 'kind = "number"\n[columns.town]'))
    given = {
        "NEW": str(tmp_path / "new"),
        "FILE": str(tmp_path / "schema.toml"),
        "VIEW": str(tmp_path / "1.csv"),
        "TABLE": str(series.ledger.folder(1) / "table.csv"),
        "PEOPLE": str(series.ledger.folder(1) / "people.csv"),
        "VALUES": str(series.ledger.folder(1) / "values.csv"),
    }
    init, adopt_one, adopt_two = re.findall(r"`(?:republish )?((?:init|adopt) NEW [^`]*)`", message)
    for command in (init, adopt_one if form is None else adopt_two):
        done = CliRunner().invoke(app, [given.get(word, word) for word in command.split()])
        assert done.exit_code == 0, (done.output, done.exception)
    for words in (["publish", given["NEW"], str(tmp_path / "2.csv")], ["verify", given["NEW"]]):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, (done.output, done.exception)
    begun = Series.open(given["NEW"])
    assert begun.record(2).payload["arrivals"]["new"] == 4  # the others are known from what was adopted
    with pytest.raises(SchemaError, match="does not have: floor"):
        begun.publish(view())


def test_before_the_first_release_the_schema_may_be_edited(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "s", SCHEMA, TauSafety(2), seed=3)
    with pytest.raises(SchemaError, match=r"\[columns.x\] with role = \"drop\""):
        series.publish(view().with_columns(x=pl.lit(1)))
    with pytest.raises(PolicyError, match=r"edit \[schema\] of .*series.toml"):
        series.amend([drop_change("x")], WHY)


def test_a_column_under_two_names_is_refused(series: Series) -> None:
    series.amend([rename_change("age", "years")], WHY)
    with pytest.raises(SchemaError, match="age is there under two names"):
        series.publish(view().with_columns(years=pl.col("age")))


def test_people_are_forgotten_by_the_new_name_of_the_identifier(series: Series) -> None:
    series.amend([rename_change("id", "patient")], WHY)
    assert forget(series, pl.DataFrame({"patient": ["p1"]})).erased == 1
    assert forget(series, pl.DataFrame({"id": ["p2"]})).erased == 1


def test_history_tells_what_was_amended_and_why(series: Series) -> None:
    series.amend([rename_change("age", "years")], WHY)
    told = CliRunner().invoke(app, ["history", str(series.root)], env={"COLUMNS": "200"}).stdout
    assert "column age is read from years too" in told
    assert WHY in told


def test_a_series_without_changes_reads_as_before(series: Series) -> None:
    assert series.schema.amended.headings == {}
    assert series.policy.schema.amended.series is None


CHANGES = st.lists(
    st.sampled_from(
        ["drop", "rename age", "rename dx", "absent age", "absent ward", "recode town", "recode dx"]
    ),
    min_size=2,
    max_size=4,
)


@settings(max_examples=8)
@given(changes=CHANGES, form=st.sampled_from([None, TwoTables(2)]))
def test_whatever_is_amended_between_weeks_every_promise_holds(
    tmp_path_factory: pytest.TempPathFactory, changes: list[str], form: TwoTables | None
) -> None:
    series = made(tmp_path_factory.mktemp("random"), form)
    names: dict[str, str] = {}
    gone: set[str] = set()
    codes: dict[str, str] = {}
    more: list[str] = []
    for week, change in enumerate(changes, start=1):
        kind, _, column = change.partition(" ")
        if kind == "drop":
            series.amend([drop_change(f"new{week}")], WHY)
            more.append(f"new{week}")
        elif kind == "rename":
            series.amend([rename_change(column, f"name{week}")], WHY)
            names[column] = f"name{week}"
        elif kind == "absent" and column not in gone:
            series.amend([absent_change(column)], WHY)
            gone.add(column)
        elif kind == "recode":
            old = sorted(view()[column].unique().to_list())
            table = pl.DataFrame({"old": old, "new": [f"n{week}-{one}" for one in old]})
            series.amend([recode_change(column, table)], WHY)
            codes[column] = f"n{week}-"
        now = view(40, 2 * week).with_columns(pl.col(name).str.replace("^", codes[name]) for name in codes)
        now = now.with_columns(pl.lit("x").alias(name) for name in more).drop(gone)
        now = now.rename({old: new for old, new in names.items() if old not in gone})
        series.publish(now, engine=Here(parts=2) if week % 2 else None, meant=["same-view"])
    assert series.verify().holds
    assert Series.open(series.root).schema == series.schema
