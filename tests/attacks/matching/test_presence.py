"""What cells tell of presence, against counting by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.matching.test_linkage import series_of, weeks
from attacks.matching.test_qi_matching import grouped, naive_fits
from publishers.test_contract import SCHEMA, SECRET, people
from republish import Category, Mondrian, Schema, Series, read_view
from republish.attacks import Adversary, IdentityResult, Presence, attack
from republish.attacks.matching.presence import chances
from republish.release.forms import TwoTables


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.15]))
@settings(max_examples=30)
def test_chances_are_rows_over_people_of_the_register(seed: int, missing: float) -> None:
    """A register of sixty, of whom the first forty are in the table, grouped with neighbours or at random."""
    rng = np.random.default_rng(seed)
    everyone = read_view(people(60, seed % 1000, missing), SCHEMA).pseudonymous(SECRET)
    kept = np.sort(rng.permutation(60)[:40])
    group = np.full(60, -1, dtype=np.int64)
    order = kept[np.argsort(everyone.points[0][kept])] if seed % 2 else kept
    group[order] = np.arange(40) // 4
    release, _ = grouped(everyone, group)
    fits = naive_fits(release, everyone.points)
    chance, sure, some = chances(release, everyone.points)
    register = {g: sum(g in fit for fit in fits) for g in range(release.group_count)}
    for i, fit in enumerate(fits):
        certain = any(register[g] == release.sizes[g] for g in fit)
        expected = 1.0 if certain else min(1.0, sum(release.sizes[g] / register[g] for g in fit))
        assert (chance[i], sure[i], some[i]) == (pytest.approx(expected), certain, bool(fit))


def found_of(series: Series, views: list[pl.DataFrame]) -> IdentityResult:
    (found,) = attack(series, Adversary(membership="matched"), ["presence"], views=views)
    assert isinstance(found, IdentityResult)
    return found


def test_who_left_is_still_in_the_register(tmp_path: Path) -> None:
    # One cut between 20 and 30. In the second week the cell above it holds c and d of the register's c, d, e and f.
    views = weeks(
        {"a": 10, "b": 20, "c": 30, "d": 40, "e": 50, "f": 60}, {"a": 10, "b": 20, "c": 30, "d": 40}
    )
    found = found_of(series_of(tmp_path, views, TwoTables(k=2)), views)
    first, second = found.releases
    assert isinstance(first, Presence)
    assert isinstance(second, Presence)
    assert (first.present, first.absent, first.shown_present) == (6, 0, 1.0)
    assert (second.present, second.absent, second.shown_absent) == (4, 2, 0.0)
    assert second.shown_present < 1.0
    assert 0 < second.mean_absent < 1
    assert found.summary.determined == 6  # the first release shows everyone
    assert found.summary.gain is None


def test_whom_no_cell_admits_is_absent(tmp_path: Path) -> None:
    views = weeks({"a": 10, "b": 20, "c": 90, "d": 95}, {"a": 10, "b": 20, "x": 11, "y": 12})
    one = found_of(series_of(tmp_path / "one", views, None), views).releases[1]
    two = found_of(series_of(tmp_path / "two", views, TwoTables(k=2)), views).releases[1]
    assert isinstance(one, Presence)
    assert isinstance(two, Presence)
    assert one.shown_absent == 1.0  # hulls end where people are
    assert two.shown_absent == 0.0  # cells are the whole space


def test_labels_of_later_views_are_those_of_the_same_people(tmp_path: Path) -> None:
    """Positions of labels move when new ones come between them."""
    schema = Schema("id", [Category("town")], "ill")
    towns = [
        {"a": "east", "b": "east", "c": "west", "d": "west"},
        {"a": "east", "b": "east", "e": "north", "f": "north"},
    ]
    views = [
        pl.DataFrame([{"id": one, "town": town, "ill": "xy"[i % 2]} for i, (one, town) in enumerate(week.items())])
        for week in towns
    ]  # fmt: skip
    series = Series.create(tmp_path / "s", schema, Mondrian(2), seed=1, one_table=True, form=TwoTables(k=2))
    for view in views:
        series.publish(view, meant=("new-people",))
    first, second = found_of(series, views).releases
    assert isinstance(first, Presence)
    assert isinstance(second, Presence)
    assert (first.present, first.absent, second.present, second.absent) == (4, 2, 4, 2)
    assert first.shown_present > 0
