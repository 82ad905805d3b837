"""Value-blind batches step by step: what is refused, who is where, when counts are taken anew."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from batch_driver import BatchDriver
from publishers.dynamic import view_of
from republish import CannotPublish, Number, PolicyError, Schema, TwoTables
from republish.publishers import ValueBlind
from republish.publishers._batches.chance import drawn_holds
from republish.publishers._batches.past import recall_batches
from republish.publishers._batches.places import fit_parts
from republish.publishers._batches.renewal import BatchRules
from republish.requirements import LDiversity, ProbabilisticLDiversity

Person = tuple[str, int, str, str, str]


def crowd(first: int, rows: int, values: str = "abcd", age: int | None = None) -> list[Person]:
    return [
        (f"p{i}", age if age is not None else 20 + i * 7 % 40, "10", "n", values[i % len(values)])
        for i in range(first, first + rows)
    ]


def without(people: list[Person], *gone: int) -> list[Person]:
    return [row for row in people if row[0] not in {f"p{i}" for i in gone}]


def driver(kind: str = "open", size: int = 20, n: int = 3) -> BatchDriver:
    return BatchDriver(ValueBlind(kind, size, n, 2, max_determined=0.5))


# What is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"batches": "ajar"}, "open or closed"),
        ({"n": 1}, "n must be a whole number of at least 2"),
        ({"m": 0}, "m must be a whole number of at least 1"),
        ({"size": 9, "n": 5}, "size must be a whole number of at least 10"),
        ({"size": 60.0}, "size must be a whole number"),
        ({"max_determined": 0}, "share between 0 and 1"),
        ({"compromised": 1}, "share between 0 and 1"),
        ({"weights": "age"}, "must read like"),
        ({"weights": "age=-1"}, "must read like"),
        ({"require": (LDiversity(4),)}, "can only promise what its batches imply"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        ValueBlind(**given)


def test_what_diversity_implies_may_be_required() -> None:
    chosen = ValueBlind(m=3, require=(LDiversity(3), ProbabilisticLDiversity(2)))
    assert LDiversity(3) in chosen.requirements


def test_one_table_and_weights_of_other_columns_are_refused() -> None:
    schema = Schema("id", [Number("age")], "dx")
    with pytest.raises(PolicyError, match="choose the form two-tables"):
        ValueBlind().require_fit(schema)
    with pytest.raises(PolicyError, match="1 of those given are none"):
        ValueBlind(weights="height=2").in_two_tables().require_fit(schema)
    ValueBlind(weights="age=2").in_two_tables().require_fit(schema)
    assert TwoTables(5).k == 5


@pytest.mark.parametrize("kind", ["open", "closed"])
def test_a_first_view_with_one_frequent_value_is_refused(kind: str) -> None:
    with pytest.raises(CannotPublish, match="has 30 of 40"):
        driver(kind).publish(crowd(0, 40, "aaab"))


# Who is where ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["open", "closed"])
def test_fewer_than_n_people_make_no_batch(kind: str) -> None:
    made = driver(kind)
    found = made.publish(crowd(0, 2))
    assert found.groups == 0
    assert made.publish(crowd(0, 40)).groups == 2


def rules(idle: list[bool], n: int = 2, m: int = 2) -> BatchRules:
    return BatchRules(m, 4, n, n, np.zeros((2, 1), dtype=np.bool_), np.array(idle))


@pytest.mark.parametrize(
    ("zones", "idle", "parts", "fit"),
    [
        (["ab", "ab", "ab"], [False] * 3, [0, 1, 2], [True] * 3),
        (["aa", "ab", "bb", "ab"], [False] * 4, [0, 0, 0, 1], [True, True]),
        (["abc", "bcbc", "aa"], [False] * 3, [0, 1, 1], [True, True]),
        (["abc", "abc", "aa"], [False] * 3, [0, 0, 0], [True]),
        (["ab", "bbab"], [False] * 2, [0, 0], [False]),
        (["ab", "a", "bc"], [False] * 3, [0, 1, 1], [True, True]),
        (["ab", "ab", "ab"], [True, True, False], [0, 0, 1], [True, True]),
        (["a"], [False], [0], [False]),
    ],
)
def test_zones_that_are_not_fit_are_joined_with_the_next(
    zones: list[str], idle: list[bool], parts: list[int], fit: list[bool]
) -> None:
    zone = np.array([z for z, held in enumerate(zones) for _ in held])
    codes = np.array(["abc".index(value) for held in zones for value in held])
    part, found = fit_parts(zone, codes, rules(idle))
    assert part.tolist() == parts
    totals = [
        Counter("".join(h for h, p in zip(zones, parts, strict=True) if p == k))
        for k in range(max(parts) + 1)
    ]
    assert found.tolist() == [max(t.values()) * 2 <= t.total() >= 2 for t in totals] == fit


def test_whoever_stays_or_comes_back_or_changes_is_listed_in_her_batch() -> None:
    made = driver()
    people = crowd(0, 60)
    first = dict(_home(made, people))
    made.publish(without(people, 3, 4))
    changed = [(*row[:4], "a") if row[0] == "p9" else row for row in people]
    assert dict(_home(made, changed)) == first


def test_newcomers_go_to_a_batch_of_their_zone() -> None:
    """Those of one place are where most of that place are."""
    made = driver(size=20)
    young, old = crowd(0, 20, age=20), crowd(20, 20, age=60)
    made.publish(young + old)
    later = dict(_home(made, young + old + crowd(100, 6, age=60)))
    assert {later[f"p{i}"] for i in range(100, 106)} == {later["p20"]} != {later["p0"]}


def test_a_zone_without_room_waits_until_it_has_a_batch() -> None:
    made = driver(size=10)
    people = crowd(0, 10, age=20)
    made.publish(people)
    made.publish(people + crowd(100, 10, age=20))  # up to twice the size
    waits = made.publish(people + crowd(100, 18, age=20))
    assert waits.groups == 1
    assert np.count_nonzero(waits.snapshots.listed < 0) == 8
    assert made.publish(people + crowd(100, 19, age=20)).groups == 2  # nine tenths of the size


def _home(made: BatchDriver, people: list[Person]) -> list[tuple[str, int]]:
    """Who is listed in which batch, by the first of its people."""
    made.publish(people)
    (_, batches) = made.shown[-1]
    return [(name, mine[0]) for mine, *_ in batches for name in mine]


# When counts are taken anew -------------------------------------------------------------------------


def counts(made: BatchDriver) -> list[tuple[dict[int, int], int, int]]:
    return [(dict(shown), as_of, held) for _, shown, as_of, held in made.shown[-1][1]]


def test_fewer_than_n_leavers_are_counted_on() -> None:
    made = driver()
    people = crowd(0, 20)
    made.publish(people)
    made.publish(without(people, 0, 1))
    assert counts(made) == [({0: 5, 1: 5, 2: 5, 3: 5}, 1, 2)]
    made.publish(without(people, 0, 1, 2))
    assert counts(made) == [({0: 4, 1: 4, 2: 4, 3: 5}, 3, 0)]


def test_one_leaver_among_four_joiners_is_counted_on() -> None:
    made = driver()
    people = crowd(0, 20)
    made.publish(people)
    made.publish(without(people, 0) + crowd(100, 4))
    assert counts(made) == [({0: 6, 1: 6, 2: 6, 3: 6}, 2, 1)]


def test_fewer_than_n_joiners_wait() -> None:
    made = driver()
    people = crowd(0, 20)
    made.publish(people)
    found = made.publish(without(people, 0, 1, 2) + crowd(100, 2))
    assert counts(made) == [({0: 4, 1: 4, 2: 4, 3: 5}, 2, 0)]
    assert np.count_nonzero(found.group < 0) == 2


def test_whoever_changed_is_counted_with_the_old_value_until_n_end() -> None:
    made = driver()
    people = crowd(0, 20)
    made.publish(people)
    made.publish([(*row[:4], "b") if row[0] == "p0" else row for row in people])
    assert counts(made) == [({0: 5, 1: 5, 2: 5, 3: 5}, 1, 1)]
    made.publish(people)  # and back
    assert counts(made) == [({0: 5, 1: 5, 2: 5, 3: 5}, 1, 0)]


def test_whoever_changes_back_in_a_closed_batch_is_counted_on() -> None:
    made = driver("closed")
    people = crowd(0, 20)
    made.publish(people)
    made.publish([(*row[:4], "b") if row[0] == "p0" else row for row in people])
    made.publish(people)
    assert counts(made) == [({0: 5, 1: 5, 2: 5, 3: 5}, 1, 0)]


def test_a_closed_batch_keeps_n_or_none() -> None:
    made = driver("closed")
    people = crowd(0, 20)
    made.publish(people)
    made.publish(people[:2])  # two would remain
    assert counts(made) == [({0: 5, 1: 5, 2: 5, 3: 5}, 1, 18)]
    made.publish([])
    assert counts(made) == []


def test_counts_that_would_not_be_diverse_are_not_taken() -> None:
    made = driver()
    people = crowd(0, 20, "ab")
    made.publish(people)
    made.publish(without(people, 0, 2, 4))  # seven of a, ten of b
    assert counts(made) == [({0: 10, 1: 10}, 1, 3)]
    for _ in range(10):  # who was held is likely to be held again
        made.publish(without(people, 0, 2, 1, 3))
    ((shown, as_of, held),) = counts(made)
    assert (shown, held) == ({0: 8, 1: 8}, 0) and as_of > 2


def test_chance_alone_keeps_all_counts_or_one_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that counts which are kept do not say for certain that a value was too frequent."""
    monkeypatch.setattr("republish.publishers.value_blind._IDLE", 1.0)
    people = crowd(0, 60)
    found = Counter()
    for seed in range(30):
        made = BatchDriver(driver().publisher, seed)
        made.publish(people)
        made.publish(without(people, *range(12)) + crowd(100, 12))
        found[tuple((sum(shown.values()), as_of, held) for shown, as_of, held in counts(made))] += 1
    assert set(found) == {((60, 1, 12),), ((48, 2, 0),), ((72, 2, 12),)}


