"""What is made of walks: those that get stuck are begun anew, and what the others differ on has not settled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from attacks.retracing.gathered import people, read
from republish.attacks.retracing.traces import AlikeGroups, Trace
from republish.attacks.retracing.weighing import LARGE, Bucketful, Effort, Walk, drawn

EFFORT = Effort(walks=2)
ENTRIES = np.arange(4).reshape(2, 2)
BUCKET = Bucketful(
    AlikeGroups(ENTRIES, ENTRIES, np.array([0, 1])),
    Trace(read(people(4, 2, 1)), np.arange(4), None),
    np.zeros((2, 2), dtype=np.bool_),
    ENTRIES,
)


def walks(broken: Sequence[float], first: Sequence[int]) -> tuple[list[int], list[Walk]]:
    """Walks that break so many, in which everybody has the first value in so many of a hundred worlds."""
    ended: list[int] = []

    def walk(number: int) -> Walk:
        def go(costs: np.ndarray, seed: int, counts: np.ndarray) -> float:
            ended.append(number)
            counts[:, :, 0], counts[:, :, 1] = first[number], 100 - first[number]
            return broken[number]

        return go

    return ended, [walk(number) for number in range(len(broken))]


@pytest.mark.parametrize(
    ("broken", "first", "through", "share", "settled"),
    [
        ((3.0, 4.0), (80, 84), [0, 1], 0.82, True),
        ((3.0, 4.0), (20, 80), [0, 1], 0.5, False),
        ((90.0, 4.0, 5.0), (10, 80, 84), [1, 2], 0.82, True),
        ((90.0, 4.0, 80.0), (10, 80, 10), [1], 0.8, False),
    ],
)
def test_walks_that_get_stuck_do_not_count(
    broken: tuple[float, ...], first: tuple[int, ...], through: list[int], share: float, settled: bool
) -> None:
    ended, made = walks((*broken, 99.0), (*first, 10))
    given = iter(made)
    weight, possible, unsettled = drawn(lambda _: next(given), BUCKET, EFFORT, np.random.default_rng(0))
    assert sorted(ended[-len(through) :]) == through
    assert weight[:, 0] / weight.sum(axis=1) == pytest.approx([share] * 4, abs=0.01)
    assert possible.all()
    assert (unsettled != settled).all()


def test_walks_cool_down_then_go_on_in_rounds_and_begin_warmer_in_large_buckets() -> None:
    effort = Effort(sweeps=100, rounds=3, moves=0)
    cooling, going_on = effort.cooling(LARGE), effort.going_on(LARGE)
    assert (len(cooling), cooling[0], cooling[-1]) == (100, pytest.approx(effort.hot), effort.cold)
    assert (np.diff(cooling) >= 0).all()
    assert np.flatnonzero(np.diff(going_on) < 0).tolist() == [19, 39]
    assert effort.cooling(4 * LARGE)[0] == pytest.approx(effort.hot / 4)
    assert len(Effort(sweeps=100, moves=1000).cooling(5)) == 200
