"""The compiled rules: what they hold, and how a group grows and shrinks under them."""

from __future__ import annotations

import importlib
import pkgutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import republish.requirements
from republish.errors import PolicyError
from republish.requirements import (
    AlphaKAnonymity,
    DeltaDisclosure,
    EntropyLDiversity,
    KAnonymity,
    LDiversity,
    RecursiveDiversity,
    TCloseness,
    Whole,
    compile_rules,
    parse_requirements,
    satisfied,
)

FLAT = Whole(np.full(4, 0.25))


def test_size_alone_is_plain():
    rules = compile_rules([KAnonymity(5)], FLAT)
    assert (rules.plain, rules.min_size, len(rules.op)) == (True, 5, 0)


def test_nothing_asked_admits_any_row():
    rules = compile_rules([], FLAT)
    assert (rules.plain, rules.min_size) == (True, 1)
    assert satisfied(rules, np.array([1, 0, 0, 0]), 1)


def test_an_empty_group_is_never_admitted():
    assert not satisfied(compile_rules([], FLAT), np.zeros(4, np.int64), 0)


def test_plain_rules_do_not_read_the_histogram():
    assert satisfied(compile_rules([KAnonymity(5)], FLAT), np.zeros(0, np.int64), 5)


@pytest.mark.parametrize(
    ("requirements", "fewest"),
    [
        ([KAnonymity(3), LDiversity(2)], 3),
        ([KAnonymity(3), LDiversity(4)], 4),
        ([EntropyLDiversity(2.5)], 3),
        ([RecursiveDiversity(2, 6)], 6),
        ([AlphaKAnonymity(0.5, 7), KAnonymity(3)], 7),
        ([TCloseness(0.5)], 1),
    ],
)
def test_the_smallest_size_is_what_all_requirements_imply(requirements, fewest):
    assert compile_rules(requirements, FLAT).min_size == fewest


def test_all_requirements_must_hold():
    rules = compile_rules(parse_requirements("k=4,l=3,t=0.3"), FLAT)
    assert satisfied(rules, np.array([2, 1, 1, 0]), 4)
    assert not satisfied(rules, np.array([1, 1, 1, 0]), 3)
    assert not satisfied(rules, np.array([3, 3, 0, 0]), 6)
    assert not satisfied(rules, np.array([6, 1, 1, 0]), 8)


def test_the_table_must_have_what_a_requirement_compares_by():
    with pytest.raises(PolicyError, match="t-ordered"):
        compile_rules([KAnonymity(2), TCloseness(0.5, "ordered")], FLAT)


def test_every_kernel_has_a_number_of_its_own():
    numbers = []
    for module in pkgutil.iter_modules(republish.requirements.__path__):
        if module.name != "rules":
            loaded = importlib.import_module(f"republish.requirements.{module.name}")
            numbers += [value for name, value in vars(loaded).items() if name.startswith("OP_")]
    assert sorted(numbers) == list(range(14))


def test_a_huge_delta_asks_only_that_every_value_occurs():
    rules = compile_rules([DeltaDisclosure(1e6)], FLAT)
    assert satisfied(rules, np.array([1, 1, 1, 10**9]), 10**9 + 3)
    assert not satisfied(rules, np.array([1, 1, 0, 1]), 3)


def test_a_diversity_beyond_any_table_is_compiled_and_refuses():
    rules = compile_rules([EntropyLDiversity(1e300)], FLAT)
    assert not satisfied(rules, np.array([9, 9, 9, 9]), 36)


def test_requirements_and_the_table_are_not_modified():
    nodes = np.array([[0, 0, 0], [1, 1, 0], [2, 0, 0], [3, 1, 0]], np.int32)
    whole = Whole(np.full(4, 0.25), np.array([3, 1, 0, 2]), nodes)
    rules = compile_rules(parse_requirements("t-hierarchical=0.5"), whole)
    assert not any(np.shares_memory(one, other) for one in rules[:7] for other in (whole.overall, nodes))
    assert rules.leaves.tolist() == [0, 2, 1, 3]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_a_group_grown_row_by_row_is_judged_as_if_counted_at_once(codes):
    policy = parse_requirements("k=2,l=2,t=0.5,recursive=4/2")
    rules = compile_rules(policy, FLAT)
    counts = np.zeros(4, np.int64)
    grown = []
    for size, code in enumerate(codes, start=1):
        counts[code] += 1
        grown.append(satisfied(rules, counts, size))
    at_once = np.array([np.bincount(codes[: n + 1], minlength=4) for n in range(len(codes))])
    assert grown == np.all([one.holds(at_once, FLAT) for one in policy], axis=0).tolist()
