"""A series in memory alone, and slow, obvious checks of what publishers that keep signatures promise."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from hypothesis import strategies as st

from republish import Category, Number, Redaction, Schema, read_view
from republish.attacks import History, Table
from republish.attacks.excluding.signature_rule import rule_of
from republish.grouping import Grouping
from republish.memory.event_lists import Appearances, events_of
from republish.memory.memory import Memory, sight
from republish.microdata import Microdata
from republish.secret import Secret

SECRET = Secret.from_text("the same for all of these tests")
SCHEMA = Schema("id", [Number("age"), Category("zip", hierarchy=Redaction()), Category("town")], "dx")
TYPES = {"id": pl.String, "age": pl.Int64, "zip": pl.String, "town": pl.String, "dx": pl.String}

Person = tuple[str, int | None, str | None, str | None, str]
"""Identifier, age, zip, town, value."""


@dataclass
class Life:
    """What a person last showed."""

    release: int
    value: str
    signature: frozenset[str]


@dataclass
class Driver:
    """Publishes view after view and keeps, beside the memory, a plain record of everyone."""

    publisher: object
    seed: int = 0
    memory: Memory = field(default_factory=Memory.empty)
    values: pl.Series | None = None
    lives: dict[str, Life] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)
    seen: list[Appearances] = field(default_factory=list)
    known: list[int] = field(default_factory=list)
    returned: int = 0
    changed: int = 0

    def publish(self, people: list[Person]) -> list[Counter]:
        """Publish one view; return the values of every group, after checking what holds for any publisher."""
        view, names = view_of(people, self.values)
        before = self.memory
        grouping = self.publisher.publish(view, before, np.random.default_rng(self.seed))
        again = self.publisher.publish(view, before, np.random.default_rng(self.seed))
        assert np.array_equal(grouping.group, again.group)
        assert np.array_equal(grouping.counterfeit_group, again.counterfeit_group)
        assert np.array_equal(grouping.counterfeit_code, again.counterfeit_code)
        assert len(grouping.group) == len(people)
        self._remember(view, grouping)
        return self._check(view, names, grouping)

    def history(self) -> History:
        """What an adversary reads who knows how the publisher treats changed values."""
        events = events_of(len(self.numbers), self.seen)
        truth = [release.code for release in self.seen]
        values = 0 if self.values is None else len(self.values)
        history = History.of(len(self.numbers), values, self.tables, events, truth)
        return replace(history, rule=rule_of(self.publisher.series_promises, np.array(self.known)))

    def _remember(self, view: Microdata, grouping: Grouping) -> None:
        release = self.memory.release + 1
        digests = view.row_digests(SECRET)
        seen = sight(view, digests, grouping.group + 1, release, self.memory)
        memory = replace(self.memory.merged(seen), release=release)
        self.memory = self.publisher.remember(view, grouping, memory)
        self.values = view.values

    def _check(self, view: Microdata, names: list[str], grouping: Grouping) -> list[Counter]:
        values = view.values.to_list()
        members = defaultdict(Counter)
        for row in range(view.rows):
            assert grouping.group[row] >= 0
            members[int(grouping.group[row])][values[view.codes[row]]] += 1
        real = set(members)
        for group, code in zip(grouping.counterfeit_group, grouping.counterfeit_code, strict=True):
            members[int(group)][values[code]] += 1
        assert set(members) == real == set(range(grouping.groups))  # no group of counterfeits alone
        for counter in members.values():
            assert len(counter) >= self.publisher.m
            assert set(counter.values()) == {1}
        self._record(view, names, grouping)
        for row, name in enumerate(names):
            value = values[view.codes[row]]
            signature = frozenset(members[int(grouping.group[row])])
            self._compare(name, value, signature)
            self.lives[name] = Life(self.memory.release, value, signature)
        return [members[group] for group in range(grouping.groups)]

    def _record(self, view: Microdata, names: list[str], grouping: Grouping) -> None:
        person = np.array(
            [self.numbers.setdefault(name, len(self.numbers)) for name in names], dtype=np.int64
        )
        group, codes = grouping.group.astype(np.int64), view.codes.astype(np.int64)
        rows = np.concatenate([group, grouping.counterfeit_group]).astype(np.int64)
        held = np.concatenate([codes, grouping.counterfeit_code]).astype(np.int64)
        self.tables.append(Table(person, group, rows, held))
        self.seen.append(Appearances(person, codes, view.row_digests(SECRET)))
        self.known.append(len(view.values))

    def _compare(self, name: str, value: str, signature: frozenset[str]) -> None:
        """Check that whoever must keep a signature does."""
        last = self.lives.get(name)
        if last is None:
            return
        present = last.release == self.memory.release - 1
        self.returned += not present
        self.changed += value != last.value
        if self.publisher.name == "m-invariance":
            keeps = present and value == last.value
        else:
            apart = self.publisher.signatures == "equal-or-disjoint"
            room = self.known[-1] - len(last.signature) >= self.publisher.m
            bound = apart or (not present and room)
            keeps = value == last.value or (bound and value in last.signature)
            assert keeps or not bound or not signature & last.signature
        assert signature == last.signature or not keeps


def view_of(people: list[Person], known: pl.Series | None = None) -> tuple[Microdata, list[str]]:
    """The view in the order of pseudonyms, and the names of its people in that order."""
    frame = pl.DataFrame(people, schema=TYPES, orient="row")
    view = read_view(frame, SCHEMA, known).pseudonymous(SECRET)
    pseudonyms = SECRET.pseudonyms(frame["id"])
    order = np.lexsort((pseudonyms[:, 1], pseudonyms[:, 0]))
    return view, frame["id"].gather(order).to_list()


def counterfeits(groups: list[Counter], people: int) -> int:
    """How many entries of the groups belong to nobody."""
    return sum(sum(group.values()) for group in groups) - people


@st.composite
def series_of_views(draw, values=7):
    """Views in which people come, go, change, come back; some are bursts, some empty, some bring new values."""
    names = [f"p{i}" for i in range(draw(st.integers(6, 24)))]
    views = []
    state = {}
    domain = draw(st.integers(4, values))
    for _ in range(draw(st.integers(2, 6))):
        kind = draw(st.sampled_from(["churn", "churn", "churn", "burst", "empty", "fresh"]))
        domain += kind == "fresh"
        seed = draw(st.integers(0, 2**32 - 1))
        rng = np.random.default_rng(seed)
        share = {"empty": 0.0, "burst": 1.0}.get(kind, rng.random())
        present = [name for name in names if rng.random() < share]
        for name in present:
            if name not in state or rng.random() < 0.3:
                value = f"v{int(domain * rng.random() ** 2)}"
                state[name] = (
                    int(rng.integers(20, 90)) if rng.random() < 0.9 else None,
                    f"{int(rng.integers(10, 15))}" if rng.random() < 0.9 else None,
                    str(rng.choice(["n", "s", "e"])),
                    value,
                )
        views.append([(name, *state[name]) for name in present])
    return views


CLOSED = [(f"p{i}", 1, "10", "n", f"v{i}") for i in range(20)]


def with_domain(driver):
    """Let the driver know twenty values, as a closed domain would."""
    view, _ = view_of(CLOSED)
    driver.values = view.values
    return driver
