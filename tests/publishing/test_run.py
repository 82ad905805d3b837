"""The frame of a release: what one process and an engine have in common, and how often they read what they wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from parts.weeks import PUBLISHERS, SCHEMA, weeks
from republish import Series
from republish.parts import Engine, Here
from republish.publishing.private_files import needs_fresh_base
from republish.sources import paths

ENGINES = [None, Here(parts=2)]


class Reads:
    """How often each column of a staged table was read in each step."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.counted: Counter[tuple[str, str]] = Counter()
        self.step = ""
        read = paths._read

        def counting(part: Path, columns: Sequence[str] | None) -> pl.DataFrame:
            frame = read(part, columns)
            if "staging" in part.parts:
                self.counted.update((self.step, name) for name in frame.columns)
            return frame

        monkeypatch.setattr(paths, "_read", counting)

    def __call__(self, step: str) -> None:
        self.step = step


@pytest.mark.parametrize("name", ["mondrian", "tau-safety", "js-reduce"])
def test_each_column_of_a_staged_table_is_read_once_a_step(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Series.create(tmp_path / "s", SCHEMA, PUBLISHERS[name], seed=1, one_table=True)
    views = weeks(60, 2)
    made.publish(views[0])
    reads = Reads(monkeypatch)
    made.publish(views[1], progress=reads)
    stored = pl.read_parquet_schema(made.ledger.folder(2) / "table.parquet")
    assert reads.counted == {("verifying", column): 1 for column in stored}


@pytest.mark.parametrize("engine", ENGINES, ids=["one process", "parts"])
def test_the_memory_gets_a_fresh_base_by_one_rule(engine: Engine | None, tmp_path: Path) -> None:
    made = Series.create(tmp_path / "s", SCHEMA, PUBLISHERS["mondrian"], seed=1, one_table=True)
    everyone = weeks(160, 1)[0]
    lines, kept = [], []
    for first, last in ((0, 40), (40, 80), (80, 120), (80, 120), (80, 120)):
        before = set(made.memory_files())
        made.publish(everyone[first:last], meant=("new-people", "same-view"), engine=engine)
        lines.append(sum(made.memory_files().values()))
        kept.append(before <= set(made.memory_files()))
    assert lines == [40, 80, 120, 160, 120]
    assert kept == [True, True, True, True, False]
    assert made.memory().size == 120 and made.verify().holds


def test_a_fresh_base_is_due_when_a_third_of_the_lines_is_outdated() -> None:
    assert [needs_fresh_base(lines, 10) for lines in (10, 15, 16)] == [False, False, True]
    assert not needs_fresh_base(0, 0)


@pytest.mark.parametrize("name", ["mondrian", "tau-safety"])
def test_engines_check_and_measure_what_one_process_does(name: str, tmp_path: Path) -> None:
    told: list[dict[str, Any]] = []
    for folder, engine in zip("ab", ENGINES, strict=True):
        made = Series.create(tmp_path / folder, SCHEMA, PUBLISHERS[name], seed=1, one_table=True)
        told.append([made.publish(view, engine=engine) for view in weeks(80, 2)][-1].as_dict())
    one, parts = ({check["promise"] for check in each["verification"]["checks"]} for each in told)
    assert parts - one == {"parts make the whole"} and one - parts == {"same tables"}
    assert told[0]["measures"].keys() == told[1]["measures"].keys()
    assert told[0]["arrivals"] == told[1]["arrivals"]
