"""The halving attack: against the publisher itself run on every input, and on larger series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from attacks.retracing.gathered import SECRET, people, read, two_views
from republish import MInvariance
from republish.attacks import Adversary, Means
from republish.attacks.replaying.input_enumeration import Options, try_inputs
from republish.attacks.replaying.replay import Replay
from republish.attacks.replaying.small_series import Case
from republish.attacks.retracing.cut_tree import cuts_of, ground_of
from republish.attacks.retracing.halving import halving
from republish.attacks.retracing.traces import Trace
from republish.attacks.retracing.weighing import Effort
from republish.grouping import Grouping
from republish.memory.memory import Memory
from republish.microdata import Microdata
from republish.publishers.contract import GATHERED, Forming


def along_age(count: int, values: int, seed: int) -> Microdata:
    """People with a single quasi-identifier: there is no choice of where to cut."""
    view = read(people(count, values, seed))
    return replace(view, points=view.points[:1], axes=view.axes[:1])


@pytest.mark.parametrize(("m", "seed"), [(2, 1), (2, 2), (2, 3), (3, 4)])
def test_probabilities_are_those_of_the_publisher_run_on_every_input(m: int, seed: int) -> None:
    view, publisher = along_age(6, m, seed), MInvariance(m=m, membership="nearest")
    grouping = publisher.publish(view, Memory.empty(), np.random.default_rng(0))
    tried = try_inputs(Replay(publisher, SECRET), [view], [grouping], Options(draws=1))
    exact = tried.posterior()[np.arange(6), tried.case.truth]
    trace = Trace(view, np.arange(6), publisher.forming)
    found = halving(tried.case.history, [trace], np.zeros(6, dtype=np.bool_))
    assert found.confidence == pytest.approx(exact)
    assert not found.unsettled.any()


def cut(view: Microdata, group: np.ndarray, codes: np.ndarray, values: int) -> list[tuple[int, list[int]]]:
    """The axis of every cut and the groups that went left."""
    world = np.lexsort((codes, group)).reshape(-1, values)
    row = np.arange(view.rows)
    return [
        (one.axis, np.unique(group[one.left]).tolist()) for one in cuts_of(ground_of(view, row), row, world)
    ]


@pytest.mark.parametrize(("m", "seed"), [(2, 1), (3, 2)])
def test_along_two_axes_they_are_those_of_inputs_that_are_cut_alike(m: int, seed: int) -> None:
    view, publisher = read(people(8 if m == 2 else 9, m, seed)), MInvariance(m=m, membership="nearest")
    grouping = publisher.publish(view, Memory.empty(), np.random.default_rng(0))
    tried = try_inputs(Replay(publisher, SECRET), [view], [grouping])
    granted = cut(view, grouping.group, view.codes, m)
    kept = [
        code
        for world in tried.worlds[tried.after > 0]
        for code in (tried.case.inputs(world)[0].codes,)
        if cut(view, grouping.group, code, m) == granted
    ]
    assert 1 < len(kept) < len(tried.worlds)
    trace = Trace(view, tried.case.life[0], publisher.forming)
    found = halving(tried.case.history, [trace], np.zeros(view.rows, dtype=np.bool_))
    assert found.confidence[tried.case.life[0]] == pytest.approx(
        np.mean(np.array(kept) == view.codes, axis=0)
    )


@pytest.mark.parametrize("seed", [7, 12])
def test_in_a_second_release_they_are_those_of_the_publisher_too(seed: int) -> None:
    publisher = MInvariance(m=3, membership="nearest")
    before, view = two_views(along_age(18, 3, seed), 3)
    assert len(np.unique(view.points[0])) == view.rows  # inputs grant the order of rows, which settles ties
    replay = Replay(publisher, SECRET)
    first = publisher.publish(before, Memory.empty(), np.random.default_rng(0))
    second = replay([before, view], [first], np.random.default_rng(1))

    def rerun(views: Sequence[Microdata], earlier: object, rng: np.random.Generator) -> Grouping:
        return replay([before, views[0]], [first], rng)

    known = np.arange(9) < 2
    tried = try_inputs(rerun, [view], [second], known=lambda _: known)
    exact = tried.posterior()[np.arange(9), tried.case.truth]
    trace = Trace(view, tried.case.life[0], publisher.forming)
    found = halving(tried.case.history, [trace], known)
    assert found.confidence == pytest.approx(exact)
    assert np.count_nonzero(tried.after) < len(tried.worlds)


def test_with_compromised_people_cuts_give_more_away_than_shares() -> None:
    view, publisher = read(people(120, 4, 5)), MInvariance(m=4, membership="nearest")
    grouping = publisher.publish(view, Memory.empty(), np.random.default_rng(0))
    history = Case.of([view], [grouping], None).history
    known = np.random.default_rng(1).random(120) < 0.4
    trace = Trace(view, np.arange(120), publisher.forming)
    found = halving(history, [trace], known, Effort(walks=2, sweeps=60, moves=0))
    blind = halving(history, [replace(trace, forming=None, found={})], known)
    assert found.confidence[~known].mean() > blind.confidence[~known].mean() + 0.05
    sure = ~known & (found.likeliest > 0.9)
    assert found.confidence[sure].mean() > 0.8  # she is seldom wrong where she is sure


def test_it_is_for_groups_that_were_halved() -> None:
    means = Means(Adversary(), views=True, forming=Forming(GATHERED))
    assert means.obstacle("gathering") is None
    assert "is for groups that are halved, and these are gathered" in str(means.obstacle("halving"))
