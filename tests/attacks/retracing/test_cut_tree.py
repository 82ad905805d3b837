"""The tree of cuts, against the groups that the publisher makes by them."""

from __future__ import annotations

import numpy as np
import pytest

from attacks.retracing.gathered import people, read
from republish.attacks.retracing.cut_tree import cuts_of, ground_of
from republish.memory.memory import Memory
from republish.publishers import MInvariance


@pytest.mark.parametrize(("count", "values", "missing"), [(24, 3, 0.0), (60, 4, 0.2), (15, 3, 0.5)])
def test_the_cuts_leave_the_groups_of_the_publisher(count: int, values: int, missing: float) -> None:
    view = read(people(count, values, 3, missing))
    grouping = MInvariance(m=values, membership="nearest").publish(
        view, Memory.empty(), np.random.default_rng(1)
    )
    world = np.lexsort((view.codes, grouping.group)).reshape(-1, values)
    row = np.arange(count)
    cuts = cuts_of(ground_of(view, row), row, world)
    assert len(cuts) == len(world) - 1
    for cut in cuts:
        assert not np.intersect1d(grouping.group[cut.left], grouping.group[cut.right]).size
        assert len(cut.left) == cut.lower * values
        assert len(cut.left) + len(cut.right) == cut.levels * values
