"""What the command line and a picture show of the belief attack."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from attack_command import document, said
from republish import LDiversity, Mondrian, PolicyError, Series, read_schema
from republish.attacks import Adversary, BeliefResult, attack_beliefs
from republish.errors import ViewError
from republish.knowledge import read_knowledge
from republish.publishers.js_reduce import JSReduce

pytestmark = pytest.mark.jit

FIGURES = ["gain", "absolute_gain", "mean_confidence", "confidence_95", "above_half", "above_nine_tenths"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, hospital_folder: Path) -> Path:
    """Two releases of the same views: under l-diversity, and under JS-reduce with knowledge of its own."""
    root = tmp_path_factory.mktemp("shown")
    (root / "views").mkdir()
    schema = read_schema(hospital_folder / "schema.toml")
    knowledge = read_knowledge(hospital_folder / "knowledge", schema)
    plain = Series.create(root / "plain", schema, Mondrian(2, (LDiversity(2),)), seed=3, one_table=True)
    guarded = Series.create(root / "guarded", schema, JSReduce(knowledge=knowledge), seed=3)
    for week, view in enumerate(sorted((hospital_folder / "views").iterdir())[:2], start=1):
        for series in (plain, guarded):
            series.publish(view, as_of=f"2026-03-{week:02d}")
        (root / "views" / view.name).write_bytes(view.read_bytes())
    for series in (plain, guarded):
        series.ledger.close()
    return root


@pytest.fixture
def known(hospital_folder: Path) -> Path:
    return hospital_folder / "knowledge"


def test_one_result_for_each_adversary(folder: Path, known: Path) -> None:
    found = document(
        folder / "plain", "--attack", "beliefs", "--knowledge", known, "--truth", folder / "views",
        "--steps", "0,1,3,full",
    )  # fmt: skip
    keys = {"summaries", "attacks", "beliefs", "identities", "kept", "left_out", "notes", "replays", "series"}
    assert set(found) == keys | {"schema_version", "command"}
    assert found["attacks"] == []
    assert found["left_out"] == {}
    assert [one["attack"] for one in found["summaries"]] == [
        "beliefs, snapshot", "beliefs, 1-step", "beliefs, 3-step", "beliefs",
    ]  # fmt: skip
    assert [one["steps"] for one in found["beliefs"]] == [0, 1, 3, "full"]
    snapshot, _, three, full = found["beliefs"]
    assert three["releases"] == full["releases"]
    assert set(snapshot) == {
        "attack", "posterior", "steps", "people", "ever_above_half", "ever_above_nine_tenths", "summary", "overall",
        "releases",
    }  # fmt: skip
    assert all(name in snapshot["releases"][1] for name in FIGURES)
    assert [part["rows"] for part in snapshot["releases"]] == [400, 400]
    assert full["releases"][0] == snapshot["releases"][0]
    assert full["releases"][1]["gain"] > snapshot["releases"][1]["gain"] + 0.05


def test_the_command_finds_what_python_finds(folder: Path, known: Path) -> None:
    (found,) = document(
        folder / "guarded", "--attack", "beliefs", "--posterior", "omega", "--compromised", "0.1", "--certainty", "0.9",
        "--cascading", "posterior", "--seed", "5",
    )["beliefs"]  # fmt: skip
    series = Series.open(folder / "guarded")
    told = Adversary(0.1, seed=5, posterior="omega", certainty=0.9, cascading="posterior")
    assert found == json.loads(json.dumps(attack_beliefs(series, told).as_dict()))
    series.ledger.close()
    assert 0 < found["overall"]["uncompromised"]["rows"] < found["overall"]["rows"] == 800


def test_all_includes_beliefs_where_the_series_has_knowledge(folder: Path) -> None:
    found = document(folder / "guarded")
    assert [(one["attack"], one["posterior"]) for one in found["beliefs"]] == [
        ("beliefs", "exact"),
        ("joint", "exact"),
    ]
    assert found["beliefs"][0]["steps"] == "full"
    assert len(found["attacks"]) >= 4


def test_all_leaves_beliefs_out_where_nothing_is_known_and_says_so(folder: Path) -> None:
    found = document(folder / "plain")
    assert found["beliefs"] == []
    assert {"beliefs", "joint", "matched"} <= set(found["left_out"])
    assert "beliefs: left out" in said(folder / "plain")


def test_text_for_one_adversary_and_for_several(folder: Path) -> None:
    one = said(folder / "guarded", "--attack", "beliefs", "--compromised", "0.1")
    assert "full, not told" in one
    assert "|gain|" in one
    assert "posteriors: " in one
    several = said(folder / "guarded", "--attack", "beliefs", "--steps", "0,full")
    assert "# gain  snapshot" in several


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        (["plain", "--attack", "beliefs"], PolicyError, "give --knowledge DIR"),
        (["plain", "--membership", "guessed"], PolicyError, "membership must be known or matched"),
        (["plain", "--attack", "matched"], PolicyError, "give the raw views"),
        (["plain", "--membership", "matched", "--attack", "tau"], PolicyError, "who is in which group"),
        (["guarded", "--attack", "magic"], PolicyError, "there are intersection, .*beliefs"),
        (
            ["guarded", "--attack", "beliefs", "--steps", "1,some"],
            PolicyError,
            "--steps is whole numbers and full",
        ),
        (["guarded", "--attack", "beliefs", "--steps=-1"], PolicyError, "--steps is whole numbers and full"),
        (["guarded", "--attack", "beliefs", "--posterior", "magic"], PolicyError, "posterior must be one of"),
        (
            ["guarded", "--attack", "beliefs", "--truth", "nowhere"],
            ViewError,
            "must be a folder of raw views",
        ),
    ],
)
def test_wrong_use_is_refused(
    folder: Path, arguments: list[str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        said(folder / arguments[0], *arguments[1:])


def test_knowledge_with_classes_needs_quasi_identifiers(folder: Path, known: Path) -> None:
    with pytest.raises(PolicyError, match="give the raw views"):
        said(folder / "plain", "--attack", "beliefs", "--knowledge", known)


# The picture --------------------------------------------------------------------------------------

pyplot = pytest.importorskip("matplotlib.pyplot")

from republish.show.plots import beliefs_figure, plot_beliefs  # noqa: E402


@pytest.fixture
def results(folder: Path) -> Iterator[dict[str, BeliefResult]]:
    series = Series.open(folder / "guarded")
    yield {
        name: attack_beliefs(series, Adversary(steps=steps)) for name, steps in (("alone", 0), ("all", None))
    }
    series.ledger.close()
    pyplot.close("all")


def test_curves_are_gain_and_confidence_by_release(results: dict[str, BeliefResult]) -> None:
    gain, confidence = beliefs_figure(results).axes
    curves = {line.get_label(): line for line in gain.get_lines()}
    for name, result in results.items():
        assert list(curves[name].get_xdata()) == [1, 2]
        assert curves[name].get_ydata() == pytest.approx([part.everyone.gain for part in result.releases])
    assert len({line.get_color() for line in confidence.get_lines()}) == 2
    mean, high = (np.asarray(line.get_ydata()) for line in confidence.get_lines()[:2])
    assert mean == pytest.approx([part.everyone.mean_confidence for part in results["alone"].releases])
    assert high == pytest.approx([part.everyone.confidence_95 for part in results["alone"].releases])
    for panel in (gain, confidence):
        assert panel.get_xlabel() == "release"
        assert panel.get_ylabel()


def test_with_compromised_people_the_picture_is_of_the_others(folder: Path) -> None:
    series = Series.open(folder / "guarded")
    result = attack_beliefs(series, Adversary(0.3))
    series.ledger.close()
    figure = beliefs_figure({"told": result})
    told = next(line for line in figure.axes[0].get_lines() if line.get_label() == "told")
    others = [part.uncompromised.gain for part in result.releases if part.uncompromised is not None]
    assert told.get_ydata() == pytest.approx(others)
    assert "told nothing of" in figure.get_suptitle()
    pyplot.close("all")


def test_a_picture_is_written_and_closed(results: dict[str, BeliefResult], tmp_path: Path) -> None:
    plot_beliefs(results, tmp_path / "beliefs.png")
    assert (tmp_path / "beliefs.png").read_bytes().startswith(b"\x89PNG")
    assert pyplot.get_fignums() == []


def test_the_command_draws_one_curve_for_equal_adversaries(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "beliefs.png"
    text = said(folder / "guarded", "--attack", "beliefs", "--steps", "0,2,full", "--plot", path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert "drawn to" in text
    assert pyplot.get_fignums() == []


def test_nobody_is_named(folder: Path) -> None:
    series = Series.open(folder / "guarded")
    people = pl.concat([series.appearances(i)["person"] for i in (1, 2)]).unique().to_list()
    series.ledger.close()
    text = said(folder / "guarded", "--attack", "beliefs", "--json")
    assert not any(person in text for person in people)
