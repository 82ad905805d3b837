from __future__ import annotations

import polars as pl
import pytest

from republish.sources.direct_identifiers import (
    SAMPLE,
    Sampled,
    directly_identifying,
    is_about_one_a_person,
    is_direct_number,
    is_prose,
)


def sampled(values: list[str]) -> Sampled:
    return Sampled.of(pl.Series(values).unique(), len(values))


FAMILIES = (
    "Nowak Kowalski Wiśniewski Wójcik Kowalczyk Kamiński Lewandowski Zieliński Szymański Woźniak Dąbrowski Kozłowski "
    "Jankowski Mazur Wojciechowski Kwiatkowski Krawczyk Kaczmarek Piotrowski Grabowski"
)
MONTHS = "January February March April May June July August September October November December"
NAMING = {
    "e-mail addresses": ["one@mail.de", "none", "unknown"],
    "web addresses": ["https://example.org/anna", "www.example.org"],
    "addresses of computers": ["192.168.0.1", "8.8.8.8", "fe80:0:0:0:1:2:3:4"],
    "accounts": ["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432"],
    "payment cards": ["4111 1111 1111 1111", "5500000000000004", "3714-496353-98431"],
    "coordinates": ["48.1371, 11.5754", "52.5200 13.4050", "POINT (11.5 48.1)", "48° 8' N"],
    "personal numbers of a state": ["123-45-6789", "RSSMRA85T10A562S", "12345678Z", "19850101-1234"],
    "phone numbers": ["+49 171 2345678", "0171 2345678", "(030) 123456", "555-123-4567", "06 12 34 56 78"],
    "number plates": ["B-AB 1234", "AB-123-CD", "AB12 CDE", "1234 BCD"],
    "postal addresses": [
        "Hauptstraße 12",
        "12 Main Street",
        "Calle Mayor 5",
        "5, rue de Rivoli",
        "ul. Długa 7",
    ],
}
PEOPLE = {
    "English": ["John Smith", "MARY JONES", "Brian O'Neill"],
    "German": ["Müller, Hans", "Dr. Eva Schmidt", "Jürgen Ott"],
    "French": ["Élodie Dubois", "François Petit"],
    "Polish": ["Łukasz Nowak", "Małgorzata Wójcik"],
    "Spanish": ["José García", "María del Carmen Ruiz"],
    "Russian": ["Сергей Иванов", "Ольга Петрова"],
    "given names alone": ["Anna", "Ben", "Carla"],
    "family names alone": FAMILIES.split(),
}
HARMLESS = {
    "zip codes": ["02139", "02140", "12030"],
    "ZIP+4": ["02139-1234", "02140-2345"],
    "postcodes of Brazil": ["01310-100", "20040-020"],
    "postcodes of Britain": ["SW1A 1AA", "M1 1AE", "B33 8TH"],
    "postcodes of the Netherlands": ["1234 AB", "2345 CD"],
    "dates": ["05.01.2020", "12/24/2020", "01-05-1980", "0020-01-05"],
    "months": MONTHS.split(),
    "bands": ["0-4", "5-9", ">90", "<=50K", "0 - 999999", "1000000 - 2000000"],
    "ICD-10": ["J45.0", "E11.9", "I10", "F32.1"],
    "rooms": ["ICU-101", "Ward 12", "grade 12", "B70A"],
    "industries": ["01.1", "10.11", "62.01"],
    "diagnoses": ["influenza", "asthma", "type 2 diabetes", "Morbus Crohn", "Parkinson's disease", "Akute Bronchitis"],
    "drugs": ["ibuprofen", "metformin", "simvastatin", "levothyroxine"],
    "occupations": ["Adm-clerical", "Machine-op-inspct", "Software Engineer", "Baker", "Mason", "Nurse"],
    "Berufe": ["Bäcker", "Koch", "Schneider", "Müller", "Kaufmann", "Lehrer"],
    "towns": ["New York", "San Francisco", "St. Louis", "Charlotte", "Bad Homburg", "San José", "Köln", "Gdańsk"],
    "countries": ["United-States", "Jordan", "Georgia", "Chad", "El-Salvador", "Germany"],
    "religions": ["catholic", "none", "muslim", "jewish"],
}  # fmt: skip


