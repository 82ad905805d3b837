"""The recommended gate of a series that goes on: tried on its releases, and on views where they are given."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

from republish import (
    Adversary,
    Gate,
    JSReduce,
    Mondrian,
    PolicyError,
    Schema,
    Series,
    ValueBlind,
    read_schema,
)
from republish.attacks.run import over_time, target_of
from republish.cli import app
from republish.datasets import hospital
from republish.gate.run import judge
from republish.knowledge import read_knowledge
from republish.publishing.maintenance import amend_gate
from republish.release.forms import TwoTables
from republish.tune import recommended_gate
from tune.panel import SCHEMA, panel

VIEWS = panel(150, 3)
USUAL = Gate(attacks=("linear",), compromised=0.04, max_determined=0.01)


def begun(folder: Path, releases: int, gate: Gate | None = None) -> Series:
    publisher = ValueBlind(size=30, m=2)
    made = Series.create(folder, SCHEMA, publisher, seed=1, form=TwoTables(), gate=gate)
    for view in VIEWS[:releases]:
        made.publish(view)
    return made


def say(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [str(word) for word in words])
    return done.exit_code, done.output + (str(done.exception) if done.exception else "")


@pytest.mark.parametrize(("releases", "views", "limit"), [(2, 0, 0.01), (0, 1, 0.02), (2, 2, 0.025)])
def test_it_is_tried_on_releases_or_views_or_both(
    tmp_path: Path, releases: int, views: int, limit: float
) -> None:
    found = recommended_gate(begun(tmp_path / "s", releases), VIEWS[:views])
    assert found == replace(USUAL, max_determined=limit)  # twice what is found, and at least 1 %


def test_one_release_and_no_view_are_too_little(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="there are 1 releases and no view; give views"):
        recommended_gate(begun(tmp_path / "s", 1))


def test_none_is_recommended_where_too_much_is_found_already(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "s", SCHEMA, Mondrian(2), seed=1, one_table=True)
    for view in VIEWS:
        series.publish(view)
    with pytest.raises(PolicyError, match="no gate is recommended for this series"):
        recommended_gate(series)
    assert series.gate is None


def with_knowledge(folder: Path) -> Series:
    """Two releases of a small hospital by a publisher that knows how values follow each other."""
    hospital(views=2, rows=300, seed=3).write(folder / "h")
    schema = read_schema(folder / "h" / "schema.toml")
    knowledge = read_knowledge(folder / "h" / "knowledge", schema)
    series = Series.create(folder / "s", schema, JSReduce(knowledge=knowledge), seed=1)
    for view in sorted((folder / "h" / "views").iterdir()):
        series.publish(view)
    return series


def surest(series: Series) -> float:
    """Of how many beliefs and joint are surer than .9 in any draw after two releases, found another way."""
    found = []
    for seed in range(3):
        adversary = Adversary(compromised=0.04, seed=seed, knowledge=series.reasoning.knowledge)  # type: ignore[union-attr]
        for name in ("beliefs", "joint"):
            results = list(over_time(target_of(series, adversary, (name,)), adversary, name))
            found.append(results[-1].above_nine_tenths)
    return max(found)


def test_where_the_publisher_has_knowledge_how_sure_she_is_gets_a_limit_too(tmp_path: Path) -> None:
    series = with_knowledge(tmp_path)
    gate = recommended_gate(series)
    assert gate.attacks == ("beliefs", "joint") and gate.max_determined is not None
    found = surest(series)
    assert found > 0.01 and gate.max_above_nine_tenths == round(2 * found + 0.0005, 3)
    assert judge(gate, series).passed


def test_no_gate_is_recommended_where_she_is_nearly_sure_of_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = import_module("republish.tune.recommended_gate")
    monkeypatch.setattr(tried, "_worst", lambda _: tried._Worst(0.0, 0.11))
    with pytest.raises(PolicyError, match=r"11.0% of the people have a value .* surer than .9 .* above 20%"):
        recommended_gate(begun(tmp_path / "s", 2))


def test_without_a_sensitive_column_there_is_nothing_to_limit(tmp_path: Path) -> None:
    schema = Schema("person", SCHEMA.quasi_identifiers)
    series = Series.create(tmp_path / "s", schema, Mondrian(5), seed=1, one_table=True)
    with pytest.raises(PolicyError, match="the schema has no sensitive column"):
        recommended_gate(series)


def test_a_series_without_a_gate_gets_it_without_a_reason(tmp_path: Path) -> None:
    series = begun(tmp_path / "s", 2)
    code, text = say("amend", series.root, "--gate", "recommended")
    assert code == 0, text
    assert "the gate was tightened: linear with 4.0% of people compromised; max_determined=0.01" in text
    assert series.gate == USUAL
    done = series.publish(VIEWS[2])
    assert done.gate is not None and done.gate.passed
    assert series.verify().holds


def test_instead_of_a_stricter_gate_it_needs_a_reason(tmp_path: Path) -> None:
    strict = Gate(attacks=("linear", "tau"), compromised=0.1, max_determined=0.005)
    series = begun(tmp_path / "s", 2, strict)
    code, text = say("amend", series.root, "--gate", "recommended")
    assert code != 0 and "attacks, compromised, max_determined would be looser than before" in text
    assert series.gate == strict
    code, text = say("amend", series.root, "--gate", "recommended", "--reason", "as other series have it")
    assert code == 0 and series.gate == USUAL
    assert "Reason: as other series have it" in text


def test_the_command_tries_views_before_the_first_release(tmp_path: Path) -> None:
    series = begun(tmp_path / "s", 0)
    VIEWS[0].write_csv(tmp_path / "1.csv")
    code, text = say("amend", series.root, "--gate", "recommended", "--from", tmp_path / "1.csv")
    assert code == 0, text
    assert series.gate == replace(USUAL, max_determined=0.02)


def test_views_go_with_the_recommended_gate_alone(tmp_path: Path) -> None:
    series = begun(tmp_path / "s", 0)
    code, text = say("amend", series.root, "--gate", "max_determined=0.1", "--from", tmp_path / "1.csv")
    assert code != 0 and "--from goes with --gate recommended" in text


def test_a_whole_gate_takes_the_place_of_the_one_there_is(tmp_path: Path) -> None:
    series = begun(tmp_path / "s", 1, Gate(attacks=("tau",), max_gain=0.9, max_determined=0.5))
    made = amend_gate(series, USUAL, "one gate in the house")
    assert made.loosened == ("attacks", "max_gain")
    assert series.gate == USUAL
