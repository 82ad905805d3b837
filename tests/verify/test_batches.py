"""Renewals of batches found from whom a release counts and whom the one before did."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from republish.memory.membership import Membership
from republish.verify.batches import BatchWalk, Renewals, batch_checks
from republish.verify.check import Check
from republish.verify.promises import AuditedRelease, no_signatures

Row = tuple[int, int, int]
"""A person, a batch and a value."""


def members(rows: list[Row], held: list[Row] = ()) -> Membership:  # type: ignore[assignment]
    def one(some: list[Row]) -> Membership:
        table = np.array(some, dtype=np.int64).reshape(-1, 3)
        people = np.repeat(table[:, :1], 2, axis=1).astype(np.uint64)
        return Membership(people, table[:, 1].astype(np.int32), table[:, 2].astype(np.int32))

    here = one(rows)
    return Membership(here.people, here.group, here.code, held=one(list(held)))


def checks(promise: str, *releases: Membership, clock: list[int] | None = None) -> list[Check]:
    """What is found of the last of some releases."""
    walk = BatchWalk()
    for number, mine in enumerate(releases, start=1):
        last = number == len(releases)
        shown = None
        if last and clock is not None:
            shown = pl.DataFrame({"batch": np.arange(1, len(clock) + 1), "as_of": clock})
        found = Renewals(AuditedRelease(number, mine, no_signatures(9), clock=shown), walk.before)
        if last:
            return list(batch_checks(promise, found))
        walk.add(found)
    raise AssertionError


def holds(promise: str, *releases: Membership, clock: list[int] | None = None) -> bool:
    return all(check.holds for check in checks(promise, *releases, clock=clock))


FIRST = [(p, 1, p % 3) for p in range(1, 10)]
OPEN, CLOSED = "open-batches=3", "closed-batches=3"


@pytest.mark.parametrize("promise", [OPEN, CLOSED])
def test_lives_end_three_at_a_time(promise: str) -> None:
    assert holds(promise, members(FIRST), members(FIRST[3:]))
    assert not holds(promise, members(FIRST), members(FIRST[2:]))
    assert holds(promise, members(FIRST), members(FIRST[2:], FIRST[:2]))


@pytest.mark.parametrize("promise", [OPEN, CLOSED])
def test_where_lives_end_all_of_them_do(promise: str) -> None:
    assert not holds(promise, members(FIRST), members(FIRST[4:], FIRST[:1]))


def test_one_leaver_among_four_joiners_must_be_held() -> None:
    joined = [(p, 1, p % 3) for p in range(20, 24)]
    assert not holds(OPEN, members(FIRST), members(FIRST[1:] + joined))
    assert holds(OPEN, members(FIRST), members(FIRST[1:] + joined, FIRST[:1]))


def test_open_batches_take_in_three_at_a_time_and_closed_ones_nobody() -> None:
    joined = [(p, 1, p % 3) for p in range(20, 23)]
    assert holds(OPEN, members(FIRST), members(FIRST + joined))
    assert not holds(OPEN, members(FIRST), members(FIRST + joined[:2]))
    assert not holds(CLOSED, members(FIRST), members(FIRST + joined))


@pytest.mark.parametrize("promise", [OPEN, CLOSED])
def test_at_least_three_or_none_remain(promise: str) -> None:
    assert not holds(promise, members(FIRST), members(FIRST[7:]))
    assert holds(promise, members(FIRST), members([]))


@pytest.mark.parametrize("promise", [OPEN, CLOSED])
def test_a_batch_of_fewer_than_three_must_not_be_made(promise: str) -> None:
    assert not holds(promise, members([(1, 1, 0), (2, 1, 1)]))
    assert not holds(promise, members(FIRST), members([*FIRST, (20, 2, 0), (21, 2, 1)]))


def test_somebody_who_is_held_must_have_been_counted() -> None:
    assert not holds(OPEN, members(FIRST), members(FIRST[1:], [(30, 1, 1)]))


def test_people_must_stay_together() -> None:
    two = FIRST + [(p, 2, p % 3) for p in range(11, 20)]
    other = [(p, 3 - b, v) if p in (1, 13) else (p, b, v) for p, b, v in two]
    assert holds("value-blind", members(two), members(two))
    assert not holds("value-blind", members(two), members(other))


def test_numbers_of_batches_are_free() -> None:
    two = FIRST + [(p, 2, p % 3) for p in range(11, 20)]
    renumbered = [(p, 3 - b, v) for p, b, v in two]
    for promise in ("value-blind", OPEN, CLOSED):
        assert holds(promise, members(two), members(renumbered))


def test_a_value_that_comes_again_is_another_life_elsewhere() -> None:
    """Person 1 had v in batch 1, then w in batch 2, and has v again in batch 3 when batch 1 loses her first life."""
    joined = [(p, 2, 1) for p in range(21, 24)]
    again = [(p, 3, 2) for p in range(31, 34)]
    weeks = [
        members(FIRST),
        members([*FIRST[1:], *joined, (1, 2, 2)], FIRST[:1]),
        members([*FIRST[3:], *joined, *again, (1, 3, 1)], [(1, 2, 2)]),
    ]
    for promise in ("value-blind", CLOSED):
        assert holds(promise, *weeks)


def test_as_of_is_the_release_of_the_last_change() -> None:
    weeks = [members(FIRST), members(FIRST[2:], FIRST[:2]), members(FIRST[3:]), members(FIRST[3:])]
    for until, as_of in ((1, 1), (2, 1), (3, 3), (4, 3)):
        assert holds(OPEN, *weeks[:until], clock=[as_of])
        assert not holds(OPEN, *weeks[:until], clock=[as_of + 1])


def test_the_bound_is_told_and_limited() -> None:
    found = checks("determined=0.9@0.3", members(FIRST))
    assert [check.holds for check in found] == [True]
    assert found[0].reached == pytest.approx(0.3**6)
    assert not holds("determined=0.0001@0.3", members(FIRST))


def test_what_forgotten_people_were_in_is_not_computed_anew() -> None:
    nobody = [(0, b, v) if p == 4 else (p, b, v) for p, b, v in FIRST]
    found = checks("determined=0.0001@0.3", members(nobody), members(nobody))
    assert found[0].holds and found[0].unchecked and "people were forgotten" in found[0].says
