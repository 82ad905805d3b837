"""Conditions put to releases: the language, the estimate, the bounds; all against slow twins and raw views."""

from __future__ import annotations

import itertools
import math
import re
from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaln

from metrics.twins import Case, allowed, publish
from republish.errors import PolicyError, SchemaError
from republish.hierarchies import Hierarchy, Redaction
from republish.metrics import Workload, estimated_counts
from republish.microdata import Axis, Microdata, read_view
from republish.queries import parse_condition
from republish.queries.language import Condition, Either, Every, Literal, Not, Test
from republish.queries.missing import GroupSizes, likeliest, missing_shares, share_of_some
from republish.queries.spans import MOST_TERMS, NOTHING, Span, common, joined, others, rest
from republish.release.cells import SOME_MISSING
from republish.schema import Category, Column, Date, Number, Ordered, Schema

Test.__test__ = False  # type: ignore[attr-defined]  # a node of the language, no test class

SCHEMA = Schema(
    quasi_identifiers=[
        Number("age"),
        Number("weight"),
        Category("town"),
        Category("zip", hierarchy=Redaction()),
        Date("born"),
        Ordered("school", order=("none", "basic", "high")),
    ],
    insensitive=["ward"],
    sensitive=Category("illness"),
)
TYPES = {
    "age": pl.Int64,
    "weight": pl.Float64,
    "town": pl.String,
    "zip": pl.String,
    "born": pl.Date,
    "school": pl.String,
    "ward": pl.Int64,
    "illness": pl.String,
}
DAY = date(2020, 2, 1)


def view_of(rows: list[tuple[Any, ...]]) -> Microdata:
    return read_view(pl.DataFrame(rows, schema=TYPES, orient="row"), SCHEMA)


def ages(*values: float | None, **settings: Any) -> Microdata:
    frame = pl.DataFrame({"age": values}, schema={"age": pl.Float64})
    return read_view(frame, Schema(quasi_identifiers=[Number("age", **settings)]))


def answer(case: Case, where: str) -> tuple[float, int, int]:
    found = case.release.count(where)
    return found.expected, found.lower, found.upper


# The language


def test_a_condition_becomes_a_tree() -> None:
    age = Test("age", "between", (Literal("40", 40.0), Literal("50", 50.0)))
    assert parse_condition("age between 40 and 50 and gender = 'F'") == Every(
        (age, Test("gender", "=", (Literal("F"),)))
    )


@pytest.mark.parametrize(
    "text, tree",
    [
        ("a = 1 or b = 2 and c = 3", "a=1 | (b=2 & c=3)"),
        ("(a = 1 or b = 2) and c = 3", "(a=1 | b=2) & c=3"),
        ("not a = 1 and b = 2", "!a=1 & b=2"),
        ("NOT (a <> 1 OR b IS NOT NULL)", "!(a!=1 | !bnull)"),
        ("a not in (1, -2.5, 1e3) and b not between 1 and 2", "!ain1,-2.5,1e3 & !bbetween1,2"),
        ("\"marital status\" = 'it''s' and native-country = 'x'", "marital status=it's & native-country=x"),
    ],
)
def test_precedence_and_spelling(text: str, tree: str) -> None:
    def shown(node: Condition, inner: bool = True) -> str:
        if isinstance(node, Not):
            return f"!{shown(node.part)}"
        if isinstance(node, Test):
            return f"{node.column}{node.sign}{','.join(value.text for value in node.values)}"
        joint = " & " if isinstance(node, Every) else " | "
        joined_parts = joint.join(shown(part) for part in node.parts)
        return f"({joined_parts})" if inner else joined_parts

    assert shown(parse_condition(text), inner=False) == tree


def test_a_blank_condition_is_true_of_everybody() -> None:
    assert answer(publish(ages(1, 2, None), [0, 0, 1]), "  ") == (3.0, 3, 3)


