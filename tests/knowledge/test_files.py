"""Knowledge in files: round trips, other forms, and one test for each thing that can be wrong."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.random_knowledge import random_knowledge
from republish import Category, Date, Number, PolicyError, Schema, read_schema
from republish.datasets.progression import NONE, VALUES, progression
from republish.knowledge import Bands, Classes, Extracted, Knowledge, Listed, read_knowledge

SCHEMA = Schema("id", [Category("sex")], "result")
CLOSED = Schema("id", [Category("sex", domain=("F", "M"))], Category("result", domain=("v0", "v1", "v2")))


def read(folder: Path, schema: Schema = SCHEMA) -> Knowledge:
    knowledge = read_knowledge(folder, schema)
    assert isinstance(knowledge, Knowledge)
    return knowledge


def test_the_knowledge_of_the_hospital_is_that_of_its_model(hospital_folder: Path) -> None:
    knowledge = read(hospital_folder / "knowledge", read_schema(hospital_folder / "schema.toml"))
    exact = progression()
    m = len(VALUES)
    assert knowledge.sequential is not None
    assert knowledge.values.to_list() == list(VALUES)
    assert (knowledge.order, knowledge.terminal) == (2, (NONE, NONE + 1))
    assert np.array_equal(knowledge.prior[:18], exact.prior)
    assert np.array_equal(knowledge.sequential[:18, :NONE, :NONE], exact.sequential[:, :NONE])
    assert np.array_equal(knowledge.sequential[:18, m, :NONE], exact.sequential[:, NONE])
    assert not knowledge.sequential[:, NONE:m].any()
    assert not knowledge.sequential[:, :, NONE:].any()


def test_the_knowledge_of_the_hospital_is_written_as_it_was(hospital_folder: Path, tmp_path: Path) -> None:
    schema = read_schema(hospital_folder / "schema.toml")
    knowledge = read(hospital_folder / "knowledge", schema)
    knowledge.write(tmp_path)
    for name in ("prior.csv", "sequential.csv"):
        assert (tmp_path / name).read_bytes() == (hospital_folder / "knowledge" / name).read_bytes()
    assert read(tmp_path / "knowledge.toml", schema).digest() == knowledge.digest()


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 3))
def test_what_is_written_is_read_exactly(
    tmp_path_factory: pytest.TempPathFactory, seed: int, m: int, order: int
) -> None:
    folder = tmp_path_factory.mktemp("written")
    knowledge = random_knowledge(seed, m, order, terminal=(m - 1,))
    knowledge.write(folder)
    assert read(folder).digest() == knowledge.digest()


def test_a_snapshot_is_written_without_sequential_knowledge(tmp_path: Path) -> None:
    knowledge = random_knowledge(1).steps(0)
    knowledge.write(tmp_path)
    assert not (tmp_path / "sequential.csv").exists()
    assert read(tmp_path).digest() == knowledge.digest()


@pytest.mark.parametrize(
    "values, column",
    [
        (["a", None, "missing"], Category("s")),
        ([1.0, 2.5, None], Number("s")),
        ([date(2020, 1, 1), None, date(2019, 1, 1)], Date("s")),
    ],
)
def test_missing_values_numbers_and_dates_survive(
    tmp_path: Path, values: list[object], column: object
) -> None:
    table = np.zeros((1, 16, 3, 3))
    table[0, :, :, :] = [0.5, 0.25, 0.25]
    table[0, 5] = 0
    everyone = Classes.everyone()
    knowledge = Knowledge(pl.Series("s", values), everyone, np.array([[0.2, 0.3, 0.5]]), table, 3, (0, 1))
    knowledge.write(tmp_path)
    again = read(tmp_path, Schema("id", [Category("sex")], column))  # type: ignore[arg-type]
    assert again.values.to_list() == values
    assert again.digest() == knowledge.digest()


def test_knowledge_without_the_name_of_its_column_is_not_written(tmp_path: Path) -> None:
    knowledge = Knowledge(pl.Series(["a"]), Classes.everyone(), np.array([[1.0]]))
    with pytest.raises(PolicyError, match="name of the sensitive column"):
        knowledge.write(tmp_path)


def test_tables_may_be_parquet_and_leave_out_zeros(tmp_path: Path) -> None:
    pl.DataFrame({"value": ["b", "a"], "p": [0.25, 0.75]}).write_parquet(tmp_path / "prior.parquet")
    rows = {"last1": ["a", "c"], "next": ["c", "b"], "p": [1.0, 1.0]}
    pl.DataFrame(rows).write_parquet(tmp_path / "next.parquet")
    (tmp_path / "knowledge.toml").write_text(
        'sensitive = "result"\norder = 1\nprior = "prior.parquet"\nsequential = "next.parquet"\n'
    )
    knowledge = read(tmp_path)
    assert knowledge.values.to_list() == ["b", "a", "c"]
    assert knowledge.prior.tolist() == [[0.25, 0.75, 0.0]]
    assert knowledge.sequential is not None
    assert knowledge.sequential[0, 0].tolist() == [[0, 0, 0], [0, 0, 1], [1, 0, 0]]


TOML = """\
sensitive = "result"
order = 2
prior = "prior.csv"
sequential = "sequential.csv"
terminal = ["v2"]
[classes.sex]
values = ["F", "M"]
"""
PRIOR = """\
sex,value,p
F,v0,0.5
F,v1,0.5
M,v1,0.25
M,v2,0.75
"""
SEQUENTIAL = """\
sex,last2,last1,next,p
F,,v0,v1,1
F,v0,v1,v2,0.5
F,v0,v1,v0,0.5
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("knowledge.toml", TOML), ("prior.csv", PRIOR), ("sequential.csv", SEQUENTIAL)):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_files_of_the_bad_examples_are_good_as_they_stand(folder: Path) -> None:
    assert read(folder, CLOSED).values.to_list() == ["v0", "v1", "v2"]


