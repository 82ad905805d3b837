from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish.errors import SchemaError
from republish.hierarchies import (
    Calendar,
    Hierarchy,
    Intervals,
    Neighbours,
    Redaction,
    Rule,
    compile_tree,
    read_hierarchy,
    rule_from_spec,
)


def test_a_zip_code_loses_digits_from_the_right() -> None:
    assert Redaction().build(["12030"]).paths == (("12030", "1203*", "120**", "12***", "1****", "*"),)


def test_codes_of_unequal_length_meet_at_the_root_only() -> None:
    assert Redaction().build(["123", "1", "12"]).paths == (
        ("1", "1", "1", "*"),
        ("12", "1*", "**", "*"),
        ("123", "12*", "1**", "*"),
    )


@settings(max_examples=60, deadline=None)
@given(st.sets(st.text("019a", min_size=1, max_size=5), max_size=20))
def test_any_set_of_codes_can_be_redacted(codes: set[str]) -> None:
    assert set(Redaction().build(sorted(codes)).leaves) == codes


def test_numbers_fall_into_growing_intervals() -> None:
    assert Intervals((5, 10, 20)).build(["17", "-3"]).paths == (
        ("-3", "[-5..-1]", "[-10..-1]", "[-20..-1]", "*"),
        ("17", "[15-19]", "[10-19]", "[0-19]", "*"),
    )


def test_an_interval_of_decimals_says_that_its_end_is_out() -> None:
    assert Intervals((5,)).build(["19.5", "20"]).paths == (("19.5", "[15..20)", "*"), ("20", "[20..25)", "*"))


def test_three_tenths_are_three_times_a_tenth() -> None:
    assert Intervals((0.1, 0.3)).build(["0.3"]).paths == (("0.3", "[0.3..0.4)", "[0.3..0.6)", "*"),)


def test_large_decimals_keep_their_digits() -> None:
    assert Intervals((0.5,)).build(["1234567.6"]).paths == (("1234567.6", "[1234567.5..1234568)", "*"),)


def test_intervals_may_start_elsewhere() -> None:
    assert Intervals((10,), start=5).build(["4", "5"]).paths == (("4", "[-5..4]", "*"), ("5", "[5-14]", "*"))


def test_neighbours_join_in_their_order() -> None:
    assert Neighbours((2, 4)).build(["a", "b", "c", "d", "e"]).paths == (
        ("a", "[a-b]", "[a-d]", "*"),
        ("b", "[a-b]", "[a-d]", "*"),
        ("c", "[c-d]", "[a-d]", "*"),
        ("d", "[c-d]", "[a-d]", "*"),
        ("e", "e", "e", "*"),
    )


def test_dates_fall_into_periods() -> None:
    rule = Calendar(("month", "quarter", "year", "decade"))
    assert rule.build(["9999-12-31", "0001-01-01"]).paths == (
        ("0001-01-01", "0001-01", "0001-Q1", "0001", "0000s", "*"),
        ("9999-12-31", "9999-12", "9999-Q4", "9999", "9990s", "*"),
    )


def test_weeks_are_those_of_the_iso_year() -> None:
    assert Calendar(("week",)).build(["2021-01-03"]).paths == (("2021-01-03", "2020-W53", "*"),)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Intervals(()), "interval widths must be positive"),
        (lambda: Intervals((0, 5)), "interval widths must be positive"),
        (lambda: Intervals((5, 12)), "a multiple of the one before"),
        (lambda: Intervals((float("nan"),)), "must be numbers"),
        (lambda: Neighbours(()), "a multiple of the one before"),
        (lambda: Neighbours((1,)), "whole numbers from 2"),
        (lambda: Neighbours((2, 3)), "a multiple of the one before"),
        (lambda: Calendar(()), "found none"),
        (lambda: Calendar(("moon",)), "found moon"),
        (lambda: Calendar(("year", "month")), "from short to long"),
        (lambda: Calendar(("week", "year")), "a week stands alone"),
    ],
)
def test_levels_that_do_not_nest_are_refused(build: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(message)):
        build()


@pytest.mark.parametrize(
    "rule", [Intervals((5.0, 10.0), 2.5), Neighbours((2, 4)), Redaction(), Calendar(("month", "year"))]
)
def test_a_rule_comes_back_from_its_document(rule: Rule) -> None:
    assert rule_from_spec(rule.spec()) == rule


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"redaction": False},
        {"redaction": True, "start": 3},
        {"intervals": 5},
        {"intervals": ["SECRETCELL"]},
        {"intervals": [True]},
        {"intervals": [5], "start": "SECRETCELL"},
        {"intervals": [5], "end": 3},
        {"neighbours": ["SECRETCELL"]},
    ],
)
def test_a_rule_that_nobody_knows_is_refused(spec: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match=r"one of \{ intervals") as caught:
        rule_from_spec(spec)
    assert "SECRETCELL" not in str(caught.value)