@pytest.mark.parametrize(
    "text, said",
    [
        ("age >", "character 6 .*a number, or a text or date in single quotes; it ends there"),
        ("age = 4 or", "character 11 .*the name of a column"),
        ("age 4", "character 5 .*a comparison, `between`, `in` or `is null`; found 4"),
        ("age = forty", "character 7 .*in single quotes; found forty"),
        ("age = null", "write `is null`"),
        ("age in 4", "expected `\\("),
        ("age in ()", "a number, or a text"),
        ("age between 4 or 5", "expected `and`; found or"),
        ("age not = 4", "expected `between` or `in`; found ="),
        ("(age = 4", "expected `\\)`; it ends there"),
        ("age = 4 age", "`and`, `or` or the end"),
        ("born = 2024-01-31", "`and`, `or` or the end"),
        ("age = 4x", "character 7 on; numbers are written like"),
        ("town = 'north", "character 8 on; close the quote"),
        ("age = 4; drop", "character 8 on"),
        ("(" * 60 + "age = 4" + ")" * 60, "nested 50 deep"),
    ],
)
def test_what_is_no_condition_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        parse_condition(text)


@given(st.text(alphabet="age '\"=<>()!andornotinbetweenisnull,.-+0123456789eé\n", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse_condition(text)
    except PolicyError as problem:
        assert "condition" in str(problem)


# What the values of a column may be compared with


ROW = (40, 70.5, "north", "1203", DAY, "basic", 3, "flu")


@pytest.mark.parametrize(
    "text, error, said",
    [
        ("id = 4", SchemaError, "no column id; a condition may name age, weight, town, zip, born, school"),
        ("age = '40'", PolicyError, "age holds numbers: write a number without quotes, such as 40; found 40"),
        ("zip = 1203", PolicyError, "zip holds texts: write a text in single quotes; found 1203"),
        ("born > '1.2.2020'", PolicyError, "born holds dates: write a date in single quotes"),
        ("born > 2020", PolicyError, "born holds dates"),
        ("town < 'south'", PolicyError, "without an order; compare it with =, != or in, not with <"),
        ("illness between 'a' and 'b'", PolicyError, "without an order"),
        ("school > 'hgih'", PolicyError, "hgih is not in the order of the schema"),
        ("school = 'hgih'", PolicyError, "hgih is not among the values that the schema lists"),
        ("school > 2", PolicyError, "school holds texts with an order"),
    ],
)
def test_wrong_columns_and_types_are_refused(text: str, error: type[Exception], said: str) -> None:
    case = publish(view_of([ROW, ROW]), [0, 0])
    with pytest.raises(error, match=re.escape(said)) as problem:
        case.release.count(text)
    assert not {"north", "flu", "basic"} & set(re.findall(r"\w+", str(problem.value)))


def test_the_identifier_is_in_no_release() -> None:
    frame = pl.DataFrame({"id": ["a", "b"], "age": [1, 2]})
    case = publish(read_view(frame, Schema("id", [Number("age")])), [0, 0])
    with pytest.raises(SchemaError, match="id is the identifier, which no release has"):
        case.release.count("id = 'a'")


def test_a_text_that_nobody_has_is_noted() -> None:
    found = publish(view_of([ROW, ROW]), [0, 0]).release.count("town = 'nroth' or illness = 'flue'")
    assert (found.expected, found.upper) == (0.0, 0)
    assert found.notes == (
        "no cell of town holds nroth; check its spelling",
        "no cell of illness holds flue; check its spelling",
    )


def test_a_text_that_the_schema_cannot_hold_is_refused() -> None:
    schema = Schema(quasi_identifiers=[Category("town", domain=("north", "south"))])
    case = publish(read_view(pl.DataFrame({"town": ["north", "north"]}), schema), [0, 0])
    assert answer(case, "town = 'south'") == (0.0, 0, 0)
    with pytest.raises(PolicyError, match="nroth is not among the values that the schema lists"):
        case.release.count("town = 'nroth'")


def test_columns_that_the_schema_says_nothing_of_take_texts_and_numbers() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3], "ward": ["07", "8", "12"], "unit": ["a", "b", None]})
    schema = Schema(quasi_identifiers=[Number("age")], insensitive=["ward", "unit"])
    case = publish(read_view(frame, schema), [0, 0, 0])
    assert [answer(case, f"ward {test}")[1] for test in ("= 7", "= '07'", "> 7", "between 7 and 8")] == [
        1,
        1,
        2,
        2,
    ]
    assert answer(case, "unit = 'a' or unit is null")[1:] == (2, 2)
    with pytest.raises(PolicyError, match="unit holds texts"):
        case.release.count("unit = 3")


