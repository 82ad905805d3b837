"""How people lie over a column, as its cells together say it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

from queries.test_batches import published, two_tables
from republish.metrics.boxes import is_discrete, real_rows
from republish.microdata import read_view
from republish.queries.density import density
from republish.release.two_tables import TwoTableRelease
from republish.schema import Category, Number, Schema


def crossing() -> TwoTableRelease:
    """Four people of 1 to 4 years in one cell, and two of 3 and 4 in another."""
    frame = pl.DataFrame({"age": [1, 2, 3, 4, 3, 4], "city": list("aabbbb"), "illness": ["flu", "gout"] * 3})
    schema = Schema(quasi_identifiers=[Number("age"), Category("city")], sensitive="illness")
    return published(read_view(frame, schema), [0] * 6, [0, 0, 0, 0, 1, 1])


def test_cells_that_overlap_say_where_people_are() -> None:
    # Spread evenly over their cells 1, 1, 2 and 2 people are 1, 2, 3 and 4 years old.
    release = crossing()
    assert density(release.people.cells[0], real_rows(release.people))[1].tolist() == [1.0, 1.0, 2.0, 2.0]
    assert release.count("age >= 3").expected == pytest.approx(4 * 4 / 6 + 2)
    assert release.count("age >= 3 and illness = 'flu'").expected == pytest.approx((4 * 4 / 6 + 2) / 2)


def test_sets_of_categories_are_weighed_too() -> None:
    # The set {a, b} holds four people, b alone two: 2 and 4.
    assert crossing().count("city = 'b'").expected == pytest.approx(4 * 4 / 6 + 2)


def test_bounds_rest_on_no_density() -> None:
    found = crossing().count("age >= 3")
    assert (found.lower, found.upper) == (2, 6)


@settings(max_examples=100)
@given(two_tables())
def test_the_density_is_that_of_a_slow_twin(drawn) -> None:
    release, _ = drawn
    people = real_rows(release.people)
    for cells in release.people.cells:
        found = density(cells, people)
        if found is None:
            assert not is_discrete(cells.axis) or not np.isfinite(cells.axis.low)
            continue
        lowest, weight = found
        expected = np.zeros(len(weight))
        for g in np.flatnonzero(cells.said):
            own = list(range(int(cells.low[g]), int(cells.high[g]) + 1))
            if len(cells.offsets) > 1:
                own = cells.members[cells.offsets[g] : cells.offsets[g + 1]].tolist()
            for place in own:
                expected[place - lowest] += people[g] / len(own)
        assert weight == pytest.approx(expected, abs=1e-6)
        assert (weight > 0).all()
