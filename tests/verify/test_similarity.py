"""Series whose publisher thinks as an adversary: published, opened again, forgotten, tampered with, verified."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.adversary import divergence, kolmogorov
from knowledge.random_knowledge import TWO, random_knowledge
from publishers.believing import SCHEMA, random_frame
from republish import BrokenPromise, PolicyError, Series, ViewError
from republish.grouping import Grouping
from republish.inference import Compromised, Reasoning, Respondents
from republish.knowledge import Extracted, Knowledge
from republish.memory.memory import KEY, Memory
from republish.publishers import BayFrame, JSReduce, Publisher
from republish.publishing.maintenance import forget
from republish.verify.check import Check
from republish.verify.promises import AuditedRelease, close_to_view, no_signatures
from republish.verify.similarity import BeliefWalk, Shown, shown_in, similar

Made = Callable[..., Series]
DAYS = [f"2026-01-{day:02d}" for day in range(1, 10)]
KNOWN = random_knowledge(7, m=3, order=2, gaps=0.1)


def js(knowledge: Knowledge | Extracted = KNOWN, **options: object) -> JSReduce:
    return JSReduce(k=2, t=0.8, j=0.4, crowd=4.0, knowledge=knowledge, **options)  # type: ignore[arg-type]


PUBLISHERS: dict[str, Publisher] = {
    "given knowledge": js(),
    "counted knowledge": js(Extracted(2, TWO)),
    "as published": JSReduce.as_published(k=2, t=0.8, j=0.2, knowledge=KNOWN),
    "counterfeits": js(cut="greedy", rest="counterfeit"),
    "gaps that count": js(replace(KNOWN, gaps="count")),
    "counted knowledge, gaps that count": js(Extracted(3, TWO, gaps="count")),
    "kolmogorov-smirnov": js(distance="ks"),
    "snapshot": js(Extracted(2, TWO), steps=0),
    "bayframe": BayFrame(k=2, beta=3.0, j=0.4, crowd=4.0, knowledge=KNOWN),
    "bayframe as published": BayFrame.as_published(k=2, beta=3.0, j=0.4),
}


def views(count: int = 4, seed: int = 5) -> list[pl.DataFrame]:
    """A view with everybody, one that knows fewer values, one without anybody, and others."""
    rng = np.random.default_rng(seed)
    shares, sizes = [0.8, 1.0, 0.0, 0.7, 0.8, 0.8], [2, 3, 3, 4, 4, 4]
    return [random_frame(rng, 40, shares[i], sizes[i]) for i in range(count)]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where series that several tests need are made once."""
    return tmp_path_factory.mktemp("shelf")


@pytest.fixture
def made(shelf: Path, tmp_path: Path) -> Made:
    """A copy of a series by the publisher of that name, with so many releases."""

    def copied(name: str, count: int = 4) -> Series:
        original = shelf / f"{name} {count}"
        if not original.exists():
            series = Series.create(original, SCHEMA, PUBLISHERS[name], seed=1)
            for day, view in zip(DAYS, views(count), strict=False):
                series.publish(view, as_of=day, meant=("fewer-rows",))
            series.ledger.close()
        shutil.copytree(original, tmp_path / "s")
        return Series.open(tmp_path / "s")

    return copied


def similarity(series: Series, holds: bool = True) -> list[Check]:
    """The check of beliefs of every release, once all is verified."""
    found = series.verify()
    assert found.holds == holds
    checks = [check for release in found.releases.values() for check in release.checks]
    return [check for check in checks if check.promise.startswith(("similarity", "ks-similarity"))]


@pytest.mark.parametrize("name", PUBLISHERS)
def test_a_series_is_published_opened_again_and_verified(made: Made, name: str) -> None:
    again = made(name)
    again.publish(views(5)[4], as_of=DAYS[5])
    checks = similarity(again)
    assert len(checks) == 5
    limit = float(again.policy.publisher.series_promises[0].partition("=")[2])
    assert 0 < max(check.reached or 0.0 for check in checks) <= limit + 1e-6


