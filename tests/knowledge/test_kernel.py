"""Kernel regression: against a double loop, and where nobody is near."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from republish import Category, Date, Hierarchy, Microdata, Number, Ordered, PolicyError, Schema, read_view
from republish.knowledge import kernel_prior

TOWNS = {"u": ("u", "north", "land", "*"), "v": ("v", "north", "land", "*"), "w": ("w", "south", "land", "*")}
TOWNS["x"] = ("x", "isle", "sea", "*")
SCHEMA = Schema(
    None,
    [
        Number("age", domain=(0, 10)),
        Category("sex"),
        Category("town", Hierarchy(tuple(TOWNS.values()))),
        Ordered("degree", order=("low", "middle", "high")),
        Date("day"),
    ],
    Category("result", domain=("a", "b", "c")),
)
Row = tuple[float | None, str | None, str | None, str | None, str | None, str]
Rows = st.lists(
    st.tuples(
        st.none() | st.integers(0, 10),
        st.none() | st.sampled_from("FMX"),
        st.none() | st.sampled_from("uvwx"),
        st.none() | st.sampled_from(["low", "middle", "high"]),
        st.none() | st.sampled_from(["2020-01-01", "2020-01-03", "2020-01-11"]),
        st.sampled_from("abc"),
    ),
    min_size=1,
    max_size=8,
)


def view_of(rows: list[Row]) -> Microdata:
    columns = zip(*rows, strict=True)
    names = ("age", "sex", "town", "degree", "day", "result")
    kinds = (pl.Float64, *[pl.String] * 5)
    data = [pl.Series(n, c, dtype=k) for n, c, k in zip(names, columns, kinds, strict=True)]
    return read_view(pl.DataFrame(data), SCHEMA)


def naive_distance(name: str, a: object, b: object, width: float) -> float:
    if a is None or b is None or a == b:
        return 0.0 if a == b else 1.0
    if name == "sex":
        return 1.0
    if name == "town":
        return next(level for level in range(4) if TOWNS[str(a)][level] == TOWNS[str(b)][level]) / 3
    if name == "degree":
        places = ("low", "middle", "high")
        return abs(places.index(str(a)) - places.index(str(b))) / 2
    if name == "day":
        apart = abs(int(str(a)[-2:]) - int(str(b)[-2:]))
        return apart / width if width else 1.0
    return abs(float(a) - float(b)) / 10  # type: ignore[arg-type]


def naive_prior(corpus: list[Row], at: list[Row], bands: list[float]) -> np.ndarray:
    days = [int(row[4][-2:]) for row in corpus if row[4] is not None]
    width = max(days, default=0) - min(days, default=0)
    result = []
    for person in at:
        weights = np.zeros(3)
        for other in corpus:
            weight = 1.0
            for name, a, b, band in zip(
                ("age", "sex", "town", "degree", "day"), person, other, bands, strict=False
            ):
                x = naive_distance(name, a, b, width)
                weight *= 3 / (4 * band) * (1 - (x / band) ** 2) if x < band else 0.0
            weights["abc".index(other[5])] += weight
        if weights.sum() == 0:
            weights = np.array([sum(row[5] == value for row in corpus) for value in "abc"], dtype=float)
        result.append(weights / weights.sum())
    return np.array(result)


@given(Rows, Rows, st.lists(st.sampled_from([0.3, 0.5, 1.0, 1.5]), min_size=5, max_size=5))
def test_the_prior_is_that_of_a_double_loop(corpus: list[Row], at: list[Row], bands: list[float]) -> None:
    found = kernel_prior(view_of(corpus), view_of(at), bands)
    assert np.allclose(found, naive_prior(corpus, at, bands))


def test_one_bandwidth_serves_all_and_points_will_do() -> None:
    rows: list[Row] = [(3, "F", "u", "low", "2020-01-01", "a"), (5, "F", "v", "low", "2020-01-03", "b")]
    view = view_of(rows)
    expected = naive_prior(rows, rows, [1.5] * 5)
    assert 0.5 < expected[0, 0] < 0.9
    assert np.allclose(kernel_prior(view, view, 1.5), expected)
    assert np.allclose(kernel_prior(view, view.points, 1.5), expected)


def test_who_has_no_neighbour_gets_the_shares_of_all() -> None:
    corpus: list[Row] = [(0, "F", "u", "low", "2020-01-01", "a")] * 3 + [
        (1, "F", "u", "low", "2020-01-01", "c")
    ]
    far: list[Row] = [(9, "F", "u", "low", "2020-01-01", "b")]
    assert kernel_prior(view_of(corpus), view_of(far), 0.2).tolist() == [[0.75, 0, 0.25]]


def test_an_empty_corpus_knows_nothing() -> None:
    view = view_of([(0, "F", "u", "low", "2020-01-01", "a")])
    nobody = read_view(pl.DataFrame({name: [] for name in SCHEMA.columns}), SCHEMA)
    assert np.allclose(kernel_prior(nobody, view, 0.5), 1 / 3)
    assert kernel_prior(view, nobody, 0.5).shape == (0, 3)


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, float("nan"), [0.5, 0.5, 0.5, 0.5, 0.0]])
def test_a_bandwidth_must_be_positive(bandwidth: float) -> None:
    view = view_of([(0, "F", "u", "low", "2020-01-01", "a")])
    with pytest.raises(PolicyError, match="bandwidth"):
        kernel_prior(view, view, bandwidth)


def test_a_wrong_number_of_coordinates_or_bandwidths_is_refused() -> None:
    view = view_of([(0, "F", "u", "low", "2020-01-01", "a")])
    with pytest.raises(PolicyError, match="each of 5 quasi-identifiers"):
        kernel_prior(view, view.points[:2], 0.5)
    with pytest.raises(PolicyError, match="bandwidth"):
        kernel_prior(view, view, [0.5, 0.5])
    other = read_view(pl.DataFrame({"age": [1], "result": ["a"]}), Schema(None, [Number("age")], "result"))
    with pytest.raises(PolicyError, match="in their order"):
        kernel_prior(view, other, 0.5)
