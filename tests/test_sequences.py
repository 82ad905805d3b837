"""Whole series of random weeks: whatever happens between them, every release verifies and nothing is lost."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import polars as pl
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from republish import CannotPublish, Category, LDiversity, Mondrian, Number, Redaction, Schema, Series
from republish.upkeep import forget, withdraw

SCHEMA = Schema("id", [Number("age"), Category("zip", hierarchy=Redaction())], "dx")
VALUES = ["flu", "cold", "hiv", "none"]


class Weeks(RuleBasedStateMachine):
    """Inserts, updates, deletes, re-inserts, new categories, empty and small weeks, crashes of the process aside."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.series = Series.create(
            self.folder / "s", SCHEMA, Mondrian(3, (LDiversity(2),)), seed=1, one_table=True
        )
        self.present: dict[str, tuple[int, str, str]] = {}
        self.absent: dict[str, tuple[int, str, str]] = {}
        self.remembered: set[str] = set()
        self.values = list(VALUES)
        self.next = 0

    def teardown(self) -> None:
        self.series.ledger.close()
        shutil.rmtree(self.folder)

    @rule(count=st.integers(1, 12), data=st.data())
    def insert(self, count: int, data: st.DataObject) -> None:
        for _ in range(count):
            row = (
                data.draw(st.integers(0, 30)),
                data.draw(st.sampled_from(["11", "12", "21"])),
                self.draw_value(data),
            )
            self.present[f"p{self.next}"] = row
            self.next += 1

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        for person in data.draw(
            st.lists(st.sampled_from(sorted(self.present) or ["nobody"]), unique=True, max_size=5)
        ):
            if person in self.present:
                self.absent[person] = self.present.pop(person)

    @rule(data=st.data(), changed=st.booleans())
    def reinsert(self, data: st.DataObject, changed: bool) -> None:
        for person in data.draw(
            st.lists(st.sampled_from(sorted(self.absent) or ["nobody"]), unique=True, max_size=5)
        ):
            if person in self.absent:
                age, place, value = self.absent.pop(person)
                self.present[person] = (age, place, self.draw_value(data) if changed else value)

    @rule(data=st.data(), moves=st.booleans())
    def update(self, data: st.DataObject, moves: bool) -> None:
        if not self.present:
            return
        person = data.draw(st.sampled_from(sorted(self.present)))
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
        view = pl.DataFrame(
            rows, schema={"id": pl.String, "age": pl.Int64, "zip": pl.String, "dx": pl.String}, orient="row"
        )
        before = len(self.series.records)
        try:
            done = self.series.publish(view)
        except CannotPublish:
            assert len(self.series.records) == before
            assert 0 < len(rows) < 3 or len({row[2] for row in self.present.values()}) < 2
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
        if self.remembered:
            person = data.draw(st.sampled_from(sorted(self.remembered)))
            forget(self.series, pl.DataFrame({"id": [person]}))
            self.remembered.discard(person)

    @invariant()
    def everything_verifies(self) -> None:
        if hasattr(self, "series"):
            assert self.series.verify().holds
            assert self.series.memory().size == len(self.remembered)

    def draw_value(self, data: st.DataObject) -> str:
        return str(data.draw(st.sampled_from(self.values)))


TestWeeks = Weeks.TestCase
TestWeeks.settings = settings(max_examples=12, stateful_step_count=14, deadline=None)