def test_closeness_to_the_view_is_recomputed_from_everyone_in_it(made: Made) -> None:
    """The promise names the view; the release alone promises no closeness."""
    series = made("as published")
    assert series.policy.promises["one_table"] == "k=2"
    told = json.loads((series.ledger.folder(1) / "about.json").read_text())
    assert told["promised_over_the_series"] == ["similarity=0.2", "view-t=0.8"]
    assert (
        "nothing of the kind is promised of the published table." in told["not_promised_over_the_series"][-1]
    )
    found = series.verify()
    checks = [c for release in found.releases.values() for c in release.checks if c.promise == "view-t=0.8"]
    assert len(checks) == 4
    number = next(n for n, release in enumerate(found.releases.values(), 1) if release.checks[0].reached)
    members = series.members(number)
    shown = shown_in(series, number, members)
    sizes = np.bincount(shown.row_group)[1:]
    whole = np.bincount(members.code, minlength=3) / len(members.code)
    apart = [
        abs(np.bincount(shown.row_code[shown.row_group == g], minlength=3) / sizes[g - 1] - whole).sum() / 2
        for g in range(1, len(sizes) + 1)
    ]
    assert (members.group == 0).any()
    assert checks[number - 1].reached == pytest.approx(max(apart))
    now = AuditedRelease(number, members, no_signatures(len(sizes)), shown)
    broken = close_to_view("view-t=0.01", now, sizes)
    assert not broken.holds
    assert broken.groups == sum(one > 0.01 for one in apart)


def test_a_dry_run_says_the_same_and_keeps_nothing(made: Made, tmp_path: Path) -> None:
    series = made("counted knowledge", 2)
    before = sorted(p for p in (tmp_path / "s").rglob("*") if "staging" not in str(p))
    memory = series.memory()
    dry = series.publish(views()[3], as_of=DAYS[3], dry_run=True)
    assert sorted(p for p in (tmp_path / "s").rglob("*") if "staging" not in str(p)) == before
    assert series.memory().counts is not None and memory.counts is not None
    assert series.memory().counts.equals(memory.counts)  # type: ignore[union-attr]
    done = series.publish(views()[3], as_of=DAYS[3])
    assert (dry.groups, dry.suppressed, dry.rows) == (done.groups, done.suppressed, done.rows)
    assert series.verify().holds


def test_changed_knowledge_is_refused(made: Made, tmp_path: Path) -> None:
    made("given knowledge", 2).ledger.close()
    path = tmp_path / "s" / "knowledge" / "prior.csv"
    lines = path.read_text().splitlines()
    first, second = (line.rsplit(",", 1) for line in lines[1:3])
    lines[1:3] = [f"{first[0]},{second[1]}", f"{second[0]},{first[1]}"]
    path.write_text("\n".join(lines) + "\n")
    series = Series.open(tmp_path / "s")
    with pytest.raises(PolicyError, match="the policy is frozen after the first release"):
        series.publish(views()[3], as_of=DAYS[4])
    assert not series.verify().holds


def test_knowledge_that_does_not_fit_the_schema_makes_no_series(tmp_path: Path) -> None:
    wrong = Knowledge(KNOWN.values, random_knowledge(0).classes, KNOWN.prior)
    without_sex = type(SCHEMA)("id", [SCHEMA.quasi_identifiers[0]], "result")
    with pytest.raises(PolicyError, match="the schema has none called sex"):
        Series.create(tmp_path / "s", without_sex, js(wrong))
    assert not (tmp_path / "s").exists()


class Careless(JSReduce):
    """Puts everybody into one group."""

    def publish(self, view, memory, rng):  # type: ignore[no-untyped-def]
        return Grouping(np.zeros(view.rows, dtype=np.int32))


def test_a_release_that_breaks_the_promise_is_not_committed(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "s", SCHEMA, Careless(k=2, t=1.0, j=1e-4, knowledge=KNOWN), seed=1)
    with pytest.raises(
        BrokenPromise, match=r"similarity=0.0001: divergence of beliefs: does not hold in 1 groups"
    ):
        series.publish(views()[1], as_of=DAYS[0])
    assert series.records == ()


# Forgotten people --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["given knowledge", "counted knowledge", "bayframe"])
def test_after_forgetting_the_series_verifies_and_goes_on(made: Made, name: str) -> None:
    series = made(name)
    reached = [check.reached for check in similarity(series)]
    forget(series, pl.DataFrame({"id": ["p4", "p9"]}))
    checks = similarity(series)
    assert "groups hold people whose history was forgotten" in checks[0].meaning
    if name != "counted knowledge":  # there everything rests on the counts
        assert any(check.reached for check in checks)
        assert all(
            (a or 0) <= (b or 0) + 1e-6 for a, b in zip([c.reached for c in checks], reached, strict=True)
        )
    series.publish(views(5)[4], as_of=DAYS[5])
    assert series.verify().holds


def test_everybody_may_be_forgotten(made: Made) -> None:
    series = made("counted knowledge")
    counts = series.memory().counts
    forget(series, pl.DataFrame({"id": [f"p{i}" for i in range(40)]}))
    assert series.memory().size == 0
    assert counts is not None and counts.equals(series.memory().counts)  # type: ignore[arg-type]
    series.publish(views(5)[4], as_of=DAYS[5])
    assert series.verify().holds