def test_true_and_false_are_texts() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3], "smokes": [True, False, True]})
    case = publish(
        read_view(frame, Schema(quasi_identifiers=[Number("age")], insensitive=["smokes"])), [0, 0, 0]
    )
    assert answer(case, "smokes = 'true'") == (2.0, 2, 2)


def test_sensitive_numbers_and_dates_are_compared_as_such() -> None:
    for column, values, where in (
        (Number("pay"), [9.0, 10.0, 100.5], "pay > 9 and pay <= 100.5"),
        (Date("since"), [date(1999, 1, 1), date(2000, 1, 1), date(2001, 5, 5)], "since >= '2000-01-01'"),
        (Ordered("grade", order=("low", "mid", "high")), ["low", "mid", "high"], "grade > 'low'"),
    ):
        frame = pl.DataFrame({"age": [1, 2, 3], column.name: values})
        case = publish(
            read_view(frame, Schema(quasi_identifiers=[Number("age")], sensitive=column)), [0, 0, 0]
        )
        assert answer(case, where) == (2.0, 2, 2)


def test_a_node_of_a_hierarchy_stands_for_its_leaves() -> None:
    tree = Hierarchy((("flu", "lung", "*"), ("cold", "lung", "*"), ("gout", "joint", "*")))
    frame = pl.DataFrame({"zip": ["1203", "1204", "1310"], "illness": ["flu", "cold", "gout"]})
    schema = Schema(
        quasi_identifiers=[Category("zip", hierarchy=Redaction())],
        sensitive=Category("illness", hierarchy=tree),
    )
    case = publish(read_view(frame, schema), [0, 0, 1])
    assert answer(case, "zip = '120*'") == (2.0, 2, 2)
    assert answer(case, "zip = '1204'") == (1.0, 0, 2)
    assert answer(case, "zip = '*' and illness = 'lung'") == (2.0, 2, 2)


# Estimate and bounds


def test_a_range_takes_its_share_of_an_interval() -> None:
    # [0-3] holds 4 numbers, 2 of them in 2..9.
    case = publish(ages(0, 3, 3, 0, 7, 9), [0, 0, 0, 0, 1, 1])
    assert answer(case, "age between 2 and 9") == (4.0, 2, 6)


def test_open_ends_are_open() -> None:
    case = publish(ages(0, 1, 2, 3), [0, 0, 1, 1])
    assert answer(case, "age < 2") == (2.0, 2, 2)
    assert answer(case, "age <= 2") == (3.0, 2, 4)
    assert answer(case, "age > 1 and age != 3") == (1.0, 0, 2)


def test_decimals_meet_a_point_without_a_share() -> None:
    case = publish(ages(0.5, 2.5), [0, 0])
    assert answer(case, "age = 1.5") == (0.0, 0, 2)
    assert answer(case, "age < 1") == (pytest.approx(0.5), 0, 2)
    assert answer(case, "age < 0.5") == (0.0, 0, 0)
    assert answer(case, "age <= 0.5") == (0.0, 0, 2)


def test_sets_count_the_values_in_common() -> None:
    view = read_view(
        pl.DataFrame({"town": ["a", "c", "d", "b"]}), Schema(quasi_identifiers=[Category("town")])
    )
    case = publish(view, [0, 0, 0, 1])
    assert answer(case, "town in ('b', 'c')") == (2.0, 1, 4)
    assert answer(case, "town != 'b'") == (3.0, 3, 3)


def test_a_cell_of_some_missing_values_has_one_and_the_rest_anywhere() -> None:
    case = publish(ages(0, None, 9, 9, None), [0, 0, 1, 1, 2])
    assert answer(case, "age is null") == (2.0, 2, 2)
    assert answer(case, "age is not null") == (3.0, 3, 3)
    assert answer(case, "age <= 4") == (0.5, 0, 1)
    assert answer(case, "not age <= 4") == (2.5, 2, 3)


