"""The risk gate: what it refuses to be, what it refuses to let pass, and that a refusal changes nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from republish import (
    Category,
    Gate,
    JSReduce,
    LimitBroken,
    MInvariance,
    Mondrian,
    Number,
    PolicyError,
    Schema,
    Series,
)
from republish.attacks import BELIEVES, Adversary, Summary, Unclear, attack, names
from republish.gate.limits import LIMITS, gate_from_mapping, parse_gate
from republish.gate.run import judge_again
from republish.gate.verdict import AttackFigures, LimitBreach, Verdict, verdict_from
from republish.ledger import crash_points
from republish.publishing.maintenance import forget

SCHEMA = Schema("id", [Number("age")], Category("dx"))


def gated(root: Path, **settings: Any) -> Series:
    """One table a release: by the second one everybody's group has changed."""
    return Series.create(root / "s", SCHEMA, Mondrian(2), seed=1, one_table=True, gate=Gate(**settings))


@pytest.fixture
def weeks(tmp_path: Path) -> Iterator[tuple[Series, list[pl.DataFrame]]]:
    """A series that lets half of the people be determined by intersection, and two weeks that break this."""
    made = gated(tmp_path, attacks=("intersection",), max_determined=0.5)
    first = pl.DataFrame({"id": list("pqrs"), "age": [1, 2, 8, 9], "dx": list("abcd")})
    second = first.with_columns(age=pl.Series([1, 8, 2, 9]))  # p with r, q with s: one value in common
    yield made, [first, second]
    made.ledger.close()


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


