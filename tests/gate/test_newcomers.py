"""A gate whose attacks were not named: who puts people together by values is tried on newcomers, and refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from attacks.retracing.gathered import SCHEMA, people
from republish import (
    BayFrame,
    Cohorts,
    CorSplit,
    Gate,
    JSReduce,
    LimitBroken,
    MInvariance,
    PolicyError,
    Series,
    TauSafety,
)
from republish.attacks.replaying import swap
from republish.gate.limits import gate_from_mapping, parse_gate
from republish.gate.run import judge_again
from republish.gate.verdict import verdict_from
from republish.policy import read_policy
from republish.publishers import Publisher

RECOMMENDED = Gate(max_determined=1.0, compromised=0.04)
VIEWS = [people(60, 3, 1), people(66, 3, 1)]
BY_VALUES: list[Publisher] = [
    TauSafety(m=3, membership="nearest"),
    MInvariance(3, membership="nearest"),
    CorSplit(m=3, n=2, membership="nearest"),
    Cohorts(m=3, size=12, max_determined=0.9, membership="nearest"),
]


def series(folder: Path, publisher: Publisher, gate: Gate = RECOMMENDED) -> Series:
    return Series.create(folder / "series", SCHEMA, publisher, seed=1, gate=gate)


@pytest.mark.parametrize("publisher", BY_VALUES, ids=lambda one: one.name)
def test_the_first_release_is_refused_and_what_would_pass_is_said(
    tmp_path: Path, publisher: Publisher
) -> None:
    made = series(tmp_path, publisher)
    with pytest.raises(LimitBroken, match=r"max_told_apart=0.05, swap: .*\(membership=random\) would pass"):
        made.publish(VIEWS[0])
    assert len(made.records) == 0


@pytest.mark.parametrize("publisher", BY_VALUES, ids=lambda one: one.name)
def test_chance_is_not_tried_and_passes(tmp_path: Path, publisher: Publisher) -> None:
    made = series(tmp_path, replace(publisher, membership="random"))
    made.publish(VIEWS[0])
    gate = made.policy.gate
    assert gate is not None
    assert (gate.attacks, gate.max_told_apart, gate.exchanged) == (("linear",), None, None)


@pytest.mark.parametrize(
    ("publisher", "tried"),
    [
        (JSReduce(), False),
        (BayFrame(), False),
        (JSReduce.as_published(), True),
        (BayFrame.as_published(), True),
        (JSReduce(withstand=0.5), True),
    ],
)
def test_groups_cut_from_an_order_are_tried_where_choices_tell_of_values(
    publisher: Publisher, tried: bool
) -> None:
    gate = RECOMMENDED.suiting(publisher.knowledge, sensitive=True, publisher=publisher)
    assert gate.attacks == ("beliefs", "joint", *(["swap"] if tried else []))
    assert (gate.max_told_apart, gate.exchanged) == ((0.05, "newcomers") if tried else (None, None))


@pytest.mark.parametrize("publisher", [JSReduce(k=3, t=0.9), BayFrame(k=3)], ids=lambda one: one.name)
def test_orders_cut_at_once_pass_by_default(tmp_path: Path, publisher: Publisher) -> None:
    assert series(tmp_path, publisher).publish(VIEWS[0]).gate is not None


def test_groups_that_are_closed_early_are_refused_and_told_how_else(tmp_path: Path) -> None:
    made = series(tmp_path, JSReduce(k=3, t=0.3, crowd=0, cut="greedy", rest="suppress"))
    with pytest.raises(LimitBroken, match=r"max_told_apart=0.05, swap: .*cut=optimal without withstand"):
        made.publish(VIEWS[0])


def test_a_gate_retraces_how_groups_were_halved(tmp_path: Path) -> None:
    gate = Gate(attacks=("halving",), max_above_nine_tenths=1.0)
    made = series(tmp_path, MInvariance(3, membership="nearest"), gate)
    done = made.publish(VIEWS[0], truth=[])
    assert done.gate is not None and done.gate.passed
    (found,) = done.gate.found
    assert (found.attack, found.summary.people) == ("halving", 60)
    assert found.summary.worst_confidence > 1 / 3  # by the shares of groups alone it is 1 / m


def test_a_gate_that_halves_refuses_groups_that_grew_otherwise(tmp_path: Path) -> None:
    gate = Gate(attacks=("halving",), max_above_nine_tenths=1.0)
    with pytest.raises(PolicyError, match=r"halving in the gate could never be made: .*these are gathered"):
        series(tmp_path, TauSafety(m=3, membership="nearest"), gate)


def test_a_gate_that_names_its_attacks_or_its_limit_keeps_its_meaning() -> None:
    near = BY_VALUES[0]
    named = parse_gate("max_determined=0.01,attacks=linear")
    assert named.suiting(None, sensitive=True, publisher=near) == named
    limited = Gate(max_told_apart=0.2).suiting(None, sensitive=True, publisher=near)
    assert (limited.attacks, limited.exchanged, limited.needs_views) == (("swap",), None, True)


def test_no_view_of_an_earlier_release_is_needed_and_all_are_to_judge_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "republish.secret.secrets.token_hex", lambda size: "1f" * size
    )  # few are new, and by chance
    loose = Gate(attacks=("swap",), max_told_apart=1.0, exchanged="newcomers")
    made = series(tmp_path, BY_VALUES[0], loose)
    for view in VIEWS:
        made.publish(view)
    pairs = [verdict_from(one.payload["gate"]).found[0].summary.people for one in made.records]
    assert pairs[0] == 60
    assert 0 < pairs[1] <= 6
    assert made.verify().holds
    with pytest.raises(PolicyError, match="swap in the gate"):
        judge_again(made)
    assert judge_again(made, views=VIEWS).found[0].summary.people > sum(pairs) - 6


def test_a_release_without_newcomers_passes(tmp_path: Path) -> None:
    made = series(tmp_path, BY_VALUES[0], Gate(attacks=("swap",), max_told_apart=1.0, exchanged="newcomers"))
    for _ in range(2):
        made.publish(VIEWS[0], meant=["same-view"])
    assert verdict_from(made.records[1].payload["gate"]).found[0].summary.people == 0
    assert made.verify().holds


def test_the_chance_is_that_of_the_release_and_only_strangers_exchange(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = series(tmp_path, BY_VALUES[0], Gate(attacks=("swap",), max_told_apart=1.0, exchanged="newcomers"))
    made.publish(VIEWS[0])
    seen = []
    drawn = swap._pairs
    monkeypatch.setattr(swap, "_pairs", lambda *given: seen.append(given) or drawn(*given))
    made.publish(VIEWS[1])
    ((views, made_of, _, _, new),) = seen
    assert new.sum() == 6
    groups = made.release(2).group_count
    assert made_of[0].groups == groups
    members = made.members(2)
    places = {tuple(person): group for person, group in zip(members.people, members.group, strict=True)}
    published = [places[tuple(person)] for person in views[0].people]
    # The same people are together, whatever the numbers of groups.
    assert len(set(zip(published, made_of[0].group, strict=True))) == groups


@pytest.mark.parametrize("given", ["everybody", "", 3])
def test_only_newcomers_can_be_asked_for(given: object) -> None:
    with pytest.raises(PolicyError, match="exchanged of the gate must be newcomers"):
        gate_from_mapping({"max_told_apart": 0.1, "exchanged": given})


def test_the_policy_says_whom_it_exchanges_and_an_older_one_says_nothing(tmp_path: Path) -> None:
    made = series(tmp_path / "new", BY_VALUES[0])
    gate = read_policy(made.root).gate
    assert gate is not None
    assert (gate.attacks, gate.exchanged) == (("linear", "swap"), "newcomers")
    assert "exchanged" not in Gate(max_told_apart=0.1, attacks=("swap",)).document()
