"""Mondrian with (B,t)-privacy: every group satisfies it by a check that is not the publisher's."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish import (
    BrokenPromise,
    BTPrivacy,
    CannotPublish,
    Category,
    LDiversity,
    Microdata,
    Mondrian,
    Number,
    Ordered,
    PolicyError,
    Schema,
    anonymize,
    read_schema,
    read_view,
)
from republish.grouping import Grouping
from republish.memory.memory import Memory
from republish.verify.bt_privacy import check_bt

SCHEMA = Schema(
    None, [Number("age"), Category("sex"), Number("weight")], Ordered("result", order=tuple("abcde"))
)


def view_of(rows: int, seed: int) -> Microdata:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 12, rows)
    table = pl.DataFrame(
        {
            "age": [None if gap else a for a, gap in zip(age.tolist(), rng.random(rows) < 0.05, strict=True)],
            "sex": rng.choice(["F", "M"], rows),
            "weight": rng.integers(0, 6, rows),
            "result": np.array(list("abcde"))[np.clip(age // 3 + rng.integers(-1, 2, rows), 0, 4)],
        },
        schema_overrides={"age": pl.Int64},
    )
    return read_view(table, SCHEMA)


def publish(publisher: Mondrian, view: Microdata) -> np.ndarray:
    return publisher.publish(view, Memory.empty(), np.random.default_rng(0)).group


@settings(max_examples=60)
@given(
    st.integers(1, 80),
    st.integers(0, 10**6),
    st.sampled_from([0.2, 0.5, 1.0]),
    st.sampled_from([0.02, 0.1, 0.3, 0.6, 0.8]),
    st.sampled_from(["equal", "ordered"]),
    st.booleans(),
)
def test_every_group_satisfies_it(rows, seed, b, t, distance, strict):
    view, bt = view_of(rows, seed), BTPrivacy(b, t, distance)
    try:
        group = publish(Mondrian(1, strict=strict, bt=bt), view)
    except CannotPublish:
        assert not check_bt(bt, view, np.ones(rows, np.int64)).holds
        return
    found = check_bt(bt, view, group + 1)
    assert found.holds
    assert found.reached is not None and found.reached <= t + 1e-9


@given(st.integers(0, 80), st.integers(0, 10**6), st.booleans())
def test_a_t_of_one_changes_nothing(rows, seed, strict):
    view, require = view_of(rows, seed), (LDiversity(1),)
    plain = publish(Mondrian(2, require, strict), view) if rows != 1 else None
    if plain is not None:
        assert np.array_equal(publish(Mondrian(2, require, strict, bt=BTPrivacy(0.5, 1)), view), plain)


def test_it_refuses_cuts_that_plain_mondrian_makes():
    view = view_of(200, 3)
    plain, careful = publish(Mondrian(1), view), publish(Mondrian(1, bt=BTPrivacy(0.5, 0.3)), view)
    assert not check_bt(BTPrivacy(0.5, 0.3), view, plain + 1).holds
    assert 1 < careful.max() + 1 < plain.max() + 1


def test_a_smaller_t_gives_no_more_groups_of_patients(hospital_folder, views):
    # So it is here; in general a refused cut can lead to others that allow more.
    view = read_view(views[0], read_schema(hospital_folder / "schema.toml"))
    groups = [publish(Mondrian(1, bt=BTPrivacy(0.5, t)), view).max() + 1 for t in (1, 0.8, 0.6, 0.4, 0.2)]
    assert groups == sorted(groups, reverse=True)
    assert groups[0] > groups[-1] > 1


def test_where_the_whole_view_fails_nothing_is_published():
    table = pl.DataFrame({"age": [5, 9, 6, 10, 5], "v": ["b", "a", "b", "a", "b"]})
    view = read_view(table, Schema(None, [Number("age", domain=(0, 10))], Category("v")))
    with pytest.raises(CannotPublish, match=r"the whole view.*\(B,t\)-privacy.*5 rows do not"):
        publish(Mondrian(1, bt=BTPrivacy(0.5, 0.0002)), view)


def test_it_needs_a_sensitive_column():
    view = read_view(pl.DataFrame({"age": [1, 2]}), Schema(None, [Number("age")], None))
    with pytest.raises(PolicyError, match="needs a sensitive column"):
        publish(Mondrian(1, bt=BTPrivacy()), view)


@pytest.mark.parametrize("bt", ["0.5", 0.5, ("0.5", "0.8"), True])
def test_what_is_not_bt_is_refused(bt):
    with pytest.raises(PolicyError, match="written B/t"):
        Mondrian(bt=bt)


def test_it_may_be_written():
    view = view_of(60, 5)
    assert np.array_equal(
        publish(Mondrian(1, bt="0.5/0.3"), view), publish(Mondrian(1, bt=BTPrivacy(0.5, 0.3)), view)
    )


def table_of(rows: int, seed: int) -> pl.DataFrame:
    view = view_of(rows, seed)
    return pl.DataFrame(
        {
            "age": np.maximum(view.points[0], 0),
            "sex": np.array(["F", "M"])[view.points[1].astype(int)],
            "weight": view.points[2],
            "result": view.values.gather(view.codes),
        }
    )


def test_one_table_is_checked_while_it_is_at_hand(monkeypatch):
    table, publisher = table_of(80, 1), Mondrian(1, bt=BTPrivacy(0.5, 0.3))
    assert anonymize(table, SCHEMA, publisher, seed=1).rows == 80
    # A publisher that is wrong about it is found out.
    monkeypatch.setattr(Mondrian, "publish", lambda self, view, *_: Grouping(np.arange(view.rows)))
    with pytest.raises(BrokenPromise, match=r"bt=0\.5/0\.3: does not hold"):
        anonymize(table, SCHEMA, publisher, seed=1)
