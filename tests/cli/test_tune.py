"""`republish tune` as people type it."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from json_documents import valid
from republish import JSReduce, LedgerError, PolicyError, Series
from republish.cli import app
from republish.cli.tune import _title
from republish.show.plots import load_pyplot
from republish.tune import Point, Tuned
from republish.tune.picture import frontier_figure, plot_frontier
from tune.small import begin, views

pytest.importorskip("optuna")


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def series(tmp_path: Path) -> Path:
    """A series without releases, and its views as files beside it."""
    begin(tmp_path / "s")
    for week, view in enumerate(views(), start=1):
        view.write_csv(tmp_path / f"{week}.csv")
    return tmp_path / "s"


def tuning(series: Path, *more: str | Path) -> Any:
    files = sorted(series.parent.glob("*.csv"))
    chosen = ("--publishers", "mondrian,tau-safety", "--attack", "tau", "--trials", "3")
    return run("tune", series, *files, *chosen, *more)


def test_it_shows_the_frontier_writes_the_policy_and_draws(series: Path) -> None:
    out = series.parent / "out"
    out.mkdir()
    made = tuning(
        series, "--max-determined", "0.2", "--write", out / "policy.toml", "--plot", out / "map.png"
    )
    assert made.exit_code == 0, made.output
    assert "frontier: " in made.output
    assert "is within the limit of 0.2 at the least loss: " in made.output
    assert (out / "map.png").read_bytes().startswith(b"\x89PNG")
    command = next(line for line in made.output.splitlines() if line.startswith("next: ")).removeprefix(
        "next: "
    )
    words = shlex.split(command)
    assert words[:3] == ["republish", "init", "NEW"]
    begun = run(*words[1:2], series.parent / "new", *words[3:])
    assert begun.exit_code == 0, begun.output
    policy = Series.open(series.parent / "new").policy
    assert f'name = "{policy.publisher.name}"' in (out / "policy.toml").read_text()
    for file in sorted(series.parent.glob("*.csv")):
        assert run("publish", series.parent / "new", file).exit_code == 0


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is published by a trial; every point is the same."""
    monkeypatch.setattr(
        "republish.tune.search.attempt",
        lambda _bench, one, _place: Point(
            one.publisher, one.parameters, penalty=0.5, risk=0.1, feasible=True
        ),
    )


def test_it_says_by_how_much_beliefs_diverge(tmp_path: Path) -> None:
    begin(tmp_path / "s", JSReduce(k=2, crowd=4.0))
    for week, view in enumerate(views(), start=1):
        view.write_csv(tmp_path / f"{week}.csv")
    chosen = ("--publishers", "js-reduce", "--attack", "beliefs", "--trials", "1", "--max-gain", "0.9")
    done = run("tune", tmp_path / "s", *sorted(tmp_path.glob("*.csv")), *chosen)
    assert "note: in the worst release beliefs about everyone in the view diverge by I = " in done.output


@pytest.mark.usefixtures("pretended")
def test_json_is_the_document(series: Path) -> None:
    made = tuning(series, "--max-determined", "0.2", "--json")
    document = valid(made.output, "tune")
    assert document["limits"] == {"max_determined": 0.2}
    assert len(document["points"]) == 3
    kept = json.loads(next((series / "private" / "tune").glob("*.json")).read_text())
    assert document == {"schema_version": 1, "command": "tune", **kept}


def test_where_nothing_is_within_the_limit_it_names_the_nearest_and_exits_with_1(
    series: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "republish.tune.search.attempt",
        lambda _bench, one, _place: Point(
            one.publisher, one.parameters, penalty=0.5, risk=0.6, feasible=True
        ),
    )
    made = tuning(series, "--max-determined", "0.01", "--write", series.parent / "policy.toml")
    assert made.exit_code == 1
    assert "nothing that was tried keeps the share determined within 0.01; the nearest, 0.6000" in made.output
    assert "no policy was written" in made.output
    assert not (series.parent / "policy.toml").exists()


def test_where_nothing_can_be_published_it_says_so(series: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "republish.tune.search.attempt",
        lambda _bench, one, _place: Point(one.publisher, one.parameters, why="too few rows; add some"),
    )
    made = tuning(series, "--max-determined", "0.01")
    assert made.exit_code == 1
    assert "points cannot publish these views; too few rows\n" in made.output
    assert "no publisher could publish these views" in made.output


