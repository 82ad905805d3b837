"""tau-safe BangA as a publisher: nested regions part the groups of a view, and old series keep their blocks."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from republish import Number, PolicyError, Schema, TauSafety, read_view
from republish.memory.memory import Memory
from republish.publishers import make_publisher, said_parameters
from republish.publishers._buckets import buckets as machinery
from republish.publishers.contract import stored_parameters

BANG = {"membership": "nearest", "partition": "bang"}
ROWS = 600


def a_view():
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(ROWS)],
            "age": rng.integers(0, 100, ROWS),
            "weight": rng.integers(0, 100, ROWS),
            "dx": [f"v{i % 4}" for i in range(ROWS)],
        }
    )
    return read_view(frame, Schema("id", [Number("age"), Number("weight")], "dx"))


def blocks_and_groups(monkeypatch, **parameters):
    """The rows of every block that regions left, and the group of every row."""
    blocks = []

    def gathering(space, row, stacks, parts, draws):
        for b, low, high in parts.tolist():
            start, height, width = (int(column[b]) for column in stacks)
            entries = row[start : start + height * width].reshape(width, height)[:, low:high]
            blocks.append([r for r in entries.ravel().tolist() if r >= 0])
        gather_groups(space, row, stacks, parts, draws)

    gather_groups = machinery.gather_groups
    monkeypatch.setattr(machinery, "gather_groups", gathering)
    grouping = TauSafety(4, **BANG, **parameters).publish(a_view(), Memory.empty(), np.random.default_rng(0))
    return blocks, grouping.group


@pytest.mark.parametrize(("given", "most"), [({}, 10), ({"block": 3}, 3), ({"block": 1}, 1)])
def test_regions_part_the_groups_of_a_bucket(monkeypatch, given, most):
    blocks, group = blocks_and_groups(monkeypatch, **given)
    assert sorted(row for block in blocks for row in block) == list(range(ROWS))
    assert len(blocks) >= ROWS // (4 * most)
    assert max(len(block) for block in blocks) == 4 * most
    owners = {
        number: {b for b, block in enumerate(blocks) for r in block if group[r] == number} for number in group
    }
    assert all(len(of_group) == 1 for of_group in owners.values())


def test_a_group_is_in_a_block_of_one_place(monkeypatch):
    """Two halves of the square of ages and weights share few blocks, where one block would hold all of them."""
    view = a_view()
    blocks, _ = blocks_and_groups(monkeypatch)
    ages = view.points[0]
    crossing = [b for b in blocks if ages[b].min() < 50 <= ages[b].max()]
    assert 0 < len(crossing) <= len(blocks) // 2


def test_a_series_of_earlier_versions_keeps_its_blocks():
    stored = {"m": 4, "assignment": "greedy", "signatures": "any", "partition": "bang"}
    earlier = make_publisher("tau-safety", said_parameters("tau-safety", stored))
    assert earlier.block == 1024
    assert stored_parameters(earlier) == stored


def test_a_new_series_says_its_blocks():
    stored = stored_parameters(TauSafety(4, **BANG))
    assert stored["block"] == 10
    assert make_publisher("tau-safety", said_parameters("tau-safety", stored)) == TauSafety(4, **BANG)


def test_gathered_groups_have_no_blocks():
    gathered = TauSafety(4)
    assert gathered.block is None
    assert "block" not in stored_parameters(gathered)
    stored = stored_parameters(gathered)
    assert make_publisher("tau-safety", said_parameters("tau-safety", stored)) == gathered


@pytest.mark.parametrize("block", [0, True, 2.5])
def test_a_block_is_a_number_of_groups(block):
    with pytest.raises(PolicyError, match="block must be a whole number of at least 1"):
        TauSafety(4, **BANG, block=block)


def test_blocks_are_of_the_bang_partition():
    with pytest.raises(PolicyError, match='block is for partition = "bang"'):
        TauSafety(4, block=5)
