from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from republish.errors import SchemaError, ViewError
from republish.microdata import read_view
from republish.schema import Category, Date, Number, Schema
from republish.sources.propose import (
    Proposal,
    propose,
    rivals,
    schema_from,
    with_identifier,
    with_sensitive,
)

CSV = """patient_id,name,age,zip,born,gender,diagnosis
P1,Ada,41,02139,1979-01-05,F,flu
P2,Bob,41,02140,1979-01-05,M,cold
P3,Bob,37,12030,1984-12-31,F,flu
P4,Cy,,02139,1984-12-31,F,
"""


def roles(**columns: list[Any]) -> dict[str, tuple[str, str | None]]:
    return {p.name: (p.role, p.kind) for p in propose(pl.DataFrame(columns))}


def test_a_hospital_table_is_understood(tmp_path: Path) -> None:
    (tmp_path / "view.csv").write_text(CSV)
    proposals = propose(tmp_path / "view.csv")
    assert schema_from(proposals) == Schema(
        "patient_id",
        [Number("age"), Category("zip"), Date("born"), Category("gender")],
        Category("diagnosis"),
        dropped=["name"],
    )
    assert read_view(tmp_path / "view.csv", schema_from(proposals)).rows == 4


def test_typed_columns_are_understood() -> None:
    found = roles(
        id=[7, 8, 9], born=[date(2020, 1, 1)] * 3, smoker=[True, False, None], weight=[50.5, 60, None]
    )
    assert found == {
        "id": ("identifier", None),
        "born": ("quasi-identifier", "date"),
        "smoker": ("quasi-identifier", "category"),
        "weight": ("quasi-identifier", "number"),
    }


def test_a_name_of_an_identifier_comes_before_other_unique_texts() -> None:
    found = roles(name=["Ada", "Bob"], patient_id=["P1", "P2"], age=[1, 1])
    assert found["name"] == ("drop", None)
    assert found["patient_id"] == ("identifier", None)


def test_a_unique_text_is_an_identifier_without_such_a_name() -> None:
    assert roles(code=["a", "b", "c"], age=[1, 1, 1])["code"] == ("identifier", None)


def test_a_unique_number_is_none_without_such_a_name() -> None:
    assert roles(height=[1, 2, 3])["height"] == ("quasi-identifier", "number")


def test_repeated_identifiers_are_counted_and_not_shown() -> None:
    (proposal,) = propose(pl.DataFrame({"patient": ["SECRETCELL", "SECRETCELL", "b", "c"]}))
    assert proposal == Proposal(
        "patient", "identifier", None, "its name, though 1 of 4 rows have no value of their own"
    )


def test_the_last_private_column_is_the_sensitive_one_and_others_are_left_out() -> None:
    table = pl.DataFrame({"drug": ["a", "b", "a"], "diagnosis": ["x", "y", "x"]})
    found = propose(table)
    assert [p.role for p in found] == ["drop", "sensitive"]
    assert rivals(found) == ["drug"]


def test_private_values_count_more_than_a_heading() -> None:
    ill = ["flu", "cold", "asthma", "ulcer", "hiv"] * 20
    found = propose(pl.DataFrame({"diagnosis": ill, "health_region": ["north", "south"] * 50}))
    assert [p.role for p in found] == ["sensitive", "drop"]
    assert rivals(found) == ["health_region"]


def test_of_two_columns_of_illness_a_person_says_which_is_protected() -> None:
    ill = ["flu", "asthma", "diabetes", "hiv"] * 20
    assert rivals(propose(pl.DataFrame({"first": ill, "second": ill[::-1]}))) == ["first"]


def test_an_occupation_stays_known_from_elsewhere() -> None:
    found = propose(pl.DataFrame({"occupation": ["cook", "nurse"] * 5, "income": [1, 2] * 5}))
    assert [p.role for p in found] == ["quasi-identifier", "sensitive"]
    assert rivals(found) == []


def test_a_private_name_counts_more_than_different_values() -> None:
    assert roles(name=["Ada", "Bob"], disease=["flu", "cold"]) == {
        "name": ("identifier", None),
        "disease": ("sensitive", "category"),
    }


def test_long_texts_are_better_dropped() -> None:
    (proposal,) = propose(pl.DataFrame({"remark": ["long text " * 10] * 2}))
    assert proposal.role == "drop"


@pytest.mark.parametrize("text", ["20-01-05", "2020-1-5"])
def test_a_kind_is_proposed_only_where_the_view_can_be_read(text: str) -> None:
    assert roles(when=[text, text])["when"] == ("quasi-identifier", "category")


def test_a_nan_among_numbers_is_missing() -> None:
    assert roles(x=["nan", "1", "1"])["x"] == ("quasi-identifier", "number")


def test_a_view_without_rows_has_categories_only() -> None:
    assert roles(id=[], age=[]) == {
        "id": ("quasi-identifier", "category"),
        "age": ("quasi-identifier", "category"),
    }


