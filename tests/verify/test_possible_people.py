"""Cor-Split with possible values by person: given by identifier, kept by pseudonym, and verified anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from republish import BrokenPromise, CannotPublish, Category, Number, PolicyError, Schema, Series, ViewError
from republish.cli import app
from republish.grouping import Grouping
from republish.memory.memory import KEY, keyed
from republish.publishers.cor_split import CorSplit
from republish.publishing.maintenance import forget
from republish.sources.paths import read_parquet

SCHEMA = Schema("id", [Number("age"), Category("town")], "dx")
LOW, HIGH = ["v0", "v1", "v2"], ["v2", "v3", "v4"]
BY_PERSON = CorSplit(m=3, n=2, pad=True, theta="people")


def crowd(first: int, last: int) -> pl.DataFrame:
    """Every second person has a low value, the others a high one; quasi-identifiers do not tell which."""
    numbers = range(first, last)
    return pl.DataFrame(
        {
            "id": [f"p{i}" for i in numbers],
            "age": [i // 2 % 20 for i in numbers],
            "town": ["ab"[i // 4 % 2] for i in numbers],
            "dx": [(HIGH if i % 2 else LOW)[i // 2 % 3] for i in numbers],
        }
    )


def table(first: int = 0, last: int = 300, step: int = 1) -> pl.DataFrame:
    """The possible values of people, also of some who are in no view; one pair a row."""
    pairs = [(f"p{i}", value) for i in range(first, last, step) for value in (HIGH if i % 2 else LOW)]
    return pl.DataFrame(pairs, schema=["id", "dx"], orient="row")


def new_series(folder: Path) -> Series:
    return Series.create(folder / "s", SCHEMA, BY_PERSON, seed=3)


def shown_to(series: Series, number: int) -> dict[str, set[frozenset[str]]]:
    """The sets of values of groups, by whether a person of the group has an even or an odd number."""
    members = series.members(number)
    rows = pl.read_csv(series.root / "releases" / f"{number:04d}" / "table.csv")
    signature = {g: frozenset(part["dx"]) for (g,), part in rows.partition_by("group", as_dict=True).items()}
    words = series.secret().pseudonyms([f"p{i}" for i in range(300)])
    number_of = {tuple(word): i for i, word in enumerate(words.tolist())}
    found: dict[str, set[frozenset[str]]] = {"even": set(), "odd": set()}
    for word, group in zip(members.people.tolist(), members.group.tolist(), strict=True):
        found["odd" if number_of[tuple(word)] % 2 else "even"].add(signature[group])
    return found


def test_groups_show_values_that_are_possible_for_everyone_in_them(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    for first, last in ((0, 120), (20, 140), (40, 160)):
        series.publish(crowd(first, last), theta=table())
    for number in (1, 2, 3):
        assert shown_to(series, number) == {"even": {frozenset(LOW)}, "odd": {frozenset(HIGH)}}
    found = series.verify()
    assert found.holds and found.not_recomputable == ()
    assert [one.promise for one in found.releases[2].checks if one.promise.startswith("theta")] == [
        "theta=people"
    ]
    assert Series.open(series.root).policy.publisher == BY_PERSON
    assert "theta=people" in series.policy.promises["series"]


def test_no_identifier_is_stored(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    series.publish(crowd(0, 120), theta=table())
    (file,) = (series.root / "private" / "possible").iterdir()
    stored = read_parquet(file)
    assert stored.columns == [*KEY, "code"]
    people = keyed(series.secret().pseudonyms([f"p{i}" for i in range(120)]))
    assert stored.select(KEY).unique().sort(KEY).equals(people.sort(KEY))
    assert stored.height == 3 * 120  # nothing of those who are not in the view


def test_who_is_not_listed_may_have_any_value(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    series.publish(crowd(0, 120), theta=table(0, 120, 2))
    assert shown_to(series, 1)["even"] == {frozenset(LOW)}
    assert series.verify().holds


def test_a_stored_table_that_was_broken_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What other code stored under the same promise is told from what keeps it."""
    from republish.publishing import one_process

    plain = one_process.possible_table
    monkeypatch.setattr(one_process, "possible_table", lambda view: plain(view).filter(pl.col("code") != 2))
    series = new_series(tmp_path)
    series.publish(crowd(0, 120), theta=table())
    (check,) = (one for one in series.verify().releases[1].checks if one.promise == "theta=people")
    assert not check.holds and check.groups > 0 and check.rows == 120


def test_an_impossible_value_in_a_group_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = CorSplit.publish

    def careless(self: CorSplit, *given: object) -> Grouping:
        return plain(replace(self, theta="all"), *given)  # type: ignore[arg-type]

    monkeypatch.setattr(CorSplit, "publish", careless)
    with pytest.raises(BrokenPromise, match="theta=people: does not hold in"):
        new_series(tmp_path).publish(crowd(0, 120), theta=table())


def test_people_who_are_forgotten_are_forgotten_here_too(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    series.publish(crowd(0, 120), theta=table())
    forget(series, pl.DataFrame({"id": ["p4", "p7"]}))
    name = series.ledger.entries().possible_file(1)
    assert name is not None and read_parquet(series.ledger.path(name)).height == 3 * 118
    assert len(list((series.root / "private" / "possible").iterdir())) == 1
    assert series.verify().holds


@pytest.mark.parametrize(
    ("theta", "error", "message"),
    [
        (None, PolicyError, "publish --theta TABLE"),
        (table().filter(pl.col("dx") != "v1"), ViewError, "60 people of the view have fewer"),
        (table().with_columns(dx=pl.col("dx").replace("v0", "w9")), ViewError, "20 of 120 rows do not"),
        (table().drop("dx"), ViewError, "need the columns id, dx; dx is missing"),
        (table().with_columns(id=pl.lit(None, pl.String)), ViewError, "900 rows have no identifier"),
    ],
)
def test_what_is_missing_is_said_without_a_cell(
    tmp_path: Path, theta: pl.DataFrame | None, error: type[Exception], message: str
) -> None:
    series = new_series(tmp_path)
    with pytest.raises(error, match=message) as found:
        series.publish(crowd(0, 120), theta=theta)
    assert "p4" not in str(found.value) and "v1" not in str(found.value) and "w9" not in str(found.value)
    assert len(series.records) == 0


def test_who_keeps_a_set_of_values_that_became_impossible_is_refused(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    series.publish(crowd(0, 120), theta=table())
    other = table().filter(pl.col("id") != "p4").vstack(pl.DataFrame({"id": ["p4"] * 3, "dx": HIGH}))
    assert crowd(4, 5)["dx"].item() == "v2"
    with pytest.raises(CannotPublish, match="for 1 people it is no longer, since what theta says"):
        series.publish(crowd(0, 121), theta=other)


def test_other_series_take_no_such_table(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "s", SCHEMA, CorSplit(m=3, n=2, pad=True), seed=3)
    with pytest.raises(PolicyError, match="takes no possible values of single people"):
        series.publish(crowd(0, 120), theta=table())


def test_a_release_in_parts_is_refused() -> None:
    assert BY_PERSON.undivided is not None and "table" in BY_PERSON.undivided


def test_at_the_command_line(tmp_path: Path) -> None:
    new_series(tmp_path)
    crowd(0, 120).write_csv(tmp_path / "v.csv")
    table().write_csv(tmp_path / "may.csv")
    words = ["publish", str(tmp_path / "s"), str(tmp_path / "v.csv"), "--theta", str(tmp_path / "may.csv")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "theta=people" in done.output
