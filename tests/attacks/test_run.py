"""What an adversary is granted, what she reads of a stored series, and how she is scored."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from attacks.histories import Series as Example
from attacks.histories import array, random_history
from republish import Number, PolicyError, Schema, Series, TauSafety
from republish.attacks import ATTACKS, Adversary, History, Table, attack, history_of, measure_series
from republish.attacks.excluding.signature_rule import SignatureRule, rule_of
from republish.memory.event_lists import REINSERT, Appearances, events_of
from republish.publishing.maintenance import forget

PAIR = Example([[({"x": "a", "y": "b"}, [])], [({"x": "a", "z": "c"}, [])]])


def published(series: Series, views: list[Path]) -> Series:
    for week, view in enumerate(views[:3], 1):
        series.publish(view, as_of=f"2026-03-{week:02d}")
    return series


def test_a_stored_series_is_read_as_it_was_published(series: Series, views: list[Path]) -> None:
    history = history_of(published(series, views))
    assert history.releases == 3
    for i, record in enumerate(series.records):
        assert int(np.count_nonzero(history.release == i)) == series.release(i + 1).rows
        assert int(history.group_start[i + 1] - history.group_start[i]) == record.payload["groups"]
    assert (history.nobodys == 0).all()
    assert history.truth is not None
    assert history.names is not None
    assert history.names.to_list() == sorted(history.names.to_list())


def test_the_events_of_a_stored_series_are_its_arrivals(series: Series, views: list[Path]) -> None:
    history = history_of(published(series, views))
    assert history.events is not None
    for i, record in enumerate(series.records):
        letters = [history.events.text(person).split(",")[i] for person in range(history.people)]
        arrivals = record.payload["arrivals"]
        assert letters.count("i") == arrivals["new"]
        assert letters.count("r") == arrivals["returned"]
        assert letters.count("d") == arrivals["left"]
        assert int(history.events.value_changed[:, i].sum()) == arrivals["changed_value"]


def test_a_stored_series_is_attacked_without_ever_excluding_the_truth(
    series: Series, views: list[Path]
) -> None:
    results = attack(published(series, views), Adversary(0.1))
    assert [result.name for result in results] == list(ATTACKS)
    for result in results:
        unknowns, sets = result.findings.unknowns, result.findings.sets
        there = np.flatnonzero(unknowns.truth >= 0)
        codes = unknowns.truth[there]
        assert ((sets[there, codes >> 6] >> (codes & 63).astype(np.uint64)) & np.uint64(1)).all()
    assert results[1].overall.determined > 0  # groups of one release alone do not withstand event lists


def test_forgotten_people_leave_rows_that_belong_to_nobody(series: Series, views: list[Path]) -> None:
    published(series, views)
    before = history_of(series)
    identifier = series.schema.identifier
    assert identifier is not None
    first = pl.read_csv(views[0], infer_schema_length=0)[identifier].head(1)
    forget(series, first.to_frame())
    after = history_of(series)
    assert after.people == before.people - 1
    assert int(after.nobodys.sum()) == len(before.person) - len(after.person) > 0
    for result in attack(series, Adversary(0.1)):
        assert (result.candidates >= 1).all()


def test_nobody_hides_behind_people_who_were_forgotten(series: Series, views: list[Path]) -> None:
    """The adversary still knows them: she is granted what they had, so others are as exposed as if they were known."""
    published(series, views)
    identifier = series.schema.identifier
    assert identifier is not None
    ids = pl.concat([pl.read_csv(view, infer_schema_length=0)[identifier] for view in views]).unique().sort()
    gone = ids.head(len(ids) // 2)
    before = history_of(series)
    names = before.names
    assert names is not None
    known = names.is_in(series.pseudonyms(gone).implode()).to_numpy()
    (as_known,) = attack(series, Adversary(names.filter(known)), ["compromised"])
    forget(series, gone.to_frame())
    after = history_of(series)
    assert after.knowing_forgotten().nobodys[after.forgotten].sum() == 0
    (found,) = attack(series, Adversary(), ["compromised"])
    fewest = [result.overall.determined for result in (as_known, found)]
    assert fewest[1] >= fewest[0] > 0
    untouched = np.setdiff1d(np.arange(after.groups), after.forgotten)
    assert np.array_equal(after.knowing_forgotten().sizes[untouched], after.sizes[untouched])


def test_other_true_values_can_be_given(series: Series, views: list[Path]) -> None:
    published(series, views)
    kept = [series.appearances(i).select("person", "code") for i in (1, 2, 3)]
    given, stored = history_of(series, kept), history_of(series)
    assert np.array_equal(given.truth, stored.truth)
    with pytest.raises(PolicyError, match="one table a release"):
        history_of(series, kept[:2])
    with pytest.raises(PolicyError, match=r"1 of .* people are missing"):
        history_of(series, [kept[0][1:], *kept[1:]])
    wrong = kept[0].with_columns(code=pl.col("code").shuffle(seed=1))
    with pytest.raises(PolicyError, match="true values must be among those published"):
        history_of(series, [wrong, *kept[1:]])


def test_compromised_people_are_given_by_pseudonym(series: Series, views: list[Path]) -> None:
    history = history_of(published(series, views))
    assert history.names is not None
    chosen = history.names.gather([3, 5])
    assert np.flatnonzero(Adversary(chosen).known(history)).tolist() == [3, 5]
    with pytest.raises(PolicyError, match="1 of 1 never were"):
        Adversary(["nobody"]).known(history)


def test_a_share_of_compromised_people_is_drawn_with_the_seed() -> None:
    history = random_history(1, people=400)
    known = Adversary(0.25, seed=3).known(history)
    assert 60 < known.sum() < 140
    assert np.array_equal(known, Adversary(0.25, seed=3).known(history))
    assert not np.array_equal(known, Adversary(0.25, seed=4).known(history))


def test_compromised_people_are_not_counted_as_found() -> None:
    known = [PAIR.who("y")]
    intersected, compromised = attack(PAIR.history, Adversary(known), ["intersection", "compromised"])
    assert intersected.overall.people == 3
    assert compromised.overall.people == 2
    assert np.isnan(compromised.risk[known]).all()


def test_figures_of_every_release_and_of_all() -> None:
    (result,) = attack(PAIR.history, attacks=["intersection"])
    assert result.as_dict() == {
        "attack": "intersection",
        "m": 2,
        "overall": {
            "people": 3,
            "determined": 1,
            "determined_share": pytest.approx(1 / 3),
            "above_nine_tenths": pytest.approx(1 / 3),
            "above_half": pytest.approx(1 / 3),
            "mean_confidence": pytest.approx(2 / 3),
            "worst_confidence": 1.0,
            "gain": pytest.approx(1 / 3),
            "fewest_candidates": 1,
            "below_m": pytest.approx(1 / 3),
        },
        "releases": [
            {
                "release": i,
                "people": 2,
                "determined": 1,
                "determined_share": 0.5,
                "above_nine_tenths": 0.5,
                "above_half": 0.5,
                "mean_confidence": 0.75,
                "worst_confidence": 1.0,
                "gain": 0.5,
                "fewest_candidates": 1,
                "below_m": 0.5,
            }
            for i in (1, 2)
        ],
    }
    json.dumps(result.as_dict())


def test_nobody_is_named_in_the_figures(series: Series, views: list[Path]) -> None:
    history = history_of(published(series, views))
    assert history.names is not None
    text = json.dumps([result.as_dict() for result in attack(history)]) + json.dumps(
        measure_series(history, 2).as_dict()
    )
    assert not any(name in text for name in history.names.to_list())
    assert history.names[0] not in repr(history)


def test_without_event_lists_an_adversary_links_nothing() -> None:
    for result in attack(PAIR.history, Adversary(event_lists=False)):
        assert result.overall.fewest_candidates == 2


def test_without_truth_confidence_is_that_of_the_likeliest_value() -> None:
    overlap = Example([[({"x": "a", "y": "b"}, [])], [({"x": "c", "z": "b"}, [])]])
    (result,) = attack(replace(overlap.history, truth=None), attacks=["tau"])
    assert result.risk[overlap.who("x")] == pytest.approx(2 / 3)


# x is hidden in {a, b}, leaves, and comes back with c, hidden in {b, c}; a, b, c and d are known.
FIRST = [({"x": "a", "y": "b"}, []), ({"p": "c", "q": "d"}, [])]
LEFT = [({"y": "b"}, ["a"]), ({"p": "c", "q": "d"}, [])]
CHANGED = [({"x": "c", "z": "b"}, []), *LEFT]
BACK = Example([FIRST, LEFT, CHANGED])
UPDATED = Example([FIRST, CHANGED])


def candidates_of_x(history: History, release: int, name: str) -> frozenset[str]:
    (result,) = attack(history, attacks=[name])
    return BACK.called(result.findings.candidates_of(BACK.who("x"), release))


@pytest.mark.parametrize("name", ["tau", "compromised", "historical"])
def test_who_would_have_kept_a_signature_has_a_value_outside_of_it(name: str) -> None:
    knows = replace(BACK.history, rule=SignatureRule(2, np.array([4, 4, 4])))
    assert candidates_of_x(BACK.history, 2, name) == {"b", "c"}
    assert candidates_of_x(knows, 2, name) == {"c"}


@pytest.mark.parametrize("rule", [SignatureRule(3, array([4, 4, 4])), SignatureRule(2, array([4, 4, 3]))])
def test_where_too_few_values_lie_outside_nothing_follows(rule: SignatureRule) -> None:
    assert candidates_of_x(replace(BACK.history, rule=rule), 2, "tau") == {"b", "c"}


@pytest.mark.parametrize("group", [0, 4])
def test_of_groups_with_forgotten_people_no_signature_is_known(group: int) -> None:
    """Nobody but the forgotten may have had a value of theirs, and then it is missing."""
    knows = replace(BACK.history, rule=SignatureRule(2, array([4, 4, 4])), forgotten=array([group]))
    assert candidates_of_x(knows, 2, "tau") == {"b", "c"}


@pytest.mark.parametrize("updates, left", [(False, {"b", "c"}), (True, {"c"})])
def test_an_update_in_place_follows_a_rule_only_where_the_publisher_says_so(
    updates: bool, left: set[str]
) -> None:
    knows = replace(UPDATED.history, rule=SignatureRule(2, array([4, 4]), updates))
    (result,) = attack(knows, attacks=["tau"])
    assert UPDATED.called(result.findings.candidates_of(UPDATED.who("x"), 1)) == left


def test_following_several_updates_can_tell_more_than_the_attack_finds() -> None:
    """x and z, who changed to {b, c}, were never both b: in one group with the same two people in turn, both had a."""
    first = [({"x": "a", "y": "b"}, []), ({"z": "a", "w": "b"}, [])]
    second = [({"z": "a", "y": "b"}, []), ({"x": "a", "w": "b"}, [])]
    third = [({"x": "b", "z": "c"}, []), ({"y": "b"}, ["a"]), ({"w": "b"}, ["a"])]
    example = Example([first, second, third])
    possible = {
        x
        for x, y, z, w, x_later, z_later in product("ab", "ab", "ab", "ab", "bc", "bc")
        if all(one != other for one, other in pairwise([y, x, w, z, y])) and {x_later, z_later} == {"b", "c"}
        if x != x_later and z != z_later
    }
    assert possible == {"a"}
    (result,) = attack(example.history, attacks=["tau"])
    assert example.called(result.findings.candidates_of(example.who("x"), 0)) == {"a", "b"}


def test_rules_are_read_from_promises() -> None:
    values = array([5, 6])
    assert rule_of(["m-invariance=3"], values) is None
    assert rule_of(["weak-m-invariance=3", "hc-safety=2"], values) is None
    assert rule_of([], values) is None
    assert rule_of(["tau-safety=3"], values) == SignatureRule(3, values, updates=False)
    assert rule_of(["tau-safety=3", "disjoint-updates"], values) == SignatureRule(3, values, updates=True)


def test_a_stored_series_says_what_its_publisher_does(tmp_path: Path) -> None:
    schema = Schema("id", [Number("age")], "dx")
    stored = Series.create(tmp_path / "s", schema, TauSafety(2), seed=1)
    for values in ("ab", "abc"):
        people = {"id": [f"p{i}" for i in range(len(values))], "age": range(len(values)), "dx": list(values)}
        stored.publish(pl.DataFrame(people))
    rule = history_of(stored).rule
    assert rule is not None
    assert (rule.m, rule.values.tolist(), rule.updates) == (2, [2, 3], False)


def test_event_lists_that_contradict_the_tables_are_refused() -> None:
    table = Table(**{name: array(items) for name, items in ONE.items()})
    away = [Appearances(array([0]), array([0]), np.zeros(1, dtype=np.uint64))]
    with pytest.raises(PolicyError, match="those of 1 of 2 people do not"):
        History.of(2, 2, [table], events_of(2, away))
    both = [Appearances(array([0, 1]), array([0, 1]), np.zeros(2, dtype=np.uint64))]
    events = events_of(2, both)
    events.event[:, 0] = REINSERT
    with pytest.raises(PolicyError, match="those of 2 of 2 people do not"):
        History.of(2, 2, [table], events)


def test_updates_of_every_kind_are_counted() -> None:
    """x stays, y changes, z moves, u leaves and comes back with another value, v is new in the second release."""
    example = Example(
        [
            [({"x": "a", "y": "b", "z": "c", "u": "d"}, [])],
            [({"x": "a", "y": "c", "z": "c", "v": "d"}, [])],
            [({"x": "a", "y": "c", "z": "c", "v": "d", "u": "b"}, [])],
        ],
        moves={("z", 1): 1, ("z", 2): 1},
    )
    counted = [
        (part.external_updates, part.internal_updates, part.sensitive_updates, part.quasi_identifier_updates)
        for part in measure_series(example.history).releases
    ]
    assert counted == [(4, 0, 0, 0), (2, 2, 1, 1), (0, 1, 1, 0)]


def test_empty_histories_and_empty_releases_are_fine() -> None:
    nothing = array([])
    empty = Table(nothing, nothing, nothing, nothing)
    none = Appearances(nothing, nothing, nothing.astype(np.uint64))
    for count in (0, 2):
        history = History.of(0, 0, [empty] * count, events_of(0, [none] * count), [nothing] * count)
        for result in attack(history):
            assert result.overall.people == 0
            assert result.overall.fewest_candidates is None
        assert len(measure_series(history, 2).releases) == count


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_out_of_range_is_refused(share: float) -> None:
    with pytest.raises(PolicyError, match="share from 0 to 1"):
        Adversary(share)


def test_wrong_use_is_refused() -> None:
    history = PAIR.history
    with pytest.raises(PolicyError, match="no attack called guessing; there are intersection"):
        attack(history, attacks=["guessing"])
    with pytest.raises(PolicyError, match="no event lists"):
        attack(replace(history, events=None))
    with pytest.raises(PolicyError, match="history holds none"):
        measure_series(replace(history, events=None))
    with pytest.raises(PolicyError, match="true values are needed"):
        attack(replace(history, truth=None), Adversary([0]))
    with pytest.raises(PolicyError, match="numbers from 0 to 2"):
        attack(history, Adversary([3]))
    with pytest.raises(PolicyError, match="no pseudonyms"):
        attack(history, Adversary(["x"]))


ONE = {"person": [0, 1], "group": [0, 0], "row_group": [0, 0], "row_code": [0, 1]}


@pytest.mark.parametrize(
    "change, message",
    [
        ({"person": [0, 0]}, "twice"),
        ({"person": [0, 2]}, "outside their range"),
        ({"row_code": [0, 9]}, "outside their range"),
        ({"group": [0, -2]}, "outside their range"),
        ({"group": [0]}, "equally long"),
        ({"row_group": [0], "row_code": [0]}, "more members than published rows"),
    ],
)
def test_tables_that_contradict_themselves_are_refused(change: dict[str, list[int]], message: str) -> None:
    table = Table(**{name: array(items) for name, items in {**ONE, **change}.items()})
    with pytest.raises(PolicyError, match=message):
        History.of(2, 2, [table])


def test_events_and_truth_must_fit_the_tables() -> None:
    table = Table(**{name: array(items) for name, items in ONE.items()})
    with pytest.raises(PolicyError, match="one array a release"):
        History.of(2, 2, [table], truth=[])
    with pytest.raises(PolicyError, match="event lists must cover 2 people and 1 releases"):
        History.of(2, 2, [table], events_of(2, []))
    with pytest.raises(PolicyError, match="true values must be among"):
        History.of(2, 2, [table], truth=[array([1, 1])])
