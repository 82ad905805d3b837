"""Which part a row goes to: from counts alone, whole pieces, and every part fit to be one."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts.weeks import SCHEMA
from publishers.test_contract import people
from republish import Number, Schema
from republish.arrays import IntArray, WordArray
from republish.microdata import read_view
from republish.orders.hilbert import hilbert_order
from republish.parts.blocks import facts_of
from republish.parts.counts import Placing, kept_signatures
from republish.parts.publish.routes import (
    COUNTS,
    Pieces,
    Routes,
    finer_counts,
    hilbert_places,
    homes,
    joined,
    ranges,
    regions,
)
from republish.parts.survey import Surveying, domains_of
from republish.publishers.contract import KeptSignatures

Places = st.lists(
    st.integers(0, 2**64 - 1) | st.integers(0, 40).map(lambda i: i << 58), min_size=1, max_size=200
)


def refined(places: WordArray, limit: int) -> Pieces:
    """Pieces of these places, counted as tasks do and put together as the driver does."""
    pieces = Pieces.whole(len(places))
    while (crowded := pieces.crowded(limit)).any():
        halves = [finer_counts(pieces, crowded, part) for part in np.array_split(places, 3)]
        counted = pl.concat(halves).group_by("start", "depth").agg(pl.col("rows").sum())
        pieces = pieces.refined(crowded, *(counted[name].to_numpy() for name in ("start", "depth", "rows")))
    return pieces


@given(Places, st.integers(1, 40))
def test_pieces_hold_all_rows_and_fit_unless_rows_are_alike(given_places: list[int], limit: int) -> None:
    places = np.array(given_places, dtype=np.uint64)
    pieces = refined(places, limit)
    found = np.bincount(pieces.of(places), minlength=len(pieces.rows))
    assert found.tolist() == pieces.rows.tolist()
    assert (np.diff(pieces.start.astype(object)) > 0).all()
    for piece in np.flatnonzero(pieces.rows > limit):
        assert len(set(places[pieces.of(places) == piece].tolist())) == 1


@given(Places, st.integers(1, 40))
def test_regions_are_whole_pieces_of_at_most_as_many_rows(given_places: list[int], limit: int) -> None:
    pieces = refined(np.array(given_places, dtype=np.uint64), max(1, limit // 4))
    part = regions(pieces, limit)
    assert sorted(set(part.tolist())) == list(range(part.max() + 1))
    rows = np.bincount(part, weights=pieces.rows)
    single = np.bincount(part) == 1
    assert (rows[~single] <= limit).all()


@given(Places, st.integers(1, 9))
def test_ranges_follow_each_other(given_places: list[int], parts: int) -> None:
    pieces = refined(np.array(given_places, dtype=np.uint64), 3)
    part = ranges(pieces, parts)
    assert (np.diff(part) >= 0).all() and part.max() < parts


@given(st.lists(st.lists(st.integers(0, 9), min_size=2, max_size=2), min_size=1, max_size=12))
def test_parts_that_do_not_fit_are_joined_until_all_do(rows: list[list[int]]) -> None:
    counts = np.array(rows, dtype=np.int64)
    part = joined(np.arange(len(rows)), counts, lambda held: held.min(axis=1) >= 3)
    together = np.zeros((part.max() + 1, 2), dtype=np.int64)
    np.add.at(together, part, counts)
    assert (together.min(axis=1) >= 3).all() or len(together) == 1


def test_a_skewed_region_loses_the_block_nearest_to_half() -> None:
    pieces = Pieces(
        np.array([0, 1 << 60, 1 << 61, 1 << 63], dtype=np.uint64),
        np.array([4, 4, 3, 1]),
        np.array([5, 4, 1, 2]),
    )
    part = regions(pieces, 7)
    assert part[0] != part[1] and part[1] == part[2] == part[3]


def test_a_signature_goes_where_most_of_its_people_live_unless_it_is_too_large() -> None:
    counted = pl.DataFrame(
        {"signature": [7, 7, 9, 9], "part": [0, 2, 1, 2], "rows": [3, 5, 60, 50]},
        schema={"signature": pl.UInt64, "part": pl.Int64, "rows": pl.Int64},
    )
    signatures, home = homes(counted, 100)
    assert (signatures.tolist(), home.tolist()) == ([7], [2])
    pieces = Pieces(np.array([0, 1 << 63], dtype=np.uint64), np.array([1, 1]), np.array([1, 1]))
    routes = Routes(pieces, np.array([0, 1]), signatures, home)
    places = np.array([0, 1 << 63, 0, 0], dtype=np.uint64)
    assert routes.of(places, np.array([7, 7, 9, 0], dtype=np.uint64)).tolist() == [2, 2, 0, 0]


def test_who_keeps_a_signature_depends_on_the_rule() -> None:
    frame = pl.DataFrame(
        {
            "code": [1, 2, 1, 3],
            "m:code": [1, 1, None, 1],
            "m:last": [2, 2, None, 1],
            "m:signature": [[1, 2], [1, 2], None, [1, 3]],
        },
        schema_overrides={"m:signature": pl.List(pl.Int32)},
    )
    same = kept_signatures(KeptSignatures(2, present=True), frame, 2) > 0
    within = kept_signatures(KeptSignatures(2, within=True), frame, 2)
    assert same.tolist() == [True, False, False, False]
    assert (within > 0).tolist() == [True, True, False, True]
    assert within[0] == within[1] != within[3]


def test_places_on_the_curve_do_not_depend_on_which_rows_a_task_sees() -> None:
    view = read_view(people(300, missing=0.1), SCHEMA)
    surveying = Surveying(SCHEMA)
    chunks = [people(300, missing=0.1)[i : i + 100].select(surveying.columns) for i in (0, 100, 200)]
    domains = domains_of([f for c in chunks for f in facts_of(surveying(c))], SCHEMA, None)
    assert [axis.labels for axis in domains.axes] == [axis.labels for axis in view.axes]
    assert [(axis.low, axis.high, axis.whole_numbers) for axis in domains.axes] == [
        (axis.low, axis.high, axis.whole_numbers) for axis in view.axes
    ]
    assert domains.values.to_list() == view.values.to_list()
    for along in ("bang", "hilbert"):
        placing = Placing(domains.cube, along)
        whole = placing(view.points)
        parts = [placing(view.points[:, i : i + 50]) for i in range(0, 300, 50)]
        assert np.array_equal(whole, np.concatenate(parts))


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_places_on_the_hilbert_curve_have_its_order(axes: int) -> None:
    rng = np.random.default_rng(axes)
    frame = pl.DataFrame({"id": range(64), **{f"q{i}": rng.integers(0, 256, 64) for i in range(axes)}})
    schema = Schema("id", [Number(f"q{i}", domain=(0, 255)) for i in range(axes)])
    surveying = Surveying(schema)
    domains = domains_of(facts_of(surveying(frame.select(surveying.columns))), schema, None)
    view = read_view(frame, schema)
    places = hilbert_places(domains.cube, view.points)
    ends = np.zeros(axes), np.full(axes, 255.0)
    expected: IntArray = hilbert_order(view.points, *ends, bits=16)
    assert np.array_equal(np.argsort(places, kind="stable"), expected)


def test_counting_never_brings_more_than_so_many_counts() -> None:
    rng = np.random.default_rng(0)
    places = rng.integers(0, 2**64, 300_000, dtype=np.uint64)
    pieces = Pieces.whole(len(places))
    counted = finer_counts(pieces, pieces.crowded(1), places)
    assert counted.height <= COUNTS
