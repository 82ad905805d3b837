"""Amend, withdraw, forget: what may happen to a series besides publishing."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from republish import Category, Mondrian, Number, PolicyError, Schema, SchemaError, Series, ViewError
from republish.hierarchies import Hierarchy
from republish.publishing.maintenance import amend_hierarchy, forget, withdraw

ZIPS = Hierarchy((("101", "10*", "*"), ("102", "10*", "*"), ("201", "20*", "*")))


@pytest.fixture
def towns(tmp_path: Path) -> Series:
    schema = Schema("id", [Number("age"), Category("zip", hierarchy=ZIPS)], "dx")
    return Series.create(tmp_path / "towns", schema, Mondrian(2), one_table=True, seed=1)


def people(*zips: str) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(len(zips))],
            "age": 30,
            "zip": zips,
            "dx": ["flu", "hiv"] * (len(zips) // 2),
        }
    )


def test_a_new_code_is_refused_until_the_hierarchy_is_amended(towns: Series, tmp_path: Path) -> None:
    towns.publish(people("101", "102", "201", "201"))
    later = people("101", "102", "202", "201")
    with pytest.raises(ViewError, match=r"column zip: 1 rows hold 1 values .*`republish amend"):
        towns.publish(later)
    more = tmp_path / "more.csv"
    more.write_text("101;10*;*\n202;20*;*\n")
    assert amend_hierarchy(towns, "zip", more) == 1
    assert Series.open(towns.root).publish(later).number == 2
    assert towns.verify().holds


def test_an_amendment_does_not_change_what_earlier_releases_measure(towns: Series, tmp_path: Path) -> None:
    towns.publish(people("101", "102", "101", "102"))
    before = towns.release(1).penalties().tolist()
    more = tmp_path / "more.csv"
    more.write_text("103;10*;*\n202;20*;*\n")
    amend_hierarchy(towns, "zip", more)
    assert towns.release(1).penalties().tolist() == before


def test_an_amendment_adds_and_never_alters(towns: Series, tmp_path: Path) -> None:
    file = tmp_path / "more.csv"
    for text, problem in (
        ("101;20*;*\n", "never alter"),
        ("301;*\n", "3 cells a line"),
        ("101;10*;*\n", "adds no leaf"),
    ):
        file.write_text(text)
        with pytest.raises((PolicyError, SchemaError), match=problem):
            amend_hierarchy(towns, "zip", file)
    with pytest.raises(PolicyError, match="columns that have one: zip"):
        amend_hierarchy(towns, "age", file)
    assert [entry.kind for entry in towns.ledger.entries()] == ["init"]


def test_a_withdrawn_release_stays_and_is_marked(towns: Series) -> None:
    towns.publish(people("101", "102"))
    withdraw(towns, 1, "wrong week")
    assert towns.withdrawn() == {1}
    assert (towns.root / "releases/0001/table.csv").exists()
    assert towns.publish(people("101", "102"), meant=["same-view"]).number == 2
    with pytest.raises(PolicyError, match="already"):
        withdraw(towns, 1)
    assert towns.verify().holds


def test_forget_erases_a_person_everywhere_but_from_the_releases(towns: Series) -> None:
    towns.publish(people("101", "102", "201", "201"))
    towns.publish(people("101", "102", "201", "201"), meant=["same-view"])
    pseudonym = towns.pseudonyms(["p1"])[0]
    raw = bytes.fromhex(pseudonym)[:8][::-1]
    done = forget(towns, pl.DataFrame({"id": ["p1", "stranger"]}))
    assert (done.asked, done.erased, done.releases) == (2, 1, 2)
    assert towns.memory().size == 3
    for release in (1, 2):
        assert pseudonym not in towns.membership(release)["person"].to_list()
    held = b"".join(p.read_bytes() for p in (towns.root / "private").rglob("*") if p.is_file())
    assert raw not in held
    assert towns.verify().holds


def test_a_forgotten_person_is_a_newcomer(towns: Series) -> None:
    towns.publish(people("101", "102"))
    forget(towns, pl.DataFrame({"id": ["p0"]}))
    done = towns.publish(people("101", "102"), meant=["same-view"])
    assert (done.arrivals.new, done.arrivals.returned) == (1, 0)


def test_forgetting_strangers_writes_nothing(towns: Series) -> None:
    towns.publish(people("101", "102"))
    with pytest.raises(ViewError, match="none of the 1 people"):
        forget(towns, pl.DataFrame({"id": ["stranger"]}))
    assert [entry.kind for entry in towns.ledger.entries()] == ["init", "release"]
