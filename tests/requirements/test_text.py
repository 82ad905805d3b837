"""Requirements as written on the command line and in a series' file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from republish.errors import PolicyError
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
    parse_requirements,
    requirements_text,
)

EVERY_TEXT = (
    "k=5,l=3,entropy-l=2,recursive=2/3,t=0.4,t-ordered=0.4,t-hierarchical=0.4,"
    "beta=2,beta-enhanced=2,delta=1,alpha-k=0.5/3,probabilistic-l=3"
)
EVERY = (
    KAnonymity(5),
    LDiversity(3),
    EntropyLDiversity(2),
    RecursiveDiversity(2, 3),
    TCloseness(0.4),
    TCloseness(0.4, "ordered"),
    TCloseness(0.4, "hierarchical"),
    BetaLikeness(2),
    BetaLikeness(2, enhanced=True),
    DeltaDisclosure(1),
    AlphaKAnonymity(0.5, 3),
    ProbabilisticLDiversity(3),
)


def test_every_model_has_its_text():
    assert parse_requirements(EVERY_TEXT) == EVERY


def test_text_is_canonical():
    assert requirements_text(EVERY) == EVERY_TEXT


def test_spaces_are_allowed():
    assert parse_requirements(" k = 5 , recursive = 2 / 3 ") == (KAnonymity(5), RecursiveDiversity(2, 3))


def test_nothing_is_no_requirement():
    assert parse_requirements("  ") == parse_requirements({}) == ()
    assert requirements_text(()) == ""


def test_a_mapping_holds_numbers_or_text():
    written = {"k": 5, "t": 0.4, "recursive": "2/3", "l": "3"}
    expected = (KAnonymity(5), TCloseness(0.4), RecursiveDiversity(2, 3), LDiversity(3))
    assert parse_requirements(written) == expected


@given(st.floats(1, 1e300), st.floats(0, 1), st.integers(1, 10**18))
def test_every_number_reads_back_as_itself(large, share, whole):
    asked = (KAnonymity(whole), EntropyLDiversity(large), TCloseness(share), RecursiveDiversity(large, whole))
    assert parse_requirements(requirements_text(asked)) == asked


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("m=5", "unknown requirement 'm'; known are: k, l, .*, recursive, alpha-k"),
        ({"K": 5}, "unknown requirement 'K'"),
        ("k", "written name=value, found 'k'"),
        ("k=5,", "written name=value, found ''"),
        ("k=", "k must be given a number, found ''"),
        ("k=five", "k must be given a number, found 'five'"),
        ("k=1_000", "k must be given a number"),
        ("t=nan", "t must be given a number"),
        ("t=inf", "t must be given a number"),
        ("t=2/5", "t must be given a number, found '2/5'"),
        ({"k": True}, "k must be given a number"),
        ({"k": None}, "k must be given a number"),
        ({"k": [5]}, "k must be given a number"),
        ("k=5.5", "k must be a whole number of at least 1, found 5.5"),
        ("k=0", "k must be a whole number of at least 1, found 0"),
        ("k=-3", "k must be a whole number of at least 1, found -3"),
        ("t=1.5", "t must lie between 0 and 1"),
        ({"t": float("nan")}, "t must be a finite number"),
        ("recursive=2", "recursive must be two numbers written c/l, found '2'"),
        ("recursive=2/3/4", "two numbers written c/l"),
        ({"recursive": 2}, "two numbers written c/l"),
        ("recursive=/3", "recursive must be given a number"),
        ("alpha-k=0.5", "alpha-k must be two numbers written alpha/k"),
        ("k=5,l=2,k=6", "found k twice"),
        ("beta=1e999", "beta must be a finite number"),
    ],
)
def test_what_is_no_requirement_is_refused(written, message):
    with pytest.raises(PolicyError, match=message):
        parse_requirements(written)


def test_a_list_with_a_name_twice_has_no_text():
    with pytest.raises(PolicyError, match="found l twice"):
        requirements_text([LDiversity(2), LDiversity(3)])


@given(st.text(alphabet="klt=,/.0123456789 -e", max_size=30))
def test_any_text_is_read_or_refused(written):
    try:
        requirements = parse_requirements(written)
    except PolicyError:
        return
    assert parse_requirements(requirements_text(requirements)) == requirements
