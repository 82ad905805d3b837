"""Kernels that cut an order of rows, against plain loops and against all cuts there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.adversary import divergence, entropy, kolmogorov
from republish import Category, KAnonymity, LDiversity, Number, Redaction, Schema, TCloseness, read_view
from republish.grouping import Grouping
from republish.microdata import Microdata
from republish.publishers._ordered.cuts import (
    JS,
    KS,
    GroupLimits,
    Line,
    Prices,
    entropies,
    greedy,
    insert,
    optimal,
    partings,
    stand_ins,
    unfit,
)
from republish.publishers._ordered.mending import lasting
from republish.publishers.mondrian import prepare
from republish.requirements import BetaLikeness, Requirement, compile_rules

WEIGHTS = (0.5, 3.0, 1.0)
SCHEMA = Schema(
    "id",
    [
        Number("age", weight=WEIGHTS[0]),
        Category("zip", hierarchy=Redaction(), weight=WEIGHTS[1]),
        Category("town", weight=WEIGHTS[2]),
    ],
    "dx",
)
AGES, ZIPS, TOWNS = [20, 21, 40, 80, None], ["10", "11", "20", None], ["n", "s", "e", None]
EPS = 1e-9


@dataclass
class Case:
    """Rows in an order, as the kernels read them and as they were made."""

    view: Microdata
    rows: list[tuple[int | None, str | None, str | None, str]]
    requirements: tuple[Requirement, ...]
    line: Line
    limits: GroupLimits
    prior: list[list[float]]

    @property
    def codes(self) -> list[int]:
        return [int(code) for code in self.view.codes]

    def holds(self, rows: list[int], divergence_too: bool = True) -> bool:
        """Whether these rows may be a group, by definition."""
        if not self.satisfies([self.codes[i] for i in rows]):
            return False
        apart = (kolmogorov if self.limits.distance else divergence)([self.prior[i] for i in rows])
        return not divergence_too or apart <= self.limits.divergence + EPS

    def satisfies(self, codes: list[int]) -> bool:
        counts = np.bincount(codes, minlength=len(self.view.values))[np.newaxis]
        return all(bool(r.holds(counts, self.view.whole)[0]) for r in self.requirements)

    def is_crowd(self, rows: list[int]) -> bool:
        return sum(self.line.weight[i] for i in rows) >= self.limits.crowd - EPS

    def penalty(self, rows: list[int]) -> float:
        """The mean certainty penalty of a row of this group."""
        every = [sorted({r[q] for r in self.rows if r[q] is not None}) for q in range(3)]
        found = 0.0
        for q, domain in enumerate(every):
            cells = {self.rows[i][q] for i in rows}
            if len(cells) == 1:
                continue
            if None in cells:
                open_share = 1.0 if q or len(domain) > 1 else 0.0  # a number that never varies costs nothing
            elif q == 0:
                open_share = (max(cells) - min(cells)) / (domain[-1] - domain[0])
            elif q == 1:
                same = len({z[0] for z in cells}) == 1
                node = sum(z[0] == min(cells)[0] for z in domain) if same else len(domain)
                open_share = node / len(domain)
            else:
                open_share = len(cells) / len(domain)
            found += WEIGHTS[q] * open_share
        return found / sum(WEIGHTS)


@st.composite
def cases(draw: st.DrawFn, most: int = 9) -> Case:
    n = draw(st.integers(1, most))
    m = draw(st.integers(1, 3))
    cell = st.tuples(
        st.sampled_from(AGES),
        st.sampled_from(ZIPS),
        st.sampled_from(TOWNS),
        st.integers(0, m - 1).map("abc".__getitem__),
    )
    rows = draw(st.lists(cell, min_size=n, max_size=n))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    requirements: list[Requirement] = [KAnonymity(draw(st.integers(1, 3)))]
    requirements += draw(st.sampled_from([[], [TCloseness(0.4)], [LDiversity(2)], [BetaLikeness(1.0)]]))
    frame = pl.DataFrame(
        [(str(i), *row) for i, row in enumerate(rows)],
        schema={"id": pl.String, "age": pl.Int64, "zip": pl.String, "town": pl.String, "dx": pl.String},
        orient="row",
    )
    view = read_view(frame, SCHEMA)
    prior = rng.dirichlet(np.full(len(view.values), 0.5), n)
    crowd = draw(st.sampled_from([0.0, 0.0, 1.3]))
    distance = draw(st.sampled_from([JS, KS]))
    limit = draw(st.sampled_from([0.02, 0.2, 0.5, 2.0]))
    limits = GroupLimits(compile_rules(requirements, view.whole), limit, crowd, distance)
    compared = np.cumsum(prior, axis=1) if distance == KS else prior
    line = Line(view.codes.astype(np.int64), compared, entropies(prior), rng.random(n), prepare(view))
    return Case(view, rows, tuple(requirements), line, limits, prior.tolist())


def runs(group: np.ndarray) -> list[list[int]]:
    """The rows of every group, by number."""
    return [np.flatnonzero(group == g).tolist() for g in range(group.max(initial=-1) + 1)]


def dense(group: np.ndarray) -> np.ndarray:
    """The groups numbered without gaps; -1 stays."""
    return np.unique(np.append(group, -1), return_inverse=True)[1][:-1] - 1


def test_entropies_are_in_bits() -> None:
    prior = np.random.default_rng(0).dirichlet(np.ones(5), 20)
    prior[0] = [1, 0, 0, 0, 0]
    assert entropies(prior) == pytest.approx([entropy(p.tolist()) for p in prior])


@given(cases(most=20))
@settings(max_examples=100)
def test_greedy_closes_a_group_as_soon_as_it_may(case: Case) -> None:
    expected, open_, made = [-1] * len(case.rows), [], 0
    for i in range(len(case.rows)):
        open_.append(i)
        if case.is_crowd(open_) and case.holds(open_):
            for row in open_:
                expected[row] = made
            open_, made = [], made + 1
    assert greedy(case.line, case.limits).tolist() == expected


def all_cuts(n: int, runs_allowed: dict[tuple[int, int], float]) -> Iterator[list[tuple[int, int]]]:
    """Every way to take disjoint runs of the first n rows; what is in none is left out."""
    if n == 0:
        yield []
        return
    yield from all_cuts(n - 1, runs_allowed)
    for begin in range(n):
        if (begin, n) in runs_allowed:
            for cut in all_cuts(begin, runs_allowed):
                yield [*cut, (begin, n)]


@given(cases(), st.sampled_from([0.3, 50.0]), st.integers(0, 2**32), st.sampled_from([3, 9, 64]))
@settings(max_examples=80)
def test_optimal_has_the_least_cost_of_all_cuts(case: Case, left_out: float, seed: int, window: int) -> None:
    n = len(case.rows)
    parting = np.append(np.random.default_rng(seed).integers(0, 3, n), 0).astype(float)
    prices = Prices(left_out, parting, window)
    price = {}
    for end in range(1, n + 1):
        for begin in range(max(0, end - window), end):
            rows = list(range(begin, end))
            if case.is_crowd(rows) and case.holds(rows):
                price[begin, end] = len(rows) * (case.penalty(rows) - left_out) + parting[end]
    least = min(sum(map(price.__getitem__, cut)) for cut in all_cuts(n, price))
    groups = runs(optimal(case.line, case.limits, prices))
    found = [(rows[0], rows[-1] + 1) for rows in groups]
    assert all(len(rows) == end - begin for rows, (begin, end) in zip(groups, found, strict=True))
    assert found == sorted(found)
    assert set(found) <= set(price)
    assert sum(map(price.__getitem__, found)) == pytest.approx(least)


@given(st.lists(st.integers(-1, 4), max_size=40), st.sampled_from([0.0, 0.1, 0.3]))
def test_partings_count_the_groups_on_both_sides(companions: list[int], tolerance: float) -> None:
    expected = []
    for cut in range(len(companions) + 1):
        left, right = Counter(companions[:cut]), Counter(companions[cut:])
        sizes = Counter(companions)
        parted = [g for g in sizes if g >= 0 and min(left[g], right[g]) > tolerance * sizes[g]]
        expected.append(len(parted))
    found = partings(np.array(companions, dtype=np.int64), 5, tolerance)
    assert found.tolist() == expected


@given(cases(most=20), st.integers(0, 2**32))
@settings(max_examples=80)
def test_insert_widens_as_little_as_it_can(case: Case, seed: int) -> None:
    """Each row in turn goes into the first group that holds with it and whose penalty grows least."""
    rng = np.random.default_rng(seed)
    n = len(case.rows)
    group = dense(rng.integers(-1, 3, n))
    groups = int(group.max(initial=-1)) + 1
    members = [np.flatnonzero(group == g).tolist() for g in range(groups)]
    filled = insert(case.line, case.limits, group, groups)
    for i in np.flatnonzero(group < 0).tolist():
        chosen = int(filled[i])
        admitting = [g for g in range(groups) if case.holds([*members[g], i])]
        assert (chosen >= 0) == bool(admitting)
        if chosen >= 0:
            assert chosen in admitting
            wider = [span(case, [*members[g], i]) - span(case, members[g]) for g in admitting]
            assert wider[admitting.index(chosen)] == pytest.approx(min(wider))
            members[chosen].append(i)
    assert np.array_equal(filled[group >= 0], group[group >= 0])


def span(case: Case, rows: list[int]) -> float:
    """What the rows of a group cost, a set of flat categories taken for the range it spans."""
    towns = sorted({r[2] for r in case.rows if r[2] is not None})
    cells = {case.rows[i][2] for i in rows}
    plain = case.penalty(rows) * 3
    if len(cells) > 1 and None not in cells:
        places = [towns.index(town) for town in cells]
        plain += (max(places) - min(places) + 1 - len(cells)) / len(towns)
    return plain * len(rows)


@given(cases(most=20), st.integers(0, 2**32))
@settings(max_examples=80)
def test_stand_ins_join_the_nearest_group_with_what_it_lacks(case: Case, seed: int) -> None:
    n, m = len(case.rows), len(case.view.values)
    group = dense(np.random.default_rng(seed).integers(-1, 3, n))
    groups = int(group.max(initial=-1)) + 1
    codes = [[case.codes[i] for i in np.flatnonzero(group == g)] for g in range(groups)]
    nearest, code = stand_ins(case.line, case.limits.rules, group, groups)
    for i in range(n):
        if group[i] >= 0:
            assert nearest[i] == -1
            continue
        near = sorted((abs(j - i), j > i, j) for j in range(n) if group[j] >= 0)
        if not near:
            assert nearest[i] == -1
            continue
        g = int(group[near[0][2]])
        lack = [case.view.whole.overall[s] * len(codes[g]) - codes[g].count(s) for s in range(m)]
        if nearest[i] >= 0:
            assert nearest[i] == g
            assert lack[code[i]] == pytest.approx(max(lack))
            assert case.satisfies([*codes[g], int(code[i])])
            codes[g].append(int(code[i]))
        else:
            best = [s for s in range(m) if lack[s] > max(lack) - EPS]
            assert not all(case.satisfies([*codes[g], s]) for s in best)


@given(cases(most=20), st.integers(0, 2**32))
@settings(max_examples=60)
def test_unfit_names_the_groups_that_break_a_rule(case: Case, seed: int) -> None:
    group = np.sort(np.random.default_rng(seed).integers(0, 4, len(case.rows)))
    start = np.searchsorted(group, np.arange(5))
    found = unfit(case.limits.rules, case.line.codes, start)
    for g in range(4):
        codes = case.line.codes[start[g] : start[g + 1]].tolist()
        assert bool(found[g]) == (not codes or not case.satisfies(codes))


@given(cases(most=20), st.integers(0, 2**32))
@settings(max_examples=60)
def test_lasting_groups_satisfy_the_rules_against_what_is_published(case: Case, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = len(case.view.values)
    group = dense(rng.integers(-1, 4, len(case.rows)))
    groups = int(group.max(initial=-1)) + 1
    fakes = rng.integers(0, 3) if groups else 0
    before = Grouping(
        group.astype(np.int32),
        rng.integers(0, max(groups, 1), fakes).astype(np.int32),
        rng.integers(0, values, fakes).astype(np.int32),
    )
    kept = lasting(case.view, before, case.requirements)
    if not before.suppressed and not before.counterfeits:
        assert kept == before or np.array_equal(kept.group, before.group)
        return
    published = [case.codes[i] for i in np.flatnonzero(kept.group >= 0)] + kept.counterfeit_code.tolist()
    whole = type(case.view.whole).of(np.array(published, dtype=np.int64), values)
    for g in range(kept.groups):
        mine = [case.codes[i] for i in np.flatnonzero(kept.group == g)]
        assert mine
        mine += kept.counterfeit_code[kept.counterfeit_group == g].tolist()
        counts = np.bincount(mine, minlength=values)[np.newaxis]
        assert all(r.holds(counts, whole)[0] for r in case.requirements)
    together = {(int(a), int(b)) for a, b in zip(before.group, kept.group, strict=True) if b >= 0}
    assert len(together) == kept.groups  # a group stays whole or goes
