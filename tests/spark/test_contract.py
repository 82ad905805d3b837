"""The contract of engines on Spark; and that Spark makes the release that this process makes in as many parts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from parts.contract import EngineContract, series
from parts.weeks import PUBLISHERS, weeks, write
from republish import ViewError
from republish.parts import Engine, Here, Spark
from republish.secret import VARIABLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTS = 3


class TestSpark(EngineContract):
    rows = 160
    weeks = 2

    @pytest.fixture
    def engine(self, local_spark: SparkSession) -> Engine:
        return Spark(local_spark, parts=PARTS)


@pytest.mark.parametrize("name", ["penalty-tree", "cor-split"])
def test_spark_makes_the_same_files_as_this_process(
    local_spark: SparkSession, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "the secret of both series")
    made = [series(tmp_path / where, PUBLISHERS[name]) for where in ("here", "spark")]
    for path in write(tmp_path, weeks(160, 2)):
        for one, engine in zip(made, (Here(parts=PARTS), Spark(local_spark, parts=PARTS)), strict=True):
            one.publish(path, engine=engine)
    here, there = (
        [
            sorted(
                found["digest"] for file, found in entry.payload["files"].items() if file.endswith("parquet")
            )
            for entry in one.records
        ]
        for one in made
    )
    assert here == there


def test_a_view_may_be_a_csv_file_or_a_data_frame(local_spark: SparkSession, tmp_path: Path) -> None:
    (view,) = weeks(60, 1)
    view.write_csv(tmp_path / "view.csv")
    view.write_parquet(tmp_path / "view.parquet")
    made = series(tmp_path / "s", PUBLISHERS["penalty-tree"])
    engine = Spark(local_spark, parts=2)
    for given in (tmp_path / "view.csv", local_spark.read.parquet(str(tmp_path / "view.parquet"))):
        made.publish(given, engine=engine, meant=["same-view"])
    arrivals = made.records[1].payload["arrivals"]
    assert (arrivals["new"], arrivals["changed_value"], arrivals["changed_quasi_identifiers"]) == (0, 0, 0)


def test_a_view_that_is_not_there_is_a_clear_error(local_spark: SparkSession, tmp_path: Path) -> None:
    made = series(tmp_path / "s", PUBLISHERS["penalty-tree"])
    with pytest.raises(ViewError, match="Spark cannot read the view"):
        made.publish(tmp_path / "none.parquet", engine=Spark(local_spark))


def test_a_ragged_csv_file_is_refused_without_showing_a_cell(
    local_spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (view,) = weeks(60, 1)
    view.write_csv(tmp_path / "view.csv", separator=";")
    text = (tmp_path / "view.csv").read_text(encoding="utf-8")
    (tmp_path / "view.csv").write_text(f"{text}unheard-of;31\n", encoding="utf-8")
    made = series(tmp_path / "s", PUBLISHERS["penalty-tree"])
    with pytest.raises(ViewError, match="1 of 61 records do not") as refused:
        made.publish(tmp_path / "view.csv", engine=Spark(local_spark, parts=2))
    assert "unheard-of" not in f"{refused.value}{capfd.readouterr()}"
    assert not made.records
