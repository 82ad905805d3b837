"""A search over publishers and parameters: what it writes, how it goes on, what it refuses."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from republish import (
    Gate,
    JSReduce,
    LedgerError,
    Mondrian,
    PolicyError,
    SchemaError,
    Series,
    TauSafety,
    ViewError,
)
from republish.attacks import Adversary
from republish.policy import policy_from_mapping
from republish.release.forms import TwoTables
from republish.requirements import LDiversity
from republish.secret import Secret
from republish.tune import Point, SearchSettings, Tuned, chosen_policy, kept, tune, write_policy
from republish.tune.space import Candidate
from republish.tune.trial import Bench, attempt
from republish.tune.views import read_views
from tune.small import QUICK, SCHEMA, begin, figures, views

pytest.importorskip("optuna")
DETERMINED = {"max_determined": 0.05}
SECRET = "the same for every series of these tests"


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same secret for every series, so that searches on two of them can be compared."""
    monkeypatch.setenv("REPUBLISH_SECRET", SECRET)


def fake(_bench: Any, candidate: Any, _place: Path) -> Point:
    """A trial that costs nothing: figures that follow from the parameters alone."""
    number = int(hashlib.blake2b(repr(candidate).encode(), digest_size=4).hexdigest(), 16) / 2**32
    return Point(
        candidate.publisher,
        candidate.parameters,
        candidate.require,
        penalty=round(number, 6),
        risk=round(1 - number**2, 6),
        feasible=True,
    )


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is published: only the search itself is looked at."""
    monkeypatch.setattr("republish.tune.search.attempt", fake)


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Series, Tuned]]:
    """A search that was made once, of all that follows from it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REPUBLISH_SECRET", SECRET)
        series = begin(tmp_path_factory.mktemp("searched") / "s")
        yield series, search(series, trials=7)


def search(series: Series, trials: int = 8, limits: Any = None, **more: Any) -> Tuned:
    given = {"publishers": QUICK, "attacks": ("tau",), **more}
    return tune(series, views(), limits or DETERMINED, SearchSettings(trials=trials, **given))


def contents(series: Series) -> dict[str, bytes]:
    """Every file of a series outside of what the search keeps."""
    return {
        str(path.relative_to(series.root)): path.read_bytes()
        for path in sorted(series.root.rglob("*"))
        if path.is_file() and "private/tune" not in str(path) and not path.name.startswith("ledger.db-")
    }


def test_it_finds_a_frontier_and_chooses_the_least_loss_within_the_limit(
    searched: tuple[Series, Tuned],
) -> None:
    found = searched[1]
    assert len(found.points) == 7
    assert {point.publisher for point in found.points} == set(QUICK)
    best = found.best
    assert best is not None and best.figures[1] <= 0.05
    assert all(
        best.figures[0] <= point.figures[0]
        for point in found.points
        if point.feasible and point.figures[1] <= 0.05
    )
    risky = [point for point in found.points if point.publisher == "mondrian" and point.feasible]
    assert max(point.figures[1] for point in risky) > 0.05  # there was something to avoid


@pytest.mark.usefixtures("pretended")
def test_the_policy_it_starts_from_is_tried_first(tmp_path: Path) -> None:
    found = search(begin(tmp_path / "s", TauSafety(m=3)), trials=1)
    assert [(point.publisher, point.parameters) for point in found.points] == [
        ("tau-safety", {"m": 3, "signatures": "any"})
    ]


def test_nothing_is_written_but_in_its_own_folder(tmp_path: Path) -> None:
    series = begin(tmp_path / "s")
    series.publish(views()[0])
    before, head = contents(series), series.ledger.head.digest
    search(series, trials=2)
    assert contents(series) == before
    assert series.ledger.head.digest == head
    assert series.verify().holds
    folder = series.root / "private" / "tune"
    assert sorted(path.suffix for path in folder.iterdir()) == ["", ".db", ".json"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in folder.iterdir())
    series.publish(views()[1])
    assert len(kept(series)) == 1  # a publisher who tidies up leaves it alone


