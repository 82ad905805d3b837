"""Cor-Split's lifespan and pvr-safety, checked by code that shares nothing with the publisher."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish import BrokenPromise, CannotPublish, Number, Schema, Series
from republish.parts import Here
from republish.publishers.breach import breach_probability
from republish.publishers.cor_split import CorSplit
from republish.verify.pvr_safety import pvr_safe, within_lifespan

SCHEMA = Schema("id", [Number("age")], "dx")


def view(people: range, changed: frozenset[int] = frozenset()) -> pl.DataFrame:
    """People of three values in turn; those changed have the next one."""
    return pl.DataFrame(
        {
            "id": [f"p{i}" for i in people],
            "age": [i % 60 for i in people],
            "dx": [f"v{(i + (i in changed)) % 3}" for i in people],
        }
    )


def series_of(folder: Path, retire: bool = True) -> Series:
    return Series.create(
        folder,
        SCHEMA,
        CorSplit(m=3, pad=True, p=0.04, L=2, h=0.1, retire=retire),
        seed=3,
    )


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(0, 2), min_size=4, max_size=4)), max_size=8),
    st.floats(0.0, 1.0),
    st.integers(2, 6),
    st.data(),
)
def test_what_is_reached_is_counted_person_by_person(
    people: list[tuple[int, list[int]]], p: float, m: int, data: st.DataObject
) -> None:
    n, most, h = data.draw(st.integers(1, m)), data.draw(st.integers(1, 4)), data.draw(st.floats(0.01, 1.0))
    group = np.array([now for now, _ in people], dtype=np.int32)
    earlier = [np.array([then[r] for _, then in people], dtype=np.int32) for r in range(4)]
    times = [1 + sum(g > 0 for g in then) for now, then in people if now]
    found = within_lifespan(f"lifespan={most}", "", group, earlier)
    assert (found.holds, found.rows) == (max(times, default=0) <= most, sum(t > most for t in times))
    assert found.reached == max(times, default=0)
    assert found.noted == sum(not now and sum(g > 0 for g in then) >= most for now, then in people)
    others = [f"weak-m-invariance={m}", f"hc-safety={n}"]
    safe = pvr_safe(f"pvr-safety={h}@{p}", "", others, group, earlier)
    expected = [float(breach_probability(p, t, m, n).probability) for t in times]
    assert safe.reached == pytest.approx(max(expected, default=0.0), abs=1e-12)
    if all(abs(one - h) > 1e-9 for one in expected):
        assert (safe.holds, safe.rows) == (
            all(one < h for one in expected),
            sum(one >= h for one in expected),
        )


def test_without_m_and_n_nothing_is_said_to_hold() -> None:
    group = np.ones(3, dtype=np.int32)
    assert not pvr_safe("pvr-safety=0.1@0.04", "", ["hc-safety=2"], group, []).holds


def test_people_are_retired_after_so_many_releases_until_their_value_changes(tmp_path: Path) -> None:
    series = series_of(tmp_path / "s")
    left_out = [
        series.publish(one, meant=["same-view"]).suppressed
        for one in (
            view(range(60)),
            view(range(90)),
            view(range(90)),
            view(range(90), frozenset(range(6))),
            view(range(30, 90)),
        )
    ]
    assert left_out == [0, 0, 60, 84, 60]
    found = series.verify()
    assert found.holds
    assert series.verify(engine=Here(parts=2)).as_dict() == found.as_dict()
    assert [check.meaning for check in found.releases[3].checks if check.promise.startswith("lifespan")] == [
        "Nobody is published more than 2 times while the value stays the same. 60 people were published so often "
        "before, and are left out."
    ]


def test_a_release_is_refused_where_nobody_is_to_be_retired(tmp_path: Path) -> None:
    series = series_of(tmp_path / "s", retire=False)
    for _ in range(2):
        series.publish(view(range(60)), meant=["same-view"])
    with pytest.raises(CannotPublish, match="more than L=2 times while the value stays the same; 60 people"):
        series.publish(view(range(90)))
    assert series.publish(view(range(60, 90)), meant=["new-people"]).number == 3


def test_who_is_published_once_more_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CorSplit, "publish", CorSplit._published)
    series = series_of(tmp_path / "s")
    for _ in range(2):
        series.publish(view(range(60)), meant=["same-view"])
    with pytest.raises(
        BrokenPromise, match="lifespan=2: times published: does not hold in 20 groups with 60"
    ):
        series.publish(view(range(60)), meant=["same-view"])


def test_a_breach_that_is_too_likely_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    promised = ("weak-m-invariance=3", "hc-safety=2", "pvr-safety=0.001@0.04")
    monkeypatch.setattr(CorSplit, "series_promises", property(lambda _: promised))
    series = series_of(tmp_path / "s")
    with pytest.raises(
        BrokenPromise, match=r"pvr-safety=0\.001@0\.04: probability of a breach: does not hold"
    ):
        series.publish(view(range(60)))
