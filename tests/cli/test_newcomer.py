"""The newcomer's path in the words of the README, from files to a report, with no manual edit and no dead end."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import pytest

from messy import german_view
from typed import typed

WAGES = os.environ.get("REPUBLISH_WAGES")
YEARS = range(1976, 1983)


def path_of(folder: Path, views: list[tuple[str, str]], *init: str) -> dict[str, object]:
    """Type all commands, one release a view and its date; return the verdict of the report."""

    def done(*words: str) -> str:
        found = typed(*words, folder=folder)
        assert found.returncode == 0, found.stderr
        return found.stdout

    made = done("init", "visits", "--from", views[0][0], "--yes", *init)
    assert "why: value-blind" in made and "every release must pass the gate" in made
    done("publish", "visits", views[0][0], "--dry-run")
    for view, day in views:
        done("publish", "visits", view, "--as-of", day)
    done("history", "visits")
    done("verify", "visits")
    done("attack", "visits", "--compromised", "0.04", "--keep")
    report = json.loads(done("report", "visits", "--format", "json"))
    assert len(report["releases"]) == len(views)
    verdict: dict[str, object] = report["signing"]
    return verdict


@pytest.mark.skipif(WAGES is None, reason="REPUBLISH_WAGES names no folder with the panel of wages")
def test_seven_years_of_a_real_panel_end_in_a_report_that_can_be_signed(tmp_path: Path) -> None:
    for year in YEARS:  # a fifth of the people, for the sake of time
        head, *rows = (Path(str(WAGES)) / f"{year}.csv").read_text().splitlines()
        some = [row for row in rows if int(row.partition(",")[0].lstrip("P")) % 5 == 0]
        (tmp_path / f"{year}.csv").write_text("\n".join([head, *some]) + "\n")
    verdict = path_of(tmp_path, [(f"{year}.csv", f"{year}-06-01") for year in YEARS])
    assert verdict["mark"] in ("holds", "look")
    assert str(verdict["title"]).startswith("Can be signed")


def test_messy_german_files_end_in_a_report_that_can_be_signed(tmp_path: Path) -> None:
    for week in (1, 2, 3):
        german_view(tmp_path / f"{week}.csv", week, 120, "latin-1")
    views = [(f"{week}.csv", f"2026-01-{7 * week:02d}") for week in (1, 2, 3)]
    verdict = path_of(tmp_path, views, "--sensitive", "Diagnose", "--read", "missing.Fahrten=-9")
    assert verdict["mark"] in ("holds", "look")
    files = tomllib.loads((tmp_path / "visits" / "series.toml").read_text())["schema"]["files"]
    assert files["missing"]["Fahrten"] == ["-9"]
