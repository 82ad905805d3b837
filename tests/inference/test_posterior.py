"""Posteriors against all bijections, batched against one by one, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference import naive
from republish.arrays import FloatArray
from republish.errors import PolicyError
from republish.inference import METHODS, Compromised, Groups, cascaded, group_posteriors, posterior

Group = tuple[FloatArray, list[int]]


@st.composite
def groups(draw: st.DrawFn, zeros: bool = True, surplus: int = 2, largest: int = 6) -> Group:
    """A prior, some rows of which may repeat, and the values shown."""
    members = draw(st.integers(1, largest))
    m = draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    prior = rng.dirichlet(np.full(m, draw(st.sampled_from([0.3, 1.0, 5.0]))), members) + 1e-6
    if draw(st.booleans()):
        prior = prior[rng.integers(0, members, members)]
    if zeros and draw(st.booleans()):
        prior = np.where(rng.random(prior.shape) < 0.3, 0.0, prior)
    extra = draw(st.integers(0, min(surplus, 6 - members))) if members < 6 else 0
    return prior, rng.integers(0, m, members + extra).tolist()


@st.composite
def compromises(draw: st.DrawFn) -> tuple[Group, dict[tuple[int, int], float]]:
    """A group and entries below certainty."""
    prior, values = draw(groups(zeros=False, surplus=1, largest=5))
    entries: dict[tuple[int, int], float] = {}
    for i in range(len(prior)):
        for s in draw(st.sets(st.integers(0, prior.shape[1] - 1), max_size=2)):
            entries[i, s] = draw(st.floats(0, 0.49))
    return (prior, values), entries


def compromised(entries: dict[tuple[int, int], float]) -> Compromised:
    keys = np.array(list(entries), dtype=np.int64).reshape(-1, 2)
    return Compromised(keys[:, 0], keys[:, 1], np.array(list(entries.values()), dtype=np.float64))


def shares(values: list[int], members: int, m: int) -> FloatArray:
    return np.tile(np.bincount(values, minlength=m) / len(values), (members, 1))


@pytest.mark.parametrize("method, weight", [("additive", naive.additive), ("exact", naive.product)])
@given(group=groups())
def test_weights_of_all_bijections(method: str, weight: naive.Weight, group: Group) -> None:
    prior, values = group
    found = group_posteriors(prior, Groups.one(len(prior), values), method)
    expected = naive.weighted(prior, values, weight)
    if expected is None:
        expected = shares(values, *prior.shape)
        assert found.fallbacks in {0, len(prior)}
    else:
        assert found.fallbacks == 0
    assert found.p == pytest.approx(expected, abs=1e-9)


@settings(max_examples=8)
@given(seed=st.integers(0, 2**32), surplus=st.integers(0, 2))
def test_seven_people(seed: int, surplus: int) -> None:
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.ones(4), 7 - surplus)
    values = rng.integers(0, 4, 7).tolist()
    for method, weight in (("additive", naive.additive), ("exact", naive.product)):
        assert posterior(prior, values, method) == pytest.approx(
            naive.weighted(prior, values, weight), abs=1e-9
        )
    assert posterior(prior, values, "bayes") == pytest.approx(naive.bayes(prior, values))


@given(group=groups())
def test_bayes_by_enumeration(group: Group) -> None:
    prior, values = group
    assert posterior(prior, values, "bayes") == pytest.approx(naive.bayes(prior, values), abs=1e-9)


@given(seed=st.integers(0, 2**32), members=st.integers(1, 6))
def test_ties_of_bayes_follow_the_rule(seed: int, members: int) -> None:
    """Priors in tenths tie all the time."""
    rng = np.random.default_rng(seed)
    prior = rng.integers(0, 3, (members, 3)) / 10
    values = rng.integers(0, 3, members).tolist()
    assert posterior(prior, values, "bayes") == pytest.approx(naive.bayes(prior, values), abs=1e-9)


@given(case=compromises())
def test_bayes_with_posterior_based_cascading(case: tuple[Group, dict[tuple[int, int], float]]) -> None:
    (prior, values), entries = case
    known = naive.beyond_prior(prior, entries, values)
    found = posterior(prior, values, "bayes", compromised(entries))
    assert found == pytest.approx(naive.bayes(prior, values, known), abs=1e-9)


@given(group=groups(zeros=False))
def test_omega(group: Group) -> None:
    assert posterior(*group, "omega") == pytest.approx(naive.omega(*group))


@given(group=groups(zeros=False, surplus=0))
def test_sinkhorn_fits_rows_and_columns(group: Group) -> None:
    prior, values = group
    found = group_posteriors(prior, Groups.one(len(prior), values), "sinkhorn")
    assert found.p.sum(axis=1) == pytest.approx(np.ones(len(prior)))
    if not found.unsettled:
        assert found.p.sum(axis=0) == pytest.approx(np.bincount(values, minlength=prior.shape[1]), abs=1e-8)


@settings(max_examples=20)
@given(group=groups(zeros=False))
def test_sinkhorn_is_the_limit_of_scaling(group: Group) -> None:
    assert posterior(*group, "sinkhorn") == pytest.approx(naive.sinkhorn(*group), abs=1e-4)


@given(group=groups(zeros=False))
def test_a_posterior_is_a_distribution_over_the_values_shown(group: Group) -> None:
    prior, values = group
    hidden = np.setdiff1d(np.arange(prior.shape[1]), values)
    for method in METHODS:
        p = posterior(prior, values, method)
        assert p.min() >= -1e-12
        assert p.sum(axis=1) == pytest.approx(np.ones(len(prior)))
        assert (p[:, hidden] == 0).all()


def test_errors_against_exact_are_those_documented() -> None:
    """Mean over groups of eight of the largest error, prior Dirichlet(1) over four values."""
    rng = np.random.default_rng(1)
    errors: dict[str, list[float]] = {m: [] for m in (*METHODS, "uniform")}
    for _ in range(400):
        prior = rng.dirichlet(np.ones(4), 8)
        values = (prior.cumsum(axis=1) > rng.random((8, 1))).argmax(axis=1).tolist()
        exact = posterior(prior, values)
        for method in METHODS:
            errors[method].append(np.abs(posterior(prior, values, method) - exact).max())
        errors["uniform"].append(np.abs(shares(values, 8, 4) - exact).max())
    mean = {method: float(np.mean(e)) for method, e in errors.items()}
    assert mean["omega"] == pytest.approx(0.10, abs=0.015)
    assert mean["sinkhorn"] == pytest.approx(0.085, abs=0.015)
    assert mean["bp"] == pytest.approx(0.017, abs=0.006)
    assert mean["additive"] == pytest.approx(0.44, abs=0.03)
    assert mean["uniform"] == pytest.approx(0.50, abs=0.03)


def test_bp_is_exact_where_the_support_has_no_cycle() -> None:
    prior = np.array([[0.3, 0.7, 0.0, 0.0], [0.0, 0.2, 0.8, 0.0], [0.0, 0.0, 0.6, 0.4], [0.0, 0.0, 0.0, 1.0]])
    found = group_posteriors(prior, Groups.one(4, [0, 1, 2, 3]), "bp")
    assert found.p == pytest.approx(posterior(prior, [0, 1, 2, 3]), abs=1e-6)


def test_bp_takes_the_likelier_of_two_bijections_for_certain() -> None:
    """Its fixed point on one cycle: overconfident in groups of two, where `exact` costs nothing."""
    p = posterior(np.array([[0.31, 0.05], [0.02, 0.31]]), [0, 1], "bp")
    assert p == pytest.approx(np.eye(2), abs=1e-6)


def test_bp_is_close_to_exact_in_larger_groups() -> None:
    rng = np.random.default_rng(2)
    prior = rng.dirichlet(np.ones(6), 30)
    values = (prior.cumsum(axis=1) > rng.random((30, 1))).argmax(axis=1).tolist()
    assert np.abs(posterior(prior, values, "bp") - posterior(prior, values)).max() < 0.01


def families() -> tuple[FloatArray, list[FloatArray]]:
    """Three families of four values; eight people of each family have no other value. Shuffled."""
    rng = np.random.default_rng(4)
    blocks = [rng.dirichlet(np.ones(4), 8) for _ in range(3)]
    prior = np.zeros((24, 12))
    for f, block in enumerate(blocks):
        prior[f::3, f::3] = block
    return prior, blocks


def test_people_and_values_without_a_connection_are_groups_of_their_own() -> None:
    prior, blocks = families()
    release = Groups.one(24, np.tile(np.arange(12), 2))
    found = group_posteriors(prior, release, limit=81)  # 3 ** 12 states together, 3 ** 4 each
    assert found.used == {"exact": 24}
    for f, block in enumerate(blocks):
        assert found.p[f::3, f::3] == pytest.approx(posterior(block, [0, 1, 2, 3] * 2))
    assert group_posteriors(prior, release, limit=80).used == {"bp": 24}


def test_a_family_with_more_values_than_people_falls_back() -> None:
    prior, _ = families()
    values = np.tile(np.arange(12), 2)
    values[0] = 1
    assert group_posteriors(prior, Groups.one(24, values)).fallbacks == 24


def test_unknown_people_connect_everything() -> None:
    prior = np.array([[0.5, 0.5, 0.0, 0.0], [0.3, 0.7, 0.0, 0.0], [0.0, 0.0, 0.2, 0.8]])
    values = [0, 1, 2, 3]
    assert posterior(prior, values) == pytest.approx(naive.weighted(prior, values, naive.product))


def random_release(seed: int, rows: int = 300, m: int = 6) -> tuple[FloatArray, Groups]:
    """Groups of 0 to 9 members with surplus values in some, and prior rows that repeat."""
    rng = np.random.default_rng(seed)
    group = np.sort(rng.choice(80, rows)) if seed % 2 else np.sort(rng.choice(400, rows))
    prior = rng.dirichlet(np.full(m, 0.4), rows)[rng.integers(0, rows, rows)]
    more = rng.choice(group, rows // 10)
    row_group = np.concatenate([group, more])
    made, order = Groups.of(group, row_group, rng.integers(0, m, len(row_group)))
    assert (order == np.arange(rows)).all()
    return prior, made


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", [1, 2])
def test_batched_is_one_by_one(method: str, seed: int) -> None:
    prior, release = random_release(seed)
    together = group_posteriors(prior, release, method)
    for g in range(release.total):
        mine = slice(release.member_start[g], release.member_start[g + 1])
        shown = slice(release.value_start[g], release.value_start[g + 1])
        values = np.repeat(release.value_code[shown], release.value_count[shown])
        assert (together.p[mine] == posterior(prior[mine], values, method)).all()
    assert sum(together.used.values()) == len(prior)


def test_equal_priors_are_counted_by_type_with_the_same_result() -> None:
    """Two kinds of people and twelve values: by values 4,096 states, by kinds 49."""
    rng = np.random.default_rng(5)
    kinds = rng.dirichlet(np.ones(12), 2)
    prior = kinds[[0, 1] * 6]
    release = Groups.one(12, np.arange(12))
    by_kind = group_posteriors(prior, release, limit=49)
    assert by_kind.used == {"exact": 12}
    nearly = prior * (1 + 1e-9 * rng.random(prior.shape))
    assert by_kind.p == pytest.approx(group_posteriors(nearly, release).p, abs=1e-7)
    assert group_posteriors(prior, release, limit=48).used == {"bp": 12}


def test_equal_priors_beside_unknown_people() -> None:
    rng = np.random.default_rng(6)
    prior = rng.dirichlet(np.ones(5), 2)[[0, 1, 1]]
    values = [0, 1, 2, 3, 4, 4]
    assert posterior(prior, values) == pytest.approx(naive.weighted(prior, values, naive.product))


def test_above_the_limit_bp_takes_over() -> None:
    rng = np.random.default_rng(7)
    prior = rng.dirichlet(np.ones(6), 12)
    release = Groups.one(12, np.arange(12) % 6)
    assert group_posteriors(prior, release, limit=729).used == {"exact": 12}
    assert group_posteriors(prior, release, limit=728).used == {"bp": 12}


def test_types_beyond_the_limit_are_not_counted_by() -> None:
    # 28 ** 3 states by type, 78 * 2 ** 4 by value: only the latter are within the limit
    prior = np.repeat(np.random.default_rng(0).dirichlet(np.ones(5), 3), 27, axis=0)
    values = [0] * 77 + [1, 2, 3, 4]
    groups = Groups.one(81, values)
    found = group_posteriors(prior, groups, "exact", limit=1300)
    assert found.used == {"exact": 81}
    np.testing.assert_allclose(found.p, group_posteriors(prior, groups, "exact").p, atol=1e-9)


def test_exact_keeps_its_digits_where_plain_products_vanish() -> None:
    """Fifty people who all nearly surely have the value that is there 25 times: by symmetry, a half each."""
    prior = np.tile([1.0, 1e-20], (50, 1))
    prior[:, 1] *= 1 + 1e-12 * np.arange(50)
    assert posterior(prior, [0] * 25 + [1] * 25) == pytest.approx(np.full((50, 2), 0.5), abs=1e-9)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), members=st.integers(2, 5), span=st.sampled_from([20, 150, 290]))
def test_exact_with_priors_of_any_size(seed: int, members: int, span: int) -> None:
    """Against enumeration in fractions, which neither round nor vanish."""
    rng = np.random.default_rng(seed)
    prior = np.where(rng.random((members, 3)) < 0.2, 0.0, 10.0 ** -(rng.random((members, 3)) * span))
    values = rng.integers(0, 3, members).tolist()
    fractions = [[Fraction(x) for x in row] for row in prior.tolist()]
    weights = {b: prod(fractions[i][s] for i, s in enumerate(b)) for b in naive.bijections(values)}
    total = sum(weights.values())
    if total:
        expected = [
            [float(sum(w for b, w in weights.items() if b[i] == s) / total) for s in range(3)]
            for i in range(members)
        ]
        assert posterior(prior, values) == pytest.approx(np.array(expected), abs=1e-12)


def test_exact_does_not_depend_on_the_scale_of_rows_and_columns() -> None:
    rng = np.random.default_rng(8)
    prior = rng.dirichlet(np.ones(5), 10)
    scaled = prior * 10.0 ** rng.integers(-120, 0, (10, 1)) * 10.0 ** rng.integers(-120, 0, 5)
    values = np.arange(10) % 5
    assert posterior(scaled, values) == pytest.approx(posterior(prior, values), abs=1e-9)


def test_many_unknown_people() -> None:
    """With very many of them a member's value follows the prior times what is there."""
    prior = np.array([[0.5, 0.3, 0.2]])
    p = posterior(prior, [0] * 10 + [1] * 20 + [2] * 30)
    expected = np.array([[5.0, 6.0, 6.0]]) / 17
    assert p == pytest.approx(expected)