def test_one_row_names_its_identifier() -> None:
    assert roles(id=["a"], city=["x"]) == {
        "id": ("identifier", None),
        "city": ("quasi-identifier", "category"),
    }


def test_lists_are_refused() -> None:
    with pytest.raises(ViewError, match="column x: a cell must be one text"):
        propose(pl.DataFrame({"x": [[1], [2]]}))


def test_two_identifiers_or_sensitive_columns_are_refused() -> None:
    rest = [Proposal("q", "quasi-identifier", "number", "")]
    for role in ("identifier", "sensitive"):
        with pytest.raises(SchemaError, match="give the others another role"):
            schema_from([*rest, Proposal("a", role, None, ""), Proposal("b", role, None, "")])


def test_insensitive_columns_are_kept() -> None:
    proposals = [Proposal("q", "quasi-identifier", "date", ""), Proposal("n", "insensitive", None, "")]
    assert schema_from(proposals) == Schema(None, [Date("q")], None, ["n"])


def test_a_first_row_of_texts_is_no_header_either(tmp_path: Path) -> None:
    """An identifier, a place, a grade, a gender: none is a number, and all are cells."""
    rows = [f"P{i:07d},{('Ohio', 'Maine')[i % 2]},grade 12,{'MF'[i % 2]}" for i in range(10)]
    path = tmp_path / "view.csv"
    path.write_text("\n".join(rows) + "\n")
    with pytest.raises(ViewError, match="add a header") as refused:
        propose(path)
    assert not any(cell in str(refused.value) for cell in ("Ohio", "P0000000", "grade"))


HEADINGS = {
    "English": ("patient_id", "name", "email", "age", "diagnosis"),
    "German": ("Fall", "Nachname", "Mailadresse", "Alter", "Befund"),
    "French": ("numero", "nom", "courriel", "âge", "maladie"),
    "Spanish": ("caso", "nombre", "correo", "edad", "enfermedad"),
    "Italian": ("caso", "cognome", "posta", "età", "malattia"),
    "Portuguese": ("caso", "nome", "correio", "idade", "doença"),
    "Dutch": ("dossier", "naam", "mailadres", "leeftijd", "ziekte"),
    "Polish": ("sprawa", "nazwisko", "poczta", "wiek", "choroba"),
    "none": ("c1", "c2", "c3", "c4", "c5"),
}


@pytest.mark.parametrize("language", HEADINGS)
def test_nothing_that_names_people_is_proposed_whatever_the_heading(language: str) -> None:
    given, family = ["Ben", "Dora", "Anna", "Carl", "Emil"], ["Quandt", "Ziegler", "Ott", "Voigt"]
    cells = (
        [f"P{i}" for i in range(200)],
        [f"{given[i % 5]} {family[i % 4]}{'abcdefghijk'[i % 11]}" for i in range(200)],
        [f"u{i % 167}@mail.de" for i in range(200)],
        [20 + i % 60 for i in range(200)],
        [["influenza", "asthma", "HIV", "gastritis"][i % 4] for i in range(200)],
    )
    found = propose(pl.DataFrame(dict(zip(HEADINGS[language], cells, strict=True))))
    assert [p.role for p in found] == ["identifier", "drop", "drop", "quasi-identifier", "sensitive"]


def test_a_text_of_most_people_is_dropped_and_the_reason_says_how_many() -> None:
    found = propose(pl.DataFrame({"id": range(200), "key": [f"x{i % 167}" for i in range(200)]}))
    assert (found[1].role, found[1].why) == (
        "drop",
        "167 different values in 200 rows: they would name people",
    )


@pytest.mark.parametrize(
    "cells",
    [
        [i % 67 for i in range(200)],
        [70.5 + 0.1 * i for i in range(200)],
        [f"{i % 120:05d}" for i in range(200)],
        [("Köln", "Bad Homburg", "San José", "Gdańsk")[i % 4] for i in range(200)],
    ],
    ids=["age", "weight of each", "zip codes", "towns"],
)
def test_what_is_known_from_elsewhere_stays_a_quasi_identifier(cells: list[Any]) -> None:
    found = propose(pl.DataFrame({"id": [f"P{i}" for i in range(200)], "x": cells}))
    assert found[1].role == "quasi-identifier"


def test_coordinates_and_phones_in_numbers_are_dropped() -> None:
    found = roles(
        x=[48.1371, 48.2012, 47.9991], y=[4915112345678, 4915112345679, 4915112345680], lat=[48.1, 48.2, 47.9]
    )
    assert {role for role, _ in found.values()} == {"drop"}


def test_a_diagnosis_in_prose_is_dropped() -> None:
    prose = [f"comes with pain in the back, for the {i}th time, and asks for rest" for i in range(30)]
    assert roles(id=list(range(30)), diagnosis=[*prose[:-1], prose[0]])["diagnosis"] == ("drop", None)


def test_an_occupation_is_sensitive_where_nothing_else_is() -> None:
    assert roles(town=["x", "x"], Beruf=["Koch", "Arzt"])["Beruf"] == ("sensitive", "category")
    found = roles(illness=["flu", "cold", "flu"], occupation=["cook", "cook", "nurse"])
    assert found["illness"][0] == "sensitive" and found["occupation"][0] == "quasi-identifier"