def test_counterfeits_leave_the_estimate_and_widen_the_bounds() -> None:
    frame = pl.DataFrame({"age": [0, 1, 2], "illness": ["flu", "flu", "gout"]})
    view = read_view(frame, Schema(quasi_identifiers=[Number("age")], sensitive="illness"))
    case = publish(view, [0, 0, 0], [(0, 0)])
    assert answer(case, "") == (3.0, 3, 3)
    assert answer(case, "illness = 'flu'") == (pytest.approx(9 / 4), 2, 3)
    assert answer(case, "illness = 'gout'") == (pytest.approx(3 / 4), 0, 1)
    assert case.release.count("").counterfeits == 1


def test_rows_left_out_may_match_too() -> None:
    found = publish(ages(1, 2, 3), [0, 0, -1]).release.count("age <= 9", suppressed=1)
    assert (found.lower, found.upper, found.upper_in_view, found.people) == (2, 2, 3, 2)
    with pytest.raises(PolicyError, match="0 or more"):
        publish(ages(1), [0]).release.count("", suppressed=-1)


def test_conditions_across_columns_are_one_condition() -> None:
    # Alternatives that together cover a group make it certain, though neither does alone.
    frame = pl.DataFrame({"age": [0, 3], "born": [DAY, DAY + timedelta(1)], "illness": ["flu", "gout"]})
    schema = Schema(quasi_identifiers=[Number("age"), Date("born")], sensitive="illness")
    case = publish(read_view(frame, schema), [0, 0])
    assert answer(case, "age < 2 or age >= 2") == (2.0, 2, 2)
    assert answer(case, "age < 2 or born = '2020-02-01' or (age >= 2 and born > '2020-02-01')") == (2.0, 2, 2)
    assert answer(case, "age < 2 or born = '2020-02-01'") == (1.5, 0, 2)
    assert answer(case, "age < 2 or illness = 'flu'") == (1.5, 1, 2)


def test_conditions_that_unfold_too_far_are_refused() -> None:
    case = publish(view_of([ROW, ROW]), [0, 0])
    # Every bit of a number may be asked of any of three columns: 3 ** 7 ways.
    wild = []
    for bit in range(7):
        numbers = [i for i in range(128) if i >> bit & 1]
        days = ", ".join(f"'{DAY + timedelta(i)}'" for i in numbers)
        listed = ", ".join(map(str, numbers))
        wild.append(f"(age in ({listed}) or weight in ({listed}) or born in ({days}))")
    assert case.release.count(" and ".join(wild[:3])).upper == 0
    with pytest.raises(PolicyError, match=f"more than {MOST_TERMS} alternatives"):
        case.release.count(" and ".join(wild))


def test_long_lists_are_one_alternative() -> None:
    case = publish(ages(*range(3000)), [0] * 1500 + [1] * 1500)
    text = f"age in ({', '.join(str(i) for i in range(0, 3000, 2))})"
    assert answer(case, text) == (1500.0, 0, 3000)


def test_groups_are_looked_at_block_by_block() -> None:
    # 31 alternatives of a condition and its contrary: the 3,000 groups do not fit into one block.
    rng = np.random.default_rng(0)
    age, weight, ward = rng.integers(0, 60, 3000), rng.integers(0, 60, 3000), rng.integers(0, 2, 3000)
    frame = pl.DataFrame({"age": age, "weight": weight, "ward": ward})
    schema = Schema(quasi_identifiers=[Number("age"), Number("weight")], insensitive=["ward"])
    case = publish(read_view(frame, schema), list(range(3000)))
    text = " or ".join(f"(age = {i} and weight = {i + 1})" for i in range(30))
    true = (age < 30) & (weight == age + 1)
    assert answer(case, text) == (true.sum(), true.sum(), true.sum())
    matching = true & (ward == 1)
    assert answer(case, f"({text}) and ward = 1") == (matching.sum(), matching.sum(), matching.sum())


def test_an_empty_release_counts_nobody() -> None:
    case = publish(view_of([]), [])
    assert answer(case, "age > 3 or ward = 3 or illness is null") == (0.0, 0, 0)


# Spans


