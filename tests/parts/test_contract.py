"""The contract of engines, for one process and for parts made in this process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from parts.contract import EngineContract, series
from parts.weeks import PUBLISHERS, weeks, write
from publishers.test_contract import people
from republish import BrokenPromise, LedgerError, Series, ViewError
from republish.ledger import crash_points
from republish.parts import Engine, Here
from republish.parts.blocks import Block, table_block, table_of
from republish.parts.in_process import HereMover
from republish.parts.pseudonymize import VIEW, tally_of
from republish.parts.publish.shards import WritingShards
from republish.publishers import Publisher, ValueBlind
from republish.release.forms import TwoTables
from slow import quick


class TestOneProcess(EngineContract):
    @pytest.fixture
    def engine(self) -> Engine | None:
        return None


class TestParts(EngineContract):
    @pytest.fixture
    def engine(self) -> Engine | None:
        return Here(parts=3)


DRIVER = """
import sys
from republish import Series
from republish.parts import Here

Series.open(sys.argv[1]).publish(sys.argv[2], engine=Here(parts=3))
"""
ELSEWHERE = {"created-folders", "built-aside", "folder-made", "erased", "backup-written"}
QUICK = {"before-commit"}
KILLED: dict[str, tuple[Publisher, TwoTables | None]] = {
    "one table": (PUBLISHERS["tau-safety"], None),
    "two tables": (PUBLISHERS["tau-safety"], TwoTables(4)),
    "value-blind": (ValueBlind(size=20, n=2, m=2, max_determined=0.5), TwoTables(4)),
}


@pytest.mark.parametrize("case", KILLED)
@pytest.mark.parametrize(
    "point", quick([p for p in crash_points.POINTS if p not in ELSEWHERE], QUICK.__contains__)
)
def test_a_killed_publisher_leaves_the_old_series_or_the_new_one(
    tmp_path: Path, point: str, case: str
) -> None:
    publisher, form = KILLED[case]
    made = series(tmp_path / "s", publisher, form=form)
    first, second, third = write(tmp_path, weeks(120, 3))
    made.publish(first, engine=Here(parts=3))
    command = [sys.executable, "-c", DRIVER, str(made.root), str(second)]
    done = subprocess.run(command, env=os.environ | {crash_points.VARIABLE: point}, check=False)
    assert done.returncode == -signal.SIGKILL
    expected = 2 if point in ("after-commit", "renamed") else 1
    reader = Series.open(made.root)
    assert len(reader.records) == expected
    assert reader.verify().holds
    assert reader.publish(third, engine=Here(parts=3)).number == expected + 1
    assert reader.verify().holds
    assert not list((made.root / "private" / "staging").iterdir())
    assert len(list((made.root / "releases").iterdir())) == expected + 1


def test_a_part_that_the_driver_does_not_find_is_not_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = series(tmp_path / "s", PUBLISHERS["penalty-tree"])
    (path,) = write(tmp_path, weeks(120, 1))

    def lose(step: str) -> None:
        if step == "committing":
            next((made.root / "private" / "staging").glob("*/table.parquet/part-00001.parquet")).unlink()

    with pytest.raises(LedgerError, match="not those that were checked"):
        made.publish(path, progress=lose, engine=Here(parts=3))
    assert not made.records


def test_decimals_are_what_they_are_to_one_process(tmp_path: Path) -> None:
    view = people(60).with_columns(dx=pl.Series([0.5, 0.25, 2, 7] * 15).cast(pl.Decimal(6, 2)))
    made = series(tmp_path / "s", PUBLISHERS["penalty-tree"])
    (path,) = write(tmp_path, [view])
    made.publish(path)
    assert made.publish(path, engine=Here(parts=2), meant=["same-view"]).arrivals.changed_value == 0


def test_whole_decimals_name_people_as_whole_numbers_do(tmp_path: Path) -> None:
    view = people(60).with_columns(id=pl.Series(range(60)))
    made = series(tmp_path / "s", PUBLISHERS["penalty-tree"])
    numbers, decimals = write(tmp_path, [view, view.with_columns(pl.col("id").cast(pl.Decimal(20, 0)))])
    made.publish(numbers)
    assert made.publish(decimals, engine=Here(parts=2), meant=["same-view"]).arrivals.new == 0


@pytest.mark.parametrize(
    "changed",
    [
        pl.concat([people(60, missing=0), people(60, missing=0)[:1].with_columns(id=pl.lit("another"))]),
        people(60, missing=0).with_columns(dx=pl.lit("never seen")),
        people(60, missing=0).with_columns(age=pl.lit(200)),
        people(60, missing=0).with_columns(age=pl.lit(30.5)),
        people(60, missing=0).with_columns(age=pl.lit(None, pl.Int64)),
    ],
    ids=["more rows", "new value", "beyond", "fraction", "missing"],
)
def test_a_view_that_changes_while_it_is_read_is_refused(
    changed: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = series(tmp_path / "s", PUBLISHERS["penalty-tree"])
    readings, rows = iter([people(60, missing=0), changed]), HereMover.rows
    monkeypatch.setattr(HereMover, "rows", lambda self, _, *rest: rows(self, next(readings), *rest))
    with pytest.raises(ViewError, match="must be the same each time it is read"):
        made.publish(people(60), engine=Here(parts=2))
    assert not made.records


@pytest.mark.parametrize("change", [lambda rows: rows[:-1], lambda rows: pl.concat([rows, rows[:1]])])
def test_a_row_lost_or_doubled_on_its_way_is_noticed(
    change: Callable[[pl.DataFrame], pl.DataFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange = HereMover.exchange

    def careless(self: HereMover, data: Any, kinds: Any, tasks: int, task: Any) -> list[Block]:
        if isinstance(task, WritingShards):
            first = next(block for block in data[0] if block.kind == VIEW)
            damaged = table_block(change(table_of(first)), first.to, VIEW)
            data = [[damaged if block is first else block for block in data[0]]]
        return exchange(self, data, kinds, tasks, task)

    monkeypatch.setattr(HereMover, "exchange", careless)
    made = series(tmp_path / "s", PUBLISHERS["penalty-tree"])
    (path,) = write(tmp_path, weeks(400, 1))
    with pytest.raises(BrokenPromise, match="parts make the whole: does not hold"):
        made.publish(path, engine=Here(parts=2))
    assert not made.records


def test_the_tally_tells_rows_with_exchanged_values_apart() -> None:
    rng = np.random.default_rng(0)
    words, digests = (rng.integers(0, 2**64, size, dtype=np.uint64) for size in ((9, 2), 9))
    codes = np.arange(9)
    order = rng.permutation(9)
    assert tally_of(words[order], digests[order], codes[order]) == tally_of(words, digests, codes)
    assert tally_of(words, digests, np.roll(codes, 1)) != tally_of(words, digests, codes)
