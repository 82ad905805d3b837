"""What a series must do whatever its engine is: one suite, run with the fixture `engine` of a subclass."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from parts.weeks import PUBLISHERS, SCHEMA, weeks, write
from publishers.test_contract import people
from republish import CannotPublish, LedgerError, Mondrian, PenaltyTree, SchemaError, Series, ViewError
from republish.parts import Engine
from republish.publishers import Publisher
from republish.release.forms import TwoTables
from republish.secret import VARIABLE
from republish.sources.paths import read_parquet


def series(folder: Path, publisher: Publisher, seed: int = 3, form: TwoTables | None = None) -> Series:
    return Series.create(folder, SCHEMA, publisher, seed=seed, one_table=True, form=form)


def table(made: Series, number: int) -> pl.DataFrame:
    return read_parquet(made.ledger.folder(number) / "table.parquet")


def files(made: Series) -> set[str]:
    return {str(path.relative_to(made.root)) for path in made.root.rglob("*") if path.is_file()}


class EngineContract:
    """The suite; `engine` is `None` for one process."""

    rows = 240
    weeks = 3

    @pytest.mark.parametrize("name", PUBLISHERS)
    def test_every_release_keeps_its_promises(self, engine: Engine | None, name: str, tmp_path: Path) -> None:
        made = series(tmp_path / "s", PUBLISHERS[name])
        views = weeks(self.rows, self.weeks)
        for number, path in enumerate(write(tmp_path, views), start=1):
            done = made.publish(path, engine=engine)
            assert (done.number, done.rows) == (number, views[number - 1].height)
            assert done.verification.holds
            everyone = made.membership(number)
            assert everyone["person"].n_unique() == everyone.height == done.rows
            assert table(made, number).height == done.rows - done.suppressed + done.counterfeits
            assert done.groups == table(made, number)["group"].n_unique()
        found = made.verify()
        assert found.problems == () and found.holds

    def test_an_empty_week_is_a_release_without_groups(self, engine: Engine | None, tmp_path: Path) -> None:
        made = series(tmp_path / "s", PUBLISHERS["tau-safety"])
        first, second = weeks(self.rows, 2)
        for path in write(tmp_path, [first, first.clear(), second]):
            made.publish(path, engine=engine, meant=["fewer-rows"])
        assert [(r.payload["rows"], r.payload["groups"] > 0) for r in made.records] == [
            (first.height, True),
            (0, False),
            (second.height, True),
        ]
        assert made.records[2].payload["arrivals"]["returned"] > 0
        assert made.verify().holds

    def test_the_order_of_the_rows_changes_nothing(
        self, engine: Engine | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(VARIABLE, "the secret of both series")
        view = people(self.rows)
        paths = write(tmp_path, [view, view.sample(fraction=1.0, shuffle=True, seed=1)])
        one, other = (series(tmp_path / name, PenaltyTree(4)) for name in ("one", "other"))
        one.publish(paths[0], engine=engine)
        other.publish(paths[1], engine=engine)
        assert table(one, 1).equals(table(other, 1))

    @pytest.mark.parametrize(
        ("view", "error", "message"),
        [
            (pl.concat([people(30), people(1)]), ViewError, "at most one row a person"),
            (people(30).with_columns(id=pl.lit(None, pl.String)), ViewError, "every row needs an identifier"),
            (people(30).with_columns(degree=pl.lit("none")), ViewError, "does not know"),
            (people(30).with_columns(more=pl.lit(1)), SchemaError, "every column needs a role"),
            (people(30).drop("ward"), SchemaError, "does not have: ward"),
            (people(30).with_columns(age=pl.lit("old")), ViewError, "column age"),
        ],
        ids=["repeated", "nameless", "unknown value", "unlabelled", "absent", "no number"],
    )
    def test_bad_input_is_refused_and_loses_nothing(
        self,
        engine: Engine | None,
        view: pl.DataFrame,
        error: type[Exception],
        message: str,
        tmp_path: Path,
    ) -> None:
        made = series(tmp_path / "s", PenaltyTree(4))
        good, bad = write(tmp_path, [people(60), view])
        made.publish(good)
        before = files(made)
        with pytest.raises(error, match=message):
            made.publish(bad, engine=engine)
        assert files(made) == before
        assert len(made.records) == 1 and made.verify().holds

    def test_a_view_that_cannot_keep_the_promise_is_refused(
        self, engine: Engine | None, tmp_path: Path
    ) -> None:
        made = series(tmp_path / "s", Mondrian(50))
        (path,) = write(tmp_path, [people(30)])
        with pytest.raises(CannotPublish, match="its 30 rows do not"):
            made.publish(path, engine=engine)
        assert not made.records

    def test_a_dry_run_writes_nothing(self, engine: Engine | None, tmp_path: Path) -> None:
        made = series(tmp_path / "s", PenaltyTree(4))
        (path,) = write(tmp_path, [people(60)])
        before = files(made)
        done = made.publish(path, dry_run=True, engine=engine)
        assert done.rows == 60 and done.groups > 1 and done.folder is None
        assert files(made) == before and not made.records

    def test_an_altered_memory_is_noticed(self, engine: Engine | None, tmp_path: Path) -> None:
        made = series(tmp_path / "s", PUBLISHERS["tau-safety"])
        first, second = write(tmp_path, weeks(self.rows, 2))
        made.publish(first, engine=engine)
        path = made.ledger.path(next(iter(made.memory_files())))
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(bytes(data))
        with pytest.raises(LedgerError, match="missing or was altered"):
            made.publish(second, engine=engine)
        assert len(made.records) == 1
