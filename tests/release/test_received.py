"""A release as its recipient reads it: in Python and in R."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from republish import Mondrian, Schema, Series, TauSafety, TwoTables, read_received, read_schema
from republish.errors import PolicyError, ViewError
from republish.release.midpoints import with_midpoints
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
        ("faked", TauSafety(m=3), None),
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
    assert found.weights[found.weight].sum() == pytest.approx(people)
    assert found.weights.columns == ["person", "diagnosis", "weight"]
    assert found.joined().height == found.weights.height


def test_weights_are_the_shares_of_the_batch(folders: dict[str, Path]) -> None:
    found = read_received(folders["two"])
    person, batch = found.people.select("person", "batch").row(7)
    counted = found.values.filter(pl.col("batch") == batch)
    own = found.weights.filter(pl.col("person") == person)
    assert own[found.weight].to_list() == pytest.approx((counted["count"] / counted["count"].sum()).to_list())


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
    assert found.weights[found.weight].sum() == pytest.approx(whole.weights[whole.weight].sum())
    assert found.values["count"].to_list() == whole.values["count"].to_list()


def test_weights_have_a_name_of_their_own(folders: dict[str, Path], tmp_path: Path) -> None:
    for name in ("people.csv", "values.csv", "about.json"):
        shutil.copy(folders["two"] / name, tmp_path / name)
    found = read_received(tmp_path)
    assert found.weight == "weight_"
    assert found.joined().columns == [
        "person",
        "group",
        "age",
        "gender",
        "weight",
        "batch",
        "diagnosis",
        "weight_",
    ]


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


def test_the_script_is_ascii() -> None:
    script = r_script(Schema(quasi_identifiers=[Number("größe")], sensitive=Category("é😀")))
    assert script.isascii()
    assert r'"\U000000e9\U0001f600"' in script


@pytest.fixture
def rscript() -> str:
    program = shutil.which("Rscript")
    if program is None:
        missing = "the script is run by R: apt install r-base-core"
        if os.environ.get("REPUBLISH_NEEDS_R"):
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
    return program


def in_r(rscript: str, folder: Path, asked: str, script: Path | None = None) -> list[str]:
    source = script or folder / "read_release.R"
    text = f"source({json.dumps(str(source))}, encoding = 'UTF-8'); r <- read_release('.'); {asked}"
    done = subprocess.run(
        [rscript, "--vanilla", "-e", text], cwd=folder, capture_output=True, encoding="utf-8", check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


ASKED = """cat(count_people(r), count_people(r, values = "HIV AIDS"),
  count_people(r, inside(r$people$age, 40, 50), "HIV AIDS"),
  count_people(r, r$people$gender == "F"), nrow(r$weights), sep = "\n")"""


@pytest.mark.parametrize("form", ["one", "two", "faked"])
def test_the_script_counts_in_r_as_python_does(
    folders: dict[str, Path], rscript: str, form: str, tmp_path: Path
) -> None:
    folder = tmp_path / form
    shutil.copytree(folders[form], folder, ignore=shutil.ignore_patterns("*.parquet"))
    found = [float(line) for line in in_r(rscript, folder, ASKED, folders["two"] / "read_release.R")]
    table = read_received(folder).joined()
    ends = table["age"].str.extract_all(r"\d+").list
    low, high = ends.first().cast(pl.Int64), ends.last().cast(pl.Int64)
    share = (high.clip(upper_bound=50) - low.clip(lower_bound=40) + 1).clip(lower_bound=0) / (high - low + 1)
    ill = table["diagnosis"] == "HIV AIDS"
    assert found == pytest.approx(
        [
            table["weight_"].sum(),
            table.filter(ill)["weight_"].sum(),
            (table["weight_"] * share * ill).sum(),
            table.filter(pl.col("gender") == "F")["weight_"].sum(),
            table.height,
        ]
    )


ODD = {
    "people.csv": 'group,age,batch\n1,[-5..5],1\n1,,\n2,"[40-49]",1\n2,45,2\n',
    "values.csv": 'batch,Diagnosé 😀,count\n1,grün,2\n1,,1\n2,"a,b",1\n2,NA,3\n',
}


def test_the_script_reads_odd_texts_in_r(rscript: str, tmp_path: Path) -> None:
    for name, text in ODD.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    schema = Schema(quasi_identifiers=[Number("age")], sensitive=Category("Diagnosé 😀"))
    (tmp_path / "read_release.R").write_text(r_script(schema), encoding="utf-8")
    asked = """cat(inside(r$people$age, 0, 44), count_people(r, values = "gr\\u00fcn"), count_people(r, values = NA),
      count_people(r, values = "NA"), count_people(r, inside(r$people$age, 40, 45), "a,b"), sep = "\n")"""
    found = [float(line) for line in in_r(rscript, tmp_path, asked)]
    assert found == pytest.approx(
        [6 / 11, 0, 0.5, 0, 4 / 3 + 2 / 7, 2 / 3 + 1 / 7, 3 / 4 + 3 / 7, 1 / 4], abs=1e-6
    )


def test_the_script_for_r_reads_open_cells(folders: dict[str, Path], rscript: str) -> None:
    asked = (
        'cells <- c("<=23", ">=61", "[20-29]", "45", NA, "*", ">61", "<23", "(20-29]");'
        "cat(inside(cells, 20, 65)); cat('\n'); cat(inside(cells, 20, 65, lowest = 16, highest = 70))"
    )
    unknown, known = ([float(x) for x in line.split()] for line in in_r(rscript, folders["two"], asked))
    assert unknown == [1, 1, 1, 1, 0, 0, 1, 1, 1]
    assert known == pytest.approx([0.5, 0.5, 1, 1, 0, 46 / 55, 0.5, 0.5, 1])


def test_midpoints_and_widths_follow_the_cells(folders: dict[str, Path]) -> None:
    found = read_received(folders["one"], midpoints=True).people
    assert found.columns == [
        "person",
        "group",
        *("age_lo", "age_hi", "age_mid", "age_width"),
        "gender",
        *("weight_lo", "weight_hi", "weight_mid", "weight_width"),
        "diagnosis",
    ]
    assert (found["age_mid"] == (found["age_lo"] + found["age_hi"]) / 2).all()
    assert (found["age_width"] == found["age_hi"] - found["age_lo"]).all()


@pytest.mark.parametrize("form", ["one", "two"])
def test_midpoints_of_text_are_those_of_parquet(folders: dict[str, Path], tmp_path: Path, form: str) -> None:
    shutil.copytree(folders[form], tmp_path / form, ignore=shutil.ignore_patterns("*.parquet"))
    text, typed = (read_received(place, midpoints=True).people for place in (tmp_path / form, folders[form]))
    for column in ("age_mid", "age_width"):
        assert text[column].to_list() == typed[column].to_list()


def test_cells_that_do_not_say_both_ends_have_no_midpoint() -> None:
    cells = ["45", "(40-49]", "[-5..5)", "<=23", ">61", "*", None, "[1e-3..0.002]"]
    found = with_midpoints(pl.DataFrame({"x": cells, "x_mid": "taken"}), {"x": "number"})
    assert found.columns == ["x", "x_mid_", "x_width", "x_mid"]
    assert found["x_mid_"].to_list() == pytest.approx([45, 44.5, 0, None, None, None, None, 0.0015])
    assert found["x_width"].to_list() == pytest.approx([0, 9, 10, None, None, None, None, 0.001])


def test_the_midpoint_of_days_is_a_day() -> None:
    cells = ["2024-01-05", "[2024-01-05..2024-01-10]", "<=2024-01-01", None]
    found = with_midpoints(pl.DataFrame({"day": cells, "kind": "a"}), {"day": "date", "kind": "category"})
    assert found["day_mid"].to_list() == [date(2024, 1, 5), date(2024, 1, 7), None, None]
    assert found["day_width"].to_list() == [0, 5, None, None]


@pytest.mark.parametrize("form", ["one", "two", "faked"])
def test_margins_leave_counterfeits_out(folders: dict[str, Path], form: str) -> None:
    found = read_received(folders[form])
    by_value, by_gender = found.margin(), found.margin("gender")
    assert by_value.columns == ["diagnosis", "people"] and by_gender.columns == ["gender", "people"]
    assert by_value["people"].sum() == pytest.approx(400) == by_gender["people"].sum()


def test_a_margin_by_a_column_that_is_not_there_is_refused(folders: dict[str, Path]) -> None:
    with pytest.raises(PolicyError, match="a margin is by columns of the release"):
        read_received(folders["one"]).margin("salary")


def test_a_release_without_a_sensitive_column_is_read(tmp_path: Path, rscript: str) -> None:
    view = pl.DataFrame({"id": [str(i) for i in range(8)], "age": list(range(30, 38))})
    made = Series.create(tmp_path / "s", Schema("id", [Number("age")]), Mondrian(4), one_table=True)
    made.publish(view)
    made.ledger.close()
    folder = tmp_path / "s" / "releases" / "0001"
    assert read_received(folder).joined()["weight"].sum() == 8
    assert read_received(folder).margin().rows() == [(8.0,)]
    assert in_r(rscript, folder, "cat(count_people(r), mean(widths(r$people$age)))") == ["8 3"]


def test_a_damaged_table_is_told_to_the_recipient(folders: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(folders["one"], tmp_path / "r")
    (tmp_path / "r" / "table.parquet").write_bytes(b"PAR1")
    with pytest.raises(ViewError, match="ask for the folder again"):
        read_received(tmp_path / "r")


def test_the_script_finds_midpoints_in_r_as_python_does(folders: dict[str, Path], rscript: str) -> None:
    asked = (
        "cat(sum(midpoints(r$people$age), na.rm = TRUE), sum(widths(r$people$age), na.rm = TRUE), sep = '\n')"
    )
    people = read_received(folders["one"], midpoints=True).people
    found = [float(line) for line in in_r(rscript, folders["one"], asked)]
    assert found == [people["age_mid"].sum(), people["age_width"].sum()]


def test_the_script_for_r_finds_the_middle_of_days_and_open_cells(
    folders: dict[str, Path], rscript: str
) -> None:
    asked = (
        'cat(midpoints(c("45", "[40-49]", "[-5..5]", "[1e-3..0.002]", ">1.7", "*", NA, "(1.5-2]")), fill = 99);'
        'cat(format(midpoints(c("2024-01-05", "[2024-01-05..2024-01-10]", ">=2024-01-01"))))'
    )
    assert in_r(rscript, folders["one"], asked) == [
        "45 44.5 0 0.0015 NA NA NA 1.75",
        "2024-01-05 2024-01-07 NA",
    ]
