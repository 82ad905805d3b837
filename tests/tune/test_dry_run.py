"""Batches made of views in memory, and views that might follow one."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from republish.microdata import Microdata, read_view
from republish.publishers import ValueBlind
from republish.schema import Category, Number, Schema
from republish.secret import Secret
from republish.tune.dry_run import SIMULATED, dry_run, simulated, turnover_of

SCHEMA = Schema("id", (Number("age"),), Category("disease"))
SECRET = Secret.from_text("batches made in memory for a test")


def view(people: range, shift: int = 0) -> Microdata:
    """People with ages, and one of four diseases by number and shift."""
    frame = pl.DataFrame(
        {
            "id": [f"P{i}" for i in people],
            "age": [20 + i * 7 % 60 for i in people],
            "disease": ["abcd"[(i + shift) % 4] for i in people],
        }
    )
    known = pl.Series(["a", "b", "c", "d"])
    return read_view(frame, SCHEMA, known).pseudonymous(SECRET)


def test_turnover_counts_who_changes_and_who_comes_back() -> None:
    first, second, third = view(range(100)), view(range(10, 100)), view(range(100), shift=1)
    assert turnover_of([first, second]) == pytest.approx((0.1, 0.0, 0.0))
    left, changed, returned = turnover_of([first, second, third])
    assert left == pytest.approx(10 / 190)
    assert changed == pytest.approx(90 / 180)
    assert returned == pytest.approx(10 / 190)


def test_one_view_has_no_turnover() -> None:
    assert turnover_of([view(range(20))]) == (0.0, 0.0, 0.0)


def test_a_series_is_drawn_from_one_view_by_chance() -> None:
    views = simulated([view(range(200))])
    assert len(views) == SIMULATED and {one.rows for one in views} == {200}
    before, after = (set(map(bytes, one.people)) for one in views[:2] if one.people is not None)
    assert len(before & after) == 180
    assert turnover_of(views[:2]).changed == pytest.approx(
        0.075, abs=0.05
    )  # three of four draw another value
    for one in views:
        assert one.people is not None and (np.diff(one.people[:, 0].astype(object)) > 0).all()


def test_several_views_go_on_as_they_did() -> None:
    past = [view(range(200)), view(range(40, 240)), view(range(80, 280))]
    views = simulated(past)
    assert views[:3] == past and len(views) == SIMULATED
    assert turnover_of(views[3:]).left == pytest.approx(0.2)
    assert turnover_of(views[3:]).changed == 0.0


def test_an_empty_view_is_followed_by_none() -> None:
    assert len(simulated([view(range(0))])) == 1


def test_a_dry_run_counts_what_waits_and_is_held() -> None:
    views = [view(range(200)), view(range(3, 202)), view(range(3, 202))]
    run = dry_run(views, ValueBlind(size=200, n=5, m=2))
    assert run.waiting == pytest.approx(2 * 2 / 398)  # two came, fewer than five
    assert run.held == pytest.approx(2 * 3 / 398)  # three left
    assert run.late == pytest.approx(run.waiting + run.held)
    assert run.diverse[2] == 1.0 and run.diverse[6] == 0.0
    assert 0 < run.bound < 1e-6 and run.worst < 1e-6


def test_the_bound_hinders_as_it_does_releases() -> None:
    views = simulated([view(range(200))])
    free, bound = (dry_run(views, ValueBlind(size=60, m=2), hindered=hindered) for hindered in (False, True))
    assert bound.bound <= 0.002
    assert bound.late >= free.late


def test_counts_of_one_batch_of_everyone_are_off_by_what_quasi_identifiers_tell() -> None:
    run = dry_run([view(range(200))], ValueBlind(size=200, m=2))
    assert 0 <= run.error < 0.5
    assert run.as_dict()["parameters"]["size"] == 200