BOUNDS = st.sampled_from([-np.inf, -1.0, 0.0, np.nextafter(0.0, 1.0), 0.5, 1.0, 2.0, np.inf])
SPANS = st.builds(
    lambda pairs, missing: joined(
        [Span(tuple((low, high) for low, high in pairs if low <= high)), Span((), missing)]
    ),
    st.lists(st.tuples(BOUNDS, BOUNDS), max_size=3),
    st.booleans(),
)


@given(SPANS, SPANS, st.sampled_from([-5.0, -1.0, 0.0, 5e-324, 0.25, 0.5, 1.0, 1.5, 2.0, 1e308]))
def test_spans_are_sets(one: Span, other: Span, value: float) -> None:
    def inside(span: Span) -> bool:
        return any(low <= value <= high for low, high in span.intervals)

    assert inside(common(one, other)) == (inside(one) and inside(other))
    assert inside(joined([one, other])) == (inside(one) or inside(other))
    assert inside(rest(one)) != inside(one)
    assert rest(one).missing != one.missing
    assert others(one) == Span(rest(one).intervals)
    assert rest(rest(one)) == one
    assert common(one, rest(one)) == NOTHING


# Against the raw view


NUMBERS = st.sampled_from(["-2", "0", "3", "0.5", "1.25", "9"])
LITERALS = {
    "age": NUMBERS,
    "weight": NUMBERS,
    "town": st.sampled_from(["'a'", "'c'", "'e'", "'zz'"]),
    "zip": st.sampled_from(["'10'", "'20'", "'1*'", "'*'"]),
    "born": st.sampled_from(["'2020-02-01'", "'2020-02-03'", "'2021-01-01'"]),
    "school": st.sampled_from(["'none'", "'basic'", "'high'"]),
    "ward": st.sampled_from(["1", "2"]),
    "illness": st.sampled_from(["'flu'", "'gout'", "'zz'"]),
}
UNORDERED = ("town", "zip", "illness")


@st.composite
def cases(draw: st.DrawFn) -> tuple[Case, list[tuple[Any, ...]]]:
    """A random view of all kinds of columns, randomly grouped, with counterfeits and rows left out."""
    maybe = lambda strategy: st.none() | strategy  # noqa: E731
    row = st.tuples(
        maybe(st.integers(-3, 6)),
        maybe(st.sampled_from([0.5, 1.25, 2.0, 3.75])),
        maybe(st.sampled_from("abcde")),
        maybe(st.sampled_from(["10", "11", "20", "21"])),
        maybe(st.dates(min_value=DAY, max_value=DAY + timedelta(5))),
        maybe(st.sampled_from(["none", "basic", "high"])),
        maybe(st.integers(1, 3)),
        maybe(st.sampled_from(["flu", "gout", "ague"])),
    )
    rows = draw(st.lists(row, max_size=20))
    view = view_of(rows)
    raw = draw(st.lists(st.integers(-1, 4), min_size=len(rows), max_size=len(rows)))
    used = sorted({group for group in raw if group >= 0})
    extra = []
    if used and len(view.values):
        pair = st.tuples(st.integers(0, len(used) - 1), st.integers(0, len(view.values) - 1))
        extra = draw(st.lists(pair, max_size=3))
    return publish(view, [used.index(group) if group >= 0 else -1 for group in raw], extra), rows


def one_test(columns: tuple[str, ...]) -> st.SearchStrategy[str]:
    @st.composite
    def one(draw: st.DrawFn) -> str:
        name = draw(st.sampled_from(columns))
        value = lambda: draw(LITERALS[name])  # noqa: E731
        signs = ["=", "!=", "<>", "in", "not in", "is null", "is not null"]
        if name not in UNORDERED:
            signs += ["<", "<=", ">", ">=", "between", "not between"]
        sign = draw(st.sampled_from(signs))
        if sign.endswith("null"):
            return f"{name} {sign}"
        if sign.endswith("in"):
            return f"{name} {sign} ({value()}, {value()})"
        return (
            f"{name} {sign} {value()} and {value()}"
            if sign.endswith("between")
            else f"{name} {sign} {value()}"
        )

    return one()


def conditions(columns: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.recursive(
        one_test(columns),
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
            inner.map(lambda part: f"not ({part})"),
        ),
        max_leaves=4,
    )