# Tampering ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["class", "group", "code"])
def test_a_changed_membership_is_noticed(made: Made, column: str) -> None:
    series = made("given knowledge")
    path = series.ledger.path(series.membership_files(2)[0])
    frame = pl.read_parquet(path)
    frame.with_columns(pl.col(column).reverse()).write_parquet(path)
    found = series.verify()
    assert not found.holds
    # Nothing is compared across an altered release, so classes show only in its digest; groups and codes must fit.
    assert any(path.name in problem for problem in found.problems)
    assert column == "class" or not found.releases[2].holds


def test_a_publisher_that_forgets_what_it_saw_is_refused(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    series = made("given knowledge")
    before = len(series.records)
    monkeypatch.setattr(JSReduce, "remember", lambda _self, _view, _grouping, memory: memory)
    with pytest.raises(BrokenPromise, match="what would be remembered of"):
        series.publish(views(5)[4])
    assert len(series.records) == before


def test_groups_that_could_not_be_checked_are_counted(made: Made) -> None:
    series = made("given knowledge")
    assert sum(c.unchecked for v in series.verify().releases.values() for c in v.checks) == 0
    forget(series, views()[0].head(1))
    found = series.verify()
    assert found.holds
    assert sum(c.unchecked for v in found.releases.values() for c in v.checks) > 0


@given(st.integers(0, 2**32))
@settings(max_examples=40)
def test_divergence_is_that_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.full(3, 0.5), 12)
    group = rng.integers(0, 4, 12)
    checked = rng.random(4) < 0.8
    limit = float(rng.random())
    promise, apart = ("ks-similarity", kolmogorov) if seed % 2 else ("similarity", divergence)
    order = rng.permutation(3)
    found = similar(f"{promise}={limit}", prior, group, checked, order)
    reached = {
        g: apart(prior[group == g][:, order].tolist())
        for g in range(1, 5)
        if checked[g - 1] and (group == g).any()
    }
    broken = [g for g, js in reached.items() if js > limit + 1e-6]
    assert found.holds == (not broken)
    assert found.reached == pytest.approx(max(reached.values(), default=0.0), abs=1e-9)
    assert (found.groups, found.rows) == (len(broken), sum(int((group == g).sum()) for g in broken))
    assert ("forgotten" in found.meaning) == (not checked.all())
    everyone = None if seed % 2 else pytest.approx(divergence(prior.tolist()))
    assert found.of_view == everyone


def walked(classes: list[int], group: list[int]) -> Check:
    """The check of a second release, in which four people who had values 0 0 1 1 are in these groups."""
    table = np.array([[[[0.9, 0.1], [0.1, 0.9]]]] * 2)
    knowledge = Knowledge(
        pl.Series("result", ["v0", "v1"]), TWO, np.array([[0.6, 0.4], [0.6, 0.4]]), table, 1
    )
    table[1] = 0.5
    knowledge = Knowledge(knowledge.values, TWO, knowledge.prior, table, 1)
    walk = BeliefWalk(Reasoning(knowledge))
    people = np.array([(0, i) for i in range(1, 5)], dtype=np.uint64)
    codes = np.array([0, 0, 1, 1])

    def seen(number: list[int], rows: list[int]) -> Shown:
        return Shown(Respondents(people, np.array(number), codes, knowledge.values), np.array(rows), codes)

    walk.look(seen([0] * 4, [1, 1, 2, 2]), np.array([1, 1, 2, 2]), 1)
    return walk.look(seen(classes, group), np.array(group), 2)("similarity=0.1")


def test_the_walk_sees_wrong_groups_and_wrong_classes() -> None:
    assert walked([0] * 4, [1, 1, 2, 2]).reached == pytest.approx(0, abs=1e-6)
    mixed = walked([0] * 4, [1, 2, 1, 2])
    assert not mixed.holds
    assert mixed.reached == pytest.approx(divergence([[0.9, 0.1], [0.1, 0.9]]), abs=1e-6)
    assert (mixed.groups, mixed.rows) == (2, 4)
    assert not walked([0, 1, 0, 1], [1, 1, 2, 2]).holds


def test_the_lost_are_those_who_shared_a_group_and_those_after_them() -> None:
    walk = BeliefWalk(Reasoning(KNOWN.steps(1)))
    codes = np.array([0, 1, 2, 0, 1, 2])
    people = np.array([(0, i) for i in range(1, 7)], dtype=np.uint64)

    def check(words: np.ndarray, group: list[int]) -> Check:
        now = Respondents(words, np.zeros(6, int), codes, KNOWN.values)
        return walk.look(Shown(now, np.array(group), codes), np.array(group), 1)("similarity=9")

    gone = people.copy()
    gone[0] = 0  # forgotten: nobody
    assert (
        " 1 groups hold people" in check(gone, [1, 1, 2, 2, 3, 3]).meaning
    )  # the second is lost with the first
    assert walk.lost.people[:, 1].tolist() == [2]
    assert " 2 groups hold people" in check(gone, [1, 2, 2, 3, 3, 3]).meaning  # and now the third too
    assert walk.lost.people[:, 1].tolist() == [2, 3]
    assert " 1 groups hold people" in check(people, [1, 2, 2, 1, 3, 3]).meaning