@pytest.mark.parametrize(
    "more, message",
    [
        ((), "give either --max-gain or --max-determined"),
        (("--max-gain", "0.1", "--max-determined", "0.1"), "give either"),
        (("--max-gain", "0.1", "--attack", "beliefs"), "knowledge"),
        (("--max-determined", "2"), "from 0 to 1"),
        (("--max-determined", "0.1", "--publishers", "nobody"), "publishers to try must be among"),
        (("--max-determined", "0.1", "--plot", "map.xls"), "a picture goes to a file that ends in"),
        (("--max-determined", "0.1", "--write", "nowhere/p.toml"), "there is no folder"),
    ],
)
def test_wrong_use_is_refused_before_anything_is_tried(
    series: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(series.parent)
    monkeypatch.setattr("republish.tune.search.attempt", lambda *_: pytest.fail("something was tried"))
    made = tuning(series, *more)
    assert isinstance(made.exception, PolicyError)
    assert message in str(made.exception)


def test_a_policy_is_never_written_over_what_is_there(series: Path) -> None:
    (series.parent / "schema.toml").write_text("")
    made = tuning(series, "--max-determined", "0.1", "--write", series.parent / "p.toml")
    assert "not written over what is there: schema.toml" in str(made.exception)


def test_a_series_must_be_there(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("id\n")
    made = run("tune", tmp_path / "none", tmp_path / "v.csv", "--max-determined", "0.1")
    assert isinstance(made.exception, LedgerError)


def test_without_optuna_it_says_what_to_install(series: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    made = tuning(series, "--max-determined", "0.1")
    assert "pip install 'republish[tune]'" in str(made.exception)


@pytest.mark.usefixtures("pretended")
def test_a_backup_takes_the_search_along(series: Path) -> None:
    assert tuning(series, "--max-determined", "1").exit_code == 0
    run("publish", series, series.parent / "1.csv")
    assert run("backup", series, series.parent / "b.tar.gz").exit_code == 0
    restored = run("restore", series.parent / "b.tar.gz", series.parent / "again")
    assert restored.exit_code == 0, restored.exception
    assert run("verify", series.parent / "again").exit_code == 0


def tuned(*points: Point) -> Tuned:
    return Tuned({"max_gain": 0.1}, points, "2026-01-01T00:00:00+00:00", "abc", 3)


def test_the_map_has_points_frontier_limit_and_choice() -> None:
    figure = frontier_figure(
        tuned(
            Point("mondrian", {"k": 2}, penalty=0.1, risk=0.5, feasible=True),
            Point("tau-safety", {"m": 2}, penalty=0.3, risk=0.05, feasible=True),
            Point("tau-safety", {"m": 9}, why="too few values"),
        )
    )
    (panel,) = figure.axes
    labels = panel.get_legend_handles_labels()[1]
    assert labels == ["mondrian", "tau-safety", "frontier", "chosen", "limit 0.1"]
    assert panel.get_title() == "2 of 3 points publish the views"
    assert panel.get_ylabel() == "risk: gain"
    load_pyplot().close(figure)


def test_a_map_without_a_single_feasible_point_can_be_drawn(tmp_path: Path) -> None:
    plot_frontier(tuned(Point("mondrian", {"k": 2}, why="no")), tmp_path / "map.svg")
    assert (tmp_path / "map.svg").stat().st_size > 0


def test_a_view_is_never_quoted(series: Path) -> None:
    pl.DataFrame({"id": ["SECRET1"], "age": ["not a number"], "weight": [1], "dx": ["flu"]}).write_csv(
        series.parent / "2.csv"
    )
    made = tuning(series, "--max-determined", "0.1")
    assert "view 2" in str(made.exception)
    assert "not a number" not in str(made.exception)
    assert "SECRET1" not in str(made.exception)


def test_the_form_of_the_series_is_kept(tmp_path: Path) -> None:
    from republish.release.forms import TwoTables
    from republish.tune.choice import init_command
    from republish.tune.space import Candidate, extent_of, policy_of, references
    from two_tables import make

    start = make(tmp_path / "s", 0, TwoTables(k=7)).policy
    chosen = policy_of(Candidate("tau-safety", {"m": 4}), start, None)
    assert chosen.form == TwoTables(k=7)
    assert "--form two-tables --people-k 7 --presence protected" in init_command(chosen, tmp_path / "p.toml")
    extent = extent_of(start, 6, 60, 0.04)
    assert extent.least_m == 3
    assert references(["js-reduce"], start, extent, True)[-1].parameters["crowd"] == 170.0


@pytest.mark.parametrize(
    ("shown", "feasible", "title"),
    [
        (3, 3, "frontier: 3 points (9 trials)"),
        (2, 3, "frontier: 2 points of 3; the others are beaten in both loss and risk (9 trials)"),
        (1, 1, "frontier: 1 point (9 trials)"),
    ],
)
def test_the_title_counts_the_rows_below_it(shown: int, feasible: int, title: str) -> None:
    assert _title(shown, feasible, 9) == title
