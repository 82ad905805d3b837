"""Batches found anew from quasi-identifiers: what the publisher lists is accepted, anything else is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batch_driver import BatchDriver
from publishers.dynamic import view_of
from republish.errors import CannotPublish
from republish.grouping import Grouping
from republish.memory.memory import Memory
from republish.microdata import Microdata
from republish.publishers import ValueBlind
from republish.verify.check import Check
from republish.verify.zones import led_by_zones

KINDS = ("open", "closed")


class Checked(BatchDriver):
    """A driver that keeps what the last release was made of."""

    def step(self, people: list[tuple[str, int, str, str, str]]) -> tuple[Microdata, Memory, Grouping]:
        before, known = self.memory, self.values
        grouping = self.publish(people)
        return view_of(people, known)[0], before, grouping


def check(
    publisher: ValueBlind,
    made: tuple[Microdata, Memory, Grouping],
    listed: np.ndarray | None = None,
    cuts: pl.DataFrame | None = None,
) -> Check:
    view, memory, grouping = made
    snapshots = grouping.snapshots
    assert snapshots is not None
    terms = publisher.batch_terms(view)
    shown = snapshots.listed + 1 if listed is None else listed
    return led_by_zones(view, shown, memory, snapshots.zones.frame() if cuts is None else cuts, terms)


def weeks(seed: int, releases: int, rows: int = 60) -> list[list[tuple[str, int, str, str, str]]]:
    rng = np.random.default_rng(seed)
    state: dict[str, tuple[int, str, str, str]] = {}
    found = []
    for week in range(releases):
        for name in [n for n in state if rng.random() < 0.1]:
            state[name] = (*state[name][:3], f"v{rng.integers(5)}")
        for i in range(rows if week == 0 else int(rng.integers(0, 40))):
            row = int(rng.integers(20, 60)), f"{rng.integers(10, 14)}", str(rng.choice(["n", "s"]))
            state[f"p{week}.{i}"] = (*row, f"v{rng.integers(5)}")
        found.append([(name, *row) for name, row in state.items() if rng.random() < 0.8])
    return found


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_what_the_publisher_lists_is_where_quasi_identifiers_lead(kind: str, seed: int) -> None:
    publisher = ValueBlind(kind, 10, 2, 2, max_determined=0.9, weights="age=2")
    driver = Checked(publisher)
    for people in weeks(seed, 4):
        try:
            made = driver.step(people)
        except CannotPublish:
            return
        assert check(publisher, made).holds


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("release", [1, 3])
def test_a_row_that_is_moved_is_found(kind: str, release: int) -> None:
    publisher = ValueBlind(kind, 10, 2, 2, max_determined=0.9)
    driver = Checked(publisher)
    for people in weeks(7, release):
        made = driver.step(people)
    view, _, grouping = made
    assert grouping.snapshots is not None
    listed = grouping.snapshots.listed + 1
    batches = np.unique(listed[listed > 0])
    for row in range(0, view.rows, 5):
        for elsewhere in (0, *batches[:3]):
            moved = listed.copy()
            moved[row] = elsewhere
            if elsewhere != listed[row] and np.count_nonzero(listed == listed[row]) > 1:
                found = check(publisher, made, moved)
                assert not found.holds, (row, elsewhere)
                assert found.rows > 0


@pytest.mark.parametrize("kind", KINDS)
def test_other_numbers_of_batches_are_the_same_batches(kind: str) -> None:
    publisher = ValueBlind(kind, 10, 2, 2, max_determined=0.9)
    driver = Checked(publisher)
    for people in weeks(7, 3):
        made = driver.step(people)
    assert made[2].snapshots is not None
    listed = made[2].snapshots.listed + 1
    number = np.append(0, np.random.default_rng(1).permutation(listed.max()) + 1)
    assert check(publisher, made, number[listed]).holds


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("column", ["axis", "cut", "share"])
def test_cuts_that_quasi_identifiers_do_not_call_for_are_found(kind: str, column: str) -> None:
    """Everyone is where the altered cuts lead; but nothing leads to these cuts."""
    publisher = ValueBlind(kind, 10, 2, 2, max_determined=0.9)
    made = Checked(publisher).step(weeks(7, 1)[0])
    assert made[2].snapshots is not None
    cuts = made[2].snapshots.zones.frame()
    other = {"axis": (pl.col("axis") + 1) % 3, "cut": pl.col("cut") + 3, "share": 1 - pl.col("share") / 2}[
        column
    ]
    assert not check(publisher, made, cuts=cuts.with_columns(other.alias(column))).holds


def test_other_cuts_than_those_remembered_are_found() -> None:
    publisher = ValueBlind("open", 10, 2, 2, max_determined=0.9)
    driver = Checked(publisher)
    for people in weeks(7, 2):
        made = driver.step(people)
    assert made[2].snapshots is not None
    cuts = made[2].snapshots.zones.frame()
    assert not check(publisher, made, cuts=cuts.with_columns(share=pl.col("share") / 2)).holds


@pytest.mark.parametrize("kind", KINDS)
def test_zones_that_are_not_neighbours_must_not_be_one_batch(kind: str) -> None:
    publisher = ValueBlind(kind, 10, 2, 2, max_determined=0.9)
    made = Checked(publisher).step(weeks(7, 1)[0])
    assert made[2].snapshots is not None
    listed = made[2].snapshots.listed + 1
    first, last = 1, int(listed.max())
    assert last > 2
    assert not check(publisher, made, np.where(listed == last, first, listed)).holds
    assert check(publisher, made, np.where(listed == last, last - 1, listed)).holds


def test_values_have_no_part_in_it() -> None:
    publisher = ValueBlind("open", 10, 2, 2, max_determined=0.9)
    view, memory, grouping = Checked(publisher).step(weeks(7, 1)[0])
    mixed = replace(view, codes=np.random.default_rng(1).permutation(view.codes))
    assert check(publisher, (mixed, memory, grouping)).holds
