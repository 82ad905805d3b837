"""Whole series of cohorts: published or refused, verified after each release; what is tampered with is found."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from publishers.cohort_driver import CohortDriver
from republish import BrokenPromise, CannotPublish, LedgerError, Number, Schema, Series
from republish.attacks import Adversary, History, Table, attack
from republish.inference.determination import escape_risk, with_known_counterfeits
from republish.memory.cohort_stays import COLUMNS, Stays
from republish.memory.event_lists import Appearances, events_of
from republish.memory.memory import Memory
from republish.publishers import Cohorts
from republish.publishing.maintenance import forget, withdraw
from republish.secret import VARIABLE
from small_stays import Week, worlds_of
from test_sequences import Weeks

SCHEMA = Schema("id", [Number("age")], "dx")
PUBLISHER = Cohorts(m=2, size=12, values=3, together=2, max_determined=0.4)
RECORD = "the memory has another record of stays than the memberships say"


@pytest.fixture(autouse=True)
def the_same_groups_in_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "the secret of random weeks")


# Random weeks ---------------------------------------------------------------------------------------


class CohortWeeks(Weeks):
    """Any series; the bound is checked against the stored record too."""

    publisher = lambda m: Cohorts(m, 4 * m + 4, m + 1, together=2, max_determined=0.4)  # noqa: E731

    def verify(self) -> None:
        super().verify()
        memory = self.series.memory()
        stays = Stays.of_frame(memory.counts)
        chosen = self.series.policy.publisher
        assert escape_risk(stays, chosen.compromised).share <= chosen.max_determined
        assert memory.release == len(self.series.records)


class WideCohortWeeks(CohortWeeks):
    """As many values as there are, and every open place may change a cohort."""

    publisher = lambda m: Cohorts(m, 30, 8, together=1, max_determined=0.3, compromised=0.1)  # noqa: E731


@pytest.mark.parametrize("weeks", [CohortWeeks, WideCohortWeeks], ids=lambda machine: machine.__name__)
def test_every_release_of_a_random_series_verifies(weeks: type[CohortWeeks]) -> None:
    weeks.happened = Counter()
    phases = (Phase.explicit, Phase.reuse, Phase.generate)
    chosen = settings(max_examples=2, stateful_step_count=4, deadline=None, phases=phases)
    run_state_machine_as_test(weeks, settings=chosen)
    happened = weeks.happened
    for event in ("new", "returned", "left", "changed_value"):
        assert happened[event] >= 3, happened
    assert happened["suppressed"] == 0


# A small series by hand -----------------------------------------------------------------------------


def crowd(counts: dict[str, int], first: int = 0, age: int = 30) -> dict[str, tuple[int, str]]:
    values = [value for value, rows in counts.items() for _ in range(rows)]
    return {f"p{first + i}": (age + i % 5, value) for i, value in enumerate(values)}


def view(people: dict[str, tuple[int, str]]) -> pl.DataFrame:
    rows = [(name, age, value) for name, (age, value) in people.items()]
    return pl.DataFrame(rows, schema={"id": pl.String, "age": pl.Int64, "dx": pl.String}, orient="row")


YOUNG, OLD = crowd({"a": 4, "b": 4, "c": 4}), crowd({"a": 4, "b": 4, "c": 4}, 50, 80)


def some_weeks(root: Path, publisher: Cohorts = PUBLISHER) -> Series:
    """Three releases of two cohorts: two leave and come back, two others come, one changes."""
    series = Series.create(root / "s", SCHEMA, publisher, seed=1)
    everyone = YOUNG | OLD
    series.publish(view(everyone))
    fewer = {name: row for name, row in everyone.items() if name not in ("p0", "p4", "p50", "p54")}
    series.publish(view(fewer | crowd({"a": 1, "b": 1}, 100, 31)))
    series.publish(view(fewer | {"p0": YOUNG["p0"], "p1": (31, "c")} | crowd({"a": 1, "b": 1}, 100, 31)))
    return series


def refused(series: Series) -> set[str]:
    found = series.verify()
    return {c.promise for v in found.releases.values() for c in v.checks if not c.holds} | set(found.problems)


def test_a_small_series_verifies_and_says_what_was_bounded(tmp_path: Path) -> None:
    found = some_weeks(tmp_path).verify()
    assert found.holds
    promises = {check.promise for check in found.releases[3].checks}
    assert {"determined=0.4@0.04: together", "determined=0.4@0.04: ways out"} <= promises
    (check,) = (c for c in found.releases[3].checks if c.promise == "determined=0.4@0.04: ways out")
    memory = Series.open(tmp_path / "s").memory()
    stays = Stays.of_frame(memory.counts)
    risk, told = (escape_risk(one, 0.04) for one in (stays, with_known_counterfeits(stays)))
    assert check.reached == pytest.approx(risk.share)
    assert f"is {risk.share:.2%}, and {risk.worst:.2%} for the worst placed person" in check.says
    assert f"knows the values of all counterfeits: {told.share:.2%}, and {told.worst:.2%}" in check.says


def test_an_opened_series_goes_on(tmp_path: Path) -> None:
    some_weeks(tmp_path).ledger.close()
    series = Series.open(tmp_path / "s")
    series.publish(view(YOUNG | OLD), meant=["same-view"])
    assert series.verify().holds


def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    series = some_weeks(tmp_path)
    before = series.memory()
    done = series.publish(view(YOUNG), dry_run=True)
    after = series.memory()
    assert done.number == 4
    assert len(series.records) == 3
    assert before.counts is not None
    assert before.counts.equals(after.counts)
    assert np.array_equal(before.columns["stay"], after.columns["stay"])
    assert series.publish(view(YOUNG)).measures == done.measures


def test_a_withdrawn_release_still_counts(tmp_path: Path) -> None:
    series = some_weeks(tmp_path)
    withdraw(series, 3)
    series.publish(view(YOUNG | OLD), meant=["same-view"])
    assert series.verify().holds
    assert int(Stays.of_frame(series.memory().counts).until.max()) == 4


def test_a_refused_release_changes_nothing(tmp_path: Path) -> None:
    """Two who come, in a cohort of two, hide behind each other alone."""
    publisher = Cohorts(m=2, size=2, values=2, together=2, max_determined=0.02)
    series = Series.create(tmp_path / "s", SCHEMA, publisher, seed=1)
    with pytest.raises(CannotPublish):
        series.publish(view(crowd({"a": 2, "b": 2})))
    assert not series.records


def test_who_is_forgotten_and_comes_again_is_a_newcomer(tmp_path: Path) -> None:
    series = some_weeks(tmp_path)
    forget(series, pl.DataFrame({"id": ["p2", "p60"]}))
    assert series.verify().holds
    series.publish(view(YOUNG | OLD), meant=["same-view"])
    found = series.verify()
    assert found.holds
    (check,) = (c for c in found.releases[3].checks if c.promise.endswith("ways out"))
    assert check.unchecked and "people were forgotten" in check.meaning


def test_what_is_kept_of_the_others_is_still_checked_when_people_were_forgotten(tmp_path: Path) -> None:
    series = some_weeks(tmp_path)
    forget(series, pl.DataFrame({"id": ["p2", "p60"]}))
    assert series.verify().holds
    pointed = int(series.memory().columns["stay"][0]) - 1
    record = record_of(series)
    moved = record.with_columns(
        code=pl.when(pl.int_range(pl.len()) == pointed).then(pl.col("code") + 1).otherwise(pl.col("code"))
    )
    assert found_wrong(series, counts=moved)


def test_forgetting_well_hidden_people_breaks_no_promise_about_the_others(tmp_path: Path) -> None:
    """One of 24 is determined: her value was given up when she left. Then the other cohort is forgotten."""
    publisher = Cohorts(m=2, size=12, values=3, together=1, max_determined=0.06)
    series = Series.create(tmp_path / "s", SCHEMA, publisher, seed=1)
    series.publish(view(YOUNG | OLD), meant=["same-view"])
    series.publish(view({name: row for name, row in (YOUNG | OLD).items() if name != "p0"}))
    stays = Stays.of_frame(series.memory().counts)
    assert escape_risk(stays, 0.04).expected >= 1
    assert series.verify().holds
    forget(series, pl.DataFrame({"id": sorted(OLD)}))
    assert series.verify().holds


# Tampering ------------------------------------------------------------------------------------------


def edited(path: Path, frame: pl.DataFrame) -> None:
    path.chmod(0o600)
    frame.write_parquet(path)


def record_file(series: Series) -> Path:
    (path,) = (series.root / "private" / "counts").iterdir()
    return path


def found_wrong(series: Series, **changed: object) -> bool:
    """Whether a memory with something changed, in files as they should be, is told from what the memberships say."""
    memory = replace(series.memory(), **changed)
    series.memory = lambda: memory
    return bool(refused(series) & {RECORD, "the memory points to stays that are not recorded"})


def record_of(series: Series) -> pl.DataFrame:
    record = series.memory().counts
    assert record is not None
    return record


def test_an_edited_file_of_stays_is_found_and_not_used(tmp_path: Path) -> None:
    series = some_weeks(tmp_path)
    edited(record_file(series), record_of(series)[:5])
    assert any("was altered" in problem for problem in refused(series))
    with pytest.raises(LedgerError):
        series.publish(view(YOUNG | OLD), meant=["same-view"])


def test_a_memory_as_it_was_is_not_told_from_the_memberships(tmp_path: Path) -> None:
    assert not found_wrong(some_weeks(tmp_path))


@pytest.mark.parametrize("column", [name for name in COLUMNS if name != "cohort"])
def test_a_changed_record_of_stays_is_found(tmp_path: Path, column: str) -> None:
    series = some_weeks(tmp_path)
    record = record_of(series)
    there = record[column].to_numpy().copy()
    there[1] += 1
    assert found_wrong(series, counts=record.with_columns(pl.Series(column, there)))


def test_stays_moved_to_another_cohort_are_found(tmp_path: Path) -> None:
    series = some_weeks(tmp_path)
    record = record_of(series)
    cohort = record["cohort"].to_numpy().copy()
    cohort[0] = 3 - cohort[0]
    assert found_wrong(series, counts=record.with_columns(pl.Series("cohort", cohort)))


def test_stays_that_are_lost_are_found(tmp_path: Path) -> None:
    series = some_weeks(tmp_path)
    assert found_wrong(series, counts=record_of(series)[:-3])


def test_a_lost_record_of_stays_is_found(tmp_path: Path) -> None:
    series = some_weeks(tmp_path)
    assert found_wrong(series, counts=None)


def test_two_who_point_to_each_others_stays_are_found(tmp_path: Path) -> None:
    """They have the same value since the same release, but are in different cohorts."""
    series = some_weeks(tmp_path)
    memory = series.memory()
    stays = Stays.of_frame(memory.counts)
    mine = memory.columns["stay"].astype(np.int64) - 1
    alike = (stays.code[mine] == 1) & (stays.since[mine] == 1) & (stays.until[mine] == 3)
    one, two = (np.flatnonzero(alike & (stays.cohort[mine] == cohort))[0] for cohort in (1, 2))
    stay = memory.columns["stay"].copy()
    stay[one], stay[two] = stay[two], stay[one]
    assert found_wrong(series, columns={**memory.columns, "stay": stay})


def test_an_edited_membership_is_found(tmp_path: Path) -> None:
    """Two of the same value, of different cohorts, are exchanged in one release."""
    series = some_weeks(tmp_path)
    path = series.ledger.path(series.membership_files(2)[0])
    frame = pl.read_parquet(path)
    group, code = frame["group"].to_numpy().copy(), frame["code"].to_numpy()
    one, two = (np.flatnonzero((code == 2) & (group == number))[0] for number in np.unique(group)[:2])
    group[one], group[two] = group[two], group[one]
    edited(path, frame.with_columns(pl.Series("group", group)))
    assert "determined=0.4@0.04: together" in refused(series)


def test_people_who_are_mixed_are_refused_when_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A publisher that claims to be cohorts, but regroups everyone in a later release."""
    series = some_weeks(tmp_path)
    anew = Cohorts.publish

    def regroup(self, view, memory, rng):
        return anew(self, view, Memory.empty(), rng)

    monkeypatch.setattr(Cohorts, "publish", regroup)
    mixed = {name: (int(name[1:]) * 7 % 60, value) for name, (_, value) in (YOUNG | OLD).items()}
    with pytest.raises(BrokenPromise, match="together: does not hold"):
        series.publish(view(mixed))
    assert len(series.records) == 3