def truth(condition: Condition, row: dict[str, Any]) -> bool | None:
    """Whether a raw row matches, by the three values of SQL."""
    if isinstance(condition, Not):
        held = truth(condition.part, row)
        return None if held is None else not held
    if isinstance(condition, Test):
        return _test(condition, row[condition.column])
    found = [truth(part, row) for part in condition.parts]
    decisive = isinstance(condition, Either)
    if decisive in found:
        return decisive
    return None if None in found else not decisive


def _test(test: Test, value: Any) -> bool | None:
    if test.sign == "null":
        return value is None
    if value is None:
        return None
    given = [_typed(test.column, literal) for literal in test.values]
    if test.column == "zip":
        same = [value == x or (x.endswith("*") and value.startswith(x.rstrip("*"))) for x in given]
    else:
        same = [value == x for x in given]
    if test.column == "school":
        order = ("none", "basic", "high")
        value, given = order.index(value), [order.index(x) for x in given]
    return {
        "=": lambda: same[0],
        "!=": lambda: not same[0],
        "in": lambda: any(same),
        "between": lambda: given[0] <= value <= given[1],
        "<": lambda: value < given[0],
        "<=": lambda: value <= given[0],
        ">": lambda: value > given[0],
        ">=": lambda: value >= given[0],
    }[test.sign]()


def _typed(column: str, literal: Literal) -> Any:
    return (
        date.fromisoformat(literal.text)
        if column == "born"
        else literal.text
        if literal.number is None
        else literal.number
    )


def named(row: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(TYPES, row, strict=True))


@settings(max_examples=150)
@given(cases(), conditions(tuple(TYPES)))
def test_the_truth_never_leaves_the_bounds(drawn, where) -> None:
    case, rows = drawn
    matching = [truth(parse_condition(where), named(row)) is True for row in rows]
    true = sum(matching)
    in_release = sum(m for m, group in zip(matching, case.membership, strict=True) if group > 0)
    found = case.release.count(where, case.suppressed)
    assert found.lower <= in_release <= found.upper
    assert found.lower <= true <= found.upper_in_view
    assert found.lower <= found.expected <= found.upper


@settings(max_examples=150)
@given(cases(), conditions(tuple(TYPES)))
def test_cells_of_single_values_are_counted_exactly(drawn, where) -> None:
    _, rows = drawn
    distinct = sorted(set(rows), key=repr)
    case = publish(view_of(rows), [distinct.index(row) for row in rows])
    true = sum(truth(parse_condition(where), named(row)) is True for row in rows)
    assert answer(case, where) == (pytest.approx(true), true, true)


def decoded(axis: Axis, point: float) -> Any:
    if point == -np.inf:
        return None
    if axis.labels:
        return axis.labels[int(point)]
    return date(1970, 1, 1) + timedelta(int(point)) if axis.column.kind == "date" else point


def absent_share(case: Case, name: str, group: int) -> float:
    """The share of missing values that a group is taken to have; `missing_shares` has tests of its own."""
    states = next(cells.missing for cells in case.release.cells if cells.axis.column.name == name)
    people = case.release.sizes - case.release.counterfeits
    return float(missing_shares(states[None], people)[0, group])


def twin(case: Case, where: str, columns: tuple[str, ...]) -> tuple[float, int, int]:
    """Every value that the cells allow, row by row."""
    release, condition = case.release, parse_condition(where)
    axes = {c.axis.column.name: (c, p) for c, p in zip(release.cells, case.view.points, strict=True)}
    quasi = [name for name in columns if name in axes]
    expected, lower, upper = 0.0, 0, 0
    for group in range(release.group_count):
        size, false = int(release.sizes[group]), int(release.counterfeits[group])
        people = size - false
        if people == 0:
            continue
        options = []
        for name in quasi:
            cells, points = axes[name]
            values = [decoded(cells.axis, x) for x in allowed(cells, group, points)]
            known = len([v for v in values if v is not None])
            starred = cells.missing[group] == SOME_MISSING
            absent = absent_share(case, name, group)
            weights = [absent if v is None else (1 - absent) / known for v in values] if starred else None
            options.append(list(zip(values, weights or [1 / len(values)] * len(values), strict=True)))
        chance, perhaps, surely = 0.0, 0, 0
        every = []
        for row in release.rest.filter(pl.Series(release.group == group + 1)).to_dicts():
            held = []
            for combination in itertools.product(*options):
                weight = float(np.prod([w for _, w in combination]))
                guess = row | dict(zip(quasi, [v for v, _ in combination], strict=True))
                held.append(truth(condition, guess) is True)
                chance += weight * held[-1]
                every.append((guess, held[-1]))
            perhaps += any(held)
            surely += all(held)
        few, many = max(0, surely - false), min(perhaps, people)
        for name in quasi:
            if axes[name][0].missing[group] == SOME_MISSING and people > 1:
                for absent in (True, False):
                    side = [held for guess, held in every if (guess[name] is None) == absent]
                    few, many = max(few, int(all(side))), min(many, people - (not any(side)))
        expected += min(max(chance * people / size, few), many)
        lower += few
        upper += many
    return expected, lower, upper


