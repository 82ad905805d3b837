"""Adversaries who match quasi-identifiers, against a twin that compares everybody with every group."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.excluding.test_against_twins import truthful
from attacks.matching.two_tables import two_table_series
from publishers.test_contract import SCHEMA, SECRET, people
from republish import BangA, LDiversity, Number, PolicyError, Schema, Series, read_view
from republish.attacks import Adversary, History, Table, history_of
from republish.attacks.excluding.candidates import members
from republish.attacks.history import _rows
from republish.attacks.matching.fitting import fitting
from republish.attacks.matching.qi_matching import matched
from republish.attacks.matching.sightings import MatchedView, sightings_of
from republish.grouping import Grouping
from republish.memory.event_lists import Appearances, events_of
from republish.memory.memory import Memory
from republish.microdata import Microdata
from republish.release.cells import SOME_MISSING
from republish.release.release import Release, build_release
from republish.release.two_tables import TwoTableRelease, build_two_tables

SEEDS = st.integers(0, 2**32 - 1)


def grouped(view: Microdata, group: np.ndarray) -> tuple[Release, np.ndarray]:
    group = np.unique(group, return_inverse=True)[1] - int((group < 0).any())
    return build_release(view, Grouping(group.astype(np.int32)), SECRET, 1)


def naive_fits(release: Release, points: np.ndarray) -> list[set[int]]:
    """Of every point the groups that hold it, group by group and cell by cell."""
    shape = (release.group_count, points.shape[1])
    inside, certain = np.ones(shape, dtype=np.bool_), np.ones(shape, dtype=np.bool_)
    for g in range(release.group_count):
        for q, cells in enumerate(release.cells):
            inside[g] &= cells.cover(np.full(points.shape[1], g), points[q])
            certain[g] &= (cells.missing[g] != SOME_MISSING) | np.isneginf(points[q])
    found = [set(np.flatnonzero(column).tolist()) for column in inside.T]
    if release.level is None:
        return found
    for i, holds in enumerate(found):
        deepest = max((release.level[g] for g in holds if certain[g, i]), default=-1)
        found[i] = {g for g in holds if release.level[g] >= deepest}
    return found


def fits_of(release: Release, points: np.ndarray) -> list[set[int]]:
    found: list[set[int]] = [set() for _ in range(points.shape[1])]
    fits = fitting(release, points)
    for group, start, end in zip(fits.group, fits.start, fits.end, strict=True):
        for i in fits.order[start:end]:
            assert int(group) not in found[i]
            found[i].add(int(group))
    return found


@given(SEEDS, st.sampled_from([1, 3, 40]), st.sampled_from([0.0, 0.15]))
@settings(max_examples=40)
def test_groups_that_fit_are_those_whose_cells_hold_the_point(seed: int, size: int, missing: float) -> None:
    rng = np.random.default_rng(seed)
    view = read_view(people(60, seed % 1000, missing), SCHEMA).pseudonymous(SECRET)
    order = (
        np.argsort(view.points[0] + rng.normal(0, 5, view.rows)) if seed % 2 else rng.permutation(view.rows)
    )
    group = np.empty(view.rows, dtype=np.int64)
    group[order] = np.arange(view.rows) // size
    release, _ = grouped(view, group)
    assert fits_of(release, view.points) == naive_fits(release, view.points)


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(4))
def test_a_point_belongs_to_the_innermost_region(seed: int, missing: float) -> None:
    view = read_view(people(150, seed, missing), SCHEMA).pseudonymous(SECRET)
    grouping = BangA(k=4, compact=False).publish(view, Memory.empty(), np.random.default_rng(0))
    release, group_of_row = build_release(view, grouping, SECRET, 1)
    assert release.level is not None
    found = fits_of(release, view.points)
    assert found == naive_fits(release, view.points)
    assert all(group - 1 in fit for group, fit in zip(group_of_row, found, strict=True))
    if not missing:
        assert all(len(fit) == 1 for fit in found)


def random_series(seed: int, rows: int = 14, releases: int = 3) -> tuple[History, list[MatchedView]]:
    """People with one number and one town, grouped with neighbours or at random; some left out, some changed."""
    rng = np.random.default_rng(seed)
    frame = people(rows, seed % 997, 0.1).with_columns(pl.col("dx").fill_null("none"))
    values, tables, appearances, truth, parts = None, [], [], [], []
    for _ in range(releases):
        change = rng.random(rows) < 0.15
        fresh = rng.choice(["flu", "cold", "hiv", "none", "asthma"], rows)
        frame = frame.with_columns(
            dx=pl.Series([new if c else old for new, c, old in zip(fresh, change, frame["dx"], strict=True)])
        )
        there = frame.filter(pl.Series(rng.random(rows) < 0.8))
        view = read_view(there, SCHEMA, values).pseudonymous(SECRET)
        values = view.values
        group = np.empty(view.rows, dtype=np.int64)
        group[np.argsort(view.points[0])] = np.arange(view.rows) // 3
        group[rng.random(view.rows) < 0.1] = -1
        release, group_of_row = grouped(view, group)
        parts.append((release, view, group_of_row))
    assert values is not None
    everyone = np.unique(np.concatenate([view.people for _, view, _ in parts]), axis=0)
    sightings = []
    for release, view, group_of_row in parts:
        person = np.array(
            [np.flatnonzero((everyone == p).all(axis=1))[0] for p in view.people], dtype=np.int64
        )
        tables.append(Table(person, group_of_row.astype(np.int64) - 1, *_rows(release, values)))
        appearances.append(Appearances(person, view.codes.astype(np.int64), view.row_digests(SECRET)))
        truth.append(view.codes.astype(np.int64))
        sightings.append(MatchedView.of(release, view, person))
    events = events_of(len(everyone), appearances)
    return History.of(len(everyone), len(values), tables, events, truth), sightings


def naive_matched(history: History, sightings: list[MatchedView], known: np.ndarray) -> dict:
    """Probabilities of every life of everybody else, straight from the definition."""
    assert history.events is not None
    assert history.truth is not None
    weights: dict[tuple[int, int], dict[int, float]] = {}
    for i, sighting in enumerate(sightings):
        release = sighting.release.people
        fits = dict(zip(sighting.person.tolist(), naive_fits(release, sighting.points), strict=True))
        first, last = np.searchsorted(history.release, [i, i + 1])
        rows = [Counter() for _ in range(sighting.release.group_count)]
        for g in range(history.group_start[i], history.group_start[i + 1]):
            for j in range(history.value_start[g], history.value_start[g + 1]):
                rows[g - history.group_start[i]][int(history.value_code[j])] = int(history.value_count[j])
        for a in range(first, last):
            person = int(history.person[a])
            if known[person] and len(fits[person]) == 1:
                rows[next(iter(fits[person]))][int(history.truth[a])] -= 1
        for a in range(first, last):
            person = int(history.person[a])
            if known[person]:
                continue
            fit = sum((Counter(rows[g]) for g in fits[person]), Counter())
            weight = weights.setdefault(
                (person, int(history.events.life[person, i])), dict.fromkeys(range(history.values), 1.0)
            )
            for code in weight:
                weight[code] *= fit[code] / fit.total()
    return {
        key: {code: w / sum(weight.values()) for code, w in weight.items() if w}
        for key, weight in weights.items()
    }


@given(SEEDS, st.sampled_from([0.0, 0.4]))
@settings(max_examples=60)
def test_what_remains_and_how_likely_it_is(seed: int, share: float) -> None:
    history, sightings = random_series(seed)
    known = np.random.default_rng(seed).random(history.people) < share
    findings = matched(history, sightings, known)
    assert truthful(findings)
    expected = naive_matched(history, sightings, known)
    assert history.events is not None
    for a, unknown in enumerate(findings.unknowns.of_appearance):
        person = int(history.person[a])
        left = members(findings.sets[unknown])
        if known[person]:
            assert len(left) == 1
            assert findings.confidence[unknown] == 1.0
            continue
        share_of = expected[person, int(history.events.life[person, history.release[a]])]
        assert left == set(share_of)
        assert findings.confidence[unknown] == pytest.approx(share_of[int(history.truth[a])])
        assert findings.likeliest[unknown] == pytest.approx(max(share_of.values()))


def test_lives_are_weighed_in_blocks_as_they_are_together(monkeypatch: pytest.MonkeyPatch) -> None:
    history, sightings = random_series(5, rows=40)
    whole = matched(history, sightings)
    monkeypatch.setattr("republish.attacks.matching.qi_matching._BLOCK", 20)
    parts = matched(history, sightings)
    assert np.array_equal(whole.sets, parts.sets)
    assert np.array_equal(whole.confidence, parts.confidence)


ONE = Schema("id", [Number("age")], "dx")


def two_groups(ages: list[int], values: list[str], group: list[int]) -> tuple[History, list[MatchedView]]:
    frame = pl.DataFrame({"id": [f"p{i}" for i in range(len(ages))], "age": ages, "dx": values})
    view = read_view(frame, ONE)
    release, of_row = grouped(view, np.array(group))
    person = np.arange(len(ages))
    table = Table(person, of_row.astype(np.int64) - 1, *_rows(release, view.values))
    events = events_of(len(ages), [Appearances(person, view.codes, np.zeros(len(ages), np.uint64))])
    history = History.of(len(ages), len(view.values), [table], events, [view.codes.astype(np.int64)])
    return history, [MatchedView.of(release, view, person)]


def test_who_fits_two_groups_may_have_the_values_of_both() -> None:
    # Groups [20-40] {a, b} and [35-60] {c, c}: who is 38 may be in either, who is 20 may not.
    history, sightings = two_groups([20, 38, 40, 35, 60], ["a", "b", "b", "c", "c"], [0, 0, 0, 1, 1])
    findings = matched(history, sightings)
    by_person = {int(p): int(u) for p, u in zip(history.person, findings.unknowns.of_appearance, strict=True)}
    assert [len(members(findings.sets[by_person[p]])) for p in range(5)] == [2, 3, 3, 3, 1]
    assert findings.confidence[by_person[1]] == pytest.approx(2 / 5)
    assert findings.confidence[by_person[0]] == pytest.approx(1 / 3)


def test_a_known_person_in_one_group_takes_a_row_away() -> None:
    history, sightings = two_groups([20, 38, 40, 35, 60], ["a", "b", "b", "c", "c"], [0, 0, 0, 1, 1])
    known = np.array([True, False, False, False, False])
    findings = matched(history, sightings, known)
    by_person = {int(p): int(u) for p, u in zip(history.person, findings.unknowns.of_appearance, strict=True)}
    assert members(findings.sets[by_person[1]]) == frozenset({1, 2})
    assert findings.confidence[by_person[1]] == pytest.approx(1 / 2)


def test_a_known_person_who_fits_several_groups_takes_nothing_away() -> None:
    history, sightings = two_groups([20, 38, 40, 35, 60], ["a", "b", "b", "c", "c"], [0, 0, 0, 1, 1])
    known = np.array([False, True, False, False, False])
    findings = matched(history, sightings, known)
    by_person = {int(p): int(u) for p, u in zip(history.person, findings.unknowns.of_appearance, strict=True)}
    assert findings.confidence[by_person[0]] == pytest.approx(1 / 3)


def test_a_stored_series_is_matched_with_its_raw_views(series: Series, views: list[Path]) -> None:
    for week, view in enumerate(views[:3], 1):
        series.publish(view, as_of=f"2026-03-{week:02d}")
    history = history_of(series)
    findings = matched(history, sightings_of(series, history, views[:3]), Adversary(0.1).known(history))
    assert truthful(findings)
    assert (findings.confidence > 0).all()


def test_without_raw_views_nobody_can_be_matched(series: Series, views: list[Path]) -> None:
    series.publish(views[0], as_of="2026-03-01")
    history = history_of(series)
    with pytest.raises(PolicyError, match="give the raw views"):
        sightings_of(series, history, None)
    with pytest.raises(PolicyError, match="there are 2 for 1 releases"):
        sightings_of(series, history, views[:2])
    with pytest.raises(PolicyError, match="published people are not in the view"):
        matched(history, sightings_of(series, history, views[1:2]))


def test_people_who_fit_nothing_are_counted_and_not_named() -> None:
    history, (sighting,) = two_groups([20, 38, 40, 35, 60], ["a", "b", "b", "c", "c"], [0, 0, 0, 1, 1])
    moved = replace(sighting, points=sighting.points + 30)
    with pytest.raises(PolicyError, match="4 of 5 people fit none"):
        matched(history, [moved])


def test_groups_of_ldiverse_bang_files_are_matched() -> None:
    view = read_view(people(120, 3, 0.0), SCHEMA).pseudonymous(SECRET)
    grouping = BangA(k=4, compact=False, require=(LDiversity(2),)).publish(
        view, Memory.empty(), np.random.default_rng(0)
    )
    release, of_row = build_release(view, grouping, SECRET, 1)
    person = np.arange(view.rows)
    table = Table(person, of_row.astype(np.int64) - 1, *_rows(release, view.values))
    history = History.of(view.rows, len(view.values), [table], None, [view.codes.astype(np.int64)])
    findings = matched(history, [MatchedView.of(release, view, person)])
    # Every point lies in one block, so that matching knows the group.
    for g in range(history.groups):
        values = frozenset(history.value_code[history.value_start[g] : history.value_start[g + 1]].tolist())
        for a in range(history.member_start[g], history.member_start[g + 1]):
            assert members(findings.sets[findings.unknowns.of_appearance[a]]) == values


# Two tables ---------------------------------------------------------------------------------------


def naive_in_two_tables(history: History, sightings: list[MatchedView], known: np.ndarray) -> dict:
    """Probabilities of every life of everybody else: line by line of the people, row by row of the values."""
    assert history.events is not None
    assert history.truth is not None
    weights: dict[tuple[int, int], dict[int, float]] = {}
    for i, sighting in enumerate(sightings):
        release = sighting.release
        assert isinstance(release, TwoTableRelease)
        lines = Counter(
            (int(cell) - 1, int(batch) - 1)
            for cell, batch in zip(release.people.group, release.batch, strict=True)
            if batch
        )
        rows = [Counter() for _ in range(release.values.group_count)]
        for g in range(history.group_start[i], history.group_start[i + 1]):
            for j in range(history.value_start[g], history.value_start[g + 1]):
                rows[g - history.group_start[i]][int(history.value_code[j])] = int(history.value_count[j])
        fits = dict(zip(sighting.person.tolist(), naive_fits(release.people, sighting.points), strict=True))
        here = range(*np.searchsorted(history.release, [i, i + 1]))
        named = {cell: {b for c, b in lines if c == cell} for cell in range(release.people.group_count)}
        for a in here:
            person = int(history.person[a])
            if known[person] and len(fits[person]) == 1:
                (cell,) = fits[person]
                if len(named[cell]) == 1:
                    (batch,) = named[cell]
                    rows[batch][int(history.truth[a])] -= 1
                    lines[cell, batch] -= 1
        for a in here:
            person = int(history.person[a])
            if known[person]:
                continue
            fit: Counter = Counter()
            for (cell, batch), times in lines.items():
                if cell in fits[person] and rows[batch].total():
                    for code, count in rows[batch].items():
                        fit[code] += times * count / rows[batch].total()
            weight = weights.setdefault(
                (person, int(history.events.life[person, i])), dict.fromkeys(range(history.values), 1.0)
            )
            for code in weight:
                weight[code] *= fit[code] / fit.total()
    return {
        key: {code: w / sum(weight.values()) for code, w in weight.items() if w}
        for key, weight in weights.items()
    }


@given(SEEDS, st.sampled_from([0.0, 0.4, 0.8]))
@settings(max_examples=60)
def test_in_two_tables_lines_name_batches_and_batches_hold_values(seed: int, share: float) -> None:
    history, sightings = two_table_series(seed)
    known = np.random.default_rng(seed).random(history.people) < share
    findings = matched(history, sightings, known)
    assert truthful(findings)
    expected = naive_in_two_tables(history, sightings, known)
    assert history.events is not None
    assert history.truth is not None
    for a, unknown in enumerate(findings.unknowns.of_appearance):
        person = int(history.person[a])
        if known[person]:
            continue
        share_of = expected[person, int(history.events.life[person, history.release[a]])]
        assert members(findings.sets[unknown]) == set(share_of)
        assert findings.confidence[unknown] == pytest.approx(share_of[int(history.truth[a])])
        assert findings.likeliest[unknown] == pytest.approx(max(share_of.values()))


def in_cells(
    ages: list[int], values: list[str], batch: list[int], cell: list[int]
) -> tuple[History, list[MatchedView]]:
    frame = pl.DataFrame({"id": [f"p{i}" for i in range(len(ages))], "age": ages, "dx": values})
    view = read_view(frame, ONE)
    release, placed = build_two_tables(
        view, Grouping(np.array(batch, np.int32)), Grouping(np.array(cell, np.int32)), SECRET, 1
    )
    person = np.arange(len(ages))
    table = Table(person, placed.group.astype(np.int64) - 1, *_rows(release.values, view.values))
    events = events_of(len(ages), [Appearances(person, view.codes, np.zeros(len(ages), np.uint64))])
    history = History.of(len(ages), len(view.values), [table], events, [view.codes.astype(np.int64)])
    return history, [MatchedView.of(release, view, person, placed.cell)]


def test_every_line_of_her_cell_is_equally_likely_hers() -> None:
    # The cell of 20 to 22 names batch 1 {a, b} twice and batch 2 {a, c, c} once: a 2/2 + 1/3, b 2/2, c 2/3 of 3 lines.
    history, sightings = in_cells(
        [20, 21, 22, 60, 61], ["a", "b", "c", "a", "c"], [0, 0, 1, 1, 1], [0, 0, 0, 1, 1]
    )
    findings = matched(history, sightings)
    chance = dict(
        zip(history.person.tolist(), findings.confidence[findings.unknowns.of_appearance], strict=True)
    )
    assert chance[0] == pytest.approx((2 / 2 + 1 / 3) / 3)
    assert chance[1] == pytest.approx((2 / 2) / 3)
    assert chance[2] == pytest.approx((2 / 3) / 3)
    # The cell of 60 and 61 names batch 2 alone: two thirds of its values are c.
    assert (chance[3], chance[4]) == (pytest.approx(1 / 3), pytest.approx(2 / 3))


def test_a_known_person_takes_line_and_value_where_her_cell_names_one_batch() -> None:
    history, sightings = in_cells(
        [20, 21, 22, 60, 61], ["a", "b", "c", "a", "c"], [0, 0, 1, 1, 1], [0, 0, 0, 1, 1]
    )
    findings = matched(history, sightings, np.array([False, False, False, False, True]))
    chance = dict(
        zip(history.person.tolist(), findings.confidence[findings.unknowns.of_appearance], strict=True)
    )
    assert chance[3] == pytest.approx(1 / 2)  # batch 2 is left with a and c
    assert chance[2] == pytest.approx((1 / 2) / 3)
    findings = matched(history, sightings, np.array([True, False, False, False, False]))
    chance = dict(
        zip(history.person.tolist(), findings.confidence[findings.unknowns.of_appearance], strict=True)
    )
    assert chance[1] == pytest.approx((2 / 2) / 3)  # two batches are named, and nothing is taken away