def test_no_identifier_and_no_value_is_kept(searched: tuple[Series, Tuned]) -> None:
    series = searched[0]
    for path in (series.root / "private" / "tune").iterdir():
        data = path.read_bytes()
        assert b"SECRET" not in data
        assert b"cough" not in data


def test_the_same_seed_tries_the_same_points_with_the_same_outcome(
    tmp_path: Path, searched: tuple[Series, Tuned]
) -> None:
    assert figures(search(begin(tmp_path / "s"), trials=4).points) == figures(searched[1].points[:4])


@pytest.mark.usefixtures("pretended")
def test_another_seed_tries_other_points(tmp_path: Path) -> None:
    one, other, third = (
        search(begin(tmp_path / name), trials=6, seed=seed) for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert figures(one.points) == figures(other.points)
    assert figures(one.points) != figures(third.points)


def test_a_search_that_stopped_goes_on_as_if_it_had_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("republish.tune.search.attempt", fake)
    whole = search(begin(tmp_path / "whole"), trials=14)
    series = begin(tmp_path / "stopped")
    tried: list[int] = []

    def failing(*arguments: Any) -> Any:
        tried.append(1)
        if len(tried) in (3, 13):
            raise KeyboardInterrupt
        return fake(*arguments)

    monkeypatch.setattr("republish.tune.search.attempt", failing)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            search(series, trials=14)
    assert len(kept(series)[0].points) == 11
    went_on = search(series, trials=14)
    assert len(tried) == 14 + 2  # nothing was tried twice but what was under way
    assert figures(went_on.points) == figures(whole.points)


_KILLED = """
import sys
sys.path[:0] = [{tests!r}]
from pathlib import Path
from republish import Series
from republish.tune import SearchSettings, tune
from tune.small import QUICK, views
settings = SearchSettings(trials=40, publishers=QUICK, attacks=("tau",))
tune(Series.open({root!r}), views(), {{"max_determined": 0.05}}, settings, lambda done, of: print(done, flush=True))
"""


def test_a_search_that_was_killed_goes_on_and_leaves_no_raw_series_behind(tmp_path: Path) -> None:
    series = begin(tmp_path / "s")
    script = _KILLED.format(tests=str(Path(__file__).parent.parent), root=str(series.root))
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) >= 2:
            break
    folder, until = series.root / "private" / "tune", time.monotonic() + 20
    while not list(folder.glob("trial-*")) and time.monotonic() < until:
        os.sched_yield()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    done = len(kept(series)[0].points)
    assert done >= 2
    seen: list[int] = []
    settings = SearchSettings(trials=done + 1, publishers=QUICK, attacks=("tau",))
    found = tune(series, views(), DETERMINED, settings, lambda now, _all: seen.append(now))
    assert seen[0] >= done
    assert len(found.points) == done + 1
    assert not list(folder.glob("trial-*"))


def test_finished_trials_serve_another_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    series = begin(tmp_path / "s")
    monkeypatch.setattr("republish.tune.search.attempt", fake)
    first = search(series, trials=6)
    monkeypatch.setattr("republish.tune.search.attempt", lambda *_: pytest.fail("tried again"))
    second = search(series, trials=6, limits={"max_determined": 0.0})
    assert figures(second.points) == figures(first.points)
    assert second.limits == {"max_determined": 0.0}
    assert [found.limits for found in kept(series)] == [{"max_determined": 0.0}]


@pytest.mark.usefixtures("pretended")
def test_other_views_are_another_search(tmp_path: Path) -> None:
    series = begin(tmp_path / "s")
    search(series, trials=2)
    tune(series, views()[:2], DETERMINED, SearchSettings(trials=2, publishers=QUICK, attacks=("tau",)))
    assert len(kept(series)) == 2


