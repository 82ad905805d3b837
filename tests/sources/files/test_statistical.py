from __future__ import annotations

import sys
from contextlib import suppress
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pyreadstat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish.errors import ViewError
from republish.schema import Category, Number, Schema
from republish.sources.files.formats import format_of
from republish.sources.propose import propose
from republish.sources.tables import header, read_raw, read_table
from sources.files.sas_files import write_sas7bdat

FRAME = pd.DataFrame(
    {
        "id": ["a", "b", "c", "d"],
        "age": [30.0, 41.0, 99.0, 52.5],
        "sex": [1.0, 2.0, 2.0, 9.0],
        "scale": [1.0, 3.0, 5.0, 2.0],
        "born": [date(2020, 1, 2), date(2020, 1, 3), None, date(2021, 1, 1)],
    }
)
LABELS = {"sex": {1: "male", 2: "female"}, "scale": {1: "never", 5: "always"}}


@pytest.fixture
def spss(tmp_path: Path) -> Path:
    path = tmp_path / "v.sav"
    pyreadstat.write_sav(
        FRAME,
        str(path),
        variable_value_labels=LABELS,
        missing_ranges={"age": [{"lo": 99, "hi": 99}], "sex": [9]},
    )
    return path


def test_labels_stand_for_values_and_declared_codes_are_missing(spss: Path) -> None:
    assert header(spss) == ["id", "age", "sex", "scale", "born"]
    assert read_table(spss).rows() == [
        ("a", 30.0, "male", 1, date(2020, 1, 2)),
        ("b", 41.0, "female", 3, date(2020, 1, 3)),
        ("c", None, "female", 5, None),
        ("d", 52.5, None, 2, date(2021, 1, 1)),
    ]


def test_the_schema_says_whether_a_scale_has_numbers_or_labels(spss: Path) -> None:
    numbers = read_raw(spss, Schema("id", [Number("scale"), Category("sex")]))
    labels = read_raw(spss, Schema("id", [Category("scale"), Number("sex")]))
    assert numbers["scale"].to_list() == [1, 3, 5, 2] and numbers["sex"].to_list()[0] == "male"
    assert labels["scale"].to_list() == ["never", "3", "always", "2"] and labels["sex"].to_list()[0] == 1


def test_a_stata_file_is_a_table(tmp_path: Path) -> None:
    for version in (8, 15):
        path = tmp_path / f"v{version}.dta"
        pyreadstat.write_dta(
            FRAME.drop(columns="born"), str(path), variable_value_labels=LABELS, version=version
        )
        assert format_of(path) == "a Stata file"
        assert read_table(path)["scale"].to_list() == [1, 3, 5, 2]


def test_a_sas_transport_file_is_a_table(tmp_path: Path) -> None:
    path = tmp_path / "v.xpt"
    pyreadstat.write_xport(FRAME[["id", "age"]], str(path))
    assert read_table(path).rows()[0] == ("a", 30.0)


@pytest.fixture
def sas(tmp_path: Path) -> Path:
    path = tmp_path / "v.sas7bdat"
    write_sas7bdat(path, {"id": ["a", "b", "c"], "age": [30.0, None, 52.5], "sex": ["m", "f", "f"]})
    return path


def test_a_sas_file_is_a_table(sas: Path) -> None:
    assert format_of(sas) == "a SAS file"
    assert header(sas) == ["id", "age", "sex"]
    assert read_table(sas).rows() == [("a", 30.0, "m"), ("b", None, "f"), ("c", 52.5, "f")]


def test_a_sas_file_is_a_view(sas: Path) -> None:
    schema = Schema("id", [Number("age")], Category("sex"))
    assert read_raw(sas, schema)["age"].to_list() == [30.0, None, 52.5]


@pytest.mark.parametrize("cut", [40, 300, 2000, -100])
def test_a_damaged_sas_file_is_refused_without_a_cell(tmp_path: Path, sas: Path, cut: int) -> None:
    path = tmp_path / "cut.sas7bdat"
    path.write_bytes(sas.read_bytes()[:cut])
    with pytest.raises(ViewError, match="starts like a SAS file and cannot be read as one"):
        read_table(path)


def test_roles_are_proposed_for_it(spss: Path) -> None:
    found = {p.name: (p.role, p.looks) for p in propose(spss)}
    assert found["id"] == ("identifier", "text, mostly unique")
    assert found["sex"] == ("quasi-identifier", "2 labels, 25% missing")
    assert found["born"] == ("quasi-identifier", "dates, 25% missing")


@pytest.mark.parametrize("cut", [4, 100, 300, -20])
def test_a_damaged_file_is_refused_without_a_cell(tmp_path: Path, spss: Path, cut: int) -> None:
    path = tmp_path / "cut.sav"
    path.write_bytes(spss.read_bytes()[:cut])
    with pytest.raises(ViewError, match="starts like an SPSS file and cannot be read as one"):
        read_table(path)


def test_without_its_library_the_extra_is_named(spss: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(ViewError, match=r"is an SPSS file; to read it install republish\[files\]"):
        read_table(spss)


@settings(max_examples=8, deadline=None)
@given(st.data())
def test_whatever_a_stranger_sends_is_read_or_refused(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "v.sav"
        pyreadstat.write_sav(FRAME, str(path), variable_value_labels=LABELS)
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 8))):
            content[data.draw(st.integers(4, len(content) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(content)
        with suppress(ViewError):
            read_table(path)


def test_a_file_that_crashes_the_library_is_refused_and_we_live(
    spss: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crashing = spss.with_name("crashing.py")
    crashing.write_text("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    monkeypatch.setattr("republish.sources.files.statistical._PROCESS", crashing)
    with pytest.raises(ViewError, match="starts like an SPSS file and cannot be read as one"):
        read_table(spss)