class TestTable:
    def test_it_is_read_as_arx_writes_it(self, tmp_path: Path) -> None:
        (tmp_path / "h.csv").write_bytes('\ufeffa;x;*\r\n"b;c";x;*\r\n\r\n'.encode())
        assert read_hierarchy(tmp_path / "h.csv").paths == (("a", "x", "*"), ("b;c", "x", "*"))

    def test_its_path_may_be_a_text(self, tmp_path: Path) -> None:
        hierarchy = Hierarchy((("a", "*"), ("b", "*")))
        hierarchy.write(str(tmp_path / "h.csv"))
        assert read_hierarchy(str(tmp_path / "h.csv")) == hierarchy
        with pytest.raises(SchemaError, match=r"absent\.csv does not exist"):
            read_hierarchy("absent.csv")

    def test_it_comes_back_from_its_file(self, tmp_path: Path) -> None:
        hierarchy = Hierarchy((('a"', "x;\n", "*"), ("b|", "x;\n", "*")))
        hierarchy.write(tmp_path / "h.csv")
        assert read_hierarchy(tmp_path / "h.csv") == hierarchy

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("SECRETCELL;*\nb;x;*", "the same number of cells; found lines of 2 to 3 cells"),
            ("SECRETCELL;x", "must be *"),
            ("*", "must be *"),
            ("SECRETCELL;x;*\nSECRETCELL;y;*", "1 lines repeat one"),
            ("a;SECRETCELL;p;*\nb;SECRETCELL;q;*", "1 labels of level 1 have two parents"),
            ("a;b;*\nb;c;*", "1 labels do not"),
        ],
    )
    def test_what_is_no_tree_is_refused(self, tmp_path: Path, text: str, message: str) -> None:
        (tmp_path / "h.csv").write_text(text, encoding="utf-8")
        with pytest.raises(SchemaError, match=re.escape(message)) as caught:
            read_hierarchy(tmp_path / "h.csv")
        assert "SECRETCELL" not in str(caught.value)
        assert str(caught.value).startswith("h.csv: ")

    def test_another_encoding_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "h.csv").write_bytes(b"\xe9;*\n")
        with pytest.raises(SchemaError, match="UTF-8"):
            read_hierarchy(tmp_path / "h.csv")

    def test_an_absent_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(SchemaError, match=r"h\.csv does not exist"):
            read_hierarchy(tmp_path / "h.csv")

    def test_a_label_may_stay_over_several_levels(self) -> None:
        assert Hierarchy((("a", "a", "*"), ("b", "x", "*"), ("c", "x", "*"))).height == 2

    def test_a_hierarchy_may_be_empty(self) -> None:
        assert compile_tree(Hierarchy(())).leaves == 0


class TestExtension:
    first = Hierarchy((("a", "x", "*"), ("b", "x", "*")))

    def test_leaves_are_appended(self) -> None:
        more = Hierarchy((("a", "x", "*"), ("c", "y", "*")))
        assert self.first.extended(more).paths == (("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"))

    def test_a_leaf_is_never_altered(self) -> None:
        with pytest.raises(SchemaError, match="1 lines differ"):
            self.first.extended(Hierarchy((("a", "y", "*"),)))

    def test_the_levels_stay(self) -> None:
        with pytest.raises(SchemaError, match="3 cells a line; found 2"):
            self.first.extended(Hierarchy((("c", "*"),)))

    def test_a_hierarchy_can_be_restricted_to_some_leaves(self) -> None:
        assert self.first.restricted(["b", "z"]).paths == (("b", "x", "*"),)


def test_leaves_are_put_in_depth_first_order() -> None:
    tree = compile_tree(Hierarchy((("a", "x", "*"), ("b", "y", "*"), ("c", "x", "*"))))
    assert [path[0] for path in tree.labels] == ["a", "c", "b"]
    assert tree.start.tolist() == [[0, 0, 0], [1, 0, 0], [2, 2, 0]]
    assert tree.end.tolist() == [[1, 2, 3], [2, 2, 3], [3, 3, 3]]


def test_the_lowest_common_level_is_found() -> None:
    tree = compile_tree(Hierarchy((("a", "x", "*"), ("c", "x", "*"), ("b", "y", "*"))))
    assert tree.lowest_common(np.array([0, 0, 0]), np.array([0, 1, 2])).tolist() == [0, 1, 2]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text("abc", min_size=3, max_size=3), min_size=1, max_size=25, unique=True), st.data())
def test_a_common_ancestor_is_the_first_shared_label(codes: list[str], data: st.DataObject) -> None:
    tree = compile_tree(Redaction().build(codes))
    low, high = sorted(data.draw(st.tuples(*[st.integers(0, len(codes) - 1)] * 2)))
    naive = next(level for level in range(4) if tree.labels[low][level] == tree.labels[high][level])
    assert tree.lowest_common(np.array([low]), np.array([high])).tolist() == [naive]