@pytest.mark.usefixtures("pretended")
def test_a_second_search_at_the_same_time_is_refused(tmp_path: Path) -> None:
    series = begin(tmp_path / "s")

    def again(done: int, _all: int) -> None:
        with pytest.raises(LedgerError, match="tune"):
            search(series, trials=2)

    tune(series, views(), DETERMINED, SearchSettings(trials=1, publishers=QUICK, attacks=("tau",)), again)


# Infeasible points ----------------------------------------------------------------------------------


def test_parameters_that_cannot_publish_are_infeasible_and_the_search_goes_on(tmp_path: Path) -> None:
    one_value = [view.with_columns(dx=pl.lit("flu")) for view in views()]
    settings = SearchSettings(trials=3, publishers=("m-invariance", "mondrian"), attacks=("tau",))
    found = tune(begin(tmp_path / "s", Mondrian(k=3), one_table=True), one_value, DETERMINED, settings)
    by_name = {point.publisher: point for point in found.points}
    assert not by_name["m-invariance"].feasible
    assert by_name["m-invariance"].penalty is None
    assert "m=" in by_name["m-invariance"].why
    assert by_name["mondrian"].feasible
    assert found.infeasible["m-invariance"][0] >= 1


def test_a_fault_of_a_publisher_is_infeasible_and_its_words_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise ValueError("SECRET001 has cough")

    monkeypatch.setattr(TauSafety, "publish", broken)
    found = search(begin(tmp_path / "s"), trials=1)
    assert found.points[0].why.startswith("an unforeseen ValueError at test_search.py:")
    assert "SECRET" not in found.points[0].why


def test_that_nobody_is_left_to_attack_is_no_safety(tmp_path: Path) -> None:
    found = tune(
        begin(tmp_path / "s"),
        views(),
        DETERMINED,
        SearchSettings(trials=1, compromised=0.9999, attacks=("compromised",)),
    )
    assert "people who are not compromised" in found.points[0].why


def test_where_nothing_can_publish_nothing_is_chosen(tmp_path: Path) -> None:
    one_value = [view.with_columns(dx=pl.lit("flu")) for view in views()]
    settings = SearchSettings(trials=3, publishers=("m-invariance",), attacks=("tau",))
    found = tune(begin(tmp_path / "s"), one_value, {"max_determined": 1.0}, settings)
    assert found.best is None
    assert found.nearest is None
    assert found.frontier == []


@pytest.mark.parametrize(("membership", "least", "most"), [("nearest", 0.1, 1.0), ("random", 0.0, 0.0)])
def test_a_point_says_how_many_pairs_are_told_apart(
    tmp_path: Path, membership: str, least: float, most: float
) -> None:
    bench = Bench(
        begin(tmp_path / "s").policy,
        tuple(views()),
        Secret.from_text(SECRET),
        Adversary(),
        ("tau",),
        "max_determined",
        None,
        1.0,
    )
    point = attempt(bench, Candidate("tau-safety", {"m": 2, "membership": membership}), tmp_path)
    assert point.told_apart is not None
    assert least <= point.told_apart <= most


def test_what_the_gate_would_refuse_is_infeasible(tmp_path: Path) -> None:
    gate = Gate(max_determined=0.05, attacks=("intersection",))
    settings = SearchSettings(trials=2, publishers=("mondrian",), attacks=("tau",))
    found = tune(
        begin(tmp_path / "s", Mondrian(k=2), one_table=True, gate=gate),
        views(),
        {"max_determined": 1.0},
        settings,
    )
    refused = [point for point in found.points if not point.feasible]
    assert refused and all("are determined exactly" in point.why for point in refused)


def test_too_many_counterfeits_are_infeasible(tmp_path: Path) -> None:
    rare = [view.with_columns(dx=pl.Series(["flu"] * 30 + ["cold"] * 10)) for view in views()]
    settings = SearchSettings(trials=1, publishers=("tau-safety",), attacks=("tau",), max_counterfeits=0.1)
    found = tune(begin(tmp_path / "s", TauSafety(m=2)), rare, DETERMINED, settings)
    assert "counterfeits" in found.points[0].why
    more = SearchSettings(trials=1, publishers=("tau-safety",), attacks=("tau",), max_counterfeits=2)
    assert tune(begin(tmp_path / "t", TauSafety(m=2)), rare, DETERMINED, more).points[0].counterfeits > 0.1