CHOSEN = st.sampled_from(
    [("age", "town"), ("zip", "school", "illness"), ("born", "illness", "ward"), ("town", "zip", "ward")]
)


@settings(max_examples=100)
@given(cases(), CHOSEN.flatmap(lambda columns: st.tuples(st.just(columns), conditions(columns))))
def test_estimate_and_bounds_are_those_of_the_twin(drawn, asked) -> None:
    case, _ = drawn
    columns, where = asked
    expected, lower, upper = twin(case, where, columns)
    assert answer(case, where) == (pytest.approx(expected), lower, upper)


SMALL = Schema(quasi_identifiers=[Number("age", domain=(0, 2)), Category("town")], insensitive=["ward"])
PEOPLE = st.tuples(st.sampled_from([None, 0, 2]), st.sampled_from([None, "a", "b"]), st.sampled_from([1, 2]))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(PEOPLE, min_size=1, max_size=3), min_size=1, max_size=3),
    conditions(("age", "town", "ward")),
)
def test_whatever_people_the_cells_allow_the_count_lies_between_the_bounds(groups, where) -> None:
    """Every way to fill the cells: `*` with a missing value and one that is there, an empty cell with none."""
    rows = [row for group in groups for row in group]
    types = {"age": pl.Int64, "town": pl.String, "ward": pl.Int64}
    view = read_view(pl.DataFrame(rows, schema=types, orient="row"), SMALL)
    case = publish(view, [at for at, group in enumerate(groups) for _ in group])
    condition = parse_condition(where)
    fewest, most, starred = 0, 0, 0
    for number in range(case.release.group_count):
        wards = case.release.rest.filter(pl.Series(case.release.group == number + 1))["ward"].to_list()
        ways: list[set[tuple[Any, ...]]] = []
        for cells, points in zip(case.release.cells, case.view.points, strict=True):
            values = [decoded(cells.axis, x) for x in allowed(cells, number, points)]
            mixed = cells.missing[number] == SOME_MISSING
            starred = max(starred, sum(int(c.missing[number] == SOME_MISSING) for c in case.release.cells))
            every = itertools.product(values, repeat=len(wards))
            ways.append({w for w in every if not mixed or 0 < w.count(None) < len(w)})
        counts = [
            sum(truth(condition, {"age": a, "town": t, "ward": w}) is True for a, t, w in zip(*way, wards))  # noqa: B905
            for way in itertools.product(*ways)
        ]
        fewest, most = fewest + min(counts), most + max(counts)
    _, lower, upper = answer(case, where)
    assert lower <= fewest
    assert most <= upper
    if starred == 0:
        assert (lower, upper) == (fewest, most)


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("share", [0.05, 0.3, 0.7])
def test_missing_values_are_expected_about_as_often_as_they_are(share: float, alike: bool) -> None:
    """Whether or not the people of a group are alike in lacking a value."""
    rng = np.random.default_rng(1)
    chance = np.repeat(rng.beta(share / 2, (1 - share) / 2, 500), 6) if alike else np.full(3000, share)
    values = [None if lost else float(i) for i, lost in enumerate(rng.random(3000) < chance)]
    case = publish(ages(*values), [at // 6 for at in range(3000)])
    found = case.release.count("age is null")
    assert found.expected == pytest.approx(values.count(None), rel=0.15)
    assert found.lower <= values.count(None) <= found.upper


def test_where_all_groups_lack_some_values_half_are_expected() -> None:
    case = publish(ages(1, 2, None, None, 3, None, 4, 5), [0, 0, 0, 0, 1, 1, 1, 1])
    assert answer(case, "age is null") == (pytest.approx(4.0, rel=1e-3), 2, 6)
    assert missing_shares(np.array([[SOME_MISSING]]), np.array([1000]))[0, 0] == pytest.approx(0.5, rel=1e-3)


@given(st.floats(0.01, 100), st.floats(0.01, 100), st.integers(2, 12))
def test_the_share_of_some_is_that_of_all_numbers_in_between(a: float, b: float, n: int) -> None:
    weights = [math.comb(n, j) * math.exp(betaln(a + j, b + n - j)) for j in range(1, n)]
    mean = sum(j * weight for j, weight in enumerate(weights, start=1)) / sum(weights)
    assert share_of_some(a, b, np.array([float(n)]))[0] == pytest.approx(mean / n, rel=1e-5)


COUNTED = st.lists(st.integers(2, 9), min_size=1, max_size=8)


@settings(max_examples=40, deadline=None)
@given(COUNTED, COUNTED, COUNTED, st.floats(-5, 5), st.floats(-5, 5))
def test_no_other_distribution_makes_the_groups_likelier(none, some, every, one, other) -> None:
    def likelihood(a: float, b: float) -> float:
        total = -1e-3 * (math.log(a) ** 2 + math.log(b) ** 2)
        total += sum(betaln(a, b + n) - betaln(a, b) for n in none)
        total += sum(betaln(a + n, b) - betaln(a, b) for n in every)
        ways = [
            [math.comb(n, j) * math.exp(betaln(a + j, b + n - j) - betaln(a, b)) for j in range(1, n)]
            for n in some
        ]
        return total + sum(math.log(sum(way)) for way in ways)

    sizes = (GroupSizes.of(np.array(n)) for n in (none, some, every))
    best = likelihood(*likeliest(*sizes))
    assert best >= likelihood(math.exp(one), math.exp(other)) - 1e-4


@settings(max_examples=40)
@given(cases(), st.lists(conditions(tuple(TYPES)), max_size=5))
def test_many_queries_are_answered_as_one_by_one(drawn, texts) -> None:
    case, _ = drawn
    found = case.release.count_many(texts)
    single = [answer(case, text) for text in texts]
    assert [tuple(row) for row in zip(found.expected, found.lower, found.upper, strict=True)] == [
        (pytest.approx(e), low, high) for e, low, high in single
    ]


@settings(max_examples=60)
@given(cases(), st.integers(0, 99), st.booleans())
def test_a_workload_is_estimated_as_the_metrics_do(drawn, seed, sensitive) -> None:
    case, _ = drawn
    workload = Workload.random(case.view, 20, 2, 0.3, seed, sensitive=sensitive)
    found = case.release.count_many(workload)
    metric = estimated_counts(case.release, workload)
    if not any((cells.missing == SOME_MISSING).any() for cells in case.release.cells):
        assert found.expected == pytest.approx(metric)
    assert (found.expected <= metric + 1e-9).all()  # one value of `*` is missing and in no range
    assert (found.lower <= found.expected).all()
    assert (found.expected <= found.upper).all()


def test_a_single_text_is_not_many() -> None:
    with pytest.raises(PolicyError, match="put it into a list"):
        publish(ages(1), [0]).release.count_many("age = 1")


def test_no_queries_have_no_answers() -> None:
    assert publish(ages(1), [0]).release.count_many([]).expected.size == 0


def test_a_number_with_a_hierarchy_is_compared_as_a_number() -> None:
    tree = Hierarchy((("5", "young", "*"), ("30", "old", "*"), ("7", "young", "*")))
    column: Column = Number("age", hierarchy=tree)
    view = read_view(pl.DataFrame({"age": [5, 7, 30]}), Schema(quasi_identifiers=[column]))
    case = publish(view, [0, 0, 1])
    assert answer(case, "age < 10") == (2.0, 2, 2)
    assert answer(case, "age = 7 or age = 'old'") == (2.0, 1, 3)
