"""Cor-Split, examples 1 to 4: one compromised person and the history give another away."""

from __future__ import annotations

import pytest

from attacks.histories import Groups, Series
from republish.attacks import Adversary, AttackResult, attack, correlations, measure_series

FIRST: Groups = [
    ({"Alice": "cancer", "Betty": "bronchitis", "Carl": "AIDS"}, []),
    ({"Doris": "cancer", "Erica": "AIDS", "Fiona": "bronchitis"}, []),
]
SECOND: Groups = [
    ({"Carl": "AIDS", "Doris": "cancer", "Fiona": "bronchitis"}, []),
    ({"Erica": "AIDS", "Grace": "bronchitis", "Hanna": "cancer"}, []),
]
ALL = {"AIDS", "bronchitis", "cancer"}


@pytest.fixture
def patients() -> Series:
    return Series([FIRST, SECOND])


def run(patients: Series, name: str, *known: str) -> AttackResult:
    (result,) = attack(patients.history, Adversary([patients.who(one) for one in known]), [name])
    return result


def candidates(patients: Series, result: AttackResult, person: str, release: int) -> frozenset[str]:
    return patients.called(result.findings.candidates_of(patients.who(person), release))


def test_example_1_with_carl_compromised_erica_has_aids(patients: Series) -> None:
    result = run(patients, "historical", "Carl")
    assert candidates(patients, result, "Erica", 0) == {"AIDS"}
    assert candidates(patients, result, "Erica", 1) == {"AIDS"}
    assert result.overall.determined == 1


def test_example_1_nobody_is_given_away_while_nobody_is_compromised(patients: Series) -> None:
    for result in attack(patients.history):
        assert result.overall.fewest_candidates == 3
        assert result.overall.worst_confidence == pytest.approx(1 / 3)


@pytest.mark.parametrize("person", ["Doris", "Fiona"])
def test_example_2_compromised_carl_leaves_doris_and_fiona_two_values(patients: Series, person: str) -> None:
    result = run(patients, "compromised", "Carl")
    assert candidates(patients, result, person, 1) == {"cancer", "bronchitis"}
    assert candidates(patients, result, "Erica", 1) == ALL


def test_the_historical_correlations_of_section_2_3(patients: Series) -> None:
    found = {(patients.names(c.first), patients.names(c.second)) for c in correlations(patients.history)}
    assert found == {
        (frozenset({"Erica"}), frozenset({"Carl"})),
        (frozenset({"Alice", "Betty"}), frozenset({"Doris", "Fiona"})),
        (frozenset({"Doris", "Fiona"}), frozenset({"Grace", "Hanna"})),
    }


def test_large_correlations_can_be_left_out(patients: Series) -> None:
    (small,) = correlations(patients.history, largest=1)
    assert (patients.names(small.first), patients.names(small.second)) == ({"Erica"}, {"Carl"})
    assert small.releases == (0, 1)


def test_example_3_two_shared_respondents_correlate_the_others() -> None:
    one: Groups = [({"r1": "a", "r2": "b", "r3": "c", "r4": "d"}, [])]
    two: Groups = [({"r1": "a", "r2": "b", "r5": "d", "r6": "c"}, [])]
    respondents = Series([one, two])
    (found,) = correlations(respondents.history)
    assert respondents.names(found.first) == {"r3", "r4"}
    assert respondents.names(found.second) == {"r5", "r6"}


def test_example_4_what_carl_cannot_have_erica_cannot(patients: Series) -> None:
    without = run(patients, "compromised", "Carl")
    assert candidates(patients, without, "Erica", 0) == ALL
    assert candidates(patients, run(patients, "historical", "Carl"), "Erica", 0) == {"AIDS"}


def test_a_counterfeit_breaks_the_correlation() -> None:
    hidden: Groups = [({"Carl": "AIDS", "Doris": "cancer", "Fiona": "bronchitis"}, ["AIDS"]), SECOND[1]]
    patients = Series([FIRST, hidden])
    found = {(patients.names(c.first), patients.names(c.second)) for c in correlations(patients.history)}
    assert found == {(frozenset({"Doris", "Fiona"}), frozenset({"Grace", "Hanna"}))}
    result = run(patients, "historical", "Carl")
    assert candidates(patients, result, "Erica", 0) == ALL


def test_a_counterfeit_of_the_compromised_value_stands_in_her_way() -> None:
    patients = Series([[({"Carl": "AIDS", "Doris": "cancer"}, ["AIDS"])]])
    assert candidates(patients, run(patients, "compromised", "Carl"), "Doris", 0) == {"AIDS", "cancer"}


def test_the_small_correlation_makes_the_groups_unsafe(patients: Series) -> None:
    assert [part.hc_unsafe for part in measure_series(patients.history, 2).releases] == [0, 1]
    assert [part.hc_unsafe for part in measure_series(patients.history, 3).releases] == [0, 2]