# The linear attack ----------------------------------------------------------------------------------


def history_of_weeks(weeks: list[Week], values: int) -> tuple[History, list[str]]:
    """What an adversary reads of a small series, and the names of people in their order."""
    names = sorted({name for week in weeks for name in week.people})
    tables, seen, truth = [], [], []
    for week in weeks:
        groups = {cohort: g for g, cohort in enumerate(sorted({c for c, _ in week.people.values()}))}
        who = np.array([names.index(name) for name in week.people], dtype=np.int64)
        group = np.array([groups[c] for c, _ in week.people.values()], dtype=np.int64)
        code = np.array([v for _, v in week.people.values()], dtype=np.int64)
        fake_group = np.array([groups[c] for c, _ in week.nobody], dtype=np.int64)
        fake_code = np.array([v for _, v in week.nobody], dtype=np.int64)
        rows = np.concatenate([group, fake_group])
        tables.append(Table(who, group, rows, np.concatenate([code, fake_code])))
        seen.append(Appearances(who, code, np.zeros(len(who), dtype=np.uint64)))
        truth.append(code)
    return History.of(len(names), values, tables, events_of(len(names), seen), truth), names


def small_cohorts(seed: int) -> list[Week]:
    """A few weeks of few people, published in cohorts."""
    rng = np.random.default_rng(seed)
    driver = CohortDriver(Cohorts(2, 6, 3, together=1 + seed % 2, max_determined=0.99, compromised=0.3))
    state: dict[str, str] = {}
    here: set[str] = set()
    for _ in range(4):
        here = {n for n in here if rng.random() < 0.75} | {f"p{i}" for i in range(8) if rng.random() < 0.3}
        for name in sorted(here):
            if name not in state or rng.random() < 0.1:
                state[name] = f"v{rng.integers(3)}"
        try:
            driver.publish([(name, 30, "10", "n", state[name]) for name in sorted(here)])
        except CannotPublish:
            continue
    return driver.weeks


def test_the_linear_attack_finds_whom_enumeration_finds_and_nobody_else() -> None:
    """In cohorts, with some people compromised: the same candidates in every life."""
    determined, opened = 0, 0
    for seed in range(30):
        weeks = small_cohorts(seed)
        if not any(week.people for week in weeks):
            continue
        history, names = history_of_weeks(weeks, values=3)
        worlds = worlds_of(weeks)
        rng = np.random.default_rng(seed)
        for share in (0.0, 0.3, 0.6):
            known = [i for i in range(len(names)) if rng.random() < share]
            (result,) = attack(history, Adversary(compromised=known), ("linear",), m=2)
            mine = [names[i] for i in known]
            fixed = [life for life, name in enumerate(worlds.person) if name in mine]
            left = worlds.values[(worlds.values[:, fixed] == worlds.values[0, fixed]).all(axis=1)]
            for life, (name, places) in enumerate(zip(worlds.person, worlds.places, strict=True)):
                found = result.findings.candidates_of(names.index(name), places[0][0])
                assert found == frozenset(left[:, life].tolist())
                if name not in mine:
                    determined += len(found) == 1
                    opened += len(found) > 1
    assert determined > 20
    assert opened > 100