def test_where_too_few_would_remain_newcomers_begin_alone() -> None:
    """A batch that shrank below a third of its size could neither end nor begin."""
    made = driver(size=30)
    people = crowd(0, 30, "abcd")
    made.publish(people)
    some = people[:5]
    made.publish(some + crowd(100, 4))  # nine would be counted, and ten must be
    assert counts(made) == [({0: 9, 1: 9, 2: 8, 3: 8}, 2, 25)]
    for _ in range(10):  # who was held is likely to be held again
        made.publish(some + crowd(100, 8))
    ((shown, as_of, held),) = counts(made)
    assert (sum(shown.values()), held) == (13, 0) and as_of > 2


def test_where_newcomers_are_too_alike_those_who_left_end_alone() -> None:
    made = driver()
    people = crowd(0, 20)
    made.publish(people)
    found = made.publish(without(people, 0, 1, 2, 3) + crowd(100, 20, "a"))
    assert counts(made) == [({0: 4, 1: 4, 2: 4, 3: 4}, 2, 0)]
    assert np.count_nonzero(found.group < 0) == 20


def test_where_those_who_changed_are_too_alike_newcomers_begin_alone() -> None:
    """An epidemic: half of the people change to one value, and are counted with their old ones."""
    made = driver()
    people = crowd(0, 20, "abc")
    made.publish(people)
    ill = [(*row[:4], "d") if int(row[0][1:]) < 14 else row for row in people]
    found = made.publish(ill + crowd(100, 3, "abc"))
    assert counts(made) == [({0: 8, 1: 8, 2: 7}, 2, 14)]
    assert np.count_nonzero(found.group < 0) == 14