@pytest.mark.parametrize("what", NAMING)
def test_what_names_people_is_recognised_by_its_shape(what: str) -> None:
    assert str(directly_identifying(sampled(NAMING[what]))).endswith(f"look like {what}")


@pytest.mark.parametrize("language", PEOPLE)
def test_names_of_people_are_recognised(language: str) -> None:
    assert str(directly_identifying(sampled(PEOPLE[language]))).endswith("look like names of people")


@pytest.mark.parametrize("what", HARMLESS)
def test_what_names_nobody_is_not_taken_for_it(what: str) -> None:
    assert directly_identifying(sampled(HARMLESS[what])) is None


def test_values_are_counted_and_not_shown() -> None:
    found = directly_identifying(sampled(["a@canary.de", "b", "b"]))
    assert found == "1 of 2 different values look like e-mail addresses"


@pytest.mark.parametrize("different, people, found", [(101, 200, True), (100, 200, False), (50, 50, False)])
def test_a_value_for_most_people(different: int, people: int, found: bool) -> None:
    values = [f"v{i % different}" for i in range(people)]
    assert is_about_one_a_person(sampled(values)) is found


@pytest.mark.parametrize("different, found", [(170, False), (181, True)])
def test_codes_of_places_and_sensitive_values_may_be_more(different: int, found: bool) -> None:
    assert is_about_one_a_person(sampled([f"{i % different:05d}" for i in range(200)])) is found
    assert is_about_one_a_person(sampled([f"v{i % different}" for i in range(200)]), sensitive=True) is found


def test_long_texts_that_are_seldom_the_same_are_prose() -> None:
    assert is_prose(sampled([f"came in on foot, number {i}, and complained of much pain" for i in range(12)]))
    assert not is_prose(sampled(["endocrine, nutritional and metabolic diseases"] * 200))
    assert not is_prose(sampled([f"v{i}" for i in range(200)]))


@pytest.mark.parametrize(
    "numbers, what",
    [
        ([48.13715, 48.2012, 47.9999], "coordinates"),
        ([4915112345678, 4915112345679], "phones"),
        ([5500000000000004, 5500000000000012], "cards"),
    ],
)
def test_numbers_that_name_people(numbers: list[float], what: str) -> None:
    assert what in str(is_direct_number(pl.Series(numbers)))


@pytest.mark.parametrize(
    "numbers",
    [
        [31, 32, 33],
        [52_000, 61_500],
        [24.22145328719723, 22.11],
        [70.5, 80.25],
        [120_000_000_000, 130_000_000_000],
        [],
    ],
)
def test_numbers_that_measure_people(numbers: list[float]) -> None:
    assert is_direct_number(pl.Series(numbers, dtype=None if numbers else pl.Float64)) is None


def test_a_sample_tells_how_many_values_there_are() -> None:
    few = sampled([f"v{i % 300}" for i in range(1000)])
    assert (few.cells, few.different) == (1000, 300)
    many = sampled([f"v{i}" for i in range(100_000)])
    assert len(many.texts) == SAMPLE
    assert many.different == pytest.approx(100_000, rel=0.05)


def test_parts_find_the_sample_of_the_whole() -> None:
    whole = [f"v{i}" for i in range(30_000)]
    together = Sampled.together([sampled(whole[:20_000]), sampled(whole[10_000:])])
    assert together.cells == 40_000
    assert together.different == pytest.approx(30_000, rel=0.05)
    assert sorted(together.texts) == sorted(sampled(whole).texts)


def test_one_address_among_many_values_is_found() -> None:
    codes = [f"code {i}" for i in range(3 * SAMPLE)]
    assert directly_identifying(sampled([*codes, "anna.schmidt@mail.de"])) is not None
