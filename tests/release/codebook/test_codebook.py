"""The codebook beside a release, as the tools that read such files see it."""

from __future__ import annotations

import json
import shutil
import tomllib
import warnings
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl
import pytest

from republish import (
    Date,
    Mondrian,
    Number,
    Ordered,
    Schema,
    Series,
    TauSafety,
    TwoTables,
    ValueBlind,
    read_schema,
)
from republish.ledger import backup, restore
from republish.parts import Here
from republish.release.codebook import CODEBOOK
from republish.secret import VARIABLE

SEED, SECRET = 987654321, "the-secret-of-these-tests-" + "7" * 38
DDI = "{ddi:codebook:2_5}"
MAKE = {
    "one": (lambda: Mondrian(5), None),
    "two": (lambda: TauSafety(m=3), TwoTables(k=5)),
    "faked": (lambda: TauSafety(m=3), None),
    "blind": (ValueBlind, TwoTables(k=5)),
}


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory, hospital_folder: Path) -> dict[str, Path]:
    """Series of two releases each."""
    schema = read_schema(hospital_folder / "schema.toml")
    views = sorted((hospital_folder / "views").iterdir())
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, SECRET)
        for name, (publisher, form) in MAKE.items():
            root = tmp_path_factory.mktemp(name) / "s"
            made = Series.create(root, schema, publisher(), seed=SEED, form=form, one_table=form is None)
            for week, view in enumerate(views[:2]):
                made.publish(view, as_of=f"2026-01-{5 + 7 * week:02d}")
            made.ledger.close()
            found[name] = root
    return found


def odd_series(root: Path) -> Path:
    """One release of columns of every kind, with missing values, odd texts and what the custodian says."""
    schema = Schema(
        "id",
        [Number("income"), Date("born"), Ordered("degree", order=("none", "school", "college"))],
        "Diagnosé <&> 😀",
        ["ward", "beds", "share", "urgent", "night"],
        labels={"income": "Income in 1,000 €", "ward": 'Ward "A & B"'},
        descriptions={"ward": "Where <she> lay first."},
    )
    rows = 40
    view = pl.DataFrame(
        {
            "id": [str(i) for i in range(rows)],
            "income": [None if i % 9 == 0 else i * 0.5 - 8 for i in range(rows)],
            "born": pl.Series([10_000 + 37 * i for i in range(rows)]).cast(pl.Int32).cast(pl.Date),
            "degree": [("none", "school", "college")[i % 3] for i in range(rows)],
            "Diagnosé <&> 😀": [("grün", "a|b", 'say "x", y', "c\x0bd", None)[i % 5] for i in range(rows)],
            "ward": ["north, upper" if i % 2 else "south" for i in range(rows)],
            "beds": [i % 4 for i in range(rows)],
            "share": [i % 4 / 4 for i in range(rows)],
            "urgent": [i % 2 == 0 for i in range(rows)],
            "night": pl.Series([20_000 + i % 3 for i in range(rows)]).cast(pl.Int32).cast(pl.Date),
        }
    )
    made = Series.create(root, schema, Mondrian(4), one_table=True)
    with (root / "series.toml").open("a", encoding="utf-8") as file:
        file.write(
            '\n[report]\ntitle = "Visits of a clinic"\npurpose = "For research."\n'
            'contact = "data@clinic.example"\nsigned_by = "Dr Nobody"\n'
        )
    made.publish(view, as_of="2026-01-05T12:30:00+02:00")
    made.ledger.close()
    return root / "releases" / "0001"


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return odd_series(tmp_path_factory.mktemp("odd") / "s")