def test_one_member_is_certain_whatever_the_prior() -> None:
    for method in METHODS:
        found = group_posteriors(np.array([[1.0, 0.0]]), Groups.one(1, [1]), method)
        assert found.p.tolist() == [[0.0, 1.0]]
        assert found.fallbacks == 0


@pytest.mark.parametrize("method", METHODS)
def test_nobody(method: str) -> None:
    assert posterior(np.zeros((0, 3)), [], method).shape == (0, 3)
    assert posterior(np.zeros((0, 3)), [1, 2], method).shape == (0, 3)


@pytest.mark.parametrize(
    "method, fallbacks", [("additive", 2), ("omega", 2), ("sinkhorn", 2), ("bp", 2), ("exact", 2)]
)
def test_a_prior_without_the_values_falls_back_to_shares(method: str, fallbacks: int) -> None:
    prior = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    found = group_posteriors(prior, Groups.one(2, [1, 2]), method)
    assert found.p.tolist() == [[0.0, 0.5, 0.5], [0.0, 0.5, 0.5]]
    assert found.fallbacks == fallbacks


def test_two_people_for_one_value_fall_back() -> None:
    """Each row and each column has its possibility, but no bijection does."""
    prior = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.4, 0.3, 0.3]])
    found = group_posteriors(prior, Groups.one(3, [0, 1, 2]))
    assert found.fallbacks == 3
    assert found.p == pytest.approx(np.full((3, 3), 1 / 3))


