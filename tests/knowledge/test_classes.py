"""Classes: who belongs where, and what cannot be told."""

from __future__ import annotations

from datetime import date

import numpy as np
import polars as pl
import pytest

from republish import Category, Date, Intervals, Number, Ordered, PolicyError, Schema, read_view
from republish.datasets.progression import class_of
from republish.knowledge import Bands, Classes, Listed
from republish.knowledge.classes import classes_from_mapping

SCHEMA = Schema("id", [Number("age"), Category("sex")], "result")
AGE_AND_SEX = Classes((Bands("age", (40, 50, 60)), Listed("sex", ("F", "M"))))


def people(age: list[int | None], sex: list[str | None]) -> pl.DataFrame:
    rows = range(len(age))
    return pl.DataFrame({"id": [str(i) for i in rows], "age": age, "sex": sex, "result": "x"})


def test_a_class_is_a_combination_and_the_last_column_turns_fastest() -> None:
    view = read_view(people([40, 49, 50, 59], ["F", "M", "F", "M"]), SCHEMA)
    assert AGE_AND_SEX.of(view).tolist() == [0, 1, 2, 3]
    assert (AGE_AND_SEX.count, AGE_AND_SEX.rows) == (4, 5)


def test_a_missing_value_puts_a_person_after_the_last_class() -> None:
    view = read_view(people([40, None, None, 50], [None, "M", None, "M"]), SCHEMA)
    assert AGE_AND_SEX.of(view).tolist() == [4, 4, 4, 3]


def test_everyone_is_one_class_whatever_is_missing() -> None:
    everyone = Classes.everyone()
    assert everyone.of(read_view(people([40, None], ["F", None]), SCHEMA)).tolist() == [0, 0]
    assert (everyone.count, everyone.rows) == (1, 1)


def test_the_last_break_lies_outside() -> None:
    view = read_view(people([39, 45, 60, 61], ["F"] * 4), SCHEMA)
    assert (AGE_AND_SEX.of(view) == AGE_AND_SEX.count).tolist() == [True, False, True, True]


def test_a_value_that_no_class_lists_is_of_no_known_class() -> None:
    view = read_view(people([45, 45, 45], ["F", "X", "X"]), SCHEMA)
    assert (AGE_AND_SEX.of(view) == AGE_AND_SEX.count).tolist() == [False, True, True]


def test_values_may_share_a_class() -> None:
    classes = Classes((Listed("sex", (("F",), ("M", "X")), ("women", "others")),))
    assert classes.of(read_view(people([1, 1, 1], ["X", "F", "M"]), SCHEMA)).tolist() == [1, 0, 1]


def test_dates_fall_in_bands() -> None:
    schema = Schema("id", [Date("born")], "result")
    born = ["1999-12-31", "2000-01-01", None]
    view = read_view(pl.DataFrame({"id": ["1", "2", "3"], "born": born, "result": "x"}), schema)
    classes = Classes((Bands("born", (date(1990, 1, 1), date(2000, 1, 1), date(2010, 1, 1))),))
    classes.require_fit(schema)
    assert classes.of(view).tolist() == [0, 1, 2]


def test_numbers_and_dates_with_a_hierarchy_fall_in_bands_too() -> None:
    from republish import Calendar

    schema = Schema("id", [Number("age", Intervals((5, 10))), Date("day", Calendar(("month",)))], "result")
    table = pl.DataFrame(
        {
            "id": ["1", "2", "3"],
            "age": [49, 50, None],
            "day": ["2020-05-01", "2020-01-31", "2020-01-01"],
            "result": "x",
        }
    )
    view = read_view(table, schema)
    bands = Bands("day", (date(2020, 1, 1), date(2020, 2, 1), date(2020, 6, 1)))
    assert Classes((Bands("age", (40, 50, 60)),)).of(view).tolist() == [0, 1, 2]
    assert Classes((bands,)).of(view).tolist() == [1, 0, 0]


def test_the_classes_of_the_hospital_are_those_of_its_model(hospital_folder, views) -> None:  # type: ignore[no-untyped-def]
    from republish import read_schema
    from republish.knowledge import read_knowledge

    schema = read_schema(hospital_folder / "schema.toml")
    knowledge = read_knowledge(hospital_folder / "knowledge", schema)
    raw = pl.read_csv(views[0])
    gender = (raw["gender"] == "M").cast(pl.Int64).to_numpy()
    expected = class_of(raw["age"].to_numpy(), gender, raw["weight"].to_numpy())
    assert np.array_equal(knowledge.classes.of(read_view(views[0], schema)), expected)


def test_labels_name_classes_and_are_found_again() -> None:
    numbers = np.array([3, 0, 2, 1])
    table = pl.DataFrame(AGE_AND_SEX.label_columns(numbers))
    assert table.columns == ["age", "sex"]
    assert table.row(0) == ("[50..60)", "M")
    assert np.array_equal(AGE_AND_SEX.numbers(table), numbers)
    assert AGE_AND_SEX.numbers(pl.DataFrame({"age": ["[40..50)", None], "sex": ["X", "F"]})).tolist() == [
        -1,
        -1,
    ]


def test_a_document_describes_the_classes() -> None:
    classes = Classes(
        (
            Bands("age", (40, 50.5, 60), ("young", "old")),
            Listed("sex", (("F",), ("M", "X")), ("women", "others")),
            Bands("born", (date(1990, 1, 1), date(2000, 1, 1))),
            Listed("ward", ("1", "2")),
        )
    )
    assert classes_from_mapping(classes.document()) == classes


@pytest.mark.parametrize(
    "settings",
    [
        {"breaks": [1]},
        {"breaks": [2, 1]},
        {"breaks": [1, "x"]},
        {"breaks": [1, True]},
        {"breaks": [1, float("nan")]},
        {"breaks": [1, date(2000, 1, 1)]},
        {"breaks": [1, 2, 3], "labels": ["a"]},
        {"breaks": [1, 2, 3], "labels": ["a", "a"]},
        {"breaks": [1, 2], "labels": "a"},
        {"breaks": [1, 2], "values": ["a"]},
        {"values": []},
        {"values": ["a", "a"]},
        {"values": [["a", "b"]]},
        {"values": [["a"], []], "labels": ["x", "y"]},
        {"values": [1]},
        {"colour": "red"},
    ],
)
def test_a_class_column_that_makes_no_sense_is_refused(settings: dict[str, object]) -> None:
    with pytest.raises(PolicyError, match="class column age"):
        classes_from_mapping({"age": settings})


@pytest.mark.parametrize(
    "column",
    [
        Bands("sex", (1, 2)),
        Bands("height", (1, 2)),
        Bands("age", (45, 60)),
        Bands("age", (40, 70)),
        Bands("age", (date(1990, 1, 1), date(2000, 1, 1))),
        Listed("age", ("1",)),
        Listed("degree", ("low",)),
        Listed("degree", ("low", "high", "higher")),
    ],
)
def test_classes_must_fit_the_schema(column: Bands | Listed) -> None:
    ordered = Ordered("degree", order=("low", "high"))
    schema = Schema("id", [Number("age", domain=(40, 70)), Category("sex"), ordered], "result")
    with pytest.raises(PolicyError):
        Classes((column,)).require_fit(schema)


def test_a_view_without_the_column_is_refused() -> None:
    with pytest.raises(PolicyError, match="none called height"):
        Classes((Bands("height", (1, 2)),)).of(read_view(people([1], ["F"]), SCHEMA))
    with pytest.raises(PolicyError, match="named twice"):
        Classes((Bands("age", (1, 2)), Bands("age", (1, 2))))
