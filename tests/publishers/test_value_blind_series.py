"""Whole series of value-blind batches: verified after each release whatever happens; what is tampered with is found."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test
from typer.testing import CliRunner

from republish import BrokenPromise, Number, Schema, Series, TwoTables
from republish.cli import app
from republish.grouping import Grouping
from republish.inference.determination import batch_risk
from republish.memory.batch_record import BatchRecord
from republish.memory.cohort_stays import FORGOTTEN
from republish.publishers import ValueBlind
from republish.publishing.maintenance import forget, withdraw
from republish.publishing.plausibility import MEANT
from republish.secret import VARIABLE
from test_sequences import Weeks

SCHEMA = Schema("id", [Number("age")], "dx")
LED = "value-blind: led by quasi-identifiers"
KINDS = ("open", "closed")


@pytest.fixture(autouse=True)
def the_same_chance_in_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "the secret of random weeks")


# Random weeks ---------------------------------------------------------------------------------------


class OpenWeeks(Weeks):
    """Any series in batches that take in newcomers, also one leaver among many joiners."""

    publisher = lambda m: ValueBlind("open", 10, m + 1, 2, max_determined=0.5)  # noqa: E731
    form = TwoTables(k=3)

    @rule(seed=st.integers(0, 2**32 - 1))
    def one_leaves_and_many_join(self, seed: int) -> None:
        chance = random.Random(seed)
        self.leave(self.some(self.present, chance)[:1])
        for _ in range(8):
            self.arrive(self.anything(chance))
        self.publish()

    @rule(seed=st.integers(0, 2**32 - 1))
    def changed_and_changed_back(self, seed: int) -> None:
        chance = random.Random(seed)
        some = {person: self.present[person] for person in self.some(self.present, chance)}
        self.change(list(some), chance)
        self.publish()
        self.present |= some
        self.publish()

    def verify(self) -> None:
        super().verify()
        memory = self.series.memory()
        chosen = self.series.policy.publisher
        stays = BatchRecord.of(memory).known_to(memory).stays
        assert batch_risk(stays, chosen.compromised).share <= chosen.max_determined
        self.happened["held"] += sum(record.payload["counterfeits"] for record in self.series.records)


class ClosedWeeks(OpenWeeks):
    """The same in batches that only lose people."""

    publisher = lambda m: ValueBlind("closed", 10, m + 1, 2, max_determined=0.5)  # noqa: E731


def run(weeks: type[OpenWeeks], examples: int, steps: int) -> Counter[str]:
    weeks.happened = Counter()
    phases = (Phase.explicit, Phase.reuse, Phase.generate)
    chosen = settings(max_examples=examples, stateful_step_count=steps, deadline=None, phases=phases)
    run_state_machine_as_test(weeks, settings=chosen)
    return weeks.happened


@pytest.mark.parametrize("weeks", [OpenWeeks, ClosedWeeks], ids=lambda machine: machine.__name__)
def test_every_release_of_a_random_series_verifies(weeks: type[OpenWeeks]) -> None:
    happened = run(weeks, examples=4, steps=4)
    for event in ("new", "returned", "left", "changed_value", "held"):
        assert happened[event] >= 3, happened


@pytest.mark.long
@pytest.mark.parametrize("weeks", [OpenWeeks, ClosedWeeks], ids=lambda machine: machine.__name__)
def test_every_release_of_many_random_series_verifies(weeks: type[OpenWeeks]) -> None:
    happened = run(weeks, examples=25, steps=8)
    assert happened["held"] >= 30, happened


# A small series by hand -----------------------------------------------------------------------------


def crowd(rows: int, first: int = 0, values: str = "abcd") -> dict[str, tuple[int, str]]:
    return {f"p{i}": (20 + i * 7 % 40, values[i % len(values)]) for i in range(first, first + rows)}


def view(people: dict[str, tuple[int, str]]) -> pl.DataFrame:
    rows = [(name, age, value) for name, (age, value) in people.items()]
    return pl.DataFrame(rows, schema={"id": pl.String, "age": pl.Int64, "dx": pl.String}, orient="row")


def without(people: dict[str, tuple[int, str]], *gone: str) -> dict[str, tuple[int, str]]:
    return {name: row for name, row in people.items() if name not in gone}


def made(root: Path, kind: str, weeks: list[dict[str, tuple[int, str]]], n: int = 3) -> Series:
    publisher = ValueBlind(kind, 10, n, 2, max_determined=0.5)
    series = Series.create(root / kind, SCHEMA, publisher, seed=2, form=TwoTables(k=3))
    for week in weeks:
        series.publish(view(week), meant=MEANT)
    return series


EVERYONE = crowd(40)
WEEKS = [
    EVERYONE,
    without(EVERYONE, "p0", "p5"),
    without(EVERYONE, *(f"p{i}" for i in range(12))) | crowd(12, 100),
    without(EVERYONE, *(f"p{i}" for i in range(6))) | crowd(14, 100) | {"p20": (20, "d"), "p21": (27, "a")},
]


def refused(series: Series) -> set[str]:
    found = series.verify()
    return {c.promise for v in found.releases.values() for c in v.checks if not c.holds} | set(found.problems)


@pytest.mark.parametrize("kind", KINDS)
def test_a_small_series_verifies_and_holds_those_who_left(tmp_path: Path, kind: str) -> None:
    series = made(tmp_path, kind, WEEKS)
    assert series.verify().holds
    assert series.records[1].payload["counterfeits"] == 2  # two left, and n = 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_draft_is_checked_against_where_quasi_identifiers_lead(tmp_path: Path, kind: str) -> None:
    series = made(tmp_path, kind, WEEKS[:2])
    done = series.publish(view(WEEKS[2]), meant=MEANT)
    assert LED in {check.promise for check in done.verification.checks}


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_week_ends_all_lives_and_who_comes_back_is_published(tmp_path: Path, kind: str) -> None:
    series = made(tmp_path, kind, [EVERYONE, {}, EVERYONE])
    assert series.verify().holds
    last = series.release(3)
    assert (last.batch == 0).all() == (kind == "closed")  # lives that ended are not counted twice


def test_one_leaver_among_many_joiners_is_counted_on(tmp_path: Path) -> None:
    """The joiners are counted; that one left must not show in the same counts."""
    series = made(tmp_path, "open", [EVERYONE, without(EVERYONE, "p7") | crowd(30, 100)])
    assert series.records[1].payload["counterfeits"] == 1
    assert series.verify().holds


@pytest.mark.parametrize("kind", KINDS)
def test_forgotten_people_are_counted_on_and_hide_nobody(tmp_path: Path, kind: str) -> None:
    series = made(tmp_path, kind, WEEKS[:3])
    forget(series, pl.DataFrame({"id": ["p30", "p31"]}))
    memory = series.memory()
    stays = BatchRecord.of(memory).known_to(memory).stays
    assert np.count_nonzero(stays.bearer == FORGOTTEN) == 2
    assert not batch_risk(stays, 0.04).of_stay[stays.bearer == FORGOTTEN].any()
    assert series.verify().holds
    series.publish(view(WEEKS[3]), meant=MEANT)
    found = series.verify()
    assert found.holds
    (bound,) = (c for c in found.releases[4].checks if c.promise.endswith("ways out"))
    assert bound.reached is not None and not bound.unchecked and "who were forgotten" in bound.says
    (counts,) = (c for c in found.releases[4].checks if c.promise.endswith("counts"))
    assert 0 < counts.unchecked <= 2


@pytest.mark.parametrize("kind", KINDS)
def test_batches_without_forgotten_people_are_checked_as_before(tmp_path: Path, kind: str) -> None:
    series = made(tmp_path, kind, WEEKS)
    frame = membership(series, 2)
    held = frame.filter("held")["group"].unique()
    elsewhere = frame.filter(~pl.col("group").is_in(held.implode()) & (pl.col("group") > 0))
    names = {tuple(p): f"p{i}" for i in range(40) for p in series.secret().pseudonyms(pl.Series([f"p{i}"]))}
    someone = names[elsewhere.select("person_high", "person_low").row(0)]
    forget(series, pl.DataFrame({"id": [someone]}))
    assert series.verify().holds
    frame = membership(series, 2)
    high = frame["person_high"].to_numpy().copy()
    high[frame["held"].to_numpy()] += np.uint64(1)
    edited(series, 2, person_high=high)
    assert f"{kind}-batches=3: counts" in refused(series)


def test_groups_that_cannot_be_checked_for_two_promises_are_said_once(tmp_path: Path) -> None:
    """Nearly all people are forgotten: neither the bound nor counts of the second release can be found anew."""
    series = made(tmp_path, "open", WEEKS[:2])
    batches = series.records[1].payload["two_tables"]["batches"]
    forget(series, pl.DataFrame({"id": [f"p{i}" for i in range(1, 39)]}))
    series.ledger.close()
    said = CliRunner().invoke(app, ["verify", str(series.root)]).output
    assert f"but {batches} groups of 1 releases could not be checked" in " ".join(said.split())


def test_a_batch_is_checked_again_once_it_counts_no_forgotten_people(tmp_path: Path) -> None:
    series = made(tmp_path, "open", WEEKS[:1])
    forget(series, pl.DataFrame({"id": ["p30"]}))
    gone = [without(EVERYONE, *(f"p{i}" for i in range(30 - 8 * k, 40))) | crowd(20 * k, 100) for k in (1, 2)]
    for weekly in (*gone, gone[-1]):
        series.publish(view(weekly), meant=MEANT)
    found = series.verify()
    unchecked = [
        next(c.unchecked for c in found.releases[r].checks if c.promise.endswith("counts")) for r in (2, 3, 4)
    ]
    assert found.holds and unchecked[0] >= 1 and unchecked[-1] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_withdrawn_release_still_counts(tmp_path: Path, kind: str) -> None:
    series = made(tmp_path, kind, WEEKS[:3])
    withdraw(series, 3)
    series.publish(view(WEEKS[3]), meant=MEANT)
    assert series.verify().holds
    assert int(BatchRecord.of(series.memory()).stays.until.max()) == 4


# The swap test --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pair", [("p100", "p101"), ("p13", "p14"), ("p20", "p31")])
def test_exchanged_values_change_nothing_that_is_published(
    tmp_path: Path, kind: str, pair: tuple[str, str]
) -> None:
    """Of two who are always there together, in one batch: all files of all releases are the same."""
    one, two = pair
    weeks = WEEKS[:3]
    tables = []
    for number, exchanged in enumerate((False, True)):
        swapped = [_exchanged(week, one, two) if exchanged else week for week in weeks]
        series = made(tmp_path / str(number), kind, swapped)
        tables.append([_files(series.ledger.folder(i)) for i in range(1, 4)])
    together = _in_one_batch(tmp_path / "0" / kind, pair)
    same = [a == b for a, b in zip(*tables, strict=True)]
    structure = [[x for x in a if "values" not in x[0]] for a in tables[0]]
    assert structure == [[x for x in a if "values" not in x[0]] for a in tables[1]]
    assert all(same) or not together


def _exchanged(week: dict[str, tuple[int, str]], one: str, two: str) -> dict[str, tuple[int, str]]:
    if one not in week:
        return week
    return week | {one: (week[one][0], week[two][1]), two: (week[two][0], week[one][1])}


def _files(folder: Path) -> list[tuple[str, bytes]]:
    return [(path.name, path.read_bytes()) for path in sorted(folder.glob("*.csv"))]


def _in_one_batch(root: Path, pair: tuple[str, str]) -> bool:
    series = Series.open(root)
    people = series.secret().pseudonyms(pl.Series(pair))
    memory = series.memory()
    home = memory.columns["home"][memory.find(people)]
    return bool(home[0] == home[1])


# Tampering ------------------------------------------------------------------------------------------


def edited(series: Series, number: int, **columns: np.ndarray) -> None:
    path = series.ledger.path(series.membership_files(number)[0])
    frame = pl.read_parquet(path)
    path.chmod(0o600)
    frame.with_columns(*(pl.Series(k, v, dtype=frame[k].dtype) for k, v in columns.items())).write_parquet(
        path
    )


def membership(series: Series, number: int) -> pl.DataFrame:
    return pl.read_parquet(series.ledger.path(series.membership_files(number)[0]))


@pytest.mark.parametrize("kind", KINDS)
def test_exchanged_people_of_two_batches_are_found(tmp_path: Path, kind: str) -> None:
    series = made(tmp_path, kind, WEEKS)
    frame = membership(series, 2).with_row_index()
    code = int(frame["code"].mode()[0])
    there = frame.filter((pl.col("code") == code) & ~pl.col("held") & (pl.col("group") > 0))
    one, two = (there.filter(pl.col("group") == g)["index"][0] for g in there["group"].unique().sort()[:2])
    group = frame["group"].to_numpy().copy()
    group[[one, two]] = group[[two, one]]
    edited(series, 2, group=group)
    assert "value-blind: together" in refused(series)


@pytest.mark.parametrize("kind", KINDS)
def test_a_held_row_that_is_somebody_elses_is_found(tmp_path: Path, kind: str) -> None:
    series = made(tmp_path, kind, WEEKS)
    frame = membership(series, 2)
    held = frame["held"].to_numpy()
    high = frame["person_high"].to_numpy().copy()
    high[held] += np.uint64(1)
    edited(series, 2, person_high=high)
    assert f"{kind}-batches=3: counts" in refused(series)


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_clock_is_found(tmp_path: Path, kind: str) -> None:
    series = made(tmp_path, kind, WEEKS)
    path = series.ledger.folder(2) / "batches.csv"
    clock = pl.read_csv(path)
    path.chmod(0o600)
    clock.with_columns(as_of=pl.lit(2)).write_csv(path)
    assert f"{kind}-batches=3: clock" in refused(series)


@pytest.mark.parametrize("kind", KINDS)
def test_a_publisher_that_ends_a_single_life_is_refused(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever left is no longer counted, however few: each of two values is missing in one batch."""
    series = made(tmp_path, kind, WEEKS[:1])
    publish = ValueBlind.publish

    def dropping(self: ValueBlind, *given: object) -> Grouping:
        found = publish(self, *given)
        assert found.snapshots is not None
        nobody = np.zeros(0, dtype=np.int32)
        fewer = found.snapshots._replace(held=found.snapshots.held[:0])
        return Grouping(found.group, nobody, nobody, snapshots=fewer)

    monkeypatch.setattr(ValueBlind, "publish", dropping)
    with pytest.raises(BrokenPromise, match="counts: does not hold"):
        series.publish(view(WEEKS[1]), meant=MEANT)
    assert len(series.records) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_publisher_that_moves_newcomers_is_refused(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two newcomers of different batches are exchanged: nothing that is stored would tell."""
    series = made(tmp_path, kind, [])
    publish = ValueBlind.publish

    def moving(self: ValueBlind, *given: object) -> Grouping:
        found = publish(self, *given)
        assert found.snapshots is not None
        group, listed = found.group.copy(), found.snapshots.listed.copy()
        one, two = (int(np.flatnonzero(group == batch)[0]) for batch in (0, 1))
        for column in (group, listed):
            column[[one, two]] = column[[two, one]]
        return Grouping(group, snapshots=found.snapshots._replace(listed=listed))

    monkeypatch.setattr(ValueBlind, "publish", moving)
    with pytest.raises(BrokenPromise, match=f"{LED}: does not hold"):
        series.publish(view(EVERYONE), meant=MEANT)


# What a stranger tried ----------------------------------------------------------------------------


def week(people: dict[str, tuple[int, str]]) -> pl.DataFrame:
    rows = [(name, *row) for name, row in people.items()]
    return pl.DataFrame(rows, schema={"id": pl.String, "age": pl.Int64, "d": pl.String}, orient="row")


def weekly(tmp_path: Path, **given: Any) -> Series:
    schema = Schema("id", [Number("age")], "d")
    return Series.create(tmp_path / "weekly", schema, ValueBlind(**given), seed=5, form=TwoTables(k=5))


def townspeople(many: int) -> dict[str, tuple[int, str]]:
    drawn = np.random.default_rng(1)
    return {f"p{i}": (int(drawn.integers(20, 80)), "abcde"[drawn.integers(5)]) for i in range(many)}


def test_a_series_of_one_empty_week_verifies(tmp_path: Path) -> None:
    series = weekly(tmp_path)
    series.publish(week({}), meant=MEANT)
    assert series.verify().holds


def test_batches_that_died_are_made_again_of_nearly_as_many_people(tmp_path: Path) -> None:
    series, people = weekly(tmp_path), townspeople(400)
    done = [series.publish(week(view), meant=MEANT) for view in (people, {}, people)]
    assert done[-1].two_tables is not None and done[-1].two_tables.without_batch < 100
    assert series.verify().holds


def test_people_without_a_batch_are_asked_about_where_there_are_no_other_columns(tmp_path: Path) -> None:
    series, people = weekly(tmp_path, batches="closed"), townspeople(200)
    for view in (people, {}, people):
        series.publish(week(view), meant=MEANT)
    assert series.release(3).count("age >= 20 and d = 'a'").upper == 200


def test_where_a_new_batch_would_exceed_the_bound_its_people_wait(tmp_path: Path) -> None:
    series, people = weekly(tmp_path), townspeople(240)
    other = {n: (age, {"a": "b", "b": "a"}.get(d, d)) for n, (age, d) in people.items()}
    for view in (people, {}, people, other, {}, other, other):
        series.publish(week(view), meant=MEANT)
    assert series.verify().holds


def test_a_batch_that_was_held_is_likely_to_be_held_again(tmp_path: Path) -> None:
    series, people = weekly(tmp_path, size=120), townspeople(140)
    series.publish(week(people))
    people |= {f"j{i}": (50, "a") for i in range(5)}  # they would be alone among those who begin
    overdue = []
    for _ in range(3):
        series.publish(week(people), meant=["same-view"])
        overdue.append(int(BatchRecord.of(series.memory()).overdue.max()))
    assert overdue == [1, 2, 3]
