"""Whole series of random weeks: whatever happens between them, every release verifies and nothing is lost.

Every series begins with a crowd and two weeks in which people change, move, leave and come back; then anything may
happen. What was published is counted, so that a test in which nothing happens cannot pass.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import polars as pl
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from republish import CannotPublish, Category, LDiversity, Mondrian, Number, Schema, Series, TwoTables
from republish.attacks import Adversary, History, attack, history_of
from republish.hierarchies import Hierarchy
from republish.parts import Here
from republish.publishers import BayFrame, CorSplit, JSReduce, MInvariance, Publisher, TauSafety
from republish.publishing.maintenance import amend_hierarchy, forget, withdraw
from republish.publishing.plausibility import MEANT
from republish.publishing.result import Published
from republish.secret import VARIABLE
from slow import quick

PLACES = ("11", "12", "21", "22")
VALUES = ("flu", "cold", "hiv", "none", "asthma", "gout", "burn", "cut")
COLUMNS = {"id": pl.String, "age": pl.Int64, "zip": pl.String, "dx": pl.String}
EVENTS = ("new", "returned", "left", "changed_value", "changed_quasi_identifiers")
ATTACKS = ("intersection", "compromised", "historical")

Row = tuple[int | None, str, str | None]
Seeds = st.integers(0, 2**32 - 1)


class Weeks(RuleBasedStateMachine):
    """Inserts, updates, deletes, re-inserts, moves, new values, bursts, empty weeks; forget, amend, withdraw."""

    publisher: ClassVar[Callable[[int], Publisher]] = lambda m: Mondrian(3, (LDiversity(m),))
    attacked_by: ClassVar[tuple[str, ...]] = ()
    returns: ClassVar[bool] = True
    in_parts: ClassVar[Literal["never", "always", "by turns"]] = "never"
    form: ClassVar[TwoTables | None] = None
    happened: ClassVar[Counter[str]] = Counter()

    @initialize(m=st.sampled_from([2, 3]), seed=Seeds)
    def begin(self, m: int, seed: int) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.places = list(PLACES)
        hierarchy = Hierarchy(tuple((place, f"{place[0]}*", "*") for place in PLACES))
        schema = Schema("id", [Number("age"), Category("zip", hierarchy=hierarchy)], "dx")
        self.series = Series.create(
            self.folder / "s", schema, type(self).publisher(m), seed=seed, one_table=True, form=self.form
        )
        self.m = m
        self.values: list[str | None] = list(VALUES)
        self.present: dict[str, Row] = {}
        self.absent: dict[str, Row] = {}
        self.last: dict[str, tuple[int, Row]] = {}  # release and row of everyone's last sight
        self.next = 0
        self.begun = False
        self.burst()
        self.upheaval(seed)
        self.upheaval(seed + 1)
        self.begun = True
        if seed % 2:
            self.forgotten(seed)
        else:
            self.check()

    def teardown(self) -> None:
        if hasattr(self, "series"):
            self.series.ledger.close()
            shutil.rmtree(self.folder)

    # What happens in a week; each ends with a release -----------------------------------------------

    @rule()
    def burst(self) -> None:
        for i in range(24):
            self.arrive((i % 7, self.places[i % 3], self.values[i % len(self.values)]))
        self.publish()

    @rule(seed=Seeds)
    def upheaval(self, seed: int) -> None:
        """Everything in one week."""
        chance = random.Random(seed)
        back = self.some(self.absent, chance) if self.returns else []
        self.leave(self.some(self.present, chance))
        self.change(self.some(self.present, chance), chance)
        self.move(self.some(self.present, chance), chance)
        self.come_back(back, chance)
        for _ in range(8):
            self.arrive(self.anything(chance))
        self.publish()

    @rule(seed=Seeds)
    def changed_values(self, seed: int) -> None:
        chance = random.Random(seed)
        self.change(self.some(self.present, chance), chance)
        self.publish()

    @rule(seed=Seeds)
    def departures(self, seed: int) -> None:
        self.leave(self.some(self.present, random.Random(seed)))
        self.publish()

    @rule(seed=Seeds)
    def homecomings(self, seed: int) -> None:
        chance = random.Random(seed)
        self.come_back(self.some(self.absent, chance) if self.returns else [], chance)
        self.publish()

    @rule(seed=Seeds)
    def removals(self, seed: int) -> None:
        chance = random.Random(seed)
        self.move(self.some(self.present, chance), chance)
        self.publish()

    @rule(seed=Seeds)
    def new_value(self, seed: int) -> None:
        """A value that nobody had before, the first time a missing one, among newcomers and others."""
        chance = random.Random(seed)
        fresh = None if None not in self.values else f"new{len(self.values)}"
        self.values.append(fresh)
        for person in self.some(self.present, chance)[:2]:
            self.present[person] = (*self.present[person][:2], fresh)
        self.arrive((chance.randrange(9), "11", fresh))
        self.publish()

    @rule(seed=Seeds)
    def empty_week(self, seed: int) -> None:
        """Nobody is there; some come back in the week after, if anyone ever does."""
        self.leave(list(self.present))
        self.publish()
        if self.returns:
            chance = random.Random(seed)
            self.come_back(self.some(self.absent, chance), chance)
            self.publish()

    @rule(seed=Seeds)
    def one_value_only(self, seed: int) -> None:
        """Newcomers who all have the same value, and no quasi-identifier that is known of all."""
        value = random.Random(seed).choice(self.values)
        for _ in range(3):
            self.arrive((None, "12", value))
        self.publish()

    @rule(seed=Seeds)
    def forgotten(self, seed: int) -> None:
        """Some are erased; who is present stays in the views, as somebody new."""
        gone = self.some(self.last, random.Random(seed))[:4]
        forget(self.series, pl.DataFrame({"id": gone}))
        for person in gone:
            del self.last[person]
        self.happened["forgotten"] += len(gone)
        self.check()
        self.publish()

    @rule(seed=Seeds)
    def amended(self, seed: int) -> None:
        """A new place, where some move."""
        place = f"{3 + len(self.places)}0"
        file = self.folder / "more.csv"
        file.write_text(f"{place};{place[0]}*;*\n", encoding="utf-8")
        self.happened["amended"] += amend_hierarchy(self.series, "zip", file)
        self.places.append(place)
        chance = random.Random(seed)
        for person in self.some(self.present, chance):
            age, _, value = self.present[person]
            self.present[person] = (age, place, value)
        self.publish()

    @rule()
    def withdrawn(self) -> None:
        number = len(self.series.records)
        if number not in self.series.withdrawn():
            withdraw(self.series, number)
            self.check()

    # What people do ---------------------------------------------------------------------------------

    def arrive(self, row: Row) -> None:
        self.present[f"p{self.next}"] = row
        self.next += 1

    def leave(self, people: list[str]) -> None:
        for person in people:
            self.absent[person] = self.present.pop(person)

    def change(self, people: list[str], chance: random.Random) -> None:
        for person in people:
            self.present[person] = (*self.present[person][:2], chance.choice(self.values))

    def move(self, people: list[str], chance: random.Random) -> None:
        for person in people:
            self.present[person] = (*self.anything(chance)[:2], self.present[person][2])

    def come_back(self, people: list[str], chance: random.Random) -> None:
        """With the old value or another one, here or elsewhere."""
        for person in people:
            age, place, value = self.absent.pop(person)
            place = chance.choice([place, chance.choice(self.places)])
            self.present[person] = (age, place, chance.choice([value, chance.choice(self.values)]))

    def anything(self, chance: random.Random) -> Row:
        age = None if chance.random() < 0.05 else chance.randrange(30)
        return age, chance.choice(self.places), chance.choice(self.values)

    def some(self, people: dict[str, object], chance: random.Random) -> list[str]:
        """A few of these people, at least one if there is one."""
        known = sorted(people)
        return chance.sample(known, min(len(known), chance.randint(1, 8)))

    # What must be true ------------------------------------------------------------------------------

    def publish(self) -> None:
        """Publish the view; where its newcomers are too much alike, with others among them."""
        before = len(self.series.records)
        try:
            done = self.released()
        except CannotPublish:
            self.happened["refused"] += 1
            assert len(self.series.records) == before
            for i in range(12 * len(self.values)):
                self.arrive((i % 7, "21", self.values[i % len(self.values)]))
            done = self.released()
        assert (done.number, done.rows) == (before + 1, len(self.present))
        found = {name: getattr(done.arrivals, name) for name in EVENTS}
        assert found == self.expected(done.number)
        self.last |= {person: (done.number, row) for person, row in self.present.items()}
        self.happened.update(found)
        self.happened.update(releases=1, rows=done.rows, suppressed=done.suppressed, empty=not done.rows)
        self.check()

    def released(self) -> Published:
        """The release of the view, made by one process or in parts."""
        number = len(self.series.records) + 1
        if self.in_parts == "always" or (self.in_parts == "by turns" and number % 2):
            self.happened["in parts"] += 1
            return self.series.publish(self.view(), engine=Here(parts=1 + number % 3), meant=MEANT)
        return self.series.publish(self.view(), compromised=self.compromised(), meant=MEANT)

    def expected(self, number: int) -> dict[str, int]:
        """How the view differs from what is remembered."""
        known = {person: self.last[person] for person in self.present if person in self.last}
        stayed = sum(release == number - 1 for release, _ in known.values())
        before = sum(release == number - 1 for release, _ in self.last.values())
        rows = [(row, self.present[person]) for person, (_, row) in known.items()]
        return {
            "new": len(self.present) - len(known),
            "returned": len(known) - stayed,
            "left": before - stayed,
            "changed_value": sum(old[2] != new[2] for old, new in rows),
            "changed_quasi_identifiers": sum(old[:2] != new[:2] for old, new in rows),
        }

    def check(self) -> None:
        if self.begun:
            with self.series.ledger.lock("looking"):  # the catalogue is read once
                self.verify()

    def verify(self) -> None:
        found = self.series.verify()
        assert found.holds, (
            found.problems,
            [c for v in found.releases.values() for c in v.checks if not c.holds],
        )
        assert self.series.memory().size == len(self.last)
        if self.attacked_by:
            # what is promised is promised against somebody who does not know the values of people who were forgotten
            history = replace(history_of(self.series), forgotten=None)
            for result in attack(history, Adversary(), self.attacked_by, m=self.m):
                assert result.overall.below_m == 0, result.name
            self.check_compromised(history)

    def check_compromised(self, history: History) -> None:
        """An adversary who knows some people excludes no true value.

        Without correlations and cascading, everyone she knows takes at most one value a life from others.
        """
        known = np.random.default_rng(history.groups).permutation(history.people)[:3]
        assert history.truth is not None
        for name in ("compromised", "historical"):
            for cascade in (True, False):
                adversary = Adversary(compromised=known.tolist(), cascade=cascade)
                (result,) = attack(history, adversary, (name,), m=self.m)
                sets = result.findings.sets[result.findings.unknowns.of_appearance]
                words = sets[np.arange(len(sets)), history.truth // 64]
                assert ((words >> (history.truth % 64).astype(np.uint64)) & np.uint64(1)).all()
        (one,) = attack(history, Adversary(compromised=known[:1].tolist(), cascade=False), ("compromised",))
        unknowns = one.findings.unknowns
        lives = int((unknowns.person == known[0]).sum()) if len(known) else 0
        others = one.candidates[~np.isin(history.person, known[:1])]
        assert (others >= self.m - lives).all()

    def compromised(self) -> pl.DataFrame | None:
        """What outsiders know of single people, for publishers that take it into account."""
        return None

    def view(self) -> pl.DataFrame:
        rows = [(person, *row) for person, row in self.present.items()]
        return pl.DataFrame(rows, schema=COLUMNS, orient="row")


class TauSafeWeeks(Weeks):
    """Any series."""

    publisher = TauSafety
    attacked_by = (*ATTACKS, "tau")


class EqualOrDisjointWeeks(TauSafeWeeks):
    """Any series, updates hidden too."""

    publisher = lambda m: TauSafety(m, signatures="equal-or-disjoint")  # noqa: E731


class MInvariantWeeks(Weeks):
    """Nobody returns; a changed value counts as a new person."""

    publisher = MInvariance
    returns = False
    attacked_by = ATTACKS


class ReturningMInvariantWeeks(Weeks):
    """A return is accepted and verifies, but it is not protected over the absence."""

    publisher = MInvariance


class CorSplitWeeks(Weeks):
    """Any series: signatures are kept over absences too."""

    publisher = lambda m: CorSplit(m, n=2)  # noqa: E731
    attacked_by = ATTACKS


class PaddedCorSplitWeeks(CorSplitWeeks):
    """The highest degree, and counterfeits in place of a refusal."""

    publisher = lambda m: CorSplit(m, n=m, pad=True)  # noqa: E731


class AngelizedWeeks(TauSafeWeeks):
    """Any series, people and values in two tables."""

    form = TwoTables(k=3)


class WholeBucketWeeks(AngelizedWeeks):
    """The same, with the bound of those who stay together; made in one piece."""

    publisher = lambda m: TauSafety(m, compromised=0.04)  # noqa: E731


class HiddenBatchWeeks(AngelizedWeeks):
    """The same, and quasi-identifiers exclude no batch; made in one piece."""

    form = TwoTables(k=2, hide_batch=True)


class BucketizedWeeks(Weeks):
    """What an adversary believes, with values by batch."""

    publisher = lambda m: JSReduce(k=m + 1, crowd=6)  # noqa: E731
    form = TwoTables(k=2)


class JSReduceWeeks(Weeks):
    """What an adversary believes, from what is counted in the views."""

    publisher = lambda m: JSReduce(k=m + 1, crowd=6)  # noqa: E731


class BayFrameWeeks(Weeks):
    """The same, and outsiders know something of one in nine."""

    publisher = lambda m: BayFrame(k=m + 1, crowd=6)  # noqa: E731

    def compromised(self) -> pl.DataFrame | None:
        known = [person for person in self.present if int(person[1:]) % 9 == 0]
        if not known:
            return None
        columns = {"id": known, "dx": [self.present[p][2] for p in known], "p": [0.7] * len(known)}
        return pl.DataFrame(columns, schema={"id": pl.String, "dx": pl.String, "p": pl.Float64})


MACHINES = [
    Weeks,
    TauSafeWeeks,
    EqualOrDisjointWeeks,
    MInvariantWeeks,
    ReturningMInvariantWeeks,
    CorSplitWeeks,
    PaddedCorSplitWeeks,
    AngelizedWeeks,
    WholeBucketWeeks,
    HiddenBatchWeeks,
    BucketizedWeeks,
    JSReduceWeeks,
    BayFrameWeeks,
]


DIVIDED = [weeks for weeks in MACHINES if weeks not in (WholeBucketWeeks, HiddenBatchWeeks)]


@pytest.fixture(autouse=True)
def the_same_groups_in_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failing series must fail again when it is repeated."""
    monkeypatch.setenv(VARIABLE, "the secret of random weeks")


