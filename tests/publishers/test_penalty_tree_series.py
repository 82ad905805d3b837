"""A series under the penalty tree: the regions that it keeps between releases, and the scales of its policy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from republish import Category, Date, Hierarchy, LDiversity, Number, Ordered, PolicyError, Schema, Series
from republish.cli import app
from republish.memory.memory import CORE
from republish.publishers import PenaltyTree
from republish.publishing.maintenance import amend_hierarchy, forget
from republish.spatial.bang.bang_file import BangIndex

TOWNS = Hierarchy(tuple((f"t{i}", f"region{i % 3}", "*") for i in range(9)))
SCHEMA = Schema(
    "id",
    [
        Number("age"),
        Number("income", domain=(0, 1e6)),
        Category("town", hierarchy=TOWNS),
        Ordered("degree", order=("school", "college", "doctor")),
        Date("seen"),
    ],
    Category("dx", domain=("flu", "cold", "hiv", "none")),
)


class Town:
    """People who come, leave and move."""

    def __init__(self, rows: int = 400) -> None:
        self.rng = np.random.default_rng(5)
        self.next = 0
        self.people = self.newcomers(rows)

    def newcomers(self, rows: int) -> pl.DataFrame:
        rng, first = self.rng, self.next
        self.next += rows
        return pl.DataFrame(
            {
                "id": [f"p{i}" for i in range(first, self.next)],
                "age": [20, 90, *rng.integers(20, 91, rows - 2).tolist()],
                "income": rng.lognormal(10, 0.7, rows).round(2).clip(0, 1e6),
                "town": [f"t{i}" for i in rng.integers(0, 9, rows)],
                "degree": rng.choice(["school", "college", "doctor"], rows),
                "seen": [f"2025-{m:02d}-01" for m in [1, 12, *rng.integers(1, 13, rows - 2).tolist()]],
                "dx": rng.choice(["flu", "cold", "hiv", "none"], rows),
            }
        ).with_columns(age=pl.when(pl.col("income") < 8000).then(None).otherwise("age"))

    def later(self, share: float = 0.15) -> pl.DataFrame:
        """The people after some left, some moved and others came."""
        stay = self.people.filter(self.rng.random(self.people.height) >= share)
        moves = pl.Series(self.rng.random(stay.height) < share)
        stay = stay.with_columns(town=pl.when(moves).then(pl.lit("t0")).otherwise("town"))
        self.people = pl.concat([stay, self.newcomers(int(400 * share))])
        return self.people


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How each index came to be: anew, or out of the one before it."""
    found: list[str] = []
    load, update = PenaltyTree.__module__ + ".bulk_load", BangIndex.updated
    from republish.publishers import penalty_tree

    original = penalty_tree.bulk_load
    monkeypatch.setattr(load, lambda *given: found.append("anew") or original(*given))
    monkeypatch.setattr(BangIndex, "updated", lambda *given: found.append("updated") or update(*given))
    return found


def series_of(folder: Path, publisher: PenaltyTree) -> Series:
    return Series.create(folder, SCHEMA, publisher, seed=1, one_table=True)


@pytest.fixture(params=[{}, {"m": 3}], ids=str)
def incremental(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Series]:
    made = series_of(tmp_path / "s", PenaltyTree(5, (LDiversity(2),), **request.param, incremental=True))
    yield made
    made.ledger.close()


def test_every_release_grows_out_of_the_last_and_is_verified(incremental: Series, built: list[str]) -> None:
    town = Town()
    incremental.publish(town.people)
    for _ in range(3):
        reopened = Series.open(incremental.root)
        done = reopened.publish(town.later())
        assert done.suppressed == 0
        assert done.verification.holds
        reopened.ledger.close()
    assert built == ["anew", *["updated"] * 3]
    assert incremental.verify().holds
    assert len(list((incremental.root / "private/counts").iterdir())) == 1


