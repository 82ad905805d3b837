"""Literal cases of each model, its tolerance, and what a report says of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from republish.errors import PolicyError, SchemaError
from republish.requirements import (
    AlphaKAnonymity,
    BetaLikeness,
    DeltaDisclosure,
    EntropyLDiversity,
    KAnonymity,
    LDiversity,
    ProbabilisticLDiversity,
    RecursiveDiversity,
    TCloseness,
    Whole,
)

NINE = np.arange(9)
# Salaries 3k..11k, each once, as in the t-closeness paper.
SALARIES = Whole.of(NINE, 9, order=NINE)
LOW = np.bincount([0, 1, 2], minlength=9)
SPREAD = np.bincount([3, 5, 8], minlength=9)
# Four values in two halves below one root.
HALVES = np.array([[0, 0, 0], [1, 0, 0], [2, 1, 0], [3, 1, 0]], np.int32)
EVEN = Whole(np.full(4, 0.25), order=np.arange(4), nodes=HALVES)
ALL = [
    KAnonymity(2),
    LDiversity(2),
    ProbabilisticLDiversity(2),
    EntropyLDiversity(2),
    RecursiveDiversity(2, 2),
    TCloseness(0.5),
    TCloseness(0.5, "ordered"),
    TCloseness(0.5, "hierarchical"),
    BetaLikeness(1),
    BetaLikeness(1, enhanced=True),
    DeltaDisclosure(1),
    AlphaKAnonymity(0.5, 2),
]


def reached(requirement, group, whole=EVEN):
    return float(requirement.achieved(np.array([group]), whole)[0])


def holds(requirement, group, whole=EVEN):
    return bool(requirement.holds(np.array([group]), whole)[0])


def test_low_salaries_are_far_from_all_salaries():
    assert reached(TCloseness(0.2, "ordered"), LOW, SALARIES) == pytest.approx(0.375)


def test_spread_salaries_are_near_all_salaries():
    assert reached(TCloseness(0.2, "ordered"), SPREAD, SALARIES) == pytest.approx(1 / 6)


def test_the_order_is_that_of_the_values_not_of_the_codes():
    whole = Whole(np.array([0.5, 0.25, 0.25]), order=np.array([1, 0, 2]))
    assert reached(TCloseness(0.2, "ordered"), [0, 4, 0], whole) == pytest.approx(0.5)


def test_a_value_that_does_not_occur_takes_no_place_in_the_order():
    order = np.array([0, 1, 2])
    wide = Whole(np.array([0.5, 0.0, 0.5]), order=order)
    narrow = Whole(np.array([0.5, 0.5]), order=order[:2])
    distance = TCloseness(0.2, "ordered")
    assert reached(distance, [4, 0, 0], wide) == reached(distance, [4, 0], narrow) == pytest.approx(0.5)


def test_equal_distance_is_total_variation():
    assert reached(TCloseness(0.2), LOW, SALARIES) == pytest.approx(2 / 3)


def test_hierarchical_distance_counts_what_crosses_each_node():
    # Half of the rows move between siblings at height 1 of 2, for the first; across the root for the second.
    assert reached(TCloseness(0.2, "hierarchical"), [2, 0, 2, 0]) == pytest.approx(0.25)
    assert reached(TCloseness(0.2, "hierarchical"), [1, 1, 0, 0]) == pytest.approx(0.5)


def test_a_level_that_merges_nothing_counts_as_height():
    nodes = np.array([[0, 0, 0, 0], [1, 1, 0, 0], [2, 2, 1, 0], [3, 3, 1, 0]], np.int32)
    whole = Whole(np.full(4, 0.25), nodes=nodes)
    assert reached(TCloseness(0.2, "hierarchical"), [2, 0, 2, 0], whole) == pytest.approx(0.5 * 2 / 3)


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_one_value_is_no_distance_away(distance):
    whole = Whole(np.ones(1), np.zeros(1, np.int64), np.zeros((1, 1), np.int32))
    assert reached(TCloseness(0, distance), [3], whole) == 0
    assert holds(TCloseness(0, distance), [3], whole)


def test_sizes():
    assert reached(KAnonymity(5), [1, 2, 0, 1]) == 4
    assert not holds(KAnonymity(5), [1, 2, 0, 1])
    assert holds(KAnonymity(4), [1, 2, 0, 1])


def test_distinct_values():
    assert reached(LDiversity(3), [9, 1, 0, 1]) == 3
    assert holds(LDiversity(3), [9, 1, 0, 1])
    assert not holds(LDiversity(4), [9, 1, 0, 1])


def test_probabilistic_is_the_inverse_of_the_largest_share():
    assert reached(ProbabilisticLDiversity(3), [2, 2, 1, 0]) == pytest.approx(2.5)
    assert holds(ProbabilisticLDiversity(2.5), [2, 2, 1, 0])
    assert not holds(ProbabilisticLDiversity(3), [2, 2, 1, 0])


def test_equal_values_reach_their_number_in_entropy():
    assert reached(EntropyLDiversity(3), [7, 7, 7, 0]) == pytest.approx(3)
    assert holds(EntropyLDiversity(3), [7, 7, 7, 0])
    assert not holds(EntropyLDiversity(3), [8, 7, 7, 0])


def test_recursive_refuses_a_tie():
    assert reached(RecursiveDiversity(2, 2), [6, 2, 1, 0]) == 2
    assert not holds(RecursiveDiversity(2, 2), [6, 2, 1, 0])
    assert holds(RecursiveDiversity(2, 2), [5, 2, 1, 0])


def test_recursive_is_out_of_reach_with_too_few_values():
    assert reached(RecursiveDiversity(2, 3), [6, 2, 0, 0]) == math.inf
    assert reached(RecursiveDiversity(2, 9), [1, 1, 1, 1]) == math.inf


def test_beta_is_the_largest_relative_gain():
    assert reached(BetaLikeness(1), [2, 1, 1, 0]) == pytest.approx(1)
    assert holds(BetaLikeness(1), [2, 1, 1, 0])
    assert not holds(BetaLikeness(0.9), [2, 1, 1, 0])


def test_enhanced_beta_also_bounds_frequent_values():
    whole = Whole(np.array([0.5, 0.5]))
    assert holds(BetaLikeness(1), [2, 0], whole)
    assert reached(BetaLikeness(1, enhanced=True), [2, 0], whole) == math.inf
    assert not holds(BetaLikeness(1, enhanced=True), [2, 0], whole)


def test_delta_refuses_a_tie():
    whole = Whole(np.array([0.25, 0.75]))
    assert reached(DeltaDisclosure(1), [2, 2], whole) == pytest.approx(1)
    assert not holds(DeltaDisclosure(1), [2, 2], whole)
    assert holds(DeltaDisclosure(1.01), [2, 2], whole)


def test_delta_needs_every_value_of_the_table():
    assert reached(DeltaDisclosure(9), [1, 1, 1, 0]) == math.inf


def test_delta_ignores_a_value_that_neither_has():
    whole = Whole(np.array([0.5, 0.5, 0.0]))
    assert reached(DeltaDisclosure(1), [3, 3, 0], whole) == 0


@pytest.mark.parametrize("requirement", [BetaLikeness(5), BetaLikeness(5, enhanced=True), DeltaDisclosure(5)])
def test_a_value_that_only_the_group_holds_is_refused(requirement):
    whole = Whole(np.array([0.5, 0.5, 0.0]))
    assert reached(requirement, [3, 3, 1], whole) == math.inf
    assert not holds(requirement, [3, 3, 1], whole)


def test_alpha_k_needs_both():
    assert reached(AlphaKAnonymity(0.5, 3), [2, 1, 1, 0]) == 0.5
    assert holds(AlphaKAnonymity(0.5, 4), [2, 1, 1, 0])
    assert not holds(AlphaKAnonymity(0.4, 4), [2, 1, 1, 0])
    assert reached(AlphaKAnonymity(0.5, 5), [2, 1, 1, 0]) == math.inf


@pytest.mark.parametrize("requirement", ALL, ids=lambda one: one.text)
def test_an_empty_group_satisfies_nothing(requirement):
    assert reached(requirement, [0, 0, 0, 0]) == (0 if requirement.at_least else math.inf)
    assert not holds(requirement, [0, 0, 0, 0])


@pytest.mark.parametrize("requirement", ALL, ids=lambda one: one.text)
def test_no_groups_no_answers(requirement):
    assert requirement.achieved(np.zeros((0, 4), np.int64), EVEN).shape == (0,)
    assert requirement.holds(np.zeros((0, 4), np.int64), EVEN).shape == (0,)


@pytest.mark.parametrize("requirement", ALL, ids=lambda one: one.text)
def test_an_empty_table_can_be_asked(requirement):
    whole = Whole.of(np.zeros(0, np.int64), 4, np.arange(4), HALVES)
    assert whole.overall.tolist() == [0, 0, 0, 0]
    assert not requirement.holds(np.zeros((1, 4), np.int64), whole)[0]


@pytest.mark.parametrize("requirement", ALL, ids=lambda one: one.text)
def test_groups_are_judged_one_by_one(requirement):
    groups = np.array([[2, 2, 2, 2], [9, 0, 0, 0], [0, 0, 0, 0], [5, 4, 4, 5]])
    together = requirement.achieved(groups, EVEN)
    assert together.tolist() == [reached(requirement, group) for group in groups]
    assert requirement.holds(groups, EVEN)[0]


@pytest.mark.parametrize("requirement", ALL, ids=lambda one: one.text)
def test_the_description_is_one_sentence(requirement):
    said = requirement.describe()
    assert said[0].isupper()
    assert said.endswith(".")
    assert "\n" not in said


def test_only_k_can_do_without_a_sensitive_column():
    assert [one.name for one in ALL if not one.needs_sensitive] == ["k-anonymity"]


def test_the_worst_group_is_the_smallest_or_the_farthest():
    assert KAnonymity(2).worst(np.array([7.0, 3.0, 5.0])) == 3
    assert TCloseness(0.5).worst(np.array([0.1, 0.3])) == 0.3


def test_without_groups_nothing_is_weak():
    assert KAnonymity(2).worst(np.zeros(0)) == math.inf
    assert TCloseness(0.5).worst(np.zeros(0)) == 0


def test_ordered_distance_needs_an_order():
    with pytest.raises(PolicyError, match="t-ordered needs sensitive values with an order"):
        TCloseness(0.5, "ordered").check(Whole(np.ones(1)))


def test_hierarchical_distance_needs_a_hierarchy():
    with pytest.raises(PolicyError, match="t-hierarchical needs a hierarchy"):
        TCloseness(0.5, "hierarchical").achieved(np.ones((1, 1), np.int64), Whole(np.ones(1)))


@pytest.mark.parametrize("requirement", ALL, ids=lambda one: one.text)
def test_histograms_of_another_width_are_refused(requirement):
    with pytest.raises(SchemaError, match="one column for each of the 4 sensitive codes"):
        requirement.achieved(np.ones((2, 3), np.int64), EVEN)


def test_the_whole_is_counted_from_codes():
    assert Whole.of(np.array([0, 2, 2, 2]), 4).overall.tolist() == [0.25, 0, 0.75, 0]


@pytest.mark.parametrize("codes", [[0, 4], [-1, 0]])
def test_codes_outside_the_domain_are_refused(codes):
    with pytest.raises(SchemaError, match="found 1 rows outside"):
        Whole.of(np.array(codes), 4)


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1, 2]])
def test_an_order_must_name_each_code_once(order):
    with pytest.raises(SchemaError, match="each of the 4 codes once"):
        Whole(np.full(4, 0.25), order=np.array(order))


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([[0, 0], [1, 0]], "one row for each of the 3 codes"),
        ([[0, 0], [1, 0], [1, 0]], "level 0 of the sensitive hierarchy"),
        ([[0, 0], [1, 0], [2, 1]], "one root"),
        ([[0, 0, 0, 0], [1, 0, 1, 0], [2, 1, 1, 0]], "level 2 of the sensitive hierarchy splits"),
    ],
)
def test_a_hierarchy_must_be_a_tree(nodes, message):
    with pytest.raises(SchemaError, match=message):
        Whole(np.full(3, 1 / 3), nodes=np.array(nodes, np.int32))


@pytest.mark.parametrize(
    "build",
    [
        lambda: KAnonymity(0),
        lambda: KAnonymity(2.5),
        lambda: KAnonymity(10**19),
        lambda: KAnonymity(True),
        lambda: LDiversity(0),
        lambda: ProbabilisticLDiversity(0.5),
        lambda: EntropyLDiversity(math.nan),
        lambda: EntropyLDiversity("2"),
        lambda: RecursiveDiversity(0, 2),
        lambda: RecursiveDiversity(2, 1.5),
        lambda: TCloseness(1.1),
        lambda: TCloseness(-0.1),
        lambda: TCloseness(0.1, "euclidean"),
        lambda: BetaLikeness(0),
        lambda: BetaLikeness(math.inf),
        lambda: DeltaDisclosure(-1),
        lambda: AlphaKAnonymity(0, 3),
        lambda: AlphaKAnonymity(1.5, 3),
        lambda: AlphaKAnonymity(0.5, 0),
    ],
)
def test_parameters_out_of_range_are_refused(build):
    with pytest.raises(PolicyError, match="must"):
        build()


def test_numpy_numbers_are_taken():
    assert KAnonymity(np.int64(5)) == KAnonymity(5)
    assert TCloseness(np.float64(0.25)).text == "t=0.25"
