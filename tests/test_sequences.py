"""Whole series of random weeks: whatever happens between them, every release verifies and nothing is lost."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import ClassVar

import polars as pl
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from republish import CannotPublish, Category, LDiversity, Mondrian, Number, Redaction, Schema, Series
from republish.attacks import Adversary, attack
from republish.publishers import CorSplit, MInvariance, Publisher, TauSafety
from republish.upkeep import forget, withdraw

SCHEMA = Schema("id", [Number("age"), Category("zip", hierarchy=Redaction())], "dx")
VALUES = ["flu", "cold", "hiv", "none", "asthma"]
M = 2


class Weeks(RuleBasedStateMachine):
    """Inserts, updates, deletes, re-inserts, moves, new categories, bursts, empty and small weeks."""

    publisher: ClassVar[Publisher] = Mondrian(3, (LDiversity(2),))
    returns: ClassVar[bool] = True
    attacked_by: ClassVar[tuple[str, ...]] = ()

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.series = Series.create(self.folder / "s", SCHEMA, self.publisher, seed=1, one_table=True)
        self.present: dict[str, tuple[int, str, str]] = {}
        self.absent: dict[str, tuple[int, str, str]] = {}
        self.remembered: set[str] = set()
        self.values = list(VALUES)
        self.next = 0

    def teardown(self) -> None:
        if hasattr(self, "series"):
            self.series.ledger.close()
            shutil.rmtree(self.folder)

    @rule(count=st.integers(1, 12), data=st.data())
    def insert(self, count: int, data: st.DataObject) -> None:
        places = st.sampled_from(["11", "12", "21"])
        for _ in range(count):
            self.present[f"p{self.next}"] = (
                data.draw(st.integers(0, 30)),
                data.draw(places),
                self.draw_value(data),
            )
            self.next += 1

    @rule()
    def burst(self) -> None:
        for i in range(20):
            self.present[f"p{self.next}"] = (i, "11", self.values[i % len(self.values)])
            self.next += 1

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        for person in self.some(self.present, data):
            self.absent[person] = self.present.pop(person)

    @rule(data=st.data(), changed=st.booleans())
    def reinsert(self, data: st.DataObject, changed: bool) -> None:
        if self.returns:
            for person in self.some(self.absent, data):
                age, place, value = self.absent.pop(person)
                self.present[person] = (age, place, self.draw_value(data) if changed else value)

    @rule(data=st.data(), moves=st.booleans())
    def update(self, data: st.DataObject, moves: bool) -> None:
        for person in self.some(self.present, data):
            age, place, value = self.present[person]
            self.present[person] = (age + 1, place, value) if moves else (age, place, self.draw_value(data))

    @rule()
    def new_category(self) -> None:
        self.values.append(f"new{len(self.values)}")

    @rule()
    def everyone_leaves(self) -> None:
        self.absent |= self.present
        self.present = {}

    @rule()
    def publish(self) -> None:
        rows = [(person, *row) for person, row in self.present.items()]
        kinds = {"id": pl.String, "age": pl.Int64, "zip": pl.String, "dx": pl.String}
        before = len(self.series.records)
        try:
            done = self.series.publish(pl.DataFrame(rows, schema=kinds, orient="row"))
        except CannotPublish:
            assert len(self.series.records) == before
            return
        assert done.number == before + 1
        assert done.rows == len(rows)
        assert done.arrivals.new == len(set(self.present) - self.remembered)
        self.remembered |= set(self.present)

    @rule()
    def withdraw_last(self) -> None:
        number = len(self.series.records)
        if number and number not in self.series.withdrawn():
            withdraw(self.series, number)

    @rule(data=st.data())
    def forget_one(self, data: st.DataObject) -> None:
        if self.remembered and not self.attacked_by:  # forgetting ends what a series protects
            person = data.draw(st.sampled_from(sorted(self.remembered)))
            forget(self.series, pl.DataFrame({"id": [person]}))
            self.remembered.discard(person)

    @invariant()
    def everything_verifies(self) -> None:
        if hasattr(self, "series"):
            assert self.series.verify().holds
            assert self.series.memory().size == len(self.remembered)

    @invariant()
    def nobody_has_fewer_candidates_than_promised(self) -> None:
        if self.attacked_by and hasattr(self, "series") and self.series.records:
            for result in attack(self.series, Adversary(), self.attacked_by, m=M):
                assert result.overall.below_m == 0

    def draw_value(self, data: st.DataObject) -> str:
        return str(data.draw(st.sampled_from(self.values)))

    def some(self, people: dict[str, tuple[int, str, str]], data: st.DataObject) -> list[str]:
        """A few of these people."""
        if not people:
            return []
        return data.draw(st.lists(st.sampled_from(sorted(people)), unique=True, max_size=5))


class TauSafeWeeks(Weeks):
    """Any series."""

    publisher = TauSafety(m=M)
    attacked_by = ("intersection", "tau", "compromised", "historical")


class EqualOrDisjointWeeks(TauSafeWeeks):
    """Any series, updates hidden too."""

    publisher = TauSafety(m=M, signatures="equal-or-disjoint")


class MInvariantWeeks(Weeks):
    """Series without returns; a changed value counts as a new person."""

    publisher = MInvariance(m=M)
    returns = False
    attacked_by = ("intersection", "compromised", "historical")


class CorSplitWeeks(MInvariantWeeks):
    """The same, with correlations kept apart."""

    publisher = CorSplit(m=M, n=2)


MACHINES = [Weeks, TauSafeWeeks, EqualOrDisjointWeeks, MInvariantWeeks, CorSplitWeeks]


@pytest.mark.parametrize("weeks", MACHINES, ids=lambda machine: machine.__name__)
def test_every_release_of_a_random_series_verifies(weeks: type[Weeks]) -> None:
    run_state_machine_as_test(weeks, settings=settings(max_examples=8, stateful_step_count=14, deadline=None))


@pytest.mark.long
@pytest.mark.parametrize("weeks", MACHINES, ids=lambda machine: machine.__name__)
def test_every_release_of_many_random_series_verifies(weeks: type[Weeks]) -> None:
    run_state_machine_as_test(
        weeks, settings=settings(max_examples=150, stateful_step_count=40, deadline=None)
    )