@pytest.mark.usefixtures("pretended")
def test_requirements_of_the_series_bind_every_point(tmp_path: Path) -> None:
    series = begin(tmp_path / "s", Mondrian(k=4, require=(LDiversity(3),)), one_table=True)
    found = search(series, trials=10)
    assert all(point.parameters["k"] >= 4 for point in found.points if point.publisher == "mondrian")
    assert all(point.parameters["m"] >= 4 for point in found.points if point.publisher == "tau-safety")
    assert {point.publisher for point in found.points} == set(QUICK)
    for point in found.points:
        assert "l=3" in chosen_policy(series, point).promises["one_table"]


# Knowledge ------------------------------------------------------------------------------------------


def test_the_gain_needs_knowledge(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="knowledge"):
        tune(begin(tmp_path / "s"), views(), {"max_gain": 0.1}, SearchSettings(trials=1))


def test_the_gain_of_beliefs_is_the_risk(tmp_path: Path) -> None:
    series = begin(tmp_path / "s", JSReduce(k=2, crowd=4.0))
    settings = SearchSettings(trials=3, publishers=("js-reduce", "mondrian"), attacks=("beliefs",))
    found = tune(series, views(), {"max_gain": 0.9}, settings)
    assert [point.publisher for point in found.points] == ["js-reduce", "js-reduce", "mondrian"]
    assert all(point.feasible for point in found.points)
    assert found.adversary["knowledge"] is True
    assert [point.spread is not None for point in found.points] == [True, True, False]


# Samples --------------------------------------------------------------------------------------------


def test_a_sample_keeps_the_same_people_in_all_views(tmp_path: Path) -> None:
    series = begin(tmp_path / "s")
    read = read_views(views(), SCHEMA, series.secret(), 20)
    everyone = [set(view["id"]) for view in views()]
    drawn = [set(frame["id"]) for frame in read.frames]
    assert all(8 <= len(part) <= 32 for part in drawn)
    for earlier, later in ((0, 1), (1, 2)):
        stayed = everyone[earlier] & everyone[later]
        assert drawn[earlier] & stayed == drawn[later] & stayed
    assert read_views(views(), SCHEMA, series.secret(), 1000).frames[0].height == 40


# Bad input ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "limits",
    [{}, {"max_gain": 0.1, "max_determined": 0.1}, {"max_sureness": 0.1}, {"max_determined": 1.5},
     {"max_determined": -0.1}, {"max_determined": True}, {"max_determined": "0.1"}],
)  # fmt: skip
def test_limits_that_mean_nothing_are_refused(tmp_path: Path, limits: Any) -> None:
    with pytest.raises(PolicyError, match=r"limit|from 0 to 1"):
        tune(begin(tmp_path / "s"), views(), limits, SearchSettings(trials=1))


@pytest.mark.parametrize(
    "wrong",
    [{"trials": 0}, {"trials": 2.5}, {"seed": -1}, {"sample": 0}, {"compromised": 1.0}, {"compromised": -0.1},
     {"publishers": ("nobody",)}, {"publishers": ()}, {"publishers": ("mondrian", "mondrian")},
     {"attacks": ("nothing",)}, {"attacks": ()}, {"attacks": ("matched",)}, {"max_counterfeits": -1}],
)  # fmt: skip
def test_settings_that_mean_nothing_are_refused(tmp_path: Path, wrong: Any) -> None:
    series = begin(tmp_path / "s")
    with pytest.raises(PolicyError):
        tune(series, views(), DETERMINED, SearchSettings(**{"trials": 1, **wrong}))
    assert kept(series) == []


