"""One value of every bucket has no counterfeit: worlds counted, and the publisher itself run on every input."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations, product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.retracing.gathered import SCHEMA, SECRET, people, read
from republish import Cohorts, MInvariance, Series, TauSafety
from republish.attacks import Adversary, target_with_views
from republish.attacks.history import History
from republish.attacks.replaying.input_enumeration import Options, Tried, try_inputs
from republish.attacks.replaying.replay import Replay
from republish.attacks.replaying.small_series import Case
from republish.attacks.retracing.full_values import MOST_VALUES, full_value_odds
from republish.attacks.retracing.gathering import gathering
from republish.attacks.retracing.traces import AlikeGroups, Trace
from republish.attacks.retracing.zones import zones_of_releases
from republish.grouping import Grouping
from republish.memory.memory import Memory
from republish.microdata import Microdata, read_view
from republish.publishers import Publisher
from republish.publishing.plausibility import MEANT


def bucket(groups: int, values: int, seed: int) -> tuple[AlikeGroups, np.ndarray, np.ndarray]:
    """A bucket in which some value has no counterfeit, whom she knows, and who has which value."""
    rng = np.random.default_rng(seed)
    real = rng.random((groups, values)) < rng.random()
    real[:, rng.integers(values)] = True
    entry, world = np.full((2, groups, values), -1)
    world[:] = 0
    first = 0
    for g in range(groups):
        members = rng.permutation(np.flatnonzero(real[g]))
        entry[g, : len(members)] = np.arange(first, first + len(members))
        world[g, np.append(members, np.flatnonzero(~real[g]))] = g * values + np.arange(values)
        first += len(members)
    fixed = (entry >= 0) & (rng.random((groups, values)) < rng.random() / 2)
    return AlikeGroups(entry, entry, np.arange(values)), fixed, world


def worlds(groups: AlikeGroups, fixed: np.ndarray, world: np.ndarray) -> np.ndarray:
    """In how many worlds in which some value has no counterfeit every entry has every value; all are tried."""
    n, w = world.shape
    ways = []
    for g in range(n):
        size = int((groups.entry[g] >= 0).sum())
        told = [(i, p) for p in range(w) for i in range(w) if fixed[g, i] and world[g, p] == g * w + i]
        ways.append(
            [chosen for chosen in permutations(range(w), size) if all(chosen[i] == p for i, p in told)]
        )
    weight = np.zeros((n, w, w))
    for one in product(*ways):
        if set.intersection(*(set(chosen) for chosen in one)):
            for g, chosen in enumerate(one):
                weight[g, np.arange(len(chosen)), chosen] += 1
    return weight[groups.entry >= 0]


@given(groups=st.integers(1, 3), values=st.integers(2, 4), seed=st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_worlds_with_a_full_value_are_counted(groups: int, values: int, seed: int) -> None:
    alike, fixed, world = bucket(groups, values, seed)
    odds = full_value_odds(alike, fixed, world)
    assert odds is not None
    weight, possible = odds
    expected = worlds(alike, fixed, world)
    shares = weight / weight.sum(axis=1, keepdims=True)
    assert shares == pytest.approx(expected / expected.sum(axis=1, keepdims=True))
    assert possible.tolist() == (expected > 0).tolist()


def test_many_groups_are_weighed_and_buckets_of_too_many_values_are_not() -> None:
    alike, fixed, world = bucket(300, 6, 5)
    odds = full_value_odds(alike, fixed, world)
    assert odds is not None
    assert np.isfinite(odds[0]).all()
    assert (odds[0].sum(axis=1) > 0).all()
    assert full_value_odds(*bucket(2, MOST_VALUES + 1, 1)) is None


@dataclass(frozen=True)
class Dealt:
    """A series kept in memory, and whose in the history every row of its views is."""

    publisher: Publisher
    views: list[Microdata]
    groupings: list[Grouping]

    @classmethod
    def of(cls, publisher: Publisher, frames: list[pl.DataFrame]) -> Dealt:
        views: list[Microdata] = []
        groupings: list[Grouping] = []
        for number, frame in enumerate(frames):
            view = read_view(frame, SCHEMA, views[-1].values if views else None)
            views.append(view.pseudonymous(SECRET))
            rng = np.random.default_rng(number)
            groupings.append(Replay(publisher, SECRET)(views, groupings, rng))
        return cls(publisher, views, groupings)

    def tried(self, known: list[int]) -> Tried:
        """What the publisher run on every input says to who knows the values of some people."""
        replay, options = Replay(self.publisher, SECRET), Options(draws=1)
        told = lambda history: np.isin(np.arange(history.people), known)  # noqa: E731
        return try_inputs(replay, self.views, self.groupings, options, told)

    def traces(self, history: History) -> list[Trace]:
        people = [view.people for view in self.views if view.people is not None]
        _, number = np.unique(np.concatenate(people), axis=0, return_inverse=True)
        person = np.split(number.ravel(), np.cumsum([view.rows for view in self.views])[:-1])
        views = list(zip(self.views, person, strict=True))
        zones = zones_of_releases(self.publisher, SECRET, history, views)
        return [Trace(*one, self.publisher.forming, next(zones)) for one in views]

    def padded(self, number: int) -> list[int]:
        """The people of a view who are in a group with counterfeits."""
        history = Case.of(self.views, self.groupings, None).history
        own, made = self.traces(history)[number].person, self.groupings[number]
        return [int(one) for one in own[np.isin(made.group, made.counterfeit_group)]]


def some_leave(values: int, come: int = 0) -> list[pl.DataFrame]:
    """Three people of each value, two of the first value leave, and people of the second come."""
    count = 3 * values
    frame = people(count + come, values, 1)
    first, late = frame.head(count), frame.tail(come).with_columns(ill=pl.lit("flu"))
    return [first, pl.concat([first.filter(~pl.col("id").is_in(["p0", f"p{values}"])), late])]


@pytest.mark.parametrize(
    ("publisher", "frames"),
    [
        (TauSafety(m=2), some_leave(2)),
        (TauSafety(m=2), some_leave(2, come=1)),
        (TauSafety(m=3), some_leave(3)),
        (MInvariance(m=2), some_leave(2)),
        (MInvariance(m=3), some_leave(3)),
    ],
)
@pytest.mark.parametrize("knows", [False, True])
def test_probabilities_are_those_of_the_publisher_run_on_every_input(
    publisher: Publisher, frames: list[pl.DataFrame], knows: bool
) -> None:
    made = Dealt.of(publisher, frames)
    assert made.groupings[1].counterfeits >= 2
    known = made.padded(1)[: int(knows)]
    tried = made.tried(known)
    history = tried.case.history
    found = gathering(history, made.traces(history), np.isin(np.arange(history.people), known))
    exact = tried.posterior()[found.unknowns.person, tried.case.truth[found.unknowns.person]]
    of_release = np.empty(found.unknowns.count, dtype=np.int64)
    of_release[found.unknowns.of_appearance] = history.release
    last = of_release == 1
    assert found.confidence[last] == pytest.approx(exact[last], abs=0.02)
    above = found.confidence[last] > 1 / publisher.m + 0.01
    assert above.sum() > len(known) if knows else not above.any()


def test_zones_of_a_series_are_found_again(tmp_path: Path) -> None:
    views = [people(60, 3, 4), people(66, 3, 4).filter(~pl.col("id").is_in(["p0", "p3", "p6", "p7"]))]
    series = Series.create(tmp_path / "series", SCHEMA, TauSafety(m=3, zone=15), seed=1)
    for view in views:
        series.publish(view, meant=MEANT)
    target = target_with_views(series, Adversary(), ["gathering"], views)
    assert target.traces is not None
    for trace, count in zip(target.traces, (60, 62), strict=True):
        assert trace.zone is not None
        assert np.count_nonzero(trace.zone >= 0) == count
    assert target.traces[0].zone is not None
    assert target.traces[0].zone.max() > 0
    elsewhere = replace(target.traces[0].view, points=target.traces[0].view.points[:, ::-1].copy())
    moved = zones_of_releases(
        series.publisher, SECRET, target.history, [(elsewhere, target.traces[0].person)]
    )
    assert next(moved) is None  # groups lie across such zones


def test_whole_buckets_and_nearest_people_have_no_such_zones() -> None:
    view = read(people(12, 3, 1))
    for publisher in (TauSafety(m=3).in_two_tables(), TauSafety(m=3, membership="nearest"), Cohorts(m=3)):
        assert publisher.zones(view, Memory.empty()) is None
    assert MInvariance(m=3, membership="nearest").zones(view, Memory.empty()) is None
