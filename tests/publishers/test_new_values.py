"""Values that appear for the first time: whoever bears one hides among people who came with her."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from republish import Cohorts, Schema, Series, TauSafety
from republish.errors import CannotPublish, PolicyError
from republish.publishers import Publisher, make_publisher, new_series_parameters
from republish.publishing.maintenance import forget
from republish.release.forms import TwoTables
from republish.release.two_tables import stored_values
from republish.schema import Category, Number

OLD = ("a", "b", "c", "d")
NEWER = ("u", "v", "w")
TAU = TauSafety(3, newcomers=3)
APART = TauSafety(2, newcomers=3, signatures="equal-or-disjoint")
TOGETHER = Cohorts(2, size=8, values=3, together=1, max_determined=0.9, newcomers=3)
FORMS = (None, TwoTables(2))


def made(folder: Path, publisher: Publisher, form: TwoTables | None = None, closed: bool = False) -> Series:
    column = Category("dx", domain=(*OLD, *NEWER)) if closed else Category("dx")
    return Series.create(folder, Schema("id", [Number("age")], column), publisher, seed=1, form=form)


def table(people: dict[str, str]) -> pl.DataFrame:
    rows = [(name, 20 + sum(map(ord, name)) % 40, value) for name, value in people.items()]
    return pl.DataFrame(rows, schema=["id", "age", "dx"], orient="row")


BASE = {f"p{i}": OLD[i % 4] for i in range(8)}


def weeks(seed: int) -> Iterator[dict[str, str]]:
    """Small views in which people come, go, change, come back, and values appear."""
    rng = np.random.default_rng(seed)
    known, away, values = dict(BASE), {}, list(OLD)
    yield dict(known)
    for week in range(1, 6):
        values += [NEWER[week // 2 - 1]] if week % 2 == 0 else []
        for name in [name for name in known if rng.random() < 0.15]:
            away[name] = known.pop(name)
        for name in [name for name in away if rng.random() < 0.3]:
            known[name] = away.pop(name) if rng.random() < 0.7 else values[rng.integers(len(values))]
            away.pop(name, None)
        for name in [name for name in known if rng.random() < 0.15]:
            known[name] = values[rng.integers(len(values))]
        for i in range(int(rng.integers(0, 5))):
            known[f"n{week}{i}"] = values[-1] if rng.random() < 0.5 else values[rng.integers(len(values))]
        yield dict(known)


def shown_in(series: Series, number: int) -> dict[int, dict[int, int]]:
    """How often every group of a release shows every code."""
    frame = stored_values(series.ledger.folder(number), ["group", "dx"])
    names = series.known_values().to_list()
    found: dict[int, dict[int, int]] = {}
    for group, value in frame.iter_rows():
        codes = found.setdefault(group, {})
        codes[names.index(value)] = codes.get(names.index(value), 0) + 1
    return found


def could_bear(series: Series, number: int) -> dict[int, int]:
    """Of every code that a release is the first to show, how many people have it in some world.

    A world gives every person of the groups that show such a code one of their values, none oftener than the group
    shows it, so that somebody has each of the codes: counterfeits bear what was published before or is in the view.
    """
    before = {code for earlier in range(1, number) for g in shown_in(series, earlier).values() for code in g}
    groups = shown_in(series, number)
    fresh = {code for group in groups.values() for code in group} - before
    members = series.members(number).group
    found: dict[int, set[tuple[int, int]]] = {code: set() for code in fresh}
    concerned = [(g, codes, int((members == g).sum())) for g, codes in groups.items() if fresh & set(codes)]
    choices = [list(_worlds(codes, people)) for _, codes, people in concerned]
    for world in product(*choices):
        borne = {code for values in world for code in values}
        if fresh <= borne:
            for (group, _, _), values in zip(concerned, world, strict=True):
                for place, code in enumerate(values):
                    if code in fresh:
                        found[code].add((group, place))
    return {code: len(people) for code, people in found.items()}


def _worlds(codes: dict[int, int], people: int) -> Iterator[tuple[int, ...]]:
    for values in product(codes, repeat=people):
        if all(values.count(code) <= shown for code, shown in codes.items()):
            yield values


@pytest.mark.parametrize("form", FORMS, ids=["one", "two"])
@pytest.mark.parametrize("publisher", [TAU, APART, TOGETHER], ids=["tau", "apart", "cohorts"])
@pytest.mark.parametrize("seed", range(4))
def test_in_some_world_anyone_of_n_has_a_new_value(
    tmp_path: Path, publisher: Publisher, form: TwoTables | None, seed: int
) -> None:
    series = made(tmp_path / "s", publisher, form)
    for week in weeks(seed):
        series.publish(table(week), meant=("fewer-rows", "new-people"))
    assert series.verify().holds
    for number in range(2, len(series.records) + 1):
        assert all(count >= 3 for count in could_bear(series, number).values())


@pytest.mark.parametrize("form", FORMS, ids=["one", "two"])
@pytest.mark.parametrize("kind", [TauSafety(3), Cohorts(2, size=8, values=3, together=1, max_determined=0.9)])
def test_without_newcomers_a_new_value_gives_its_bearer_away(
    tmp_path: Path, kind: Publisher, form: TwoTables | None
) -> None:
    series = made(tmp_path / "s", kind, form)
    series.publish(table(BASE))
    series.publish(table(BASE | {"z": "v"}))
    assert set(could_bear(series, 2).values()) == {1}


@pytest.mark.parametrize("publisher", [TAU, TOGETHER], ids=["tau", "cohorts"])
def test_fewer_newcomers_wait_whatever_their_values(tmp_path: Path, publisher: Publisher) -> None:
    series = made(tmp_path / "s", publisher)
    series.publish(table(BASE))
    for number, value in enumerate(("a", "v"), start=2):
        done = series.publish(table(BASE | {"y": "b", "z": value}))
        assert (done.waiting, done.rows, done.arrivals.new) == (2, 8, 0)
        assert series.known_values().to_list() == list(OLD)
        assert len(series.members(number).people) == 8


@pytest.mark.parametrize("publisher", [TAU, TOGETHER], ids=["tau", "cohorts"])
def test_who_waited_comes_with_others(tmp_path: Path, publisher: Publisher) -> None:
    series = made(tmp_path / "s", publisher)
    series.publish(table(BASE))
    series.publish(table(BASE | {"z": "v"}))
    done = series.publish(table(BASE | {"x": "a", "y": "a", "z": "v"}))
    assert (done.waiting, done.rows, done.arrivals.new) == (0, 11, 3)
    assert could_bear(series, 3) == {4: 3}
    assert series.verify().holds


def test_a_changed_value_waits_and_its_old_signature_is_not_forgotten(tmp_path: Path) -> None:
    series = made(tmp_path / "s", APART)
    series.publish(table(BASE))
    assert series.publish(table(BASE | {"p0": "v"})).waiting == 1
    assert series.publish(table(BASE | {"p0": "v", "y": "a", "z": "w"})).waiting == 3  # p0 may not meet a
    people = BASE | {"p0": "v"} | {f"z{i}": "w" for i in range(3)}
    assert series.publish(table(people)).waiting == 0
    assert series.verify().holds


def test_the_promise_is_verified_when_people_were_forgotten(tmp_path: Path) -> None:
    series = made(tmp_path / "s", TAU)
    series.publish(table(BASE))
    series.publish(table(BASE | {"x": "a", "y": "a", "z": "v"}))
    series.publish(table(BASE | {"x": "a", "y": "a", "z": "v"}), meant=["same-view"])
    forget(series, pl.DataFrame({"id": ["p1", "x", "y"]}))
    assert series.verify().holds


def test_with_a_list_of_values_counterfeits_bear_all_of_them(tmp_path: Path) -> None:
    series = made(tmp_path / "s", TauSafety(3, newcomers=1), closed=True)
    series.publish(table(BASE))
    assert series.publish(table(BASE | {"z": "v"})).waiting == 0
    assert series.verify().holds


def test_a_first_view_with_too_few_people_is_refused(tmp_path: Path) -> None:
    series = made(tmp_path / "s", TauSafety(2, newcomers=5))
    with pytest.raises(CannotPublish, match="hide among newcomers=5 people"):
        series.publish(table({"x": "a", "y": "b"}))


def test_verify_finds_a_new_value_among_too_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("republish.publishing.steps.check_against_memory", lambda *_: ())
    monkeypatch.setattr(TauSafety, "waits", lambda self, view, memory: np.zeros(view.rows, dtype=np.bool_))
    monkeypatch.setattr("republish.publishers._buckets.buckets.hide", lambda work, kept, filled: filled)
    series = made(tmp_path / "s", TAU)
    series.publish(table(BASE))
    series.publish(table(BASE | {"z": "v"}))
    broken = [check.promise for check in series.verify().releases[2].checks if not check.holds]
    assert broken == ["new-values=3: signatures with a new value", "new-values=3: newcomers"]


def test_about_says_who_waits_and_no_longer_that_new_values_are_given_away(tmp_path: Path) -> None:
    import json

    series = made(tmp_path / "s", TAU)
    series.publish(table(BASE))
    series.publish(table(BASE | {"z": "v"}))
    about = json.loads((series.ledger.folder(2) / "about.json").read_text(encoding="utf-8"))
    assert about["waiting_rows"] == 1
    assert "new-values=3" in about["promised_over_the_series"]
    assert not any("for the first time" in limit for limit in about["not_promised_over_the_series"])


def test_new_series_with_an_open_list_let_m_newcomers_wait_for_each_other() -> None:
    given = new_series_parameters("tau-safety", {"m": "5"}, two_tables=False, open_list=True)
    assert make_publisher("tau-safety", given) == TauSafety(5, newcomers=5)
    assert new_series_parameters("cohorts", {}, two_tables=False, open_list=True) == {"newcomers": 6}
    assert new_series_parameters("tau-safety", {"m": 5}, two_tables=False, open_list=False) == {"m": 5}
    assert new_series_parameters("mondrian", {"k": 5}, two_tables=True, open_list=True) == {"k": 5}


@pytest.mark.parametrize("number", [0, True, 2.5])
def test_newcomers_are_a_number(number: int) -> None:
    with pytest.raises(PolicyError, match="newcomers must be a whole number"):
        TauSafety(3, newcomers=number)


def test_a_series_that_lets_newcomers_wait_is_not_made_in_parts() -> None:
    assert "newcomers" in (TAU.undivided or "")
    assert TauSafety(3, newcomers=1).undivided is None
