"""A gate that is amended: tightened freely, loosened with a reason; what was published under which."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from republish import Category, Gate, LimitBroken, Mondrian, Number, PolicyError, Schema, Series
from republish.cli import app
from republish.gate.amendment import GateAmendment, amended
from republish.gate.run import judge_again
from republish.ledger import crash_points
from republish.publishing.maintenance import amend_gate
from republish.report import make_report

SCHEMA = Schema("id", [Number("age")], Category("dx"))
FIRST = pl.DataFrame({"id": list("pqrs"), "age": [1, 2, 8, 9], "dx": list("abcd")})
SECOND = FIRST.with_columns(age=pl.Series([1, 8, 2, 9]))  # everyone in another group: all are determined


@pytest.fixture
def series(tmp_path: Path) -> Series:
    """A gate that refuses the second view."""
    gate = Gate(attacks=("intersection",), max_determined=0.5)
    made = Series.create(tmp_path / "s", SCHEMA, Mondrian(2), seed=1, one_table=True, gate=gate)
    made.publish(FIRST)
    return made


BEFORE = Gate(attacks=("tau",), max_determined=0.1, compromised=0.04, draws=3, max_gain=0.2)


@pytest.mark.parametrize(
    ("settings", "loosened"),
    [
        ("max_determined=0.05", ()),
        ("max_determined=0.2", ("max_determined",)),
        ("max_gain=none", ("max_gain",)),
        ("max_confidence=0.9", ()),
        ("compromised=0.1", ()),
        ("compromised=0", ("compromised",)),
        ("draws=5", ()),
        ("draws=1", ("draws",)),
        ("attacks=tau+linear", ()),
        ("attacks=linear", ("attacks",)),
        ("cascade=false", ("cascade",)),
        ("event_lists=false", ("event_lists",)),
        ("seed=7", ("seed",)),
        ("max_determined=0.05,max_gain=0.3", ("max_gain",)),
        ("none", ("gate",)),
    ],
)
def test_what_lets_more_pass_is_looser(settings: str, loosened: tuple[str, ...]) -> None:
    assert GateAmendment(BEFORE, amended(BEFORE, settings)).loosened == loosened


def test_newcomers_instead_of_everybody_are_looser() -> None:
    swap = Gate(attacks=("swap",), max_told_apart=0.1)
    assert GateAmendment(swap, amended(swap, "exchanged=newcomers")).loosened == ("exchanged",)


def test_a_gate_for_a_series_that_had_none_is_tighter() -> None:
    assert GateAmendment(None, amended(None, "max_determined=0.1")).loosened == ()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("max_determined=0.5", "the gate is so already; nothing was written"),
        (
            "max_determined=0.6",
            "max_determined would be looser than before, which needs a reason",
        ),
        ("none", "gate would be looser than before"),
        ("max_determined=2", "max_determined of the gate must be a number from 0 to 1"),
        ("max_determined=none", "a gate needs at least one limit"),
        ("colour=1", "no setting colour"),
        ("max_determined", "a gate is written NAME=VALUE by commas"),
        ("attacks=beliefs", "beliefs in the gate needs to know how values follow each other"),
    ],
)
def test_what_cannot_be_amended_changes_nothing(series: Series, settings: str, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        amend_gate(series, settings)
    assert [entry.kind for entry in series.ledger.entries()] == ["init", "release"]


def test_blanks_are_no_reason(series: Series) -> None:
    with pytest.raises(PolicyError, match="needs a reason"):
        amend_gate(series, "max_determined=0.6", "  ")


def test_a_loosened_gate_lets_the_next_view_pass_and_all_is_verified(series: Series) -> None:
    with pytest.raises(
        LimitBroken, match=r"amend \S*/s --gate \"max_determined=1\" --reason TEXT` would let it pass"
    ):
        series.publish(SECOND)
    made = amend_gate(series, "max_determined=1", "the ministry asked for it")
    assert made.loosened == ("max_determined",)
    reopened = Series.open(series.root)
    done = reopened.publish(SECOND)
    assert done.gate is not None and done.gate.limits == {"max_determined": 1.0}
    assert reopened.records[-1].payload["promises"]["gate"]["limits"] == {"max_determined": 1.0}
    assert '"max_determined": 1\n' in (series.root / "releases/0002/about.json").read_text()
    assert reopened.verify().holds
    assert judge_again(reopened).passed
    assert reopened.policy.gate is not None and reopened.policy.gate.max_determined == 0.5  # frozen as it was


def test_a_tightened_gate_refuses_from_then_on_and_not_before(series: Series) -> None:
    amend_gate(series, "max_determined=1", "as before")
    series.publish(SECOND)
    amend_gate(series, "max_determined=0")
    assert series.verify().holds  # what passed then passed
    with pytest.raises(LimitBroken, match="max_determined=0, intersection"):
        series.publish(FIRST)


def test_a_gate_may_be_taken_away_and_given(series: Series) -> None:
    amend_gate(series, "none", "the data are public now")
    assert series.gate is None
    assert series.publish(SECOND).gate is None
    amend_gate(series, "max_determined=1,attacks=intersection")
    done = series.publish(FIRST)
    assert done.gate is not None and done.gate.passed
    assert series.verify().holds
    assert "amendments of it: 2" in make_report(series, "md")


def test_the_report_has_a_line_of_every_amendment(series: Series) -> None:
    amend_gate(series, "max_determined=0.6", "one <group> is tiny")
    page, text = make_report(series, "html"), make_report(series, "md")
    assert "the gate was loosened (max_determined): intersection; max_determined=0.6" in page
    assert "the gate was loosened" in text and "<group>" not in text
    assert "Reason: one &lt;group&gt; is tiny" in page and "<group>" not in page


def test_an_entry_that_loosens_without_a_reason_is_a_problem(series: Series) -> None:
    payload = GateAmendment(series.gate, amended(series.gate, "max_determined=1")).payload()
    series.ledger.commit(None, "amend", payload, series.ledger.head)
    found = series.verify()
    assert not found.holds
    assert "entry 3 of the ledger loosens the gate and gives no reason" in found.problems


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_command_amends_and_history_tells(series: Series) -> None:
    refused = run("amend", series.root, "--gate", "max_determined=0.7")
    assert isinstance(refused.exception, PolicyError) and "--reason TEXT" in str(refused.exception)
    done = run("amend", series.root, "--gate", "max_determined=0.7", "--reason", "few people")
    said = "the gate was loosened (max_determined): intersection; max_determined=0.7. Reason: few people"
    assert said in " ".join(done.output.split())
    (told,) = json.loads(run("history", series.root, "--json").output)["other_entries"][1:]
    assert f"{told['what']}. Reason: {told['reason']}" == said
    assert "max_determined=0.7" in run("show", series.root).output


def test_the_command_says_where_releases_break_the_gate_already(series: Series) -> None:
    amend_gate(series, "max_determined=1", "as before")
    series.publish(SECOND)
    said = " ".join(run("amend", series.root, "--gate", "max_determined=0.2").output.split())
    assert "the gate was tightened" in said
    assert "note: the releases so far break it, so that later ones mostly will: max_determined=0.2" in said


def test_the_command_needs_something_to_amend(series: Series) -> None:
    found = run("amend", series.root).exception
    assert isinstance(found, PolicyError) and "say what to amend" in str(found)


@pytest.mark.parametrize("point", ["before-commit", "inside-transaction", "after-commit"])
def test_a_killed_amendment_is_there_or_not(series: Series, point: str) -> None:
    command = [sys.executable, "-m", "republish", "amend", str(series.root), "--gate", "max_determined=0.1"]
    environment = os.environ | {crash_points.VARIABLE: point}
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    reader = Series.open(series.root)
    assert reader.gate is not None
    assert reader.gate.max_determined == (0.1 if point == "after-commit" else 0.5)
    assert reader.verify().holds