# Compromised people ------------------------------------------------------------------------------


@pytest.mark.parametrize("cascade", ["prior", "posterior"])
def test_what_is_known_of_single_people_is_kept_and_recomputed(tmp_path: Path, cascade: str) -> None:
    publisher = BayFrame(k=2, beta=20.0, j=0.5, crowd=4.0, cascade=cascade, knowledge=KNOWN)
    series = Series.create(tmp_path / "s", SCHEMA, publisher, seed=1)
    for number, (day, view) in enumerate(zip(DAYS, views(2), strict=False)):
        known = view.select("id", "result").head(9).with_columns(p=pl.Series([1.0, 0.8, 0.3] * 3))
        series.publish(view, as_of=day, compromised=known if number == 0 else known.head(3))
    series.publish(views(4)[3], as_of=DAYS[4])
    assert series.verify().holds
    name = series.compromised_file(1)
    assert name is not None
    stored = pl.read_parquet(series.ledger.path(name))
    assert stored.columns == [*KEY, "code", "p"]
    assert sorted(stored["p"].to_list()) == [0.3] * 3 + [0.8] * 3 + [1.0] * 3
    shown = shown_in(series, 1, series.members(1))
    assert shown.people.compromised is not None and len(shown.people.compromised.row) == 9
    codes = shown.people.codes[shown.people.compromised.row]
    assert np.array_equal(codes, shown.people.compromised.code)
    assert series.compromised_file(3) is None
    stored.with_columns(p=pl.lit(0.0)).write_parquet(series.ledger.path(name))
    assert not series.verify().holds


def test_a_verifier_who_did_not_know_would_find_another_divergence(tmp_path: Path) -> None:
    publisher = BayFrame(k=2, beta=20.0, j=0.5, crowd=4.0, knowledge=KNOWN)
    reached = []
    for known in (False, True):
        series = Series.create(tmp_path / str(known), SCHEMA, publisher, seed=1)
        view = views(2)[1]
        table = view.select("id", "result").head(10).with_columns(p=pl.lit(0.9))
        series.publish(view, as_of=DAYS[0], compromised=table if known else None)
        reached.append(similarity(series)[0].reached)
    assert reached[0] != pytest.approx(reached[1])


def test_forgetting_erases_what_outsiders_know(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "s", SCHEMA, BayFrame(k=2, beta=20.0, j=0.5, crowd=4.0), seed=1)
    view = views(1)[0]
    known = view.select("id", "result").head(3).with_columns(p=pl.lit(0.7))
    series.publish(view, as_of=DAYS[0], compromised=known)
    old = series.ledger.path(series.compromised_file(1) or "")
    forget(series, known.select("id").head(1))
    name = series.compromised_file(1)
    assert name is not None and not old.exists()
    assert pl.read_parquet(series.ledger.path(name)).height == 2
    assert series.verify().holds
    forget(series, known.select("id").tail(2))
    assert pl.read_parquet(series.ledger.path(series.compromised_file(1) or "")).height == 0
    assert series.verify().holds


def test_a_certain_value_must_be_the_true_one(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "s", SCHEMA, js(), seed=1)
    view = views(1)[0]
    wrong = view.select("id", pl.col("result").replace({"v0": "v1", "v1": "v0"})).with_columns(p=pl.lit(1.0))
    for dry_run in (True, False):
        with pytest.raises(ViewError, match=r"with p = 1, .* name another value than the view"):
            series.publish(view, as_of=DAYS[0], dry_run=dry_run, compromised=wrong)
    assert series.records == ()


def test_only_people_that_are_somebody_count_as_compromised() -> None:
    walk = BeliefWalk(Reasoning(KNOWN.steps(1)))
    people = np.array([(0, 0), (0, 2), (0, 3)], dtype=np.uint64)
    codes = np.array([0, 1, 2])
    known = Compromised(np.array([0, 2]), np.array([0, 2]), np.array([0.9, 0.9]))
    now = Respondents(people, np.zeros(3, int), codes, KNOWN.values, known)
    walk.look(Shown(now, np.array([1, 2, 2]), codes), np.array([1, 2, 2]), 1)("similarity=9")
    assert walk.memory.find(people).tolist() == [-1, 0, 1]
    assert Memory.empty().size == 0