def run(weeks: type[Weeks], examples: int, steps: int) -> Counter[str]:
    """What happened in so many series of so many steps, all of which verified."""
    weeks.happened = Counter()
    phases = (Phase.explicit, Phase.reuse, Phase.generate)  # steps are few, and seeds do not shrink
    chosen = settings(max_examples=examples, stateful_step_count=steps, deadline=None, phases=phases)
    run_state_machine_as_test(weeks, settings=chosen)
    return weeks.happened


def require_events(weeks: type[Weeks], happened: Counter[str], least: int) -> None:
    """Every kind of event was published so often, and not mostly by leaving people out."""
    expected = [event for event in EVENTS if weeks.returns or event != "returned"]
    assert all(happened[event] >= least for event in expected), happened
    assert happened["suppressed"] < 0.5 * happened["rows"]


@pytest.mark.parametrize("weeks", MACHINES, ids=lambda machine: machine.__name__)
def test_every_release_of_a_random_series_verifies(weeks: type[Weeks]) -> None:
    require_events(weeks, run(weeks, examples=3, steps=3), least=3)


@pytest.mark.parametrize(
    "weeks",
    quick(DIVIDED, lambda weeks: weeks in (TauSafeWeeks, CorSplitWeeks, JSReduceWeeks)),
    ids=lambda machine: machine.__name__,
)
@pytest.mark.parametrize("in_parts", quick(["always", "by turns"], lambda how: how == "by turns"))
def test_every_release_of_a_random_series_made_in_parts_verifies(weeks: type[Weeks], in_parts: str) -> None:
    machine = type(f"{weeks.__name__}InParts", (weeks,), {"in_parts": in_parts})
    happened = run(machine, examples=2, steps=2)
    require_events(machine, happened, least=2)
    assert happened["in parts"] >= (6 if in_parts == "always" else 4)


@pytest.mark.long
@pytest.mark.parametrize("weeks", DIVIDED, ids=lambda machine: machine.__name__)
@pytest.mark.parametrize("in_parts", ["always", "by turns"])
def test_every_release_of_many_random_series_made_in_parts_verifies(
    weeks: type[Weeks], in_parts: str
) -> None:
    machine = type(f"{weeks.__name__}InParts", (weeks,), {"in_parts": in_parts})
    require_events(machine, run(machine, examples=10, steps=8), least=30)


@pytest.mark.long
@pytest.mark.parametrize("weeks", MACHINES, ids=lambda machine: machine.__name__)
def test_every_release_of_many_random_series_verifies(weeks: type[Weeks]) -> None:
    happened = run(weeks, examples=20, steps=12)
    require_events(weeks, happened, least=60)
    assert min(happened["forgotten"], happened["amended"], happened["empty"]) >= 2, happened