def test_its_groups_are_about_as_good_as_those_of_a_new_index(incremental: Series, tmp_path: Path) -> None:
    anew = series_of(tmp_path / "anew", replace(incremental.policy.publisher, incremental=False))
    town = Town()
    view = town.people
    for _ in range(3):
        ours, theirs = incremental.publish(view), anew.publish(view)
        view = town.later()
    assert 0.75 < ours.groups / theirs.groups < 1.33
    assert ours.measures.penalty < 1.15 * theirs.measures.penalty
    anew.ledger.close()


def test_nothing_of_a_person_is_kept_for_it(incremental: Series) -> None:
    incremental.publish(Town().people)
    memory = incremental.memory()
    assert set(memory.columns) == set(CORE)
    assert memory.counts is not None
    assert memory.counts.height == 1
    assert not {"block", "keys"} & set(memory.counts.columns)


def test_whoever_is_forgotten_is_in_no_region_of_the_next_release(
    incremental: Series, built: list[str]
) -> None:
    town = Town()
    incremental.publish(town.people)
    incremental.publish(town.later())
    forget(incremental, town.people.head(20).select("id"))
    assert incremental.publish(town.people.tail(-20)).verification.holds
    incremental.publish(town.people.tail(-20), meant=["same-view"])
    assert built == ["anew", "updated", "anew", "updated"]
    assert incremental.verify().holds


def test_no_region_outlives_a_person_who_is_forgotten(incremental: Series) -> None:
    town = Town()
    incremental.publish(town.people)
    kept = incremental.root / "private/counts"
    assert len(list(kept.iterdir())) == 1
    forget(incremental, town.people.head(1).select("id"))
    assert list(kept.iterdir()) == []
    assert incremental.memory().counts is None
    assert incremental.verify().holds
    forget(incremental, town.people[1:2].select("id"))  # there is none left to drop
    reopened = Series.open(incremental.root)
    assert reopened.publish(town.people.tail(-2)).verification.holds
    assert len(list(kept.iterdir())) == 1
    assert reopened.verify().holds
    reopened.ledger.close()


def test_a_view_of_nobody_has_regions_too(incremental: Series, built: list[str]) -> None:
    town = Town()
    for view in (town.people.clear(), town.people, town.people.clear(), town.people):
        assert incremental.publish(view, meant=["fewer-rows", "same-view"]).rows == view.height
    assert built == ["anew", "anew", "updated", "updated"]
    assert incremental.verify().holds


@pytest.mark.parametrize(
    "change",
    [
        pl.col("seen").str.replace("2025", "2026"),
        pl.when(pl.col("age") < 40).then(None).otherwise("seen").alias("seen"),
        pl.col("age") * 3,
    ],
)
def test_values_that_left_their_scale_need_a_new_index(
    tmp_path: Path, built: list[str], change: pl.Expr
) -> None:
    made = series_of(tmp_path / "s", PenaltyTree(5, incremental=True))
    town = Town()
    made.publish(town.people)
    assert made.publish(town.people.with_columns(change)).verification.holds
    assert built == ["anew", "anew"]
    made.ledger.close()


def test_a_few_values_outside_their_scale_do_not(tmp_path: Path, built: list[str]) -> None:
    made = series_of(tmp_path / "s", PenaltyTree(5, incremental=True))
    town = Town()
    made.publish(town.people)
    older = pl.when(pl.col("id").is_in(["p5", "p6"])).then(120).otherwise("age").alias("age")
    assert made.publish(town.people.with_columns(older)).verification.holds
    assert built == ["anew", "updated"]
    made.ledger.close()


def test_an_amended_hierarchy_needs_a_new_index(tmp_path: Path, built: list[str]) -> None:
    made = series_of(tmp_path / "s", PenaltyTree(5, incremental=True))
    town = Town()
    made.publish(town.people)
    Hierarchy((("t9", "region0", "*"),)).write(tmp_path / "more.csv")
    amend_hierarchy(made, "town", tmp_path / "more.csv")
    assert made.publish(town.people, meant=["same-view"]).verification.holds
    assert built == ["anew", "anew"]
    made.ledger.close()


