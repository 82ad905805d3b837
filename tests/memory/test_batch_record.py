"""The record of batches: stored and read back the same, and what of it belongs to people who were forgotten."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from batch_driver import BatchDriver, small_series
from republish.errors import LedgerError
from republish.memory.batch_record import BatchRecord
from republish.memory.cohort_stays import FORGOTTEN, FREE
from republish.memory.memory import Memory
from republish.publishers import ValueBlind

OPEN = ValueBlind("open", 6, 2, 2, max_determined=0.99, compromised=0.3)


def crowd(first: int = 0, rows: int = 18) -> list[tuple[str, int, str, str, str]]:
    return [(f"p{i}", i % 7, "10", "n", f"v{i % 3}") for i in range(first, first + rows)]


def driven() -> BatchDriver:
    driver = BatchDriver(OPEN)
    driver.publish(crowd())
    driver.publish(crowd(4, 24))
    return driver


def test_an_empty_memory_has_an_empty_record() -> None:
    record = BatchRecord.of(Memory.empty())
    assert (record.stays.count, record.cuts.height, len(record.zone), len(record.size)) == (0, 0, 0, 0)


def test_it_is_read_back_as_it_was_written() -> None:
    record = BatchRecord.of(driven().memory)
    again = BatchRecord.of(Memory(np.empty((0, 2), dtype=np.uint64), {}, counts=record.frame()))
    assert again.stays.frame().equals(record.stays.frame())
    assert again.cuts.equals(record.cuts)
    assert (again.zone.tolist(), again.size.tolist()) == (record.zone.tolist(), record.size.tolist())
    assert len(record.zone) == int(record.stays.cohort.max())


def test_a_record_without_cuts_and_batches_is_read_back() -> None:
    nothing = BatchRecord.of(Memory.empty())
    again = BatchRecord.of(Memory(np.empty((0, 2), dtype=np.uint64), {}, counts=nothing.frame()))
    assert (again.stays.count, again.cuts.height, len(again.zone)) == (0, 0, 0)


def test_the_bearer_of_a_stay_is_whoever_points_to_her_own() -> None:
    driver = driven()
    memory = driver.memory
    pointed = memory.columns["stay"].astype(np.int64) - 1
    known = np.flatnonzero(pointed >= 0)
    assert np.array_equal(driver.record.bearers(memory, pointed[known]), memory.people[known])


def test_stays_of_people_who_are_gone_are_of_forgotten_ones() -> None:
    memory = driven().memory
    everyone = BatchRecord.of(memory).known_to(memory)
    assert (everyone.stays.bearer == FREE).all()
    fewer = memory.without(memory.people[memory.columns["stay"] > 0][:3])
    stays = BatchRecord.of(fewer).known_to(fewer).stays
    assert np.count_nonzero(stays.bearer == FORGOTTEN) == 3
    assert not BatchRecord.of(fewer).bearers(fewer, np.flatnonzero(stays.bearer == FORGOTTEN)).any()


def test_a_memory_that_points_beyond_the_record_is_refused() -> None:
    driver = driven()
    columns = {**driver.memory.columns, "stay": driver.memory.columns["stay"] + 100}
    driver.memory = Memory(driver.memory.people, columns, release=2, counts=driver.memory.counts)
    with pytest.raises(LedgerError, match="damaged or of another series"):
        driver.publish(crowd(5))


def test_stays_never_overlap_in_an_open_batch_for_one_person() -> None:
    for seed in range(30):
        stays = small_series(OPEN, seed, releases=5, crowd=14)[0].stays
        frame = pl.DataFrame(
            {"person": stays.person, "cohort": stays.cohort, "since": stays.since, "until": stays.until}
        )
        after = frame.sort("since").with_columns(next=pl.col("since").shift(-1).over("person", "cohort"))
        assert after.filter(pl.col("next") <= pl.col("until")).is_empty()
