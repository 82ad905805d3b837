"""Resolutions and break points as texts and tables."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from republish import PolicyError
from republish.spatial.resolutions import bits_of, bits_text, scales_of, scales_text

NAMES = st.text(st.characters(categories=["L", "Nd"]), min_size=1, max_size=5)


@given(st.dictionaries(NAMES, st.integers(0, 31), min_size=1, max_size=4))
def test_bits_are_the_same_after_they_were_written_down(bits) -> None:
    text = bits_text(bits)
    assert bits_of(text) == bits
    assert bits_text(text) == text


@given(st.dictionaries(NAMES, st.lists(st.integers(), min_size=1, max_size=4), min_size=1, max_size=4))
def test_break_points_are_the_same_after_they_were_written_down(scales) -> None:
    text = scales_text(scales)
    assert scales_of(text) == {name: tuple(map(str, points)) for name, points in scales.items()}
    assert scales_text(text) == text


def test_nothing_given_is_said_in_words() -> None:
    assert (bits_text({}), scales_text({})) == ("enough", "none")
    assert (bits_of("enough"), scales_of("none")) == (None, {})


def test_one_number_is_for_all_columns() -> None:
    assert bits_of(bits_text(8)) == 8


def test_dates_are_written_as_texts_are() -> None:
    assert scales_text({"seen": [date(2026, 3, 2)]}) == "seen=2026-03-02"


@pytest.mark.parametrize(
    "wrong", [-1, 0, 32, True, 2.5, None, "", "8", "age", "age=", "=3", "age=x", "age=1,age=2", "age=40"]
)
def test_bits_that_mean_nothing_are_refused(wrong) -> None:
    with pytest.raises(PolicyError):
        bits_text(wrong)


@pytest.mark.parametrize(
    "wrong", [5, None, "", "age", "age=", "age=1,age=2", {"age": 5}, {"age": "ab"}, {"age": []}]
)
def test_break_points_that_mean_nothing_are_refused(wrong) -> None:
    with pytest.raises(PolicyError):
        scales_text(wrong)


ANY = st.text(min_size=1, max_size=6).map(str.strip).filter(bool)


@given(st.dictionaries(ANY, st.lists(ANY, min_size=1, max_size=3), min_size=1, max_size=3))
def test_marks_of_the_text_may_stand_in_names_and_values(scales) -> None:
    assert scales_of(scales_text(scales)) == {name: tuple(points) for name, points in scales.items()}


def test_marks_that_belong_to_a_name_or_value_have_a_backslash() -> None:
    assert scales_text({"a=b": ["x:y", "c,d", "e\\f"]}) == "a\\=b=x\\:y:c\\,d:e\\\\f"
    assert bits_of(bits_text({"a,b": 3})) == {"a,b": 3}


@pytest.mark.parametrize("wrong", ["age=1=2", "age=18:65,", "a\\=b"])
def test_marks_in_the_wrong_place_are_refused(wrong) -> None:
    with pytest.raises(PolicyError, match="must be written like"):
        scales_text(wrong)