def test_omega_lets_only_the_impossible_member_fall_back() -> None:
    prior = np.array([[0.0, 0.0, 1.0], [0.5, 0.5, 0.0]])
    found = group_posteriors(prior, Groups.one(2, [0, 1]), "omega")
    assert found.fallbacks == 1
    assert found.p[0].tolist() == [0.5, 0.5, 0.0]


@pytest.mark.parametrize("method", METHODS)
def test_who_is_known_for_certain_leaves_with_the_value(method: str) -> None:
    rng = np.random.default_rng(9)
    prior = rng.dirichlet(np.ones(3), 4)
    known = Compromised(np.array([1]), np.array([2]), np.array([1.0]))
    found = group_posteriors(prior, Groups.one(4, [0, 1, 2, 2]), method, known)
    assert found.p[1].tolist() == [0.0, 0.0, 1.0]
    assert found.p[[0, 2, 3]] == pytest.approx(posterior(prior[[0, 2, 3]], [0, 1, 2], method))
    assert found.used == {method: 3, "certain": 1}


def test_everyone_known() -> None:
    known = Compromised(np.array([1, 0]), np.array([2, 0]), np.ones(2))
    p = posterior(np.full((2, 3), 1 / 3), [0, 2], "exact", known)
    assert p.tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]


def test_the_known_leave_their_own_groups() -> None:
    rng = np.random.default_rng(10)
    prior = rng.dirichlet(np.ones(3), 6)
    release = Groups(
        np.array([0, 3, 3, 6]), np.array([0, 3, 3, 5]), np.array([2, 0, 1, 1, 0]), np.array([1, 1, 1, 2, 1])
    )
    known = Compromised(np.array([4, 0]), np.array([1, 2]), np.ones(2))
    p = group_posteriors(prior, release, "exact", known).p
    assert p[[1, 2]] == pytest.approx(posterior(prior[[1, 2]], [0, 1]))
    assert p[[3, 5]] == pytest.approx(posterior(prior[[3, 5]], [0, 1]))