def test_a_hold_that_goes_on_is_mostly_of_the_same_kind() -> None:
    """Newcomers begin, and nobody ends, release after release: nearly always again, never surely."""
    made = driver(size=30)
    made.publish(crowd(0, 30))
    made.publish(crowd(0, 5) + crowd(100, 4))
    view, _ = view_of(crowd(0, 5) + crowd(100, 8), made.values)
    past = recall_batches(view, made.memory, 3)
    rng = np.random.default_rng(0)
    kinds = Counter(tuple(drawn_holds(past, rng, 0.01)[:, 1].tolist()) for _ in range(4000))
    assert set(kinds) == {(False, False), (True, False), (False, True), (True, True)}
    assert 0.2 < kinds[(True, False)] / 4000 < 0.24  # a quarter is held, seven in eight of it as before


def test_half_of_the_holds_by_chance_keep_all_counts() -> None:
    made = driver(size=30)
    made.publish(crowd(0, 30))
    view, _ = view_of(crowd(0, 30), made.values)
    rng = np.random.default_rng(0)
    past = recall_batches(view, made.memory, 2)
    kinds = Counter(tuple(drawn_holds(past, rng, 1.0)[:, 1].tolist()) for _ in range(4000))
    shares = {kind: times / 4000 for kind, times in kinds.items()}
    assert shares == pytest.approx({(True, True): 0.5, (True, False): 0.25, (False, True): 0.25}, abs=0.03)
