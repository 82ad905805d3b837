"""Closed batches: who ends together could have exchanged values, and how many with whom bounds the risk."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batch_driver import small_series, worlds_of_stays
from republish.inference import determination
from republish.inference.determination import batch_risk, escape_risk, exchange_risk
from republish.memory.cohort_stays import COLUMNS, FORGOTTEN, FREE, Stays
from republish.publishers import ValueBlind

SERIES = 110
P = 0.3


def stays_of(rows: list[tuple[int, int, int, int, int]], bearer: list[int] | None = None) -> Stays:
    """Stays from batch, value, end, value before and after; all begin in release 1 and are of different people."""
    cohort, code, until, previous, following = (
        np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)
    )
    entry = np.arange(len(rows))
    free = np.full(len(rows), FREE) if bearer is None else np.array(bearer)
    found = {"cohort": cohort, "code": code, "since": np.ones(len(rows), dtype=np.int64), "until": until}
    found |= {"bearer": free, "person": entry, "life": entry, "previous": previous, "following": following}
    return Stays(*(found[name] for name in COLUMNS))


def naive_partners(stays: Stays) -> list[int]:
    found = []
    for i in range(stays.count):
        mine = stays.code[i], {int(stays.previous[i]), int(stays.following[i])}
        found.append(
            sum(
                stays.bearer[j] == FREE
                and (stays.cohort[j], stays.until[j]) == (stays.cohort[i], stays.until[i])
                and stays.code[j] != mine[0]
                and int(stays.code[j]) not in mine[1]
                and mine[0] not in (stays.previous[j], stays.following[j])
                for j in range(stays.count)
            )
        )
    return found


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_partners_are_those_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(rng.integers(1, 25)):
        code = int(rng.integers(4))
        others = [v for v in range(4) if v != code]
        before, after = (int(rng.choice(others)) if rng.random() < 0.4 else -1 for _ in range(2))
        rows.append((int(rng.integers(1, 3)), code, int(rng.integers(1, 3)), before, after))
    stays = stays_of(rows, [FORGOTTEN if rng.random() < 0.1 else FREE for _ in rows])
    risk = exchange_risk(stays, P)
    some = stays.bearer == FREE
    assert risk.of_stay[some] == pytest.approx(P ** np.array(naive_partners(stays), dtype=float)[some])
    assert not risk.of_stay[~some].any()
    assert risk.people == int(some.sum())


def test_one_of_another_value_is_one_to_exchange_with() -> None:
    found = exchange_risk(
        stays_of([(1, 0, 1, -1, -1), (1, 1, 1, -1, -1), (1, 1, 1, 0, -1), (1, 1, 2, -1, -1)]), P
    )
    # The third had the first one's value before, the fourth ends later, alone.
    assert found.of_stay.tolist() == [pytest.approx(P), pytest.approx(P), 1.0, 1.0]


def test_nobody_is_no_risk() -> None:
    assert exchange_risk(Stays.none(), P).share == 0.0


def test_whoever_is_forgotten_is_no_way_out_and_not_at_risk() -> None:
    rows = [(1, 0, 1, -1, -1), (1, 1, 1, -1, -1), (1, 1, 1, -1, -1)]
    for risk in (exchange_risk, escape_risk, batch_risk):
        found = risk(stays_of(rows, [FREE, FREE, FORGOTTEN]), P)
        assert found.of_stay.tolist() == [pytest.approx(P), pytest.approx(P), 0.0]
        assert found.people == 2


def test_each_batch_has_the_closed_form_or_the_search() -> None:
    """In the first all begin together, and the search stops when the bound is small; in the other two begin later."""
    rows = [(1, i % 2, 1, -1, -1) for i in range(40)] + [(2, i % 2, 2, -1, -1) for i in range(8)]
    stays = stays_of(rows)
    stays.since[-2:] = 2
    found, sought = batch_risk(stays, P), escape_risk(stays, P)
    assert found.of_stay[:40] == pytest.approx(exchange_risk(stays, P).of_stay[:40], rel=1e-12)
    assert found.of_stay[:40].max() < sought.of_stay[:40].max()
    assert found.of_stay[40:] == pytest.approx(sought.of_stay[40:], rel=1e-12)
    assert found.expected == pytest.approx(found.of_stay.sum()) and found.people == 48


def test_who_can_exchange_with_many_needs_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the batch begins later, with enough others each time."""
    stays = stays_of([(1, i % 2, 1, -1, -1) for i in range(40)])
    stays.since[20:] = 2
    searched = escape_risk(stays, 0.1).of_stay
    monkeypatch.setattr(determination, "escape_risk", None)
    found = batch_risk(stays, 0.1)
    assert found.of_stay == pytest.approx(np.full(40, 0.1**10)) and searched.max() < 1e-7
    assert found.expected == pytest.approx(40 * 0.1**10)


@pytest.mark.parametrize("kind", ["open", "closed"])
def test_nobody_in_batches_is_determined_more_often_than_the_bound_says(kind: str) -> None:
    """Series that the publisher made: all worlds and all sets of compromised people."""
    publisher = ValueBlind(kind, 4, 2, 2, max_determined=0.99, compromised=P)
    lives, ends, several = 0, 0, 0
    for seed in range(SERIES):
        stays = small_series(publisher, seed)[0].stays
        worlds = worlds_of_stays(stays)
        searched, bound = escape_risk(stays, P).of_stay, batch_risk(stays, P).of_stay
        if kind == "closed":
            assert (bound == exchange_risk(stays, P).of_stay).all()
        for exact, ((life, _),) in zip(worlds.exposed(P), worlds.places, strict=True):
            assert exact <= bound[life] + 1e-9, seed
            assert exact <= searched[life] + 1e-9, seed
        lives += len(worlds.person)
        ends += int((stays.until < stays.until.max(initial=0)).sum())
        several += int(len(set(stays.life.tolist())) < stays.count)
    assert lives > 4 * SERIES * 0.6
    assert ends > 50
    assert several or kind == "closed"


def test_no_life_of_a_closed_batch_ends_with_fewer_than_n() -> None:
    publisher = ValueBlind("closed", 6, 3, 2, max_determined=0.99, compromised=P)
    for seed in range(40):
        stays = small_series(publisher, seed, releases=5, crowd=30)[0].stays
        exits = np.column_stack([stays.cohort, stays.until])
        if len(exits):
            assert np.unique(exits, axis=0, return_counts=True)[1].min() >= 3