def test_less_than_certain_enters_the_prior() -> None:
    rng = np.random.default_rng(11)
    prior = rng.dirichlet(np.ones(3), 3)
    known = Compromised(np.array([0]), np.array([1]), np.array([0.9]))
    changed = cascaded(prior, known)
    assert posterior(prior, [0, 1, 2], "exact", known) == pytest.approx(posterior(changed, [0, 1, 2]))


def test_one_entry_by_total_probability() -> None:
    prior = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    changed = cascaded(prior, Compromised(np.array([0]), np.array([0]), np.array([0.6])))
    assert changed[0] == pytest.approx([0.6 + 0.4 * 0.2, 0.4 * 0.3, 0.4 * 0.5])
    assert changed[1].tolist() == prior[1].tolist()


def test_an_entry_below_the_prior_speaks_for_the_other_values() -> None:
    """The others share the .9 that .1 leaves, as 3 to 5; the entry itself is ignored."""
    prior = np.array([[0.2, 0.3, 0.5]])
    changed = cascaded(prior, Compromised(np.array([0]), np.array([0]), np.array([0.1])))
    expected = np.array([0.0, 0.9 * 3 / 8, 0.9 * 5 / 8]) + 0.1 * prior[0]
    assert changed[0] == pytest.approx(expected)


