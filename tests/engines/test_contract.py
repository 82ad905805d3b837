"""The contract of engines, for one process and for parts made in this process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engines.contract import EngineContract, series
from engines.weeks import PUBLISHERS, weeks, write
from republish import Series, faults
from republish.engines import Engine, Here


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
from republish.engines import Here

Series.open(sys.argv[1]).publish(sys.argv[2], engine=Here(parts=3))
"""
ELSEWHERE = {"created-folders", "erased", "backup-written"}


@pytest.mark.parametrize("point", [point for point in faults.POINTS if point not in ELSEWHERE])
def test_a_killed_publisher_leaves_the_old_series_or_the_new_one(tmp_path: Path, point: str) -> None:
    made = series(tmp_path / "s", PUBLISHERS["tau-safety"])
    first, second, third = write(tmp_path, weeks(120, 3))
    made.publish(first, engine=Here(parts=3))
    command = [sys.executable, "-c", DRIVER, str(made.root), str(second)]
    done = subprocess.run(command, env=os.environ | {faults.VARIABLE: point}, check=False)
    assert done.returncode == -signal.SIGKILL
    expected = 2 if point in ("after-commit", "renamed") else 1
    reader = Series.open(made.root)
    assert len(reader.records) == expected
    assert reader.verify().holds
    assert reader.publish(third, engine=Here(parts=3)).number == expected + 1
    assert reader.verify().holds
    assert not list((made.root / "private" / "staging").iterdir())
    assert len(list((made.root / "releases").iterdir())) == expected + 1
