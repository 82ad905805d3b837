"""(B,t)-privacy: against slow twins, a worked example, and what its parameters may be."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish import (
    BTPrivacy,
    Category,
    Hierarchy,
    Microdata,
    Number,
    Ordered,
    PolicyError,
    Schema,
    read_view,
)
from republish.inference import posterior
from republish.requirements import Whole
from republish.requirements.bt_privacy import beliefs_of, rows_within
from republish.verify import bt_privacy
from republish.verify.bt_privacy import check_bt, distances

TOWNS = {"u": ("u", "north", "*"), "v": ("v", "north", "*"), "w": ("w", "south", "*")}
RESULTS = {"a": ("a", "x", "*"), "b": ("b", "x", "*"), "c": ("c", "y", "*"), "d": ("d", "y", "*")}
SENSITIVE = {
    "equal": Category("result"),
    "ordered": Ordered("result", order=tuple(RESULTS)),
    "hierarchical": Category("result", Hierarchy(tuple(RESULTS.values()))),
}
QUASI = [
    Number("age", domain=(0, 10)),
    Category("sex"),
    Category("town", Hierarchy(tuple(TOWNS.values()))),
]
ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(0, 10),
        st.none() | st.sampled_from("FM"),
        st.none() | st.sampled_from("uvw"),
        st.sampled_from("abcd"),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=12,
)
BANDS = st.sampled_from([0.3, 0.5, 0.7, 1.0, 1.6])
METRICS = st.sampled_from(sorted(SENSITIVE))


def view_of(rows, distance="equal") -> Microdata:
    names = ("age", "sex", "town", "result")
    data = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    kinds = {"age": pl.Float64, "sex": pl.String, "town": pl.String}
    return read_view(pl.DataFrame(data, schema_overrides=kinds), Schema(None, QUASI, SENSITIVE[distance]))


# --- the twin: from the definition, one number at a time ------------------------------------------------


def weight(distance, band):
    return 1 - (distance / band) ** 2 if distance < band else 0.0


def naive_quasi(i, a, b):
    if a == b:
        return 0.0
    if a is None or b is None or i == 1:
        return 1.0
    if i == 0:
        return abs(a - b) / 10
    return next(level for level in range(3) if TOWNS[a][level] == TOWNS[b][level]) / 2


def naive_value(distance, occurring, a, b):
    if distance == "ordered":
        return abs(occurring.index(a) - occurring.index(b)) / max(1, len(occurring) - 1)
    if distance == "hierarchical":
        return next(level for level in range(3) if RESULTS[a][level] == RESULTS[b][level]) / 2
    return float(a != b)


def scaled(p):
    total = sum(p.values())
    return {s: x / total for s, x in p.items()}


def naive_prior(rows, person, band):
    p = dict.fromkeys("abcd", 0.0)
    for other in rows:
        p[other[3]] += math.prod(weight(naive_quasi(i, person[i], other[i]), band) for i in range(3))
    return scaled(p)


def naive_smooth(p, distance, occurring, band):
    smooth = {}
    for s in occurring:
        near = {r: weight(naive_value(distance, occurring, s, r), band) for r in occurring}
        smooth[s] = sum(near[r] * p[r] for r in occurring) / sum(near.values())
    return scaled(smooth)


def naive_divergence(p, q):
    found = 0.0
    for s in p:
        for x in (p[s], q[s]):
            found += x * math.log2(2 * x / (p[s] + q[s])) / 2 if x > 0 else 0.0
    return found


def naive_distances(rows, groups, required):
    occurring = sorted({row[3] for row in rows})
    found = []
    for person, group in zip(rows, groups, strict=True):
        members = [row for row, other in zip(rows, groups, strict=True) if other == group]
        priors = [naive_prior(rows, member, required.b) for member in members]
        before = naive_prior(rows, person, required.b)
        after = {}
        for s in "abcd":
            shown = sum(member[3] == s for member in members)
            after[s] = shown * before[s] / sum(p[s] for p in priors) if shown else 0.0
        both = [naive_smooth(p, required.distance, occurring, required.b) for p in (before, scaled(after))]
        found.append(naive_divergence(*both))
    return found


# --- comparisons ----------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(ROWS, BANDS, METRICS, st.booleans())
def test_the_check_agrees_with_the_definition(rows, b, distance, in_blocks):
    required = BTPrivacy(b, 0.5, distance)
    group = np.array([row[4] + 1 for row in rows])
    with pytest.MonkeyPatch.context() as patch:
        if in_blocks:
            patch.setattr(bt_privacy, "_CELLS", 8)
        found = distances(required, view_of(rows, distance), group)
    assert found == pytest.approx(naive_distances(rows, group.tolist(), required), abs=1e-9)


@settings(max_examples=100)
@given(st.data(), METRICS, BANDS)
def test_the_kernel_agrees_with_the_posteriors_of_inference(data, distance, b):
    m, tuples = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    seed = data.draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    prior = rng.integers(0, 4, (tuples, m)).astype(float)
    prior[:, 0] += prior.sum(axis=1) == 0
    prior /= prior.sum(axis=1, keepdims=True)
    n = data.draw(st.integers(1, 6))
    place, codes = rng.integers(0, tuples, n), rng.integers(0, m, n).astype(np.int32)
    nodes = np.column_stack([np.arange(m), np.arange(m) // 2, np.zeros(m)]).astype(np.int32)
    whole = Whole(np.full(m, 1 / m), rng.permutation(m), nodes)
    rows = np.sort(rng.choice(n, data.draw(st.integers(1, n)), replace=False)).astype(np.int32)
    smoothing = BTPrivacy(b, 0.5, distance).smoothing(whole)
    before = prior[place[rows]]
    after = posterior(before, codes[rows], "omega")
    if len(smoothing):
        before, after = (p @ smoothing.T for p in (before, after))
        before, after = (p / p.sum(axis=1, keepdims=True) for p in (before, after))
    reached = max(
        naive_divergence(dict(enumerate(p)), dict(enumerate(q))) for p, q in zip(before, after, strict=True)
    )
    for t, expected in ((reached + 1e-9, True), (reached - 1e-9, False)):
        if 0 <= t <= 1:
            beliefs = beliefs_of(BTPrivacy(b, t, distance), prior, place, whole)
            assert rows_within(beliefs, rows, codes[rows]) == expected


# --- by hand --------------------------------------------------------------------------------------------

ONE = Schema(None, [Number("age", domain=(0, 10))], Category("v"))


def two_ages() -> Microdata:
    # With B = .5 the two ages know nothing of each other: priors (1/2, 1/2) and (1, 0).
    return read_view(pl.DataFrame({"age": [0, 0, 10, 10], "v": ["a", "b", "a", "a"]}), ONE)


def test_the_whole_view_shows_what_was_believed():
    # Expected 3 times a and once b, and so it is: posteriors are priors.
    assert distances(BTPrivacy(0.5, 0), two_ages(), np.ones(4, int)) == pytest.approx([0, 0, 0, 0])
    assert check_bt(BTPrivacy(0.5, 0), two_ages(), np.ones(4, int)).holds


def test_a_group_that_shows_something_else():
    # Rows 0 and 2 show a alone: (1/2, 1/2) becomes (1, 0). Rows 1 and 3 show a and b where 3/2 and 1/2 were
    # expected: (1/2, 1/2) becomes (1/3, 1) / (4/3) = (1/4, 3/4).
    surprised = (math.log2(4 / 3) + math.log2(2 / 3) / 2 + 1 / 2) / 2
    swayed = (
        math.log2(4 / 3) / 2 + math.log2(4 / 5) / 2 + math.log2(2 / 3) / 4 + math.log2(6 / 5) * 3 / 4
    ) / 2
    group = np.array([1, 2, 1, 2])
    assert distances(BTPrivacy(0.5, 0.8), two_ages(), group) == pytest.approx([surprised, swayed, 0, 0])
    assert (surprised, swayed) == pytest.approx((0.311278, 0.048795), abs=1e-6)
    broken = check_bt(BTPrivacy(0.5, 0.31), two_ages(), group)
    assert (broken.holds, broken.groups, broken.rows) == (False, 1, 1)
    assert check_bt(BTPrivacy(0.5, 0.312), two_ages(), group).holds


def test_who_is_left_out_is_not_asked_about():
    assert check_bt(BTPrivacy(0.5, 0.1), two_ages(), np.array([0, 1, 0, 1])).holds


def test_it_is_not_closed_under_union():
    view = read_view(pl.DataFrame({"age": [5, 9, 6, 10, 5], "v": ["b", "a", "b", "a", "b"]}), ONE)
    required = BTPrivacy(0.5, 0.00023)
    assert check_bt(required, view, np.array([1, 1, 1, 2, 2])).holds
    assert not check_bt(required, view, np.ones(5, int)).holds


@pytest.mark.parametrize("b", [0.1, 0.5, 1.0])
def test_equally_far_values_are_not_smoothed(b):
    assert BTPrivacy(b).smoothing(Whole(np.full(4, 0.25))).size == 0


def test_above_one_equal_shares_are_mixed_in():
    smoothing = BTPrivacy(2.0).smoothing(Whole(np.full(3, 1 / 3)))
    assert smoothing == pytest.approx((np.eye(3) * 0.25 + 0.75) / 2.5)


def test_neighbours_in_an_order_are_smoothed_and_absent_values_do_not_count():
    # Of four values the second does not occur: the others are 1/2 apart, (1/2 / 1)^2 = 1/4.
    whole = Whole(np.array([0.5, 0.0, 0.25, 0.25]), np.arange(4))
    smoothing = BTPrivacy(1.0, 0.5, "ordered").smoothing(whole)
    assert smoothing[0] == pytest.approx([4 / 7, 0, 3 / 7, 0])
    assert smoothing[1] == pytest.approx([0, 1, 0, 0])
    assert smoothing[2] == pytest.approx([3 / 10, 0, 4 / 10, 3 / 10])


# --- parameters -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("written", ["0.5/0.8", "0.3/1", "1.5/0.25/ordered", "1/0/hierarchical"])
def test_text_reads_back(written):
    assert BTPrivacy.of(written).parameter == written
    assert BTPrivacy.of(written).text == f"bt={written}"


def test_defaults_are_those_of_the_experiments():
    assert BTPrivacy() == BTPrivacy(0.5, 0.8, "equal") == BTPrivacy.of("0.5/0.8")


@pytest.mark.parametrize("b", [0, -0.5, math.nan, math.inf, "wide", True])
def test_a_bandwidth_is_above_zero(b):
    with pytest.raises(PolicyError, match=r"b of \(B,t\)-privacy must be"):
        BTPrivacy(b)


@pytest.mark.parametrize("t", [-0.1, 1.1, math.nan, "near", None])
def test_t_is_a_share(t):
    with pytest.raises(PolicyError, match=r"t of \(B,t\)-privacy must"):
        BTPrivacy(0.5, t)


def test_a_distance_is_one_of_three():
    with pytest.raises(PolicyError, match="must be one of equal, ordered, hierarchical"):
        BTPrivacy(0.5, 0.8, "far")  # type: ignore[arg-type]


@pytest.mark.parametrize("written", ["0.5", "", "a/b", "1/2/equal/4", 0.5, (0.5, 0.8)])
def test_what_is_not_written_as_two_numbers_is_refused(written):
    with pytest.raises(PolicyError, match="written B/t"):
        BTPrivacy.of(written)


@pytest.mark.parametrize("distance", ["ordered", "hierarchical"])
def test_a_distance_that_the_schema_does_not_give_is_refused(distance):
    with pytest.raises(PolicyError, match="found none"):
        BTPrivacy(0.5, 0.8, distance).smoothing(Whole(np.full(2, 0.5)))
