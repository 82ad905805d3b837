"""One summary for every attack, and what is found after each release."""

from __future__ import annotations

import sys
from dataclasses import asdict, fields, replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks.histories import Series as Example
from attacks.histories import random_history
from republish import PolicyError
from republish.attacks import (
    BELIEVES,
    EXCLUDES,
    KINDS,
    Adversary,
    Summary,
    Target,
    attack,
    names,
    obstacle,
    over_time,
    run,
)
from republish.attacks.excluding.signature_rule import SignatureRule
from republish.attacks.registry import function
from republish.attacks.summary import ranked, scored, spread, summed
from republish.knowledge import Classes, Knowledge

# x is with y in {a, b}, then with z in {a, c}: hers is a. y leaves, w comes to z.
SERIES = Example(
    [
        [({"x": "a", "y": "b"}, [])],
        [({"x": "a", "z": "c"}, [])],
        [({"x": "a", "w": "d"}, ["c"]), ({"z": "c"}, ["a"])],
    ]
)


def test_every_figure_by_hand() -> None:
    """Four people: 1, .95, .6 and .25 sure; shares of the value 1/2, 1/2, 1/2 and 1/4."""
    confidence = np.array([1.0, 0.95, 0.6, 0.25])
    found = summed(confidence, np.array([True, False, False, False]), np.array([1.0, 0.9, 0.2, 0.0]))
    assert asdict(found) == {
        "people": 4,
        "determined": 1,
        "determined_share": 0.25,
        "above_nine_tenths": 0.5,
        "above_half": 0.75,
        "mean_confidence": pytest.approx(0.7),
        "worst_confidence": 1.0,
        "gain": pytest.approx(0.525),
    }