# Settings -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings, message",
    [
        ({}, "needs at least one limit; there are max_determined, "),
        ({"max_gain": 0.1, "colour": 1}, "no setting colour; it may have attacks, compromised"),
        ({"max_gain": 1.5}, "max_gain of the gate must be a number from 0 to 1"),
        ({"max_gain": "little"}, "max_gain of the gate must be a number"),
        ({"max_gain": True}, "max_gain of the gate must be a number"),
        ({"max_determined": float("nan")}, "max_determined of the gate must be a number"),
        ({"max_gain": 0.1, "compromised": 1.0}, "compromised of the gate must be a share from 0 to below 1"),
        ({"max_gain": 0.1, "attacks": []}, "attacks of the gate must be a list of names"),
        ({"max_gain": 0.1, "attacks": "tau"}, "attacks of the gate must be a list of names"),
        ({"max_gain": 0.1, "attacks": [1]}, "attacks of the gate must be names"),
        ({"max_gain": 0.1, "attacks": ["magic"]}, "no attack called magic"),
        ({"max_gain": 0.1, "attacks": ["tau", "tau"]}, "names an attack twice"),
        ({"max_gain": 0.1, "attacks": ["matched"]}, "needs the raw views of all releases"),
        ({"max_gain": 0.1, "membership": "matched"}, 'membership must be "known"'),
        ({"max_gain": 0.1, "event_lists": 1}, "event_lists of the gate must be true or false"),
        ({"max_gain": 0.1, "seed": -1}, "seed of the gate must be a whole number"),
        ({"max_gain": 0.1, "seed": 2**63}, "seed of the gate must be a whole number from 0 to 2\\^63 - 1"),
        ({"max_undecided": 1.5}, "max_undecided of the gate must be a number from 0 to 1"),
        (
            {"max_undecided": 0.1, "attacks": ["tau", "historical"]},
            "max_undecided of the gate limits a figure that tau and historical cannot give; add the attack linear",
        ),
        ({"max_gain": 0.1, "draws": 0}, "draws of the gate must be a whole number from 1"),
        ({"max_gain": 0.1, "posterior": "magic"}, "posterior of the gate must be one of"),
        ({"max_gain": 0.1, "steps": 1.5}, "steps of the gate must be a whole number"),
        ({"max_gain": 0.1, "certainty": 2}, "certainty of the gate must be a confidence"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        gate_from_mapping(settings)


def test_a_gate_is_written_in_one_line() -> None:
    assert parse_gate(
        "max_determined=0.01, compromised=0.04, attacks=tau+beliefs, event_lists=false, steps=1"
    ) == Gate(max_determined=0.01, compromised=0.04, attacks=("tau", "beliefs"), event_lists=False, steps=1)
    for wrong in ("max_determined", "=1", "max_determined="):
        with pytest.raises(PolicyError, match="written NAME=VALUE"):
            parse_gate(wrong)
    with pytest.raises(PolicyError, match="max_gain is given twice"):
        parse_gate("max_gain=0.1,max_gain=0.2")
    with pytest.raises(PolicyError, match="max_gain of the gate must be a number"):
        parse_gate("max_gain=high")


def test_a_limit_that_the_chosen_attacks_cannot_break_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        PolicyError, match="max_undecided of the gate limits a figure that beliefs and joint cannot"
    ):
        Series.create(tmp_path / "b", SCHEMA, JSReduce(), gate=Gate(max_undecided=0.1))
    assert not (tmp_path / "b").exists()
    both = Gate(max_undecided=0.1, attacks=("tau", "linear"))
    assert both.limits == {"max_undecided": 0.1}


def test_the_largest_seed_can_be_kept_and_drawn_with(tmp_path: Path) -> None:
    series = gated(tmp_path, attacks=("historical",), compromised=0.1, seed=2**63 - 1, max_determined=1.0)
    gate = Series.open(series.root).policy.gate
    assert gate is not None and gate.seed == 2**63 - 1
    assert len(gate.adversaries(None)) == 3
    series.ledger.close()


@pytest.mark.parametrize("name", names(BELIEVES))
def test_beliefs_without_knowledge_are_refused_before_anything_is_made(tmp_path: Path, name: str) -> None:
    with pytest.raises(PolicyError, match=f"{name} in the gate needs to know how values follow each other"):
        gated(tmp_path, attacks=(name,), max_gain=0.1)
    assert not (tmp_path / "s").exists()


def test_a_gate_needs_a_sensitive_column(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="no sensitive column"):
        Series.create(tmp_path / "s", Schema("id", [Number("age")]), Mondrian(2), gate=Gate(max_gain=0.1))


def test_without_names_the_attacks_suit_the_publisher(tmp_path: Path) -> None:
    plain = gated(tmp_path, max_gain=0.1)
    assert plain.policy.gate is not None
    assert plain.policy.gate.attacks == ("linear",)
    believing = Series.create(tmp_path / "b", SCHEMA, JSReduce(), gate=Gate(max_gain=0.1))
    assert believing.policy.gate is not None
    assert believing.policy.gate.attacks == ("beliefs", "joint")
    assert Series.open(tmp_path / "b").policy.gate == believing.policy.gate
    with pytest.raises(PolicyError, match="one of exact, bp, sinkhorn for joint"):
        Series.create(
            tmp_path / "c", SCHEMA, JSReduce(), gate=Gate(attacks=("joint",), max_gain=0.1, posterior="omega")
        )


def test_a_gate_is_kept_in_the_policy_and_frozen_with_it(weeks: tuple[Series, list[pl.DataFrame]]) -> None:
    series, views = weeks
    assert Series.open(series.root).policy == series.policy
    series.publish(views[0])
    file = series.root / "series.toml"
    text = file.read_text()
    for changed in ("max_determined = 0.4", "max_determined = 0.6"):  # neither tighter nor looser
        file.write_text(text.replace("max_determined = 0.5", changed))
        opened = Series.open(series.root)
        with pytest.raises(PolicyError, match="frozen"):
            opened.publish(views[0])
        assert not opened.verify().holds
    file.write_text(text[: text.index("[gate]")] + text[text.index("[schema") :])
    with pytest.raises(PolicyError, match="frozen"):
        Series.open(series.root).publish(views[0])
    file.write_text(text)
    assert Series.open(series.root).verify().holds


# Decisions ----------------------------------------------------------------------------------------

FIGURES = Summary(200, 5, 0.025, 0.1, 0.4, 0.3, 0.95, 0.12)


@pytest.mark.parametrize(
    "limit, allowed, people, sentence",
    [
        ("max_determined", 0.01, 5, "5 of 200 people (2.50%) are determined exactly, 1.50 points too many"),
        (
            "max_above_nine_tenths",
            0.05,
            20,
            "20 of 200 people (10.00%) have a value of which she is surer than .9",
        ),
        ("max_above_half", 0.2, 80, "80 of 200 people (40.00%) have a value of which she is surer than .5"),
        ("max_confidence", 0.9, 3, "with 0.9500, 0.0500 too much, and of 3 of 200 people surer than allowed"),
        ("max_mean_confidence", 0.2, 200, "the mean confidence over 200 people is 0.3000, 0.1000 too high"),
        ("max_gain", 0.1, 200, "the mean gain over 200 people is 0.1200, 0.0200 too high"),
    ],
)
def test_a_broken_limit_says_by_how_much_and_for_how_many(
    limit: str, allowed: float, people: int, sentence: str
) -> None:
    verdict = Verdict({limit: allowed}, (AttackFigures("tau", FIGURES, above_limit=3),))
    (breach,) = verdict.breaches
    assert breach.people == people
    assert breach.excess == pytest.approx(getattr(FIGURES, LIMITS[limit]) - allowed)
    assert breach.sentence().startswith(f"{limit}={allowed:g}, tau: ")
    assert sentence in breach.sentence()
    with pytest.raises(LimitBroken, match="the series is as it was"):
        verdict.require("visits")
    at_the_limit = Verdict({limit: getattr(FIGURES, LIMITS[limit])}, verdict.found)
    assert at_the_limit.passed
    at_the_limit.require("visits")


def test_the_worst_draw_decides() -> None:
    better = replace(FIGURES, determined=1, determined_share=0.005)
    found = (AttackFigures("tau", better), AttackFigures("tau", FIGURES), AttackFigures("linear", better))
    verdict = Verdict({"max_determined": 0.01}, found)
    assert verdict.breaches == (LimitBreach("max_determined", 0.01, found[1]),)
    assert verdict.worst() == {"tau": {"max_determined": 0.025}, "linear": {"max_determined": 0.005}}
    assert verdict_from(json.loads(json.dumps(verdict.as_dict()))) == verdict


def test_undecided_people_are_said_beside_those_determined() -> None:
    found = (
        AttackFigures("linear", FIGURES, unclear=Unclear(7, 7, 0, 0)),
        AttackFigures("linear", FIGURES, unclear=Unclear(40, 40, 0, 0)),
        AttackFigures("tau", FIGURES),
    )
    note = (
        "linear: 5 of 200 people are determined, and 40 more are undecided, for the budget ran out before a "
        "second value was found; so up to 22.50% may be determined"
    )
    passes = Verdict({"max_determined": 0.5}, found)
    assert passes.passed
    assert passes.notes == (note,)
    assert passes.as_dict()["notes"] == [note]
    assert [one["unclear"] for one in passes.as_dict()["found"]] == [
        {"people": 7, "undecided": 7, "unsettled": 0, "unsolved": 0},
        {"people": 40, "undecided": 40, "unsettled": 0, "unsolved": 0},
        None,
    ]
    assert verdict_from(json.loads(json.dumps(passes.as_dict()))) == passes
    broken = Verdict({"max_determined": 0.01}, found[1:2])
    assert broken.breaches[0].sentence().endswith("1.50 points too many, and 40 more are undecided")
    none = Verdict({"max_determined": 0.5}, (AttackFigures("linear", FIGURES, unclear=Unclear(0, 0, 0, 0)),))
    assert none.notes == ()
    rest = Verdict(
        {"max_determined": 0.5}, (AttackFigures("linear", FIGURES, unclear=Unclear(0, 0, 3, 1200)),)
    )
    assert rest.notes == (
        "linear: the probabilities of 3 episodes had not settled",
        "linear: the equations of 1,200 episodes were too many to solve, and they were only searched",
    )


def test_undecided_people_are_limited() -> None:
    found = (
        AttackFigures("linear", FIGURES, unclear=Unclear(7, 7, 0, 0)),
        AttackFigures("linear", FIGURES, unclear=Unclear(40, 40, 0, 0)),
        AttackFigures("tau", FIGURES),
    )
    verdict = Verdict({"max_undecided": 0.1}, found)
    (breach,) = verdict.breaches
    assert breach.people == 40
    assert breach.sentence() == (
        "max_undecided=0.1, linear: 40 of 200 people (20.00%) are undecided: no second value was found before the "
        "budget ran out, 10.00 points too many"
    )
    assert verdict.worst() == {"linear": {"max_undecided": 0.2}, "tau": {}}
    assert Verdict({"max_undecided": 0.2}, found).passed


@pytest.mark.parametrize("figure", [None, float("nan")])
def test_what_an_attack_does_not_say_does_not_pass(figure: float | None) -> None:
    verdict = Verdict({"max_gain": 1.0}, (AttackFigures("tau", replace(FIGURES, gain=figure)),))
    with pytest.raises(PolicyError, match="max_gain limits a figure that tau does not give"):
        verdict.require("visits")
    with pytest.raises(PolicyError, match="max_undecided limits a figure that linear does not give"):
        Verdict({"max_undecided": 1.0}, (AttackFigures("linear", FIGURES),)).require("visits")


def test_a_gate_with_nobody_left_to_attack_lets_nothing_pass(tmp_path: Path) -> None:
    series = gated(tmp_path, attacks=("historical",), compromised=0.99, seed=1, max_determined=1.0)
    view = pl.DataFrame({"id": list("pq"), "age": [1, 2], "dx": list("ab")})
    with pytest.raises(PolicyError, match="needs people who are not compromised, and all were drawn"):
        series.publish(view)
    assert not series.records
    series.ledger.close()


def test_a_refusal_changes_nothing(weeks: tuple[Series, list[pl.DataFrame]]) -> None:
    series, (first, second) = weeks
    series.publish(first, as_of="2026-01-05")
    head, before = series.ledger.head, files(series.root)
    with pytest.raises(LimitBroken) as refused:
        series.publish(second, as_of="2026-01-12")
    assert refused.value.exit_code == 1
    assert str(refused.value).startswith(
        "the release breaks a limit of the gate. max_determined=0.5, intersection: 4 of 4 people (100.00%) are "
        "determined exactly, 50.00 points too many. Nothing was published and the series is as it was."
    )
    assert series.ledger.head == head
    assert files(series.root) == before
    assert series.verify().holds
    assert series.publish(first, as_of="2026-01-12", meant=["same-view"]).number == 2  # another view may pass


def test_a_message_names_nobody(tmp_path: Path) -> None:
    series = gated(tmp_path, attacks=("intersection",), max_determined=0.0, max_confidence=0.1, max_gain=0.0)
    people = ["NAMEONE", "NAMETWO", "NAMETHREE", "NAMEFOUR"]
    first = pl.DataFrame({"id": people, "age": [1, 2, 8, 9], "dx": ["CELLA", "CELLA", "CELLA", "CELLB"]})
    with pytest.raises(LimitBroken) as refused:
        series.publish(first)
    assert "NAME" not in str(refused.value)
    assert "CELL" not in str(refused.value)
    assert not any(name in str(refused.value) for name in series.pseudonyms(people))
    assert str(refused.value).count("intersection") == 2  # counting the values tells as much: no gain
    series.ledger.close()


def test_a_dry_run_decides_as_publishing_does(weeks: tuple[Series, list[pl.DataFrame]]) -> None:
    series, (first, second) = weeks
    dry = series.publish(first, as_of="2026-01-05", dry_run=True)
    assert dry.gate is not None and dry.gate.passed
    done = series.publish(first, as_of="2026-01-05")
    assert done.gate == dry.gate
    before = files(series.root)
    dry = series.publish(second, as_of="2026-01-12", dry_run=True)
    assert dry.gate is not None and not dry.gate.passed
    assert files(series.root) == before
    with pytest.raises(LimitBroken) as refused:
        series.publish(second, as_of="2026-01-12")
    assert dry.gate.breaches[0].sentence() in str(refused.value)


@pytest.mark.parametrize("name", ["intersection", "historical", "linear"])
def test_the_figures_are_those_of_the_attack(
    tmp_path: Path, views: list[Path], hospital_folder: Path, name: str
) -> None:
    from republish import read_schema

    schema = read_schema(hospital_folder / "schema.toml")
    gate = Gate(attacks=(name,), compromised=0.1, seed=5, draws=2, max_determined=1.0)
    series = Series.create(tmp_path / "s", schema, MInvariance(3), seed=3, gate=gate)
    for week, view in enumerate(views[:2], 1):
        done = series.publish(view, as_of=f"2026-03-{week:02d}")
        assert done.gate is not None
        drawn = 1 if name == "intersection" else 2
        expected = [attack(series, Adversary(0.1, seed=5 + i), [name])[0].summary for i in range(drawn)]
        assert [one.summary for one in done.gate.found] == expected
        assert verdict_from(series.record(week).payload["gate"]) == done.gate
        assert judge_again(series) == done.gate
    series.ledger.close()


@pytest.mark.jit
def test_beliefs_are_scored_with_the_view_and_the_remembered_codes(
    tmp_path: Path, views: list[Path], hospital_folder: Path
) -> None:
    from republish import read_knowledge, read_schema

    schema = read_schema(hospital_folder / "schema.toml")
    knowledge = read_knowledge(hospital_folder / "knowledge", schema)
    gate = Gate(attacks=("beliefs", "joint"), compromised=0.05, draws=1, certainty=0.9, max_gain=1.0)
    series = Series.create(tmp_path / "s", schema, JSReduce(knowledge=knowledge), seed=3, gate=gate)
    for week, view in enumerate(views[:2], 1):
        done = series.publish(view, as_of=f"2026-03-{week:02d}")
        assert done.gate is not None
        expected = attack(series, Adversary(0.05, certainty=0.9), ["beliefs", "joint"])
        assert [one.summary for one in done.gate.found] == [one.summary for one in expected]
    series.ledger.close()


def test_people_above_the_limit_are_counted(tmp_path: Path) -> None:
    series = gated(tmp_path, attacks=("intersection",), max_confidence=0.9)
    view = pl.DataFrame({"id": list("pqrs"), "age": [1, 2, 8, 9], "dx": list("aabc")})
    dry = series.publish(view, dry_run=True)
    assert dry.gate is not None
    assert [breach.people for breach in dry.gate.breaches] == [2]
    series.ledger.close()


# What is kept and told ----------------------------------------------------------------------------


def test_recipients_are_told_the_limits_and_none_of_the_figures(
    weeks: tuple[Series, list[pl.DataFrame]],
) -> None:
    series, views = weeks
    series.publish(views[0])
    about = json.loads((series.root / "releases" / "0001" / "about.json").read_text())
    assert about["gate"] == {
        "attacks": ["intersection"],
        "granted": {"compromised": 0.0, "event_lists": True},
        "limits": {"max_determined": 0.5},
        "passed": True,
    }


def test_recorded_figures_are_verified(weeks: tuple[Series, list[pl.DataFrame]]) -> None:
    from republish.gate.verdict import recorded_problems

    series, views = weeks
    series.publish(views[0])
    gate, (entry,) = series.policy.gate, series.records
    assert recorded_problems(gate, [entry]) == []
    assert recorded_problems(None, [entry]) == [
        "release 1 records another gate than the one that was in force"
    ]
    payload = entry.payload
    worse = {**payload["gate"], "found": [{**payload["gate"]["found"][0], "determined_share": 0.9}]}
    looser = {**payload["gate"], "limits": {"max_determined": 0.9}}
    once = payload["gate"]["found"][0]
    twice = {**payload["gate"], "found": [once, once]}  # the gate draws once
    nobody = {**payload["gate"], "found": [{**once, "people": 0}]}
    silent = {**payload["gate"], "found": [{**once, "determined_share": None}]}
    for wrong in (worse, looser, twice, nobody, silent, {**payload["gate"], "found": []}, {"passed": True}):
        changed = replace(entry, payload={**payload, "gate": wrong})
        assert recorded_problems(gate, [changed]) == [
            "release 1 records figures that the gate does not let pass"
        ]
    without = replace(entry, payload={key: value for key, value in payload.items() if key != "gate"})
    assert recorded_problems(gate, [without]) == ["release 1 records no verdict of the gate"]


def test_every_draw_must_be_recorded(tmp_path: Path) -> None:
    from republish.gate.verdict import recorded_problems

    series = gated(
        tmp_path, attacks=("intersection", "historical"), compromised=0.1, draws=2, max_determined=1.0
    )
    ids = [f"p{i}" for i in range(20)]
    series.publish(pl.DataFrame({"id": ids, "age": list(range(20)), "dx": ["a", "b", "c", "d"] * 5}))
    (entry,) = series.records
    found = entry.payload["gate"]["found"]
    assert [one["attack"] for one in found] == ["intersection", "historical", "historical"]
    assert recorded_problems(series.policy.gate, [entry]) == []
    fewer = replace(entry, payload={**entry.payload, "gate": {**entry.payload["gate"], "found": found[:2]}})
    assert len(recorded_problems(series.policy.gate, [fewer])) == 1
    for one in found:
        del one["unclear"]  # as older releases recorded it
    assert recorded_problems(series.policy.gate, [entry]) == []
    series.ledger.close()


def test_the_gate_goes_on_after_someone_was_forgotten(
    tmp_path: Path, views: list[Path], hospital_folder: Path
) -> None:
    from republish import read_schema

    schema = read_schema(hospital_folder / "schema.toml")
    series = Series.create(
        tmp_path / "s", schema, MInvariance(3), seed=3, gate=Gate(attacks=("historical",), max_determined=1.0)
    )
    series.publish(views[0], as_of="2026-03-01")
    forget(series, pl.read_csv(views[0], infer_schema_length=0).select("patient").head(3))
    done = series.publish(views[1], as_of="2026-03-08")
    assert done.gate is not None and done.gate.passed
    assert series.verify().holds
    series.ledger.close()


def test_a_series_without_a_gate_is_judged_by_nobody(series: Series, views: list[Path]) -> None:
    assert series.publish(views[0]).gate is None
    assert "gate" not in series.record(1).payload
    with pytest.raises(PolicyError, match="has no gate"):
        judge_again(series)


# A crash between the decision and the commit ------------------------------------------------------


@pytest.mark.parametrize("point", ["gated", "before-commit"])
def test_a_kill_after_the_decision_leaves_the_series_as_it_was(
    weeks: tuple[Series, list[pl.DataFrame]], tmp_path: Path, point: str
) -> None:
    series, (first, second) = weeks
    series.publish(first, as_of="2026-01-05")
    head, before = series.ledger.head, files(series.root)
    first.write_csv(tmp_path / "view.csv")
    command = [sys.executable, "-m", "republish", "publish", str(series.root), str(tmp_path / "view.csv")]
    command += ["--same-view"]
    environment = os.environ | {crash_points.VARIABLE: point}
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    reader = Series.open(series.root)
    assert reader.ledger.head == head
    assert reader.verify().holds
    now = files(series.root)
    kept = [name for name in before if not name.startswith(("ledger", "private/lock"))]
    assert kept
    assert all(now[name] == before[name] for name in kept)
    with pytest.raises(LimitBroken):  # the gate still stands
        reader.publish(second, as_of="2026-01-12")
    assert reader.publish(first, as_of="2026-01-12", meant=["same-view"]).number == 2
    assert reader.verify().holds
    assert not list((series.root / "private" / "staging").iterdir())