def test_an_entry_equal_to_the_prior_says_nothing() -> None:
    prior = np.array([[0.2, 0.3, 0.5]])
    assert (
        cascaded(prior, Compromised(np.array([0]), np.array([2]), np.array([0.5]))).tolist() == prior.tolist()
    )


def test_certainty_as_a_prior() -> None:
    prior = np.array([[0.2, 0.3, 0.5]])
    assert cascaded(prior, Compromised(np.array([0]), np.array([1]), np.array([1.0]))).tolist() == [
        [0.0, 1.0, 0.0]
    ]


@given(case=compromises())
def test_cascaded_priors_are_distributions(case: tuple[Group, dict[tuple[int, int], float]]) -> None:
    (prior, _), entries = case
    prior = prior / prior.sum(axis=1, keepdims=True)
    changed = cascaded(prior, compromised(entries))
    assert changed.min() >= 0
    assert changed.sum(axis=1) == pytest.approx(np.ones(len(prior)))


@pytest.mark.parametrize(
    "row, code, p, message",
    [
        ([0], [0], [1.2], "between 0 and 1"),
        ([0], [0], [-0.1], "between 0 and 1"),
        ([0], [0], [np.nan], "between 0 and 1"),
        ([0, 0], [0, 1], [0.6, 0.6], "sum above 1"),
        ([0, 0], [0, 0], [0.1, 0.2], "not several"),
        ([2], [0], [0.5], "rows below 2"),
        ([0], [3], [0.5], "codes below 3"),
        ([0], [2], [1.0], "known for certain"),
        ([0, 1], [1, 1], [1.0, 1.0], "known for certain"),
    ],
)
def test_impossible_entries_are_refused(
    row: list[int], code: list[int], p: list[float], message: str
) -> None:
    prior = np.full((2, 3), 1 / 3)
    with pytest.raises(PolicyError, match=message):
        posterior(prior, [0, 1], "exact", Compromised(np.array(row), np.array(code), np.array(p)))


