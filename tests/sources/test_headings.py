from __future__ import annotations

import polars as pl
import pytest

from republish.sources.headings import is_occupation, is_private, names_people
from republish.sources.private_values import are_private


@pytest.mark.parametrize(
    "heading",
    [
        "diagnosis",
        "Befund",
        "Hauptdiagnose",
        "Krankheit",
        "Jahreseinkommen",
        "Lohn",
        "Konfession",
        "maladie",
        "diagnostic",
        "salaire",
        "revenu",
        "enfermedad",
        "diagnóstico",
        "sueldo",
        "malattia",
        "reddito",
        "stipendio",
        "doença",
        "salário",
        "rendimento",
        "ziekte",
        "inkomen",
        "uitslag",
        "choroba",
        "rozpoznanie",
        "wynagrodzenie",
        "płaca",
        "religion",
        "examResult",
        "ICD10",
        "HIV",
        "Диагноз",
    ],
)
def test_a_private_heading_in_several_languages(heading: str) -> None:
    assert is_private(heading)


@pytest.mark.parametrize(
    "heading",
    [
        "occupation",
        "Beruf",
        "profesión",
        "métier",
        "professione",
        "profissão",
        "beroep",
        "zawód",
        "job_title",
    ],
)
def test_an_occupation_in_several_languages(heading: str) -> None:
    assert is_occupation(heading) and not is_private(heading)


@pytest.mark.parametrize(
    "heading",
    [
        "age",
        "zip",
        "gender",
        "education",
        "city",
        "married",
        "experience",
        "marital-status",
        "native-country",
        "hours-per-week",
        "longitude",
        "lekarz",
        "balloon",
        "plan",
        "race",
        "weight",
        "born",
        "ward",
    ],
)
def test_other_headings_are_not_private(heading: str) -> None:
    assert not is_private(heading) and not is_occupation(heading)


@pytest.mark.parametrize(
    "heading",
    ["name", "lastName", "Nachname", "Nombre y apellidos", "nom de famille", "cognome", "sobrenome", "achternaam",
     "imię i nazwisko", "Фамилия", "E-Mail", "email_address", "Telefonnummer", "phone_no", "Straße", "indirizzo",
     "Kontonummer", "IBAN", "Kennzeichen", "lat", "Längengrad", "Bemerkungen", "uwagi"],
)  # fmt: skip
def test_a_heading_of_what_names_people(heading: str) -> None:
    assert names_people(heading)


@pytest.mark.parametrize(
    "heading", ["hospital_name", "country name", "drug_name", "account_type", "platelets", "age"]
)
def test_other_headings_name_nobody(heading: str) -> None:
    assert not names_people(heading)


@pytest.mark.parametrize(
    "values, what",
    [
        (["J45.0", "E11.9", "I10", "F32.1"], "codes"),
        (["A10BA02", "C09AA05"], "codes"),
        (["Asthma", "Akute Bronchitis", "Diabetes", "gesund"], "illness"),
        (["asthme", "bronchite aiguë", "hypertension"], "illness"),
        (["katholisch", "evangelisch", "keine"], "belief"),
    ],
)
def test_private_values_are_recognised_without_a_heading(values: list[str], what: str) -> None:
    assert what in str(are_private(pl.Series(values)))


@pytest.mark.parametrize(
    "values", [["A01", "B12", "C03"], ["east", "west"], ["yes", "no"], ["<=50K", ">50K"], ["x"]]
)
def test_few_or_short_values_are_not_enough(values: list[str]) -> None:
    assert are_private(pl.Series(values)) is None
