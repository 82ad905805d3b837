"""A release as its recipient reads it: in Python and in R."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

from republish import Mondrian, Schema, Series, TauSafety, TwoTables, read_received, read_schema
from republish.errors import ViewError
from republish.release.r_script import r_script
from republish.schema import Category, Number


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, hospital_folder: Path) -> dict[str, Path]:
    schema = read_schema(hospital_folder / "schema.toml")
    view = sorted((hospital_folder / "views").iterdir())[0]
    found = {}
    for name, publisher, form in (
        ("one", Mondrian(5), None),
        ("two", TauSafety(m=3), TwoTables(k=5)),
    ):
        root = tmp_path_factory.mktemp(name) / "s"
        made = Series.create(root, schema, publisher, seed=3, form=form, one_table=form is None)
        made.publish(view, as_of="2026-01-05")
        made.ledger.close()
        found[name] = root / "releases" / "0001"
    return found


@pytest.mark.parametrize("form", ["one", "two"])
def test_weights_add_up_to_the_people(folders: dict[str, Path], form: str) -> None:
    found = read_received(folders[form])
    assert found.two_tables == (form == "two")
    assert found.sensitive == "diagnosis"
    people = found.about["rows"] - (0 if found.two_tables else found.about["counterfeit_rows"])
    assert found.weights["weight"].sum() == pytest.approx(people)
    assert found.weights.columns == ["person", "diagnosis", "weight"]
    assert found.joined().height == found.weights.height


def test_weights_are_the_shares_of_the_batch(folders: dict[str, Path]) -> None:
    found = read_received(folders["two"])
    person, batch = found.people.select("person", "batch").row(7)
    counted = found.values.filter(pl.col("batch") == batch)
    own = found.weights.filter(pl.col("person") == person)
    assert own["weight"].to_list() == pytest.approx((counted["count"] / counted["count"].sum()).to_list())


def test_counts_are_those_of_the_release(folders: dict[str, Path]) -> None:
    series = Series.open(folders["two"].parent.parent)
    expected = series.release(1).count("diagnosis = 'HIV AIDS'").expected
    series.ledger.close()
    held = read_received(folders["two"]).weights.filter(pl.col("diagnosis") == "HIV AIDS")
    assert held["weight"].sum() == pytest.approx(expected, rel=0.05)


def test_text_alone_is_enough(folders: dict[str, Path], tmp_path: Path) -> None:
    for name in ("people.csv", "values.csv", "about.json"):
        shutil.copy(folders["two"] / name, tmp_path / name)
    found, whole = read_received(tmp_path), read_received(folders["two"])
    assert found.weights["weight"].sum() == pytest.approx(whole.weights["weight"].sum())
    assert found.values["count"].to_list() == whole.values["count"].to_list()


def test_another_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ViewError, match=re.escape("must be the folder of a release")):
        read_received(tmp_path)
    (tmp_path / "about.json").write_text("{}")
    with pytest.raises(ViewError, match="missing or damaged"):
        read_received(tmp_path)


def test_the_script_lies_beside_the_tables_and_in_the_ledger(folders: dict[str, Path]) -> None:
    series = Series.open(folders["two"].parent.parent)
    assert "releases/0001/read_release.R" in series.record(1).payload["files"]
    series.ledger.close()
    assert "read_release.R" in json.loads((folders["two"] / "about.json").read_text())["form"]


def without_texts(script: str) -> str:
    return re.sub(r'"(?:\\.|[^"\\])*"', '""', re.sub(r"(?m)^\s*#.*$", "", script))


def test_the_script_is_closed_and_needs_no_package() -> None:
    name = "back\\slash and 'quote'"
    script = r_script(Schema(quasi_identifiers=[Number("age")], sensitive=Category(name)))
    assert json.dumps(name) in script
    assert "@" not in without_texts(script)
    bare, left = without_texts(script), []
    pairs = {")": "(", "]": "[", "}": "{"}
    for sign in bare:
        if sign in "([{":
            left.append(sign)
        elif sign in pairs:
            assert left.pop() == pairs[sign]
    assert left == []
    assert not re.search(r"\b(library|require|requireNamespace)\(|::", bare)
    for function in ("read_release", "inside", "count_people"):
        assert f"{function} <- function(" in script


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_the_script_counts_in_r(folders: dict[str, Path]) -> None:
    counts = 'cat(count_people(r), count_people(r, values = "HIV AIDS"))'
    asked = f'source("read_release.R"); r <- read_release("."); {counts}'
    done = subprocess.run(
        ["Rscript", "-e", asked], cwd=folders["two"], capture_output=True, text=True, check=True
    )
    everybody, ill = map(float, done.stdout.split())
    found = read_received(folders["two"])
    assert everybody == pytest.approx(found.people.height)
    assert ill == pytest.approx(found.weights.filter(pl.col("diagnosis") == "HIV AIDS")["weight"].sum())


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_the_script_for_r_reads_open_cells(folders: dict[str, Path]) -> None:
    asked = (
        'source("read_release.R"); cells <- c("<=23", ">=61", "[20-29]", "45", NA, "*");'
        "cat(inside(cells, 20, 65)); cat('\\n'); cat(inside(cells, 20, 65, lowest = 16, highest = 70))"
    )
    done = subprocess.run(
        ["Rscript", "-e", asked], cwd=folders["two"], capture_output=True, text=True, check=True
    )
    unknown, known = ([float(x) for x in line.split()] for line in done.stdout.splitlines())
    assert unknown == [1, 1, 1, 1, 0, 0]
    assert known == pytest.approx([0.5, 0.5, 1, 1, 0, 46 / 55])