def test_bad_input_is_refused() -> None:
    prior = np.full((2, 3), 1 / 3)
    with pytest.raises(PolicyError, match="one of additive"):
        posterior(prior, [0, 1], "magic")
    with pytest.raises(PolicyError, match="at least 0"):
        posterior(-prior, [0, 1])
    with pytest.raises(PolicyError, match="at least 0"):
        posterior(prior * np.nan, [0, 1])
    with pytest.raises(PolicyError, match="more members than values"):
        posterior(prior, [0])
    with pytest.raises(PolicyError, match="columns of the prior"):
        posterior(prior, [0, 3])
    with pytest.raises(PolicyError, match="limit"):
        group_posteriors(prior, Groups.one(2, [0, 1]), limit=0)
    with pytest.raises(PolicyError, match="cover the 2 rows"):
        group_posteriors(prior, Groups.one(3, [0, 1, 1]))
    with pytest.raises(PolicyError, match="twice"):
        group_posteriors(
            prior, Groups(np.array([0, 2]), np.array([0, 2]), np.array([1, 1]), np.array([1, 1]))
        )


def test_the_input_is_left_alone() -> None:
    prior, release = random_release(3)
    before = prior.copy()
    for method in METHODS:
        group_posteriors(prior, release, method)
    assert (prior == before).all()


def test_no_groups_at_all() -> None:
    none = np.zeros(0, dtype=np.int64)
    release, order = Groups.of(none, none, none)
    found = group_posteriors(np.zeros((0, 4)), release)
    assert (release.total, len(order), found.p.shape, found.used) == (0, 0, (0, 4), {})


def test_groups_of_members_and_published_rows() -> None:
    group = np.array([1, -1, 0, 1])
    release, order = Groups.of(group, np.array([0, 1, 1, 1, 0]), np.array([4, 2, 0, 2, 4]))
    assert order.tolist() == [2, 0, 3]
    assert release.member_start.tolist() == [0, 1, 3]
    assert release.value_start.tolist() == [0, 1, 3]
    assert release.value_code.tolist() == [4, 0, 2]
    assert release.value_count.tolist() == [2, 1, 2]
