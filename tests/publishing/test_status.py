"""How a series stands, for whoever watches its schedule."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from republish import Series
from republish.publishing.maintenance import withdraw
from republish.publishing.status import in_words, status_of


@pytest.fixture
def published(series: Series, views: list[Path]) -> Series:
    series.publish(views[0], as_of="2026-01-05")
    series.publish(views[1], as_of="2026-01-12")
    return series


def later(series: Series, **span: float) -> datetime:
    return datetime.fromisoformat(series.records[-1].recorded_at) + timedelta(**span)


def test_a_young_release_is_fine(published: Series) -> None:
    found = status_of(published, timedelta(days=8), later(published, days=7))
    assert found.fine
    assert (found.releases, found.release, found.as_of, found.gate) == (2, 2, "2026-01-12", None)
    assert (found.age, found.max_age) == (7 * 86_400, 8 * 86_400)
    assert found.head == published.ledger.head.digest


def test_an_old_release_is_a_problem(published: Series) -> None:
    found = status_of(published, timedelta(days=8), later(published, days=8, hours=3))
    assert found.problems == ("the last release is 8 d 3 h old, and may be 8 d",)


def test_a_clock_that_was_set_back_makes_no_release_old(published: Series) -> None:
    assert status_of(published, timedelta(days=8), later(published, days=-3)).age == 0


def test_nothing_published_is_a_problem_for_a_schedule_alone(series: Series) -> None:
    assert status_of(series).fine
    assert status_of(series, timedelta(days=8)).problems == ("nothing is published yet",)


def test_a_withdrawn_last_release_is_a_problem_until_it_is_corrected(
    published: Series, views: list[Path]
) -> None:
    withdraw(published, 2)
    assert status_of(published).problems == (
        "release 2, the last, is withdrawn, and nothing takes its place",
    )
    published.publish(views[2], corrects=2)
    assert status_of(published).fine


@pytest.mark.parametrize(
    "name, says",
    [
        (
            "releases/0002/table.csv",
            "releases/0002/table.csv was altered: its digest does not match the ledger",
        ),
        ("releases/0001/table.csv", None),
    ],
    ids=["last release", "earlier release, same size"],
)
def test_digests_are_taken_of_the_last_release_alone(published: Series, name: str, says: str | None) -> None:
    path = published.root / name
    path.write_bytes(path.read_bytes()[::-1])
    assert status_of(published).problems == (() if says is None else (says,))
    assert not published.verify().holds


def test_a_missing_file_of_any_release_is_a_problem(published: Series) -> None:
    (published.root / "releases/0001/table.csv").unlink()
    assert status_of(published).problems == ("releases/0001/table.csv is missing",)


def test_a_changed_policy_is_a_problem(published: Series) -> None:
    path = published.root / "series.toml"
    path.write_text(path.read_text().replace("k = 5", "k = 4"))
    (problem,) = status_of(Series.open(published.root)).problems
    assert problem.startswith("series.toml, a hierarchy or the knowledge is not what the ledger recorded")


def test_nothing_is_written(published: Series) -> None:
    before = {
        path: path.stat().st_mtime_ns for path in published.root.rglob("*") if path.name != "ledger.db-shm"
    }
    status_of(published)
    after = {
        path: path.stat().st_mtime_ns for path in published.root.rglob("*") if path.name != "ledger.db-shm"
    }
    assert after == before


@pytest.mark.parametrize(
    "span, words",
    [
        ({"days": 8}, "8 d"),
        ({"days": 1, "hours": 12, "minutes": 5}, "1 d 12 h"),
        ({"hours": 3, "seconds": 5}, "3 h"),
        ({"minutes": 5, "seconds": 1}, "5 min 1 s"),
        ({"milliseconds": 20}, "0 s"),
    ],
)
def test_spans_in_words(span: dict[str, float], words: str) -> None:
    assert in_words(timedelta(**span)) == words