def test_without_the_option_nothing_is_kept(tmp_path: Path) -> None:
    made = series_of(tmp_path / "s", PenaltyTree(5))
    town = Town()
    made.publish(town.people)
    made.publish(town.later())
    assert made.memory().counts is None
    made.ledger.close()


def test_scales_are_part_of_the_policy(tmp_path: Path) -> None:
    publisher = PenaltyTree(
        5,
        bits={"income": 6},
        scales={"age": [18, 65], "seen": ["2025-04-01", "2025-10-01"], "degree": ["doctor"]},
    )
    made = series_of(tmp_path / "s", publisher)
    made.publish(Town().people)
    made.ledger.close()
    again = Series.open(tmp_path / "s")
    assert again.policy.publisher == publisher
    assert again.policy.publisher.scales == "age=18:65,seen=2025-04-01:2025-10-01,degree=doctor"
    about = json.loads((tmp_path / "s/releases/0001/about.json").read_text(encoding="utf-8"))
    assert about["publisher"]["parameters"]["bits"] == "income=6"
    again.ledger.close()


@pytest.mark.parametrize(
    "wrong",
    [
        "town=3",
        "town=999",
        "degree=-4",
        "degree=2.5",
        "seen=2025-02-30",
        "seen=5",
        "income=rich",
        "age=65:18",
        "dx=flu",
    ],
)
def test_scales_that_the_schema_cannot_have_are_refused_before_there_is_a_series(
    tmp_path: Path, wrong: str
) -> None:
    with pytest.raises(PolicyError, match=r"column|quasi-identifiers"):
        series_of(tmp_path / "s", PenaltyTree(5, scales=wrong))
    assert not (tmp_path / "s").exists()


def test_init_refuses_wrong_scales(tmp_path: Path, hospital_folder: Path) -> None:
    schema = hospital_folder / "schema.toml"
    for wrong in ("scales=gender=1", "scales=age=young", "bits=0", "bits=diagnosis=3"):
        command = [
            "init",
            tmp_path / "s",
            "--schema",
            schema,
            "--publisher",
            "penalty-tree",
            "-p",
            wrong,
            "--one-table",
        ]
        done = CliRunner().invoke(app, [str(word) for word in command])
        assert done.exit_code != 0, wrong
        assert not (tmp_path / "s").exists()


def test_a_table_of_scales_in_the_policy_says_the_same_as_a_text(tmp_path: Path) -> None:
    made = series_of(tmp_path / "s", PenaltyTree(5, scales="age=18:65"))
    digest = made.policy.digest()
    made.ledger.close()
    file = tmp_path / "s" / "series.toml"
    text = file.read_text(encoding="utf-8").replace('scales = "age=18:65"', "scales = { age = [18, 65] }")
    assert "[18, 65]" in text
    file.write_text(text, encoding="utf-8")
    again = Series.open(tmp_path / "s")
    assert again.policy.digest() == digest
    again.ledger.close()


def test_the_command_line_reaches_all_of_it(tmp_path: Path, hospital_folder: Path, views: list[Path]) -> None:
    def run(*arguments: object) -> str:
        done = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert done.exit_code == 0, done.output
        return done.output

    folder = tmp_path / "s"
    options = ("-p", "bits=6", "-p", "scales=age=18:40:65", "-p", "incremental=true")
    run(
        "init",
        folder,
        "--schema",
        hospital_folder / "schema.toml",
        "--publisher",
        "penalty-tree",
        *options,
        "--one-table",
    )
    for view in views[:3]:
        run("publish", folder, view)
    run("verify", folder)
    opened = Series.open(folder)
    assert opened.policy.publisher == PenaltyTree(5, bits=6, scales="age=18:40:65", incremental=True)
    opened.ledger.close()
