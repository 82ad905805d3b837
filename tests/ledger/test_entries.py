"""One command reads the catalogue so many times, however long the series; who keeps a series open sees it go on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from republish import Number, Schema, Series
from republish.attacks import attack
from republish.cli import app
from republish.ledger.catalogue import Catalogue
from republish.parts import Here
from republish.publishers import MInvariance

SCHEMA = Schema("id", [Number("age")], "dx")


def view(week: int) -> pl.DataFrame:
    people = range(2 * week, 2 * week + 8)
    return pl.DataFrame({"id": [str(i) for i in people], "age": people, "dx": ["ab"[i % 2] for i in people]})


def begun(root: Path) -> Series:
    return Series.create(root / "s", SCHEMA, MInvariance(m=2), seed=1)


def go_on(series: Series, releases: int) -> None:
    for week in range(len(series.records), releases):
        series.publish(view(week))


def told(series: Series) -> None:
    result = CliRunner().invoke(app, ["history", str(series.root), "--json"])
    assert result.exit_code == 0


READERS: dict[str, Callable[[Series], object]] = {
    "verify": lambda series: series.verify(),
    "verify in parts": lambda series: series.verify(engine=Here(part_rows=100)),
    "history": told,
    "attack": lambda series: attack(series, attacks=["intersection"]),
}


def test_the_number_of_reads_of_the_catalogue_does_not_grow_with_the_series(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series, reads = begun(tmp_path), []
    real = Catalogue.records
    monkeypatch.setattr(Catalogue, "records", lambda self: (reads.append(1), real(self))[1])
    found: dict[str, list[int]] = {name: [] for name in READERS}
    for releases in (2, 8, 32):
        go_on(series, releases)
        for name, read in READERS.items():
            reads.clear()
            read(series)
            found[name].append(len(reads))
    assert found == {"verify": [2] * 3, "verify in parts": [2] * 3, "history": [1] * 3, "attack": [1] * 3}


def test_a_snapshot_stays_as_it_was_and_the_series_goes_on(tmp_path: Path) -> None:
    series = begun(tmp_path)
    go_on(series, 1)
    kept, before = Series.open(series.root), series.snapshot()
    go_on(series, 2)
    assert (len(series.records), len(kept.records), len(before.records)) == (2, 2, 1)
    assert before.verify().releases.keys() == {1}


def test_the_newest_file_of_everything_is_found(tmp_path: Path) -> None:
    from republish.publishing.maintenance import forget, withdraw

    series = begun(tmp_path)
    go_on(series, 3)
    first = series.membership_files(1)
    withdraw(series, 2, "a test")
    forget(series, pl.DataFrame({"id": ["1"]}))
    entries = series.ledger.entries()
    assert entries.withdrawn == {2}
    assert [entry.release for entry in entries.releases] == [1, 2, 3]
    assert entries.membership_files(1) != first
    assert set(first).isdisjoint(entries.files)
    assert set(entries.memory_files) <= entries.files.keys()
    assert (entries.counts_file, entries.compromised_file(3), entries.hierarchies) == (None, None, {})