def test_another_column_can_be_said_to_be_sensitive() -> None:
    found = propose(pl.DataFrame({"town": ["x", "y", "x"], "diagnosis": ["a", "b", "a"]}))
    assert [p.role for p in with_sensitive(found, "town")] == ["sensitive", "drop"]
    assert [p.role for p in with_sensitive(found, "none")] == ["quasi-identifier", "quasi-identifier"]
    with pytest.raises(SchemaError, match="must be one of the table, or none; it has town, diagnosis"):
        with_sensitive(found, "illness")


def test_whole_numbers_of_each_person_name_them() -> None:
    numbers = [3_117_023 + 7 * i for i in range(200)]
    assert roles(id=[f"P{i}" for i in range(200)], Versichertennummer=numbers)["Versichertennummer"] == (
        "drop",
        None,
    )
    assert roles(Kindnr=numbers, age=[i % 60 for i in range(200)])["Kindnr"] == ("identifier", None)
    shared = [271_828_182_845 + 7 * (i % 60) for i in range(200)]
    assert roles(id=[f"P{i}" for i in range(200)], nir=shared)["nir"] == ("drop", None)


def test_the_identifier_can_be_said() -> None:
    found = propose(pl.DataFrame({"id": ["a", "b"], "elevid": ["x", "y"]}))
    assert [p.role for p in with_identifier(found, "elevid")] == ["drop", "identifier"]
    with pytest.raises(SchemaError, match="must be a column of the table; it has id, elevid"):
        with_identifier(found, "pupil")


def test_a_file_of_words_without_a_header_shows_nobody() -> None:
    words = {
        "Thusnelda": ["Ottokar", "Adalbert"] * 9,
        "Zwickelhuber": ["Kniebolo", "Maier"] * 9,
        "Gonorrhoe": ["Grippe", "Gicht"] * 9,
    }
    with pytest.raises(ViewError, match="it looks like a row of data") as problem:
        propose(pl.DataFrame(words))
    assert "Thusnelda" not in str(problem.value)


@pytest.mark.parametrize("heading", ["tan\u0131", "hastal\u0131k", "Sygdom", "Diagnóstico"])
def test_headings_are_read_in_their_own_letters(heading: str) -> None:
    assert propose(pl.DataFrame({heading: ["x", "y"] * 9}))[0].role == "sensitive"


@pytest.mark.parametrize(
    "cells",
    [
        [f"{a}. {name}" for a in "ABCDE" for name in ("Weber", "Bauer", "Lange", "Koch", "Meyer")],
        [f"055649{i % 40:05d}" for i in range(120)],
        [f"de8937040044053201{i % 40:04d}" for i in range(120)],
    ],
    ids=["initials", "phones", "accounts in small letters"],
)
def test_everyday_spellings_are_recognised(cells: list[str]) -> None:
    assert propose(pl.DataFrame({"who": cells * 3}))[0].role == "drop"


@pytest.mark.parametrize(
    "cells",
    [
        ["Christian", "Hindu", "Muslim"],
        ["Virginia", "West Virginia", "Georgia", "North Carolina", "Texas", "Ohio"],
    ],
)
def test_few_words_that_are_names_too_are_no_names(cells: list[str]) -> None:
    assert propose(pl.DataFrame({"x": cells * 40}))[0].role != "drop"


def test_codes_of_drugs_are_no_phones() -> None:
    codes = [f"{i:04d}-{3227 + i}-30" for i in range(1, 30)]
    assert propose(pl.DataFrame({"drug": codes * 8}))[0].role == "sensitive"


def test_a_column_that_is_the_same_in_every_row_is_left_out() -> None:
    found = propose(
        pl.DataFrame({"id": [f"P{i}" for i in range(60)], "clinic": ["north"] * 60, "age": [30, 31, 32] * 20})
    )
    assert (found[1].role, found[1].why) == ("drop", "the same in every row: it tells nobody apart")
    assert found[2].role == "quasi-identifier"


def test_a_value_that_some_lack_may_tell_people_apart() -> None:
    assert roles(id=[f"P{i}" for i in range(60)], smoker=["yes"] * 30 + [None] * 30)["smoker"] == (
        "quasi-identifier",
        "category",
    )


def test_remarks_of_a_few_words_are_left_out_though_some_are_the_same() -> None:
    remarks = [f"asked for {'rest' if i % 2 else 'tea'}, room {i % 25}, quiet" for i in range(100)]
    assert roles(id=[f"P{i}" for i in range(100)], note=remarks)["note"] == ("drop", None)


def test_long_names_of_few_kinds_stay_quasi_identifiers() -> None:
    kinds = ["lives with a partner and children", "lives alone and has no children"] * 50
    assert roles(id=[f"P{i}" for i in range(100)], home=kinds)["home"] == ("quasi-identifier", "category")