def package_report(folder: Path) -> tuple[list[str], Any]:
    """The names of the tables that frictionless finds, and what it says of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from frictionless import Package

        package = Package(str(folder / "datapackage.json"))
        return [one.name for one in package.resources], package.validate()


@pytest.mark.parametrize(
    ("name", "tables"),
    [
        ("one", ["table", "table-parquet"]),
        ("two", ["people", "people-parquet", "values", "values-parquet", "counterfeits"]),
        ("faked", ["table", "table-parquet", "counterfeits"]),
        ("blind", ["people", "people-parquet", "values", "values-parquet", "batches"]),
    ],
)
def test_frictionless_finds_every_table_valid(roots: dict[str, Path], name: str, tables: list[str]) -> None:
    folder = roots[name] / "releases" / "0002"
    found, report = package_report(folder)
    assert [table for table in found if table != "counterfeits"] == [t for t in tables if t != "counterfeits"]
    assert ("counterfeits" in found) == (folder / "counterfeits.csv").exists()
    assert report.valid, report.flatten(["type", "note"])
    assert all(task.stats["rows"] > 0 for task in report.tasks if task.type == "table")


def test_frictionless_finds_cells_of_every_kind_valid(odd: Path) -> None:
    _, report = package_report(odd)
    assert report.valid, report.flatten(["type", "note"])


@pytest.mark.parametrize(
    ("column", "cell", "error"),
    [
        ("age", "about 50", "constraint-error"),
        ("diagnosis", "plague", "constraint-error"),
        ("group", "x", "type-error"),
    ],
)
def test_frictionless_finds_a_cell_that_is_none_of_the_release(
    roots: dict[str, Path], tmp_path: Path, column: str, cell: str, error: str
) -> None:
    folder = tmp_path / "r"
    shutil.copytree(roots["one"] / "releases" / "0001", folder)
    table = pl.read_csv(folder / "table.csv", infer_schema=False)
    table[3, column] = cell
    table.write_csv(folder / "table.csv")
    _, report = package_report(folder)
    assert [kind for (kind,) in report.flatten(["type"])] == [error]


def test_the_fields_are_the_columns_in_their_types(odd: Path) -> None:
    package = json.loads((odd / "datapackage.json").read_text(encoding="utf-8"))
    fields = package["resources"][0]["schema"]["fields"]
    assert [(one["name"], one["type"]) for one in fields] == [
        ("group", "integer"),
        ("income", "string"),
        ("born", "string"),
        ("degree", "string"),
        ("ward", "string"),
        ("beds", "integer"),
        ("share", "number"),
        ("urgent", "boolean"),
        ("night", "date"),
        ("Diagnosé <&> 😀", "string"),
    ]
    assert [one["name"] for one in fields] == (odd / "table.csv").read_text(encoding="utf-8").split("\n")[
        0
    ].split(",")
    assert (fields[1]["title"], fields[4]["title"]) == ("Income in 1,000 €", 'Ward "A & B"')
    assert fields[4]["description"].startswith("Where <she> lay first. ")
    assert fields[9]["constraints"]["enum"] == ["a|b", "c\x0bd", "grün", 'say "x", y']


def test_the_custodian_gives_title_purpose_and_contact_and_no_more(odd: Path) -> None:
    package = json.loads((odd / "datapackage.json").read_text(encoding="utf-8"))
    assert package["title"] == "Visits of a clinic, release 1"
    assert package["description"].startswith("For research. 40 rows.")
    assert package["contributors"] == [{"title": "data@clinic.example", "role": "contact"}]
    assert package["created"] == "2026-01-05T12:30:00+02:00"
    for file in CODEBOOK:
        text = (odd / file).read_text(encoding="utf-8")
        assert "Visits of a clinic" in text and "data@clinic.example" in text
        assert "Nobody" not in text


def ipums(folder: Path) -> Any:
    from ipumspy import readers

    with pytest.warns(readers.CitationWarning):
        return readers.read_ipums_ddi(folder / "codebook.xml")


@pytest.mark.parametrize("name", ["one", "faked"])
def test_ipumspy_reads_the_table_by_its_codebook(roots: dict[str, Path], name: str) -> None:
    from ipumspy import readers

    folder = roots[name] / "releases" / "0002"
    book = ipums(folder)
    read = readers.read_microdata(book, folder / "table.csv")
    raw = pl.read_csv(folder / "table.csv", infer_schema=False)
    assert list(read.columns) == raw.columns
    assert [str(kind) for kind in read.dtypes] == ["Int64", "string", "string", "string", "string"]
    assert read["diagnosis"].tolist() == raw["diagnosis"].to_list()
    known = {one.name: set(one.codes.values()) for one in book.data_description}
    assert known["diagnosis"] == set(raw["diagnosis"]) and known["gender"] == set(raw["gender"])
    assert (book.file_description.filename, book.file_description.encoding) == ("table.csv", "utf-8")
    assert book.ipums_collection == "diagnosis by age, gender and weight"


def test_ipumspy_reads_numbers_and_odd_texts(odd: Path) -> None:
    from ipumspy import readers

    book = ipums(odd)
    read = readers.read_microdata(
        book,
        odd / "table.csv",
        dtype={one.name: one.pandas_type for one in book.data_description} | {"share": float},
    )
    assert read["beds"].sum() == 60 and read["share"].sum() == 15
    labels = {one.name: one.label for one in book.data_description}
    assert labels["income"] == "Income in 1,000 €" and labels["Diagnosé <&> 😀"] == "Diagnosé <&> 😀"


@pytest.mark.parametrize("name", ["two", "blind"])
def test_ipumspy_reads_the_variables_of_both_tables(roots: dict[str, Path], name: str) -> None:
    from ipumspy.ddi import FileDescription, VariableDescription

    folder = roots[name] / "releases" / "0002"
    root = ET.parse(folder / "codebook.xml").getroot()
    texts = root.findall(f"{DDI}fileDscr/{DDI}fileTxt")
    assert [FileDescription.read(one, DDI[1:-1]).filename for one in texts] == ["people.csv", "values.csv"]
    read = [
        (one.get("files"), VariableDescription.read(one, DDI[1:-1]).name) for one in root.iter(f"{DDI}var")
    ]
    headers = [pl.read_csv(folder / file, n_rows=0).columns for file in ("people.csv", "values.csv")]
    assert read == [(f"F{i}", column) for i, columns in enumerate(headers, start=1) for column in columns]


ORDER = {
    "codeBook": "docDscr stdyDscr fileDscr dataDscr otherMat",
    "docDscr": "citation",
    "citation": "titlStmt prodStmt distStmt serStmt verStmt",
    "titlStmt": "titl",
    "prodStmt": "prodDate software",
    "distStmt": "contact",
    "serStmt": "serName serInfo",
    "verStmt": "version",
    "stdyDscr": "citation stdyInfo method dataAccs",
    "stdyInfo": "abstract sumDscr",
    "sumDscr": "timePrd",
    "method": "notes",
    "dataAccs": "useStmt",
    "useStmt": "contact citReq conditions",
    "fileDscr": "fileTxt",
    "fileTxt": "fileName fileCont fileStrc dimensns fileType format filePlac dataMsng",
    "dimensns": "caseQnty varQnty",
    "dataDscr": "var",
    "var": "location labl txt catgry concept varFormat",
    "catgry": "catValu labl",
    "otherMat": "labl txt",
}
"""The elements that are used, in the order in which DDI-Codebook 2.5 has them."""


@pytest.mark.parametrize("name", [*MAKE, "odd"])
def test_elements_of_the_ddi_stand_in_the_order_of_the_standard(
    roots: dict[str, Path], odd: Path, name: str
) -> None:
    folder = odd if name == "odd" else roots[name] / "releases" / "0002"
    root = ET.parse(folder / "codebook.xml").getroot()
    assert root.tag == f"{DDI}codeBook" and root.get("version") == "2.5"
    for element in root.iter():
        tag = element.tag.removeprefix(DDI)
        children = [child.tag.removeprefix(DDI) for child in element]
        order = ORDER.get(tag, "").split()
        assert set(children) <= set(order), (tag, children)
        assert children == sorted(children, key=order.index), tag
    ids = [element.get("ID") for element in root.iter() if element.get("ID")]
    assert len(set(ids)) == len(ids)
    referred = {name for element in root.iter() for name in (element.get("files") or "").split()}
    assert referred <= set(ids)


def test_dcat_says_the_series_and_the_release_before(roots: dict[str, Path]) -> None:
    from rdflib import Graph, Namespace, URIRef
    from rdflib.namespace import DCTERMS, RDF

    dcat = Namespace("http://www.w3.org/ns/dcat#")
    base = "https://data.example/visits/"
    for number in (1, 2):
        folder = roots["two"] / "releases" / f"{number:04d}"
        here = f"{base}{number:04d}/"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of the parser's own
            graph = Graph().parse(folder / "dcat.jsonld", format="json-ld", publicID=f"{here}dcat.jsonld")
        release, series = URIRef(here), URIRef(base)
        prev = [URIRef(f"{base}0001/")] if number == 2 else []
        assert list(graph.subjects(RDF.type, dcat.Dataset)) == [release]
        assert list(graph.subjects(RDF.type, dcat.DatasetSeries)) == [series]
        assert list(graph.objects(release, dcat.inSeries)) == [series]
        assert list(graph.objects(release, dcat.prev)) == prev
        assert list(graph.objects(series, dcat.first)) == [URIRef(f"{base}0001/")]
        (issued,) = graph.objects(release, DCTERMS.issued)
        assert issued.toPython().isoformat() == f"2026-01-{5 if number == 1 else 12:02d}T00:00:00+00:00"
        files = {
            str(url).removeprefix(here)
            for one in graph.objects(release, dcat.distribution)
            for url in graph.objects(one, dcat.downloadURL)
        }
        tables = {path.name for path in folder.iterdir() if path.suffix in (".csv", ".parquet")}
        assert files == tables


@pytest.mark.parametrize("name", MAKE)
def test_no_file_of_a_release_tells_seed_secret_or_place(
    roots: dict[str, Path], hospital_folder: Path, name: str
) -> None:
    identifiers = pl.read_csv(sorted((hospital_folder / "views").iterdir())[0], infer_schema=False)[
        "patient"
    ].to_list()
    fingerprint = Series.open(roots[name]).ledger.entries()[0].payload["secret"]
    told = [str(SEED), SECRET, fingerprint, str(roots[name]), roots[name].parent.name, *identifiers[:20]]
    for path in sorted((roots[name] / "releases").rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            assert [text for text in told if text.encode() in data] == [], path.name


def test_no_file_names_the_ends_that_open_cells_hide(tmp_path: Path) -> None:
    rows = 60
    incomes = [1_717_171, *(5_000_000 + 1000 * i for i in range(rows - 2)), 9_393_939]
    view = pl.DataFrame(
        {"id": [f"p{i}" for i in range(rows)], "income": incomes, "dx": ["flu", "cold", "gout"] * 20}
    )
    made = Series.create(
        tmp_path / "s", Schema("id", [Number("income")], "dx"), TauSafety(3), form=TwoTables(5)
    )
    made.publish(view)
    made.ledger.close()
    folder = tmp_path / "s" / "releases" / "0001"
    assert "<=50" in (folder / "people.csv").read_text()
    for path in folder.iterdir():
        text = path.read_bytes()
        assert b"1717171" not in text and b"9393939" not in text, path.name


def test_values_that_only_an_earlier_release_has_are_not_named(tmp_path: Path) -> None:
    made = Series.create(tmp_path / "s", Schema("id", [Number("age")], "dx"), Mondrian(2), one_table=True)
    for values in (["flu", "flu", "rare", "rare"], ["flu", "flu", "flu", "cold"]):
        made.publish(pl.DataFrame({"id": ["a", "b", "c", "d"], "age": [1, 2, 3, 4], "dx": values}))
    made.ledger.close()
    for number, rare in ((1, True), (2, False)):
        for file in CODEBOOK[:2]:
            assert ("rare" in (tmp_path / f"s/releases/{number:04d}/{file}").read_text()) == rare


def test_the_codebook_is_in_the_ledger_in_backups_and_must_stay_as_it_is(
    roots: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)
    backup(roots["one"], tmp_path / "all.tar")
    restore(tmp_path / "all.tar", tmp_path / "back")
    series = Series.open(tmp_path / "back")
    assert {f"releases/0002/{file}" for file in CODEBOOK} <= set(series.record(2).payload["files"])
    assert series.verify().holds
    (tmp_path / "back" / "releases" / "0002" / "codebook.xml").write_text("<codeBook/>")
    found = series.verify()
    assert any("codebook.xml was altered" in problem for problem in found.problems)
    series.ledger.close()


@pytest.mark.parametrize("form", [None, TwoTables(5)])
def test_a_release_made_in_parts_has_a_codebook(
    tmp_path: Path, hospital_folder: Path, form: TwoTables | None
) -> None:
    schema = read_schema(hospital_folder / "schema.toml")
    made = Series.create(tmp_path / "s", schema, TauSafety(3), form=form)
    for view in sorted((hospital_folder / "views").iterdir())[:3]:
        made.publish(view, engine=Here(parts=2))
    assert made.verify().holds
    made.ledger.close()
    folder = tmp_path / "s" / "releases" / "0003"
    names, report = package_report(folder)
    assert report.valid, report.flatten(["type", "note"])
    assert names[0] == ("people" if form else "table")
    package = json.loads((folder / "datapackage.json").read_text())
    described = {
        one["name"]: [field["name"] for field in one["schema"]["fields"]] for one in package["resources"]
    }
    for name in ("people", "values") if form else ("table",):
        part = next((folder / f"{name}.parquet").iterdir())
        assert described[name] == pl.read_parquet_schema(part).names()
    listed = [
        path
        for one in package["resources"]
        for path in ([one["path"]] if isinstance(one["path"], str) else one["path"])
    ]
    files = [path for path in folder.rglob("*") if path.is_file() and path.parent != folder]
    assert sorted(listed) == sorted(path.relative_to(folder).as_posix() for path in files)
    assert ET.parse(folder / "codebook.xml").getroot().find(f"{DDI}dataDscr/{DDI}var") is not None


def test_a_series_toml_that_says_nothing_gives_the_columns_as_title(roots: dict[str, Path]) -> None:
    assert "report" not in tomllib.loads((roots["one"] / "series.toml").read_text())
    package = json.loads((roots["one"] / "releases/0001/datapackage.json").read_text())
    assert package["title"] == "diagnosis by age, gender and weight, release 1"