def test_a_view_that_cannot_be_read_is_named_before_anything_is_tried(tmp_path: Path) -> None:
    series = begin(tmp_path / "s")
    with pytest.raises(SchemaError, match=r"view 2: .*weight"):
        tune(series, [views()[0], views()[1].drop("weight")], DETERMINED, SearchSettings(trials=1))
    with pytest.raises(ViewError, match="view 1: there is no file"):
        tune(series, [tmp_path / "none.csv"], DETERMINED, SearchSettings(trials=1))
    with pytest.raises(ViewError, match="view 1") as twice:
        tune(series, [pl.concat([views()[0]] * 2)], DETERMINED, SearchSettings(trials=1))
    assert "SECRET" not in str(twice.value)
    with pytest.raises(PolicyError, match="at least one raw view"):
        tune(series, [], DETERMINED, SearchSettings(trials=1))
    assert not (series.root / "private" / "tune").exists()


@pytest.mark.usefixtures("pretended")
def test_broken_frontier_files_are_left_out(tmp_path: Path) -> None:
    series = begin(tmp_path / "s")
    search(series, trials=1)
    folder = series.root / "private" / "tune"
    (folder / "frontier-broken.json").write_text('{"limits"')
    (folder / "frontier-other.json").write_text("[]")
    assert len(kept(series)) == 1


# What is written ------------------------------------------------------------------------------------


def test_the_chosen_policy_can_be_read_and_begun(tmp_path: Path, searched: tuple[Series, Tuned]) -> None:
    series, point = searched[0], searched[1].best
    assert point is not None
    file = tmp_path / "out" / "policy.toml"
    file.parent.mkdir()
    policy = chosen_policy(series, point)
    write_policy(policy, file)
    read = policy_from_mapping(tomllib.loads(file.read_text()), file.parent)
    assert read.digest() == policy.digest()
    made = Series.create(tmp_path / "new", read.schema, read.publisher, seed=1, one_table=read.one_table)
    for view in views():
        made.publish(view)
    with pytest.raises(PolicyError, match=r"policy.toml, schema.toml in"):
        write_policy(policy, file)


@pytest.mark.usefixtures("pretended")
def test_the_document_is_what_was_returned(tmp_path: Path) -> None:
    series = begin(tmp_path / "s")
    found = search(series, trials=3)
    (file,) = (series.root / "private" / "tune").glob("*.json")
    document = json.loads(file.read_text())
    assert set(document) >= {"made_at", "limits", "points", "chosen"}
    assert set(document["points"][0]) >= {"publisher", "parameters", "penalty", "risk", "feasible"}
    assert figures(Tuned.from_dict(document).points) == figures(found.points)


def test_in_two_tables_the_loss_is_the_error_of_counts_with_values(tmp_path: Path) -> None:
    series = begin(tmp_path / "s", form=TwoTables(k=3))
    tuned = search(series, trials=6, publishers=("tau-safety", "mondrian"))
    feasible = [point for point in tuned.points if point.feasible]
    assert len({point.penalty for point in feasible}) == 1  # cells are the same, whoever makes the batches
    assert len({point.value_error for point in feasible}) > 1
    assert all(point.figures[0] == point.value_error for point in feasible)
    assert tuned.measure == "error of counts with values"
    best = tuned.best
    assert best is not None and best.value_error is not None
    within = [point.figures[0] for point in feasible if point.figures[1] <= tuned.limit]
    assert best.value_error == min(within)
    assert kept(series)[-1].points == tuned.points


def test_a_gate_that_looks_people_up_has_the_views_of_the_search(tmp_path: Path) -> None:
    series = begin(tmp_path / "s", form=TwoTables(k=3), gate=Gate(max_alone=0.9))
    tuned = search(series, trials=2, publishers=("tau-safety",))
    assert any(point.feasible for point in tuned.points)


def test_in_one_table_the_loss_is_the_penalty(searched: tuple[Series, Tuned]) -> None:
    _, tuned = searched
    assert tuned.measure == "certainty penalty"
    assert all(point.figures[0] == point.penalty for point in tuned.points if point.feasible)
