"""Thesis tables 4.1 to 4.5: scenarios I to III break 2-diverse releases and fail against tau-safe ones."""

from __future__ import annotations

import pytest

from attacks.histories import Groups, Series
from republish.attacks import AttackResult, attack, measure_series

TABLE_4_1: Groups = [
    ({"p1": "cataract", "p2": "pneumonia"}, []),
    ({"p3": "flu", "p4": "glaucoma"}, []),
    ({"p5": "flu", "p6": "gastritis"}, []),
]
TABLE_4_2: Groups = [
    ({"p1": "cataract", "p2": "diarrhea"}, []),
    ({"p3": "flu", "p7": "gastritis"}, []),
    ({"p5": "flu", "p6": "gastritis"}, []),
]
TABLE_4_3: Groups = [
    ({"p1": "cataract", "p2": "diarrhea", "p4": "glaucoma"}, []),
    ({"p3": "flu", "p7": "gastritis"}, []),
    ({"p5": "flu", "p6": "gastritis"}, []),
]
TABLE_4_4: Groups = [
    ({"p1": "cataract"}, ["pneumonia"]),
    ({"p3": "flu"}, ["glaucoma"]),
    ({"p5": "flu", "p6": "gastritis"}, []),
    ({"p2": "diarrhea", "p7": "gastritis"}, []),
]
TABLE_4_5: Groups = [
    ({"p1": "cataract"}, ["pneumonia"]),
    ({"p3": "flu", "p4": "glaucoma"}, []),
    ({"p5": "flu", "p6": "gastritis"}, []),
    ({"p2": "diarrhea", "p7": "gastritis"}, []),
]
MOVES = {("p6", 1): 35, ("p6", 2): 35, ("p2", 1): 40, ("p2", 2): 40}
"""Quasi-identifiers that changed at time 2."""


def diverse() -> Series:
    return Series([TABLE_4_1, TABLE_4_2, TABLE_4_3], MOVES)


def safe() -> Series:
    return Series([TABLE_4_1, TABLE_4_4, TABLE_4_5], MOVES)


def run(series: Series, name: str = "tau") -> AttackResult:
    (result,) = attack(series.history, attacks=[name])
    return result


def candidates(series: Series, person: str, release: int, name: str = "tau") -> frozenset[str]:
    return series.called(run(series, name).findings.candidates_of(series.who(person), release))


def test_the_event_lists_of_the_tables() -> None:
    series = diverse()
    events = series.history.events
    assert events is not None
    texts = [events.text(series.who(f"p{i}")) for i in range(1, 8)]
    assert texts == ["i,_,_", "i,u,_", "i,_,_", "i,d,r", "i,_,_", "i,u,_", "_,i,_"]


def test_scenario_1_the_unchanged_value_of_one_gives_away_both_values_of_the_other() -> None:
    series = diverse()
    assert candidates(series, "p1", 1) == {"cataract"}
    assert candidates(series, "p2", 0) == {"pneumonia"}
    assert candidates(series, "p2", 1) == {"diarrhea"}


def test_scenario_2_an_unchanged_value_excludes_what_the_last_release_did_not_hold() -> None:
    series = Series([TABLE_4_2, TABLE_4_3])
    assert candidates(series, "p2", 1) == {"cataract", "diarrhea"}
    assert run(series).risk[series.who("p2")] == 0.5


def test_scenario_2_the_first_release_then_determines_it() -> None:
    assert candidates(diverse(), "p2", 2) == {"diarrhea"}


def test_scenario_3_who_comes_back_unchanged_is_found() -> None:
    series = diverse()
    assert candidates(series, "p4", 0) == {"glaucoma"}
    assert candidates(series, "p4", 2) == {"glaucoma"}


def test_scenario_3_needs_the_event_list() -> None:
    assert candidates(diverse(), "p4", 0, "intersection") == {"flu", "glaucoma"}


def test_nearly_everyone_is_determined_under_2_diversity() -> None:
    overall = run(diverse()).overall
    assert (overall.people, overall.determined) == (7, 5)
    assert overall.worst_confidence == 1.0


@pytest.mark.parametrize(
    "person, release", [("p1", 1), ("p2", 0), ("p2", 1), ("p2", 2), ("p4", 0), ("p4", 2)]
)
def test_no_scenario_works_against_tau_safe_tables(person: str, release: int) -> None:
    assert len(candidates(safe(), person, release)) == 2


def test_no_attack_without_compromised_people_works_against_tau_safe_tables() -> None:
    for result in attack(safe().history, m=2):
        assert result.overall.fewest_candidates == 2
        assert result.overall.below_m == 0.0
        assert result.overall.worst_confidence == 0.5


def test_an_overlap_of_old_and_new_signature_gives_two_thirds() -> None:
    series = Series([[({"x": "a", "y": "b"}, [])], [({"x": "c", "z": "b"}, [])]])
    result = run(series)
    assert result.overall.fewest_candidates == 2
    findings = result.findings
    lives = [life for life, person in enumerate(findings.unknowns.person) if person == series.who("x")]
    assert findings.confidence[lives] == pytest.approx([2 / 3, 2 / 3])
    assert findings.likeliest[lives] == pytest.approx([2 / 3, 2 / 3])


@pytest.mark.parametrize("new", [({"x": "b", "z": "a"}, []), ({"x": "c", "z": "d"}, [])])
def test_equal_and_disjoint_signatures_give_one_half(new: tuple[dict[str, str], list[str]]) -> None:
    series = Series([[({"x": "a", "y": "b"}, [])], [new]])
    assert run(series).risk[series.who("x")] == pytest.approx(0.5)


def test_updates_and_returns_make_records_vulnerable_in_2_diverse_tables_only() -> None:
    assert [part.vulnerable for part in measure_series(diverse().history).releases] == [0, 1, 1]
    assert [part.unexplained for part in measure_series(diverse().history).releases] == [0, 2, 2]
    tau_safe = measure_series(safe().history).releases
    assert [part.vulnerable for part in tau_safe] == [0, 1, 0]
    assert [part.unexplained for part in tau_safe] == [0, 0, 0]
    assert [part.counterfeits for part in tau_safe] == [0, 2, 1]
