"""Point and range queries on nested regions, against the cells of a small grid counted one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish.errors import PolicyError
from republish.spatial.nested import block_volumes, holding, locate, meeting, parents, range_counts

# A layout that agrees with the text on Fig. 3.6: [A] is A without B, D and G; C, E, F and G hold no other.
NAMES = "ABCDEFG"
LEVELS = np.array([0, 2, 3, 2, 4, 4, 4])
BOXES = np.array(
    [
        [[0, 16], [0, 16]],
        [[8, 16], [8, 16]],
        [[8, 12], [8, 16]],
        [[0, 8], [0, 8]],
        [[4, 8], [0, 4]],
        [[0, 4], [4, 8]],
        [[8, 12], [0, 4]],
    ],
    dtype=np.float64,
)
SIDE = 8


def names(regions: np.ndarray) -> str:
    return "".join(NAMES[region] for region in regions)


def test_a_point_in_e_finds_a_d_and_e_and_answers_e() -> None:
    point = np.array([5.0, 1.0])
    found = holding(LEVELS, BOXES, point)
    assert [(NAMES[region], int(LEVELS[region])) for region in found] == [("A", 0), ("D", 2), ("E", 4)]
    assert names(locate(LEVELS, BOXES, point[:, None])) == "E"


def test_many_points_are_located_at_once() -> None:
    points = np.array([[5, 1], [1, 1], [1, 5], [9, 1], [15, 1], [9, 9], [15, 15]], dtype=np.float64).T
    assert names(locate(LEVELS, BOXES, points)) == "EDFGACB"


def test_a_point_outside_is_in_no_region() -> None:
    assert locate(LEVELS, BOXES, np.array([[16.0], [0.0]])).tolist() == [-1]


def test_regions_know_the_smallest_one_around_them() -> None:
    assert ["." if p < 0 else NAMES[p] for p in parents(LEVELS, BOXES)] == [".", "A", "B", "A", "D", "D", "A"]


def test_blocks_are_regions_without_those_inside() -> None:
    assert block_volumes(LEVELS, BOXES).tolist() == [256 - 64 - 64 - 16, 32, 32, 32, 16, 16, 16]


def test_the_range_of_fig_3_8_meets_d_e_and_g_and_not_a() -> None:
    low, high = np.array([[2.0, 0.0]]), np.array([[12.0, 4.0]])
    assert names(np.flatnonzero(meeting(LEVELS, BOXES, low, high)[0])) == "DEG"


def test_the_range_of_fig_3_8_is_counted_by_blocks() -> None:
    # All of E and G, and 8 of the 32 of [D].
    people = np.array([100, 50, 50, 40, 7, 9, 5])
    found = range_counts(LEVELS, BOXES, people, np.array([[2.0, 0.0]]), np.array([[12.0, 4.0]]))
    assert (found.expected[0], found.lower[0], found.upper[0]) == (10 + 7 + 5, 12, 52)


def test_blocks_of_one_group_are_spread_over_together() -> None:
    # E and F are one group of 32 cells, half of which is asked for: not surely inside, though E is.
    people, group = np.array([100, 50, 50, 40, 16, 5]), np.array([0, 1, 2, 3, 4, 4, 5])
    found = range_counts(LEVELS, BOXES, people, BOXES[4:5, :, 0], BOXES[4:5, :, 1], group=group)
    assert (found.expected[0], found.lower[0], found.upper[0]) == (8.0, 0, 16)


def test_a_block_of_which_nothing_is_left_is_never_met() -> None:
    boxes = np.array([[[0, 2]], [[0, 1]], [[1, 2]]], dtype=np.float64)
    levels = np.array([0, 1, 1])
    assert meeting(levels, boxes, np.array([[0.0]]), np.array([[2.0]])).tolist() == [[False, True, True]]
    found = range_counts(
        levels, boxes, np.array([6]), np.array([[0.0]]), np.array([[2.0]]), group=np.zeros(3, int)
    )
    assert (found.expected[0], found.lower[0], found.upper[0]) == (6.0, 6, 6)


def test_a_sliver_that_volumes_cannot_tell_is_met() -> None:
    thin = 2.0**-60
    boxes = np.array([[[0, 1], [0, 1]], [[0, 1], [thin, 1]]])
    found = range_counts(np.array([0, 1]), boxes, np.array([3, 4]), np.zeros((1, 2)), np.ones((1, 2)))
    assert (found.lower[0], found.upper[0]) == (7, 7)
    above = range_counts(
        np.array([0, 1]), boxes, np.array([3, 4]), np.array([[0, thin / 2]]), np.ones((1, 2))
    )
    assert (above.lower[0], above.upper[0]) == (4, 7)


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(PolicyError, match="one level and one box"):
        locate(LEVELS[:3], BOXES, np.zeros((2, 1)))
    with pytest.raises(PolicyError, match="for each of 2 axes"):
        meeting(LEVELS, BOXES, np.zeros((1, 3)), np.ones((1, 3)))
    with pytest.raises(PolicyError, match="one of 2 groups"):
        range_counts(LEVELS, BOXES, np.array([1, 2]), np.zeros((1, 2)), np.ones((1, 2)))


def region_of(axes: int, halves: tuple[int, ...]) -> list[list[float]]:
    """The box of a bit string: halvings of the grid, one axis after the other."""
    box = [[0, SIDE] for _ in range(axes)]
    for at, half in enumerate(halves):
        low, high = box[at % axes]
        middle = (low + high) // 2
        box[at % axes] = [low, middle] if half == 0 else [middle, high]
    return box


@st.composite
def layouts(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Some regions of a grid of 8 cells an axis, the whole of it among them."""
    axes = draw(st.integers(1, 3))
    strings = st.lists(st.integers(0, 1), min_size=1, max_size=3 * axes).map(tuple)
    chosen = [(), *sorted(draw(st.sets(strings, max_size=12)))]
    boxes = np.array([region_of(axes, halves) for halves in chosen], dtype=np.float64)
    order = draw(st.permutations(range(len(chosen))))
    return np.array([len(halves) for halves in chosen])[order], boxes[order]