BAD = {
    "an unknown setting": ("knowledge.toml", "order = 2", 'order = 2\ncolour = "red"', "no setting colour"),
    "no TOML": ("knowledge.toml", "order = 2", "order == 2", "not valid TOML"),
    "another sensitive column": ("knowledge.toml", '"result"', '"age"', "must name the sensitive column"),
    "no prior": ("knowledge.toml", 'prior = "prior.csv"', "", "prior must be the name of a file"),
    "a prior of another type": ("knowledge.toml", '"prior.csv"', "1", "prior must be the name of a file"),
    "an order out of range": ("knowledge.toml", "order = 2", "order = 4", "must be 1, 2 or 3"),
    "no order": ("knowledge.toml", "order = 2", "", "must be 1, 2 or 3"),
    "an order for nothing": (
        "knowledge.toml",
        'sequential = "sequential.csv"',
        "",
        "order is for sequential",
    ),
    "another order than the table": ("knowledge.toml", "order = 2", "order = 3", "without: last3"),
    "a table that is not there": ("knowledge.toml", "prior.csv", "p.csv", "there is no file"),
    "terminal of another type": ("knowledge.toml", '["v2"]', '"v2"', "terminal is a list"),
    "a terminal value not listed": (
        "knowledge.toml",
        '["v2"]',
        '["v9"]',
        "1 of 1 rows hold a value in terminal",
    ),
    "a strange missing mark": (
        "knowledge.toml",
        "order = 2",
        "order = 2\nmissing = 1",
        "missing is the text",
    ),
    "smoothing of files": ("knowledge.toml", "order = 2", "order = 2\nsmoothing = 1", "smoothing is for"),
    "negative smoothing": ("knowledge.toml", "order = 2", "order = 2\nsmoothing = -1", "smoothing must be"),
    "another word for unseen contexts": (
        "knowledge.toml",
        "order = 2",
        'order = 2\nunseen = "never"',
        "unseen must be one of shorter, zero",
    ),
    "classes of no column": ("knowledge.toml", "classes.sex", "classes.age", "none called age"),
    "classes of another form": ("knowledge.toml", "[classes.sex]\nvalues", "classes", "classes are tables"),
    "a column too many": ("sequential.csv", "next,p\n", "next,p,q\n", "sequential.csv cannot be read"),
    "a class column not declared": ("prior.csv", "sex,", "age,", "without: sex; not known: age"),
    "a class not declared": ("prior.csv", "F,v", "X,v", "2 of 4 rows name a class"),
    "a p above 1": ("prior.csv", "0.75", "1.75", "1 of 4 rows have a p"),
    "a p that is no number": ("prior.csv", "0.75", "much", "1 of 4 rows have a p"),
    "no p": ("prior.csv", "0.75", "", "1 of 4 rows have a p"),
    "an unlisted value": ("sequential.csv", "v1,v2", "v1,v7", "1 of 3 rows hold a value in next"),
    "no next value": ("sequential.csv", "v1,v2", "v1,", "1 of 3 rows have no value in column next"),
    "a class that does not sum to 1": ("prior.csv", "0.75", "0.5", "those of 1 of 2 classes"),
    "a class without a prior": ("prior.csv", "M,", "F,", "1 rows repeat one"),
    "a context that does not sum to 1": ("sequential.csv", "v1,1", "v1,0.9", "those of 1 of 2 contexts"),
    "a context of zeros": ("sequential.csv", "v1,1", "v1,0", "those of 1 of 2 contexts"),
    "a row twice": ("sequential.csv", "v2,0.5", "v0,0.5", "1 rows repeat one"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_with_a_count(folder: Path, name: str) -> None:
    file, good, bad, message = BAD[name]
    path = folder / file
    text = path.read_text()
    assert good in text
    path.write_text(text.replace(good, bad))
    with pytest.raises(PolicyError, match=message) as error:
        read(folder, CLOSED)
    assert "v7" not in str(error.value)
    assert "v9" not in str(error.value)


def test_a_class_with_no_rows_has_no_prior(folder: Path) -> None:
    (folder / "prior.csv").write_text("sex,value,p\nF,v0,1\n")
    with pytest.raises(PolicyError, match="those of 1 of 2 classes"):
        read(folder)


def test_empty_tables_are_refused(folder: Path) -> None:
    (folder / "prior.csv").write_text("sex,value,p\n")
    (folder / "sequential.csv").write_text("sex,last2,last1,next,p\n")
    with pytest.raises(PolicyError, match="have no rows"):
        read(folder)


def test_a_folder_without_knowledge_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="there is no file"):
        read(tmp_path)


def test_a_schema_without_a_sensitive_column_is_refused(folder: Path) -> None:
    with pytest.raises(PolicyError, match="the schema has none"):
        read(folder, Schema("id", [Category("sex")]))


def test_a_number_outside_the_domain_is_refused(tmp_path: Path) -> None:
    (tmp_path / "knowledge.toml").write_text('sensitive = "dose"\nprior = "prior.csv"\n')
    (tmp_path / "prior.csv").write_text("value,p\n1,0.5\n11,0.5\n")
    with pytest.raises(PolicyError, match="1 of 2 rows hold a number in value outside"):
        read(tmp_path, Schema("id", [Category("sex")], Number("dose", domain=(0, 10))))
    (tmp_path / "prior.csv").write_text("value,p\n1,0.5\nx,0.5\n")
    with pytest.raises(PolicyError, match="cells must be numbers"):
        read(tmp_path, Schema("id", [Category("sex")], Number("dose")))


def test_a_gap_in_a_context_is_refused(tmp_path: Path) -> None:
    (tmp_path / "knowledge.toml").write_text(
        'sensitive = "result"\norder = 3\nprior = "prior.csv"\nsequential = "sequential.csv"\n'
    )
    (tmp_path / "prior.csv").write_text("value,p\na,1\n")
    (tmp_path / "sequential.csv").write_text("last3,last2,last1,next,p\na,,a,a,1\n,a,a,a,1\n")
    with pytest.raises(PolicyError, match="1 of 2 rows have a value in last3 and none in last2"):
        read(tmp_path)


def test_a_table_that_would_not_fit_is_refused(tmp_path: Path) -> None:
    values = [f"v{code}" for code in range(600)]
    pl.DataFrame({"value": values, "p": 1 / 600}).write_csv(tmp_path / "prior.csv")
    (tmp_path / "sequential.csv").write_text("last2,last1,next,p\nv0,v0,v0,1\n")
    (tmp_path / "knowledge.toml").write_text(
        'sensitive = "result"\norder = 2\nprior = "prior.csv"\nsequential = "sequential.csv"\n'
    )
    with pytest.raises(PolicyError, match="lower the order"):
        read(tmp_path)


def test_knowledge_from_the_views_is_a_source(folder: Path) -> None:
    text = TOML.replace('"prior.csv"', '"views"').replace('"sequential.csv"', '"views"\nsmoothing = 2')
    (folder / "knowledge.toml").write_text(text)
    source = read_knowledge(folder, CLOSED)
    assert isinstance(source, Extracted)
    assert (source.order, source.terminal, source.smoothing) == (2, ("v2",), 2.0)
    assert source.classes == Classes((Listed("sex", ("F", "M")),))
    assert (source.prior, source.sequential, source.remembered) == (None, None, 2)


def test_words_beside_the_tables_are_written_and_read(folder: Path, tmp_path: Path) -> None:
    words = 'unseen = "zero"\ngaps = "count"\n'
    (folder / "knowledge.toml").write_text(words + TOML)
    knowledge = read(folder)
    assert (knowledge.unseen, knowledge.gaps) == ("zero", "count")
    knowledge.write(tmp_path / "again")
    assert read(tmp_path / "again").digest() == knowledge.digest()
    (folder / "knowledge.toml").write_text(words + TOML.replace('"prior.csv"', '"views"'))
    source = read_knowledge(folder, SCHEMA)
    assert (source.unseen, source.gaps) == ("zero", "count")
    assert isinstance(source, Extracted)
    source.write(tmp_path / "source", "result")
    assert read_knowledge(tmp_path / "source", SCHEMA).digest() == source.digest()
    assert source.knowledge(source.start(), knowledge.values).unseen == "zero"


@pytest.mark.parametrize("part", ["prior", "sequential"])
def test_one_part_may_come_from_the_views(folder: Path, part: str) -> None:
    whole = read(folder)
    (folder / "knowledge.toml").write_text(TOML.replace(f'"{part}.csv"', '"views"'))
    source = read_knowledge(folder, SCHEMA)
    assert isinstance(source, Extracted)
    knowledge = source.knowledge(source.start(), whole.values)
    assert knowledge.sequential is not None
    assert whole.sequential is not None
    if part == "prior":
        assert np.allclose(knowledge.prior, 1 / 3)
        assert np.array_equal(knowledge.sequential, whole.sequential)
        assert source.remembered == 1
    else:
        assert np.array_equal(knowledge.prior, whole.prior)
        assert not knowledge.sequential.any()
        assert source.remembered == 2
    assert knowledge.terminal == (2,)


def test_bands_of_dates_may_be_written_either_way(tmp_path: Path) -> None:
    schema = Schema("id", [Date("born")], "result")
    (tmp_path / "prior.csv").write_text("born,value,p\nold,a,1\n")
    for days in ('["1990-01-01", "2000-01-01"]', "[1990-01-01, 2000-01-01]"):
        (tmp_path / "knowledge.toml").write_text(
            f'sensitive = "result"\nprior = "prior.csv"\n[classes.born]\nbreaks = {days}\nlabels = ["old"]\n'
        )
        bands = Bands("born", (date(1990, 1, 1), date(2000, 1, 1)), ("old",))
        assert read(tmp_path, schema).classes == Classes((bands,))
