"""What happens to a series in two tables besides publishing: backup, forget, withdraw, migration."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from republish import Adversary, LedgerError, Series, attack
from republish.ledger import backup, restore
from republish.microdata import NEWEST_ROWS, SUMS_OF_CELLS
from republish.parts import Here
from republish.publishing.maintenance import forget, withdraw

FILES = [
    "about.json",
    "codebook.xml",
    "datapackage.json",
    "dcat.jsonld",
    "people.csv",
    "people.parquet",
    "read_release.R",
    "values.csv",
    "values.parquet",
]


def publish(series: Series, views: list[Path], count: int) -> None:
    for week, view in enumerate(views[:count]):
        series.publish(view, as_of=f"2026-01-{5 + 7 * week:02d}")


def test_a_release_is_nine_files_and_its_cuts_are_private(two_tables: Series, views: list[Path]) -> None:
    publish(two_tables, views, 2)
    assert sorted(path.name for path in two_tables.ledger.folder(1).iterdir()) == FILES
    assert len(list((two_tables.root / "private" / "cuts").iterdir())) == 1
    assert "cuts" in two_tables.record(2).payload


def test_a_backup_comes_back_and_goes_on_with_the_same_cuts(
    two_tables: Series, views: list[Path], tmp_path: Path
) -> None:
    publish(two_tables, views, 2)
    backup(two_tables.root, tmp_path / "all.tar.gz")
    restore(tmp_path / "all.tar.gz", tmp_path / "back")
    back = Series.open(tmp_path / "back")
    assert back.cuts().table().equals(two_tables.cuts().table())
    both = [made.publish(views[2], as_of="2026-02-02") for made in (two_tables, back)]
    assert both[0].as_dict() | {"folder": None} == both[1].as_dict() | {"folder": None}
    assert back.release(3).frame().equals(two_tables.release(3).frame())
    assert back.verify().holds


def test_whoever_is_forgotten_stays_in_the_counts_and_is_nobody(
    two_tables: Series, views: list[Path]
) -> None:
    publish(two_tables, views, 2)
    gone = pl.read_csv(views[0]).select("patient").head(20)
    before = [two_tables.members(number) for number in (1, 2)]
    values = [two_tables.release(number).values.sizes.tolist() for number in (1, 2)]
    done = forget(two_tables, gone)
    assert (done.erased, done.releases) == (20, 2)
    for number, earlier, sizes in zip((1, 2), before, values, strict=True):
        members = two_tables.members(number)
        assert members.cell is not None and earlier.cell is not None
        nobody = ~members.someone
        assert np.bincount(members.group).tolist() == np.bincount(earlier.group).tolist()
        assert not members.cell[nobody].any() and members.cell[~nobody].all()
        assert two_tables.release(number).values.sizes.tolist() == sizes
    found = two_tables.verify()
    assert found.holds and found.problems == ()
    assert two_tables.verify(engine=Here(parts=3)).as_dict() == found.as_dict()
    (known,) = attack(two_tables, Adversary(), ["compromised"])
    assert known.overall.people > 0
    assert two_tables.publish(views[2], as_of="2026-02-02").number == 3
    assert two_tables.verify().holds


def test_a_withdrawn_release_stays_and_later_cells_fit_it(two_tables: Series, views: list[Path]) -> None:
    publish(two_tables, views, 2)
    withdraw(two_tables, 2, "wrong week")
    assert two_tables.withdrawn() == {2}
    assert two_tables.publish(views[2], as_of="2026-02-02").number == 3
    found = two_tables.verify()
    assert found.holds and sorted(found.releases) == [1, 2, 3]


def test_a_lost_file_of_cuts_is_noticed_and_nothing_is_published(
    two_tables: Series, views: list[Path]
) -> None:
    publish(two_tables, views, 1)
    (cuts,) = (two_tables.root / "private" / "cuts").iterdir()
    cuts.write_bytes(cuts.read_bytes()[:-1] + b"?")
    with pytest.raises(LedgerError, match="missing or was altered"):
        two_tables.publish(views[1], as_of="2026-01-12")
    assert len(two_tables.records) == 1
    assert not two_tables.verify().holds


def test_digests_of_an_earlier_form_are_written_anew_and_cells_stay(
    tmp_path: Path, views: list[Path], request: pytest.FixtureRequest
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("republish.publishing.create.NEWEST_ROWS", SUMS_OF_CELLS)
        patch.setattr("republish.series.migrate", lambda _: None)
        series: Series = request.getfixturevalue("two_tables")
        publish(series, views, 2)
    assert series.row_digests == SUMS_OF_CELLS
    cells = series.members(2).cell
    done = series.publish(views[2], as_of="2026-02-02")
    assert series.row_digests == NEWEST_ROWS
    assert [entry.kind for entry in series.ledger.entries()] == [
        "init",
        "release",
        "release",
        "migrate",
        "release",
    ]
    assert np.array_equal(series.members(2).cell, cells)
    assert done.arrivals.changed_quasi_identifiers < done.rows // 2
    assert series.verify().holds