def owners(levels: np.ndarray, boxes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every cell of the grid, and the region of the highest level that holds it."""
    cells = np.array(list(itertools.product(range(SIDE), repeat=boxes.shape[1])))
    best = []
    for cell in cells:
        held = [
            r for r in range(len(levels)) if (boxes[r, :, 0] <= cell).all() and (cell < boxes[r, :, 1]).all()
        ]
        best.append(max(held, key=lambda r: levels[r]))
    return cells, np.array(best)


@settings(max_examples=60)
@given(layouts(), st.data())
def test_nested_queries_agree_with_counting_cells(layout, data) -> None:
    levels, boxes = layout
    axes, regions = boxes.shape[1], len(levels)
    cells, owner = owners(levels, boxes)
    assert np.array_equal(locate(levels, boxes, cells.T.astype(float)), owner)
    assert block_volumes(levels, boxes).tolist() == np.bincount(owner, minlength=regions).tolist()

    ends = st.lists(st.tuples(st.integers(0, SIDE), st.integers(0, SIDE)), min_size=axes, max_size=axes)
    asked = np.array(data.draw(ends), dtype=np.float64)
    low, high = asked[:, 0], asked[:, 1]
    inside = ((low <= cells) & (cells < high)).all(axis=1)
    met = meeting(levels, boxes, low[None], high[None])[0]
    assert met.tolist() == [bool(inside[owner == r].any()) for r in range(regions)]

    groups = data.draw(st.integers(1, regions))
    group = np.array(data.draw(st.lists(st.integers(0, groups - 1), min_size=regions, max_size=regions)))
    truth = np.array(data.draw(st.lists(st.integers(0, len(cells) - 1), max_size=30)), dtype=np.int64)
    people = np.bincount(group[owner[truth]], minlength=groups)
    found = range_counts(levels, boxes, people, low[None], high[None], group=group)
    assert found.lower[0] <= inside[truth].sum() <= found.upper[0]
    of_cell = group[owner]
    size, part = np.bincount(of_cell, minlength=groups), np.bincount(of_cell[inside], minlength=groups)
    expected = sum(n * p / s for n, p, s in zip(people, part, size, strict=True) if s)
    assert found.expected[0] == pytest.approx(expected)
    assert found.lower[0] == people[(part == size) & (size > 0)].sum()
    assert found.upper[0] == people[part > 0].sum()
