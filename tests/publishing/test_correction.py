"""A corrected view in place of the last release: recorded, withdrawn in one step, and what having both gives away."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from republish import Category, NothingNew, Number, PolicyError, Schema, Series, TauSafety
from republish.parts import Here
from republish.publishing.maintenance import withdraw
from republish.show.promises import words_on_correction

SCHEMA = Schema("id", [Number("age")], Category("dx"))


def view(wrong: int = 0, rows: int = 40) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(rows)],
            "age": [20 + i % 30 for i in range(rows)],
            "dx": [f"d{(i + (i < wrong)) % 5}" for i in range(rows)],
        }
    )


@pytest.fixture
def series(tmp_path: Path) -> Series:
    made = Series.create(tmp_path / "s", SCHEMA, TauSafety(2), seed=3)
    made.publish(view(rows=44), as_of="2026-01-05")
    made.publish(view(wrong=6), as_of="2026-01-12")
    return made


def test_the_last_release_is_withdrawn_and_replaced_in_one_entry(series: Series) -> None:
    entries = len(series.ledger.entries())
    done = series.publish(view(), corrects=2)
    assert done.number == 3
    assert series.withdrawn() == {2}
    assert len(series.ledger.entries()) == entries + 1
    assert series.records[2].payload["corrects"]["release"] == 2
    assert series.verify().holds


def test_it_is_as_of_the_date_of_what_it_corrects(series: Series) -> None:
    assert series.publish(view(), corrects=2, dry_run=True).as_of == "2026-01-12"
    assert series.publish(view(), corrects=2, as_of="2026-01-12", dry_run=True).as_of == "2026-01-12"
    assert series.publish(view(), corrects=2, as_of="2026-01-13").as_of == "2026-01-13"


def test_an_earlier_date_is_refused(series: Series) -> None:
    with pytest.raises(PolicyError, match="later than the last"):
        series.publish(view(), corrects=2, as_of="2026-01-06")


def test_recipients_are_told(series: Series) -> None:
    folder = series.publish(view(), corrects=2).folder
    assert folder is not None
    assert json.loads((folder / "about.json").read_text())["corrects"] == {
        "release": 2,
        "says": "That release was made of a wrong view and is withdrawn; use this one in its place.",
    }


@pytest.mark.parametrize("number", [0, 1, 3])
def test_only_the_last_release_can_be_corrected(series: Series, number: int) -> None:
    with pytest.raises(PolicyError, match=rf"only the last release can be .* is release 2, not {number};"):
        series.publish(view(), corrects=number)
    assert len(series.records) == 2


def test_nothing_can_be_corrected_before_anything_is_published(tmp_path: Path) -> None:
    made = Series.create(tmp_path / "new", SCHEMA, TauSafety(2), seed=3)
    with pytest.raises(PolicyError, match="nothing is published yet"):
        made.publish(view(), corrects=1)


def test_a_correction_that_changes_nothing_is_nothing_new(series: Series) -> None:
    with pytest.raises(NothingNew):
        series.publish(view(wrong=6), corrects=2)
    assert series.withdrawn() == set()


def test_a_release_that_is_withdrawn_already_can_be_corrected(series: Series) -> None:
    withdraw(series, 2, "wrong file")
    assert series.publish(view(), corrects=2).number == 3
    assert series.withdrawn() == {2}


def test_a_correction_can_be_corrected(series: Series) -> None:
    series.publish(view(wrong=3), corrects=2)
    series.publish(view(), corrects=3)
    assert series.withdrawn() == {2, 3}
    assert series.ledger.entries().corrections == {3: 2, 4: 3}


def test_it_is_recorded_what_attacks_find_with_both_and_found_before(series: Series) -> None:
    done = series.publish(view(), corrects=2)
    assert done.corrects is not None
    recorded = series.records[2].payload["corrects"]["attacks"]
    assert list(recorded) == ["intersection", "linear"]
    for found in recorded.values():
        assert set(found) == {"before", "after"}
        assert found["after"]["people"] == 44
    assert recorded == done.corrects.attacks


def test_what_both_give_away_is_measured(tmp_path: Path) -> None:
    """Mondrian protects one table alone: whoever has both versions of it determines people by what they share."""
    from republish import LDiversity, Mondrian

    made = Series.create(tmp_path / "s", SCHEMA, Mondrian(2, (LDiversity(2),)), seed=3, one_table=True)
    made.publish(view(wrong=30))
    done = made.publish(view().with_columns(age=pl.col("age") * 7 % 31), corrects=1)
    assert done.corrects is not None
    found = done.corrects.attacks["intersection"]
    assert found["before"]["determined"] == 0
    assert found["after"]["determined"] > 0


def test_in_parts_it_is_said_that_nothing_was_measured(series: Series) -> None:
    done = series.publish(view(), corrects=2, engine=Here(parts=2))
    assert series.withdrawn() == {2}
    assert done.folder is not None
    assert json.loads((done.folder / "about.json").read_text())["corrects"]["release"] == 2
    assert done.corrects is not None
    assert words_on_correction(done.corrects.as_dict())[-1] == (
        "what an adversary who has both finds out is not measured in parts; `republish attack` does"
    )


def test_the_words_name_the_figures() -> None:
    def found(determined: int, people: int, confidence: float) -> dict[str, float]:
        return {"determined": determined, "people": people, "mean_confidence": confidence}

    told = {"release": 2, "attacks": {"linear": {"before": found(0, 40, 0.25), "after": found(3, 1044, 0.5)}}}
    assert words_on_correction(told, keeps_counts=True) == [
        "corrects release 2, which is withdrawn and still counted: others may have it",
        "a batch shows what was corrected when it is next counted (batches.csv), and not before",
        "an adversary who has both determines by linear 3 of 1,044 people, mean confidence 0.5000; before this "
        "release 0 of 40, 0.2500",
    ]


def test_of_two_who_correct_at_once_one_wins(series: Series, tmp_path: Path) -> None:
    view().write_csv(tmp_path / "right.csv")
    command = [sys.executable, "-m", "republish", "publish", str(series.root), str(tmp_path / "right.csv")]
    command += ["--corrects", "2", "--wait", "60", "--json"]
    series.ledger.close()
    racers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outcomes = sorted((racer.communicate()[0], racer.returncode) for racer in racers)
    assert sorted(code for _, code in outcomes) == [0, 2]
    assert any("only the last release can be corrected" in said for said, _ in outcomes)
    assert len(Series.open(series.root).records) == 3
