"""Conditions put to people and values in two tables: estimate and bounds, against slow twins and raw views."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from metrics.twins import SECRET
from queries.test_queries import DAY, TYPES, conditions, named, truth, view_of
from republish.grouping import Grouping, Snapshots
from republish.metrics import Workload, estimated_counts
from republish.metrics.boxes import sensitive_ranks
from republish.microdata import Microdata, read_view
from republish.queries import count_many, parse_condition
from republish.queries._batch_kernel import _most_pairs
from republish.queries._range_kernel import _bounds
from republish.queries.batches import Asked, count_values
from republish.queries.counts import _errors
from republish.queries.density import density
from republish.queries.spans import between
from republish.release.release import build_release
from republish.release.two_tables import TwoTableRelease, build_two_tables
from republish.schema import Number, Schema
from republish.spatial.zones import Zones


def published(
    view: Microdata, batches: list[int], cells: list[int], counterfeits: list[tuple[int, int]] = ()
) -> TwoTableRelease:
    grouping = Grouping(
        np.array(batches, dtype=np.int32),
        np.array([group for group, _ in counterfeits], dtype=np.int32),
        np.array([code for _, code in counterfeits], dtype=np.int32),
    )
    release, _ = build_two_tables(view, grouping, Grouping(np.array(cells, dtype=np.int32)), SECRET, 1)
    return release


def ill(ages: list[int], illnesses: list[str]) -> Microdata:
    frame = pl.DataFrame({"age": ages, "illness": illnesses})
    return read_view(frame, Schema(quasi_identifiers=[Number("age")], sensitive="illness"))


SIX = ill([1, 2, 3, 11, 12, 13], ["flu", "gout", "flu", "gout", "gout", "ague"])


def answer(release: TwoTableRelease, where: str) -> tuple[float, int, int]:
    found = release.count(where)
    return round(found.expected, 6), found.lower, found.upper


def test_a_condition_on_people_is_put_to_their_cells() -> None:
    release = published(SIX, [0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1])
    assert answer(release, "age <= 3") == (3.0, 3, 3)
    assert answer(release, "age <= 12") == (5.0, 3, 6)


def test_people_have_each_value_with_the_share_of_their_batch() -> None:
    # One batch of all: 2 flu, 3 gout, 1 ague; three people are surely at most 3 years old.
    release = published(SIX, [0] * 6, [0, 0, 0, 1, 1, 1])
    assert answer(release, "age <= 3 and illness = 'flu'") == (1.0, 0, 2)
    assert answer(release, "age <= 3 and illness in ('flu', 'gout')") == (2.5, 2, 3)
    assert answer(release, "illness = 'gout'") == (3.0, 3, 3)


def test_counterfeits_take_their_share_and_widen_the_bounds() -> None:
    flu = SIX.values.to_list().index("flu")
    release = published(SIX, [0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1], [(0, flu)])
    # Of flu, flu, flu, gout one is nobody's.
    assert answer(release, "illness = 'flu' and age < 9") == (2.25, 2, 3)
    assert answer(release, "illness = 'gout' and age < 9") == (0.75, 0, 1)


def test_somebody_who_waits_in_a_batch_may_have_any_value() -> None:
    flu = SIX.values.to_list().index("flu")
    listed = np.array([0, 0, 0, 1, 1, 1], dtype=np.int32)
    # The first batch counts flu, gout and, of somebody who left, flu; its third person waits.
    snapshots = Snapshots(listed, np.zeros((1, 2), np.uint64), np.array([1, 2], np.int32), Zones.one())
    batches = Grouping(
        np.array([0, 0, -1, 1, 1, 1], dtype=np.int32),
        np.array([0], dtype=np.int32),
        np.array([flu], dtype=np.int32),
        snapshots=snapshots,
    )
    release, placed = build_two_tables(SIX, batches, Grouping(listed), SECRET, 1)
    assert placed.shown.tolist().count(0) == 0 and placed.group.tolist().count(0) == 1
    assert release.clock is not None and sorted(release.clock["waiting"].to_list()) == [0, 1]
    assert answer(release, "illness = 'flu' and age < 9") == (2.0, 1, 3)
    assert answer(release, "illness = 'gout' and age < 9") == (1.0, 0, 2)
    assert answer(release, "illness = 'ague' and age < 9") == (0.0, 0, 1)
    (note,) = release.count("illness = 'flu'").notes
    assert note.startswith("1 people are not counted yet and 1 are counted as they were")
    # One who waits and one who is held: the bounds leave from 1 to 3 people, any number as likely as another.
    assert release.count("illness = 'flu' and age < 9").standard_error == pytest.approx(
        (0.5 + 0.25**2 + 2**2 / 12) ** 0.5
    )
    workload = Workload.random(SIX, 20, 1, 0.5, seed=0, sensitive=True)
    places = sensitive_ranks(release.values, workload.values)
    *_, variance, stale = count_values(release, asked_slowly(release, workload), [], places)
    assert stale.max() > 1
    assert count_many(release, workload).standard_error == pytest.approx(_errors(variance, stale))
    assert not release.count("age < 9").notes


def test_somebody_without_a_batch_may_have_any_value() -> None:
    release = published(SIX, [0, 0, 0, 1, 1, -1], [0, 0, 0, 1, 1, 1])
    # Of the five values that are counted two are flu; the sixth person has it with that share.
    assert answer(release, "illness = 'flu'") == (2.4, 2, 3)
    assert answer(release, "illness = 'ague'") == (0.0, 0, 1)
    assert answer(release, "illness != 'ague' or age > 0") == (6.0, 6, 6)
    assert release.count("", suppressed=1).upper_in_view == 6


def test_alternatives_are_one_condition() -> None:
    release = published(SIX, [0] * 6, [0, 0, 0, 1, 1, 1])
    assert answer(release, "age <= 3 or illness = 'flu'") == (4.0, 3, 5)
    assert answer(release, "(age <= 3 and illness = 'flu') or (age > 3 and illness = 'gout')") == (2.5, 0, 5)
    assert answer(release, "illness = 'flu' or illness != 'flu'") == (6.0, 6, 6)


def test_what_is_certain_has_no_standard_error() -> None:
    release = published(SIX, [0] * 6, [0, 0, 0, 1, 1, 1])
    assert release.count("illness = 'flu'").standard_error == 0.0
    assert release.count("illness = 'flu' and age < 9").standard_error > 0.5


@st.composite
def two_tables(draw: st.DrawFn) -> tuple[TwoTableRelease, list[tuple[Any, ...]]]:
    """A random view in random cells and batches, with counterfeits and people without a batch."""
    maybe = lambda strategy: st.none() | strategy  # noqa: E731
    row = st.tuples(
        maybe(st.integers(-3, 6)),
        maybe(st.sampled_from([0.5, 1.25, 3.75])),
        maybe(st.sampled_from("abcde")),
        maybe(st.sampled_from(["10", "11", "20", "21"])),
        maybe(st.just(DAY)),
        maybe(st.sampled_from(["none", "basic", "high"])),
        maybe(st.integers(1, 3)),
        maybe(st.sampled_from(["flu", "gout", "ague"])),
    )
    rows = draw(st.lists(row, max_size=20))
    view = view_of(rows)

    def groups(least: int) -> list[int]:
        raw = draw(st.lists(st.integers(least, 3), min_size=len(rows), max_size=len(rows)))
        used = sorted({group for group in raw if group >= 0})
        return [used.index(group) if group >= 0 else -1 for group in raw]

    batches = groups(-1)
    extra = []
    if max(batches, default=-1) >= 0:
        pair = st.tuples(st.integers(0, max(batches)), st.integers(0, len(view.values) - 1))
        extra = draw(st.lists(pair, max_size=3))
    return published(view, batches, groups(0), extra), rows


@settings(max_examples=250)
@given(two_tables(), conditions(tuple(TYPES)))
def test_the_truth_never_leaves_the_bounds(drawn, where) -> None:
    release, rows = drawn
    true = sum(truth(parse_condition(where), named(row)) is True for row in rows)
    found = release.count(where)
    assert found.lower <= true <= found.upper
    assert found.lower <= found.expected <= found.upper


@settings(max_examples=60)
@given(st.lists(st.integers(0, 7), max_size=6), st.lists(st.integers(0, 3), min_size=3, max_size=3))
def test_the_most_pairs_are_those_of_the_best_choice(fits, values) -> None:
    def best(left: list[int], have: tuple[int, ...]) -> int:
        if not left:
            return 0
        found = best(left[1:], have)
        for c in range(3):
            if left[0] >> c & 1 and have[c]:
                fewer = tuple(n - (at == c) for at, n in enumerate(have))
                found = max(found, 1 + best(left[1:], fewer))
        return found

    people = np.bincount(np.array(fits, dtype=np.int64), minlength=8)
    assert _most_pairs(people, np.array(values), 3) == best(fits, tuple(values))


def random_two_tables(rows: int, seed: int = 0) -> tuple[Microdata, TwoTableRelease]:
    rng = np.random.default_rng(seed)
    view = ill(rng.integers(0, 40, rows).tolist(), rng.choice(["flu", "gout", "ague"], rows).tolist())
    batches = rng.integers(-1, rows // 6, rows)
    batches = np.where(batches < 0, -1, np.unique(batches, return_inverse=True)[1] - (batches.min() < 0))
    cells = np.minimum(np.argsort(np.argsort(view.points[0], kind="stable")) // 5, rows // 5 - 1)
    return view, published(view, batches.tolist(), cells.tolist(), [(0, 0), (1, 2)])


def test_estimates_of_a_workload_are_those_of_a_slow_twin() -> None:
    view, release = random_two_tables(60)
    asked = Workload.random(view, 40, 1, 0.2, seed=1, sensitive=True)
    values, sizes = release.values, release.values.sizes
    name = asked.values.to_list()
    shown = values.rest["illness"].to_list()
    cells = release.people.cells[0]
    lowest, weight = density(cells, release.people.sizes)
    evenly, found = [], []
    for low, high, first, last in zip(
        asked.low[:, 0], asked.high[:, 0], asked.value_low, asked.value_high, strict=True
    ):
        wanted = set(name[int(first) : int(last) + 1])
        even = total = 0.0
        for group, batch in zip(release.people.group - 1, release.batch, strict=True):
            inside = range(int(cells.low[group]), int(cells.high[group]) + 1)
            own = [v for v, b in zip(shown, values.group, strict=True) if batch in (0, b)]
            assert batch == 0 or len(own) == sizes[batch - 1]
            there, ill = [low <= x <= high for x in inside], np.mean([v in wanted for v in own])
            even += np.mean(there) * ill
            total += np.average(there, weights=[weight[x - lowest] for x in inside]) * ill
        evenly.append(even)
        found.append(total)
    assert estimated_counts(release, asked) == pytest.approx(evenly)
    counted = count_many(release, asked)
    assert counted.expected == pytest.approx(np.clip(found, counted.lower, counted.upper))


def test_a_workload_is_answered_like_its_conditions() -> None:
    view, release = random_two_tables(60, seed=3)
    asked = Workload.random(view, 30, 1, 0.3, seed=2, sensitive=True)
    name = asked.values.to_list()
    texts = [
        f"age between {low:.0f} and {high:.0f} and illness in ({values})"
        for low, high, values in zip(
            asked.low[:, 0],
            asked.high[:, 0],
            (
                ", ".join(f"'{v}'" for v in name[int(a) : int(b) + 1])
                for a, b in zip(asked.value_low, asked.value_high, strict=True)
            ),
            strict=True,
        )
    ]
    one, other = count_many(release, asked), count_many(release, texts)
    assert one.expected == pytest.approx(other.expected)
    assert one.lower.tolist() == other.lower.tolist()
    assert one.upper.tolist() == other.upper.tolist()
    assert one.standard_error == pytest.approx(other.standard_error)


def asked_slowly(release: TwoTableRelease, workload: Workload) -> list[Asked]:
    """The queries of a workload as conditions that may be any: a term each."""
    axes, asked = len(release.people.cells), []
    low = np.column_stack([workload.low, workload.value_low])
    high = np.column_stack([workload.high, workload.value_high])
    for bottoms, tops in zip(low.tolist(), high.tolist(), strict=True):
        term = {a: between(bottoms[a], tops[a]) for a in range(axes + 1) if bottoms[a] > -np.inf}
        asked.append(Asked([term], [{c: span for c, span in term.items() if c != axes}], []))
    return asked


@settings(max_examples=60)
@given(two_tables(), st.integers(0, 4), st.sampled_from([0.05, 0.3, 0.9]), st.integers(0, 9))
def test_ranges_are_answered_as_any_condition_is(drawn, dimensions, selectivity, seed) -> None:
    release, rows = drawn
    assume(any(row[-1] is not None for row in rows))
    workload = Workload.random(view_of(rows), 20, dimensions, selectivity, seed, sensitive=True)
    places = sensitive_ranks(release.values, workload.values)
    expected, lower, upper, *_ = count_values(release, asked_slowly(release, workload), [], places)
    found = count_many(release, workload)
    assert found.expected == pytest.approx(np.clip(expected, lower, upper))
    assert found.lower.tolist() == lower.tolist()
    assert found.upper.tolist() == upper.tolist()


def test_a_workload_without_values_is_put_to_the_people() -> None:
    view, release = random_two_tables(60, seed=4)
    asked = Workload.random(view, 30, 1, 0.3, seed=2)
    found, alone = count_many(release, asked), count_many(release.people, asked)
    assert found.lower.tolist() == alone.lower.tolist()
    assert found.upper.tolist() == alone.upper.tolist()


@settings(max_examples=100)
@given(st.data())
def test_bounds_of_ranges_are_the_least_and_most_of_all_assignments(data) -> None:
    sizes = st.integers(0, 4)
    values, held = data.draw(sizes), data.draw(sizes)
    held = min(held, values)
    people = data.draw(sizes)
    meets = data.draw(st.integers(0, people))
    inside = data.draw(st.integers(0, meets))
    fits = [True] * held + [False] * (values - held)
    # Somebody whom the batch does not count may have a value that fits or not.
    uncounted = data.draw(st.integers(max(people - values, 0), people))
    pools = [fits + [u] * uncounted for u in (False, True)]
    lives = [[True] * inside + [i < extra for i in range(meets - inside)] for extra in (0, meets - inside)]
    totals = [
        sum(own and value for own, value in zip([*lived, *[False] * (people - meets)], order, strict=False))
        for lived in lives
        for pool in pools
        for order in set(itertools.permutations(pool, people))
    ]
    assert _bounds(people, values, held, inside, meets, uncounted) == (min(totals), max(totals))


def test_groups_that_are_cells_and_batches_say_what_one_table_says() -> None:
    view = SIX
    grouping = Grouping(np.array([0, 0, 0, 1, 1, 1], dtype=np.int32))
    one, _ = build_release(view, grouping, SECRET, 1)
    two = published(view, [0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1])
    for age, illness in itertools.product((2, 3, 12), ("flu", "gout")):
        where = f"age <= {age} and illness = '{illness}'"
        assert two.count(where).expected == pytest.approx(one.count(where).expected)