def test_nobody_is_summed_up_as_nothing() -> None:
    none = np.zeros(0)
    assert summed(none, none.astype(bool), none) == Summary(0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert summed(none, none.astype(bool), None).gain is None


def test_over_all_releases_everyone_counts_once_with_the_worst() -> None:
    """By intersection: x has {a}, y {a, b}, z {a, c}, w {a, c, d}."""
    (found,) = attack(SERIES.history, attacks=["intersection"])
    assert found.summary == Summary(
        people=4,
        determined=1,
        determined_share=0.25,
        above_nine_tenths=0.25,
        above_half=0.25,
        mean_confidence=pytest.approx((1 + 1 / 2 + 1 / 2 + 1 / 3) / 4),
        worst_confidence=1.0,
        gain=pytest.approx(1 / 4),  # x alone is known better than by counting
    )
    assert [part.people for part in found.by_release] == [2, 2, 3]
    assert [part.determined for part in found.by_release] == [1, 1, 1]


def test_without_truth_there_is_no_gain() -> None:
    (found,) = attack(replace(SERIES.history, truth=None), attacks=["intersection"])
    assert found.summary.gain is None
    assert found.summary.determined == 1


def test_people_she_was_told_of_do_not_count() -> None:
    (found,) = attack(SERIES.history, Adversary([SERIES.who("x")]), ["compromised"])
    assert found.summary.people == 3
    assert found.summary.determined == 2  # y and z; w may be c or d
    assert np.isnan(found.risk[SERIES.who("x")])


def test_a_belief_is_summed_up_the_same_way() -> None:
    """One group {a, b}, prior .8 and .2 for both: 1/2 each. With x known, y is determined."""
    one = Example([[({"x": "a", "y": "b"}, [])]])
    known = Knowledge(pl.Series(one.values), Classes.everyone(), np.array([[0.8, 0.2]]))
    target = Target(one.history)
    plain = run(target, Adversary(knowledge=known), "beliefs").summary
    assert plain == Summary(2, 0, 0.0, 0.0, 0.0, pytest.approx(0.5), pytest.approx(0.5), pytest.approx(0.0))
    told = run(target, Adversary([0], knowledge=known), "beliefs").summary
    assert told == Summary(1, 1, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)


@given(st.integers(0, 200), st.booleans())
def test_summed_up_person_by_person(seed: int, some: bool) -> None:
    history = random_history(seed)
    rng = np.random.default_rng(seed)
    count = len(history.person)
    confidence, gain, sure = rng.random(count), rng.normal(size=count), rng.random(count) < 0.2
    counted = rng.random(count) < (0.7 if some else 1.0)
    found = scored(history, confidence, sure, gain, counted)
    mine: dict[int, list[int]] = {}
    for i in range(count):
        if counted[i]:
            mine.setdefault(int(history.person[i]), []).append(i)
    worst = [max(confidence[i] for i in rows) for rows in mine.values()]
    assert found.overall.people == len(mine)
    assert found.overall.determined == sum(any(sure[i] for i in rows) for rows in mine.values())
    assert found.overall.above_half == pytest.approx(np.mean([p > 0.5 for p in worst]) if worst else 0.0)
    assert found.overall.mean_confidence == pytest.approx(np.mean(worst) if worst else 0.0)
    assert found.overall.gain == pytest.approx(
        np.mean([max(gain[i] for i in rows) for rows in mine.values()]) if mine else 0.0
    )
    for release, part in enumerate(found.releases):
        here = [i for i in range(count) if counted[i] and history.release[i] == release]
        assert part.people == len(here)
        assert part.mean_confidence == pytest.approx(np.mean(confidence[here]) if here else 0.0)
    assert {i for i in range(history.people) if not np.isnan(found.risk[i])} == set(mine)


def test_a_figure_that_is_no_number_is_a_fault_of_the_attack() -> None:
    """To leave the person out would look like safety."""
    history = SERIES.history
    count = len(history.person)
    fine, sure = np.full(count, 0.5), np.zeros(count, dtype=np.bool_)
    everyone = np.ones(count, dtype=np.bool_)
    wrong = fine.copy()
    wrong[1] = np.nan
    with pytest.raises(
        ValueError, match=r"confidence must be a number for everyone who counts; .* left out 1"
    ):
        scored(history, wrong, sure, None, everyone)
    with pytest.raises(ValueError, match="gain must be a number"):
        scored(history, fine, sure, wrong, everyone)
    assert (
        scored(history, wrong, sure, wrong, np.isfinite(wrong)).overall.people > 0
    )  # who does not count may be nan


# After each release -------------------------------------------------------------------------------


@given(st.integers(0, 60), st.integers(1, 4))
def test_a_history_until_a_release_is_the_one_published_until_then(seed: int, last: int) -> None:
    whole, part = random_history(seed, releases=4), random_history(seed, releases=last)
    shorter = whole.until(last)
    for item in fields(part):
        mine, theirs = getattr(shorter, item.name), getattr(part, item.name)
        if item.name == "events":
            assert mine is not None and theirs is not None
            for array in ("event", "value_changed", "row_changed", "life", "run"):
                assert np.array_equal(getattr(mine, array), getattr(theirs, array))
        else:
            assert np.array_equal(mine, theirs)


def test_a_shorter_history_keeps_what_else_is_known() -> None:
    history = replace(
        SERIES.history,
        rule=SignatureRule(2, np.array([2, 3, 4])),
        forgotten=np.array([0, 3]),
        names=pl.Series("wxyz"),
    )
    shorter = history.until(2)
    assert shorter.rule is not None and shorter.rule.values.tolist() == [2, 3]
    assert shorter.forgotten is not None and shorter.forgotten.tolist() == [0]
    assert shorter.people == 4
    for wrong in (0, 4):
        with pytest.raises(PolicyError, match="from 1 to 3"):
            history.until(wrong)


@pytest.mark.parametrize("name", names(EXCLUDES))
def test_what_is_found_after_each_release(name: str) -> None:
    history = random_history(5, people=30, counterfeits=0.0)
    adversary = Adversary(0.2, seed=3)
    calls: list[tuple[int, int]] = []
    found = over_time(Target(history), adversary, name, lambda done, all_: calls.append((done, all_)))
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert found[-1] == run(Target(history), adversary, name).summary
    known = np.flatnonzero(adversary.known(history)).tolist()
    alone = run(Target(random_history(5, people=30, counterfeits=0.0, releases=2)), Adversary(known), name)
    assert found[1] == alone.summary
    assert [part.people for part in found] == sorted(part.people for part in found)


def test_an_attack_that_was_just_made_is_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    target, adversary = Target(SERIES.history), Adversary()
    last = run(target, adversary, "tau")
    expected = over_time(target, adversary, "tau")
    made: list[int] = []

    def watched(part: Target, *rest: object) -> object:
        made.append(part.history.releases)
        return run(part, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(sys.modules["republish.attacks.run"], "run", watched)
    calls: list[tuple[int, int]] = []
    found = over_time(target, adversary, "tau", lambda done, all_: calls.append((done, all_)), last)
    assert found == expected
    assert made == [1, 2]
    assert calls == [(1, 3), (2, 3), (3, 3)]


def test_after_each_release_by_hand() -> None:
    found = over_time(Target(SERIES.history), Adversary(), "intersection")
    assert [(part.people, part.determined) for part in found] == [(2, 0), (3, 1), (4, 1)]


@pytest.mark.parametrize("seed", [-1, 1.5, True, "1"])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    with pytest.raises(PolicyError, match="seed must be a whole number from 0 on"):
        Adversary(0.1, seed=seed)  # type: ignore[arg-type]
    assert Adversary(0.1, seed=np.int64(3)).known(SERIES.history).sum() >= 0  # type: ignore[arg-type]


# The list of attacks ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KINDS)
def test_every_attack_can_be_loaded(name: str) -> None:
    assert callable(function(name))


def test_what_stands_in_the_way_of_an_attack() -> None:
    matching = Adversary(membership="matched")
    for name in names(EXCLUDES):
        assert obstacle(name, Adversary(), views=False) is None
        assert "who is in which group" in str(obstacle(name, matching, views=True))
    for name in names(BELIEVES):
        assert "how values follow each other" in str(obstacle(name, Adversary(), views=True))
    assert "raw views" in str(obstacle("matched", matching, views=False))
    assert obstacle("matched", matching, views=True) is None
    with pytest.raises(PolicyError, match="no attack called magic; there are intersection"):
        obstacle("magic", Adversary(), views=True)


def test_an_attack_that_cannot_be_made_is_refused() -> None:
    with pytest.raises(PolicyError, match="tau cannot be made: it needs to know who is in which group"):
        attack(SERIES.history, Adversary(membership="matched"), ["tau"])
    with pytest.raises(PolicyError, match="matched cannot be made: it looks people up"):
        attack(SERIES.history, Adversary(membership="matched"))
    with pytest.raises(PolicyError, match="membership must be known or matched"):
        Adversary(membership="guessed")


def test_people_are_counted_by_confidence_in_twentieths_of_which_the_upper_end_belongs_to_each() -> None:
    counted = spread(np.array([0.0, 0.05, 0.0501, 0.5, 0.9, 0.9001, 0.95, 1.0, np.nan, 1 / 3]))
    assert counted == (2, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 1)
    assert spread(np.array([np.nan])) == (0,) * 20


def test_attacks_are_ranked_by_people_above_nine_tenths_then_by_who_is_determined() -> None:
    plain = Summary(10, 0, 0.0, 0.0, 0.0, 0.25, 0.5, None)
    found = {
        "surer": [replace(plain, mean_confidence=0.4)],
        "once": [replace(plain, determined_share=0.1), plain],
        "certain": [plain, replace(plain, determined_share=0.1, above_nine_tenths=0.1)],
        "nearly": [replace(plain, above_nine_tenths=0.2, mean_confidence=0.3)],
        "neither": [replace(plain, above_nine_tenths=0.1, mean_confidence=0.3)],
    }
    assert ranked(found) == ["nearly", "certain", "neither", "surer", "once"]
