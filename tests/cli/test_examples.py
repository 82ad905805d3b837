"""The examples of docs/schedules.md: they are what the page says, and go through what reads them where that is here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from republish import Series

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = DOCS / "examples"


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.iterdir()))
def test_the_page_names_every_example(example: str) -> None:
    assert f"(examples/{example})" in (DOCS / "schedules.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_an_example_is_python(example: str) -> None:
    text = (EXAMPLES / example).read_text(encoding="utf-8")
    compile(text, example, "exec")
    assert "99" in text


def test_the_page_is_short() -> None:
    assert len((DOCS / "schedules.md").read_text(encoding="utf-8").split()) <= 1200


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    for unit in ("republish-visits.service", "republish-visits.timer", "republish-visits-failed.service"):
        text = (EXAMPLES / unit).read_text(encoding="utf-8")
        (tmp_path / unit).write_text(text.replace("/usr/local/bin/republish", "/bin/true"))
    units = sorted(map(str, tmp_path.iterdir()))
    done = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_script_of_cron_is_silent_and_takes_nothing_new_for_success(
    series: Series, views: list[Path], tmp_path: Path
) -> None:
    command = tmp_path / "bin" / "republish"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m republish "$@"\n')
    command.chmod(0o755)
    environment = os.environ | {"PATH": f"{command.parent}:{os.environ['PATH']}"}
    series.publish(views[0])
    outcomes = [
        subprocess.run(
            ["sh", EXAMPLES / "weekly.sh", series.root, view],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        for view in (views[1], views[1], tmp_path / "none.csv")
    ]
    assert [done.returncode for done in outcomes] == [0, 0, 2]
    assert [done.stdout + done.stderr for done in outcomes][:2] == ["", ""]
    assert "there is no file" in outcomes[2].stderr
    assert len(series.records) == 2
