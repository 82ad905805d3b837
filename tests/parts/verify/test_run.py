"""Verified in parts a series says what it says verified by one process: intact, after `forget`, and damaged."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from parts.weeks import PUBLISHERS, SCHEMA, weeks
from republish import LedgerError, PolicyError, Series
from republish.cli import app
from republish.cli.engine_options import EngineOptions
from republish.knowledge import Classes, Extracted, Knowledge
from republish.parts import Engine, Here
from republish.parts.verify.files import Ranges
from republish.publishers import CorSplit, JSReduce, PenaltyTree, Publisher, TauSafety
from republish.publishing.maintenance import forget, withdraw
from slow import quick
from verify.test_series import (
    AWAY,
    DISJOINT,
    FIRST,
    FOUR,
    OVERLAPPING,
    OVERLAPPING_RETURN,
    PAIR,
    RETURNED,
    WITHOUT,
    crowd,
    hidden,
    publish,
    swap_groups,
)
from verify.test_series import SCHEMA as SMALL

ENGINES = {"one process": None, "parts": Here(parts=3)}
KNOWN = Knowledge(
    pl.Series(["flu", "gout", "hiv", "new1"]), Classes.everyone(), np.array([[0.5, 0.2, 0.2, 0.1]])
)


def alike(one: Any, other: Any, where: str = "") -> None:
    """Two documents say the same; numbers that were rounded on different ways may be apart by a millionth."""
    if isinstance(one, dict):
        assert list(one) == list(other), where
        for name in one:
            alike(one[name], other[name], f"{where}/{name}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), (where, one, other)
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            alike(a, b, f"{where}[{i}]")
    elif isinstance(one, float):
        assert other == pytest.approx(one, abs=1e-6), where
    else:
        assert one == other, where


def verified(series: Series, *numbers: int) -> dict[str, Any]:
    """What one process says of a series, after a look that parts say the same."""
    found = series.verify().as_dict()
    for parts in numbers or (3,):
        alike(found, series.verify(engine=Here(parts=parts)).as_dict())
    return found


def broken(found: dict[str, Any], number: int) -> set[str]:
    return {check["promise"] for check in found["releases"][str(number)]["checks"] if not check["holds"]}


def made(folder: Path, publisher: Publisher, engine: Engine | None, rows: int = 160) -> Series:
    """Four weeks, of which the second has nobody."""
    series = Series.create(folder / "s", SCHEMA, publisher, seed=3, one_table=True)
    first, *others = weeks(rows, 3)
    for view in (first, first.clear(), *others):
        series.publish(view, engine=engine, meant=["fewer-rows"])
    return series


Small = Callable[..., Series]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Small:
    """Two weeks of one crowd: made once for a publisher and an engine, and copied for everyone who asks."""
    there: dict[tuple[Publisher, Engine | None], Path] = {}

    def copy(folder: Path, publisher: Publisher, engine: Engine | None = None) -> Series:
        asked = (publisher, engine)
        if asked not in there:
            there[asked] = tmp_path_factory.mktemp("small") / "s"
            series = Series.create(there[asked], SMALL, publisher, seed=3)
            for _ in range(2):
                series.publish(crowd(0), engine=engine, meant=["same-view"])
            series.ledger.close()
        return Series.open(shutil.copytree(there[asked], folder / "s"))

    return copy


def edited(path: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    path.chmod(0o600)
    change(pl.read_parquet(path)).write_parquet(path)


def table_of(series: Series, number: int) -> Path:
    place = series.ledger.folder(number) / "table.parquet"
    return sorted(place.iterdir())[0] if place.is_dir() else place


def members_of(series: Series, number: int) -> Path:
    return series.ledger.path(series.membership_files(number)[0])


@pytest.fixture
def unnoticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that were altered are read as if they were not."""
    monkeypatch.setattr("republish.ledger.Ledger.check", lambda *_, **__: [])
    monkeypatch.setattr("republish.ledger.Ledger.intact", lambda ledger, name: ledger.path(name))
    monkeypatch.setattr("republish.parts.pseudonymize.read_intact", lambda place, _: pl.read_parquet(place))


@pytest.mark.parametrize("engine", quick(ENGINES, lambda engine: engine == "parts"))
@pytest.mark.parametrize(
    "publisher",
    quick(
        [*PUBLISHERS.values(), JSReduce(4, 0.7, 0.9, crowd=4, knowledge=KNOWN)],
        lambda publisher: publisher in (PUBLISHERS["cor-split"], PUBLISHERS["js-reduce"]),
    ),
    ids=[*PUBLISHERS, "js-reduce-given"],
)
def test_a_series_is_verified_in_parts_as_by_one_process(
    tmp_path: Path, publisher: Publisher, engine: str
) -> None:
    series = made(tmp_path, publisher, ENGINES[engine])
    found = verified(series)
    assert found["holds"] and found["problems"] == []
    first = weeks(160, 1)[0]
    forget(series, first.select("id")[:7])
    series.publish(first[3:], engine=ENGINES[engine])
    again = verified(series, 1, 5)
    assert again["holds"] and len(again["releases"]) == 5


def test_a_release_of_parts_is_checked_for_what_one_process_wrote_besides(tmp_path: Path) -> None:
    series = made(tmp_path, PenaltyTree(4), None)
    found = verified(series)
    assert [check["promise"] for check in found["releases"]["1"]["checks"]] == [
        "k=4",
        "uniform groups",
        "same tables",
        "counterfeit statistics",
        "membership",
    ]
    path = series.ledger.folder(1) / "table.csv"
    path.chmod(0o600)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:-1], lines[-1] + "x"]) + "\n")
    assert broken(verified(series), 1) == {"same tables"}


def test_progress_is_told_and_new_lives_are_counted(tmp_path: Path) -> None:
    series = made(tmp_path, TauSafety(2), Here(parts=2))
    told: list[tuple[int, int]] = []
    found = series.verify(lambda *done: told.append(done), Here(parts=3))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert found.new_lives == series.verify().new_lives > 0


def test_a_series_without_releases_is_intact(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "s", SMALL, TauSafety(2), seed=1)
    assert verified(series) == {"holds": True, "problems": [], "new_lives": 0, "releases": {}}


def test_a_withdrawn_release_is_verified_like_any(tmp_path: Path, small: Small) -> None:
    series = small(tmp_path, TauSafety(2))
    withdraw(series, 1)
    assert verified(series)["holds"]


@pytest.mark.parametrize("engine", quick(ENGINES, lambda engine: engine == "parts"))
def test_groups_of_forgotten_people_in_several_shards_are_counted_together(
    tmp_path: Path, small: Small, engine: str
) -> None:
    series = small(tmp_path, CorSplit(3, 3, pad=True), ENGINES[engine])
    forget(series, pl.DataFrame({"id": [f"p{i}" for i in range(0, 60, 7)]}))
    notes = [check["meaning"] for check in verified(series)["releases"]["2"]["checks"]]
    (note,) = (note for note in notes if "cannot be checked" in note)
    assert int(note.split(". ")[1].split()[0]) > 3


# Damage ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("claims", [TauSafety(m=2), DISJOINT, CorSplit(m=2, n=2)])
def test_an_edited_membership_is_found(tmp_path: Path, claims: Publisher) -> None:
    series = publish(tmp_path, claims, FIRST, FIRST)
    swap_groups(series, 2)
    found = verified(series)
    assert "membership" in broken(found, 2)
    assert any(": constant signatures" in promise for promise in broken(found, 2))
    assert "was altered" in found["problems"][0]


@pytest.mark.parametrize(
    "claims, weeks_of_it, promise",
    [
        (DISJOINT, (PAIR, OVERLAPPING), "disjoint-updates: equal or disjoint signatures"),
        (TauSafety(m=2), (FIRST, WITHOUT, RETURNED), "tau-safety=2: constant signatures"),
        (CorSplit(m=2, n=1), (FIRST, WITHOUT, RETURNED), "weak-m-invariance=2: constant signatures"),
        (TauSafety(m=2), (FOUR, AWAY, OVERLAPPING_RETURN), "tau-safety=2: returns"),
    ],
)
def test_a_promise_that_was_broken_unrefused_is_found(
    tmp_path: Path, claims: Publisher, weeks_of_it: Any, promise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("republish.publishing.steps.check_against_memory", lambda *_: ())
    found = verified(publish(tmp_path, claims, *weeks_of_it))
    assert broken(found, len(weeks_of_it)) == {promise}


def test_people_treated_as_newcomers_are_counted(tmp_path: Path) -> None:
    found = verified(publish(tmp_path, TauSafety(m=2), FIRST, AWAY, OVERLAPPING_RETURN))
    assert any("For 1 people fewer than 2" in check["meaning"] for check in found["releases"]["3"]["checks"])


@pytest.mark.parametrize("engine", quick(ENGINES, lambda engine: engine == "parts"))
@pytest.mark.parametrize(
    "column, change",
    [
        ("code", pl.lit(0, dtype=pl.Int32)),
        ("group", pl.col("group") + 1),
        ("last", pl.lit(1, dtype=pl.Int32)),
        ("first", pl.lit(2, dtype=pl.Int32)),
        ("row", pl.col("row") + 1),
        ("signature", pl.lit([0, 1], dtype=pl.List(pl.Int32))),
    ],
)
@pytest.mark.usefixtures("unnoticed")
def test_a_memory_that_memberships_do_not_bear_out_is_found(
    tmp_path: Path, small: Small, column: str, change: pl.Expr, engine: str
) -> None:
    series = small(tmp_path, TauSafety(3), ENGINES[engine])
    (problem,) = verified(hidden(series, column, change))["problems"]
    assert problem.startswith(f"the memory has another {column} of ")


@pytest.mark.usefixtures("unnoticed")
def test_people_lost_from_the_memory_or_added_to_it_are_counted(tmp_path: Path, small: Small) -> None:
    series = small(tmp_path, TauSafety(3))
    path = series.ledger.path(list(series.memory_files())[-1])
    edited(
        path,
        lambda stored: pl.concat([stored[3:], stored[:2].with_columns(person_low=pl.col("person_low") ^ 1)]),
    )
    assert verified(series)["problems"] == [
        "the memory lacks 3 of 60 people who are in the memberships",
        "the memory holds 2 people who are in no membership",
    ]


@pytest.mark.parametrize("engine", quick(ENGINES, lambda engine: engine == "parts"))
@pytest.mark.usefixtures("unnoticed")
def test_earlier_groups_in_the_memory_are_compared_too(tmp_path: Path, small: Small, engine: str) -> None:
    series = small(tmp_path, CorSplit(3, 3, pad=True), ENGINES[engine])
    hidden(series, "group@1", pl.col("group@1") + 1)
    (problem,) = verified(series)["problems"]
    assert problem.startswith("the memory has other earlier groups of ")


@pytest.mark.parametrize("engine", quick(ENGINES, lambda engine: engine == "parts"))
@pytest.mark.usefixtures("unnoticed")
def test_beliefs_and_counts_in_the_memory_are_compared_too(tmp_path: Path, engine: str) -> None:
    series = made(tmp_path, PUBLISHERS["js-reduce"], ENGINES[engine])
    hidden(series, "belief", pl.col("belief").list.reverse())
    counts = series.counts_file()
    assert counts is not None
    edited(series.ledger.path(counts), lambda table: table.with_columns(pl.col("count") + 1))
    beliefs, followed = verified(series)["problems"]
    assert beliefs.startswith("the memory believes otherwise of ")
    assert followed == "the counts of what followed what are not those of the views"


@pytest.mark.parametrize("recorded", [[], ["tau-safety=1"]])
def test_promises_are_those_of_the_policy_whatever_a_release_records(
    tmp_path: Path, recorded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    series = publish(tmp_path, TauSafety(m=2), FIRST, FIRST)
    entries = series.ledger.entries()
    for entry in entries:
        if entry.kind == "release":
            entry.payload["promises"] = {"one_table": "", "series": recorded}
    monkeypatch.setattr("republish.ledger.Ledger.entries", lambda _: entries)
    swap_groups(series, 2)
    found = verified(series)
    assert "release 1 records other promises than the policy makes" in found["problems"]
    assert "tau-safety=2: constant signatures" in broken(found, 2)


@pytest.mark.parametrize("engine", quick(ENGINES, lambda engine: engine == "parts"))
@pytest.mark.parametrize("apart", [1, 30])
def test_nobody_may_be_in_a_membership_twice(tmp_path: Path, small: Small, engine: str, apart: int) -> None:
    series = small(tmp_path, TauSafety(3), ENGINES[engine])

    def twice(stored: pl.DataFrame) -> pl.DataFrame:
        same = stored.sort("group", "code")
        keys = [pl.lit(same[key][0], dtype=pl.UInt64).alias(key) for key in ("person_high", "person_low")]
        place = min(apart, same.height - 1)
        return pl.concat([same[:place], same[place : place + 1].with_columns(keys), same[place + 1 :]])

    edited(members_of(series, 2), twice)
    found = verified(series)
    (check,) = (check for check in found["releases"]["2"]["checks"] if check["promise"] == "membership")
    assert (check["holds"], check["rows"]) == (False, 2)
    assert "was altered" in found["problems"][0]


@pytest.mark.parametrize("engine", quick(ENGINES, lambda engine: engine == "parts"))
@pytest.mark.parametrize(
    "change, promises",
    [
        (
            pl.col("age_lo") - (pl.int_range(pl.len()) == 0),
            {"uniform groups"},
        ),
        (pl.lit("v9").alias("dx"), {"membership"}),
        ((pl.col("group") + 1).alias("group"), {"membership"}),
        (pl.lit(400, pl.Int32).alias("group"), {"membership"}),
    ],
)
def test_an_edited_table_is_found(
    tmp_path: Path, small: Small, engine: str, change: pl.Expr, promises: set[str]
) -> None:
    series = small(tmp_path, TauSafety(3), ENGINES[engine])
    edited(table_of(series, 1), lambda table: table.with_columns(change))
    found = verified(series)
    assert "was altered" in found["problems"][0]
    assert "1" not in found["releases"] or promises <= broken(found, 1)


def test_counterfeits_that_no_group_has_are_found(tmp_path: Path) -> None:
    series = publish(tmp_path, TauSafety(m=2), FIRST, FIRST)
    (series.ledger.folder(2) / "counterfeits.csv").write_text("group,count\n1,9\n2,1\n7,1\n")
    found = verified(series)
    assert broken(found, 2) == {"counterfeit statistics", "membership"}
    assert "counterfeits.csv is not part of release 2" in found["problems"][0]


def test_a_part_of_a_table_that_is_missing_leaves_members_without_rows(tmp_path: Path, small: Small) -> None:
    series = small(tmp_path, TauSafety(3), ENGINES["parts"])
    table_of(series, 2).unlink()
    found = verified(series)
    assert found["problems"][0] == "releases/0002/table.parquet/part-00000.parquet is missing"
    assert broken(found, 2) == {"membership", "tau-safety=3: constant signatures"}


@pytest.mark.parametrize(
    "engine, which, damage",
    [
        ("one process", table_of, "missing"),
        ("one process", table_of, "garbled"),
        ("one process", members_of, "missing"),
        ("parts", table_of, "garbled"),
        ("parts", members_of, "missing"),
        ("parts", members_of, "garbled"),
    ],
)
def test_a_release_that_cannot_be_read_is_reported_and_the_others_are_checked(
    tmp_path: Path, engine: str, which: Callable[[Series, int], Path], damage: str
) -> None:
    series = made(tmp_path, TauSafety(2), ENGINES[engine])
    path = which(series, 3)
    if damage == "missing":
        path.unlink()
    else:
        path.chmod(0o600)
        path.write_bytes(b"no table")
    found = verified(series)
    assert "release 3 cannot be read any more" in found["problems"]
    assert list(found["releases"]) == ["1", "2", "4"]


@pytest.mark.parametrize("engine", quick(ENGINES, lambda engine: engine == "parts"))
def test_a_memory_that_was_altered_is_not_read(tmp_path: Path, small: Small, engine: str) -> None:
    series = small(tmp_path, TauSafety(3), ENGINES[engine])
    hidden(series, "code", pl.lit(0, dtype=pl.Int32))
    assert verified(series)["problems"][-1] == "the memory cannot be read any more"


# What parts cannot do -------------------------------------------------------------------------------


def test_executors_must_see_the_files(tmp_path: Path, small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    series = small(tmp_path, TauSafety(3))

    def unseen(path: Path) -> dict[str, Any]:
        raise FileNotFoundError(path)

    monkeypatch.setattr("republish.parts.verify.files.measure", unseen)
    with pytest.raises(LedgerError, match="under the same path as the driver; they cannot read"):
        series.verify(engine=Here(parts=2))


def test_what_weighs_all_people_together_is_left_to_one_process(tmp_path: Path, small: Small) -> None:
    series = small(tmp_path, JSReduce(4, 0.9, 0.9, crowd=4, withstand=3.0))
    with pytest.raises(PolicyError, match="verify without --engine"):
        series.verify(engine=Here(parts=2))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"against": "view"}, "groups are compared with"),
        ({"knowledge": Extracted(gaps="count")}, "counts the releases that people are absent from"),
    ],
)
def test_whole_views_and_absences_are_left_to_one_process(
    tmp_path: Path, small: Small, options: dict[str, Any], reason: str
) -> None:
    series = small(tmp_path, JSReduce(4, 0.9, 0.9, crowd=4, **options))
    with pytest.raises(PolicyError, match=reason):
        series.verify(engine=Here(parts=2))
    with pytest.raises(PolicyError, match=reason):
        series.publish(crowd(0), engine=Here(parts=2))


def test_what_outsiders_know_of_single_people_is_left_to_one_process(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "s", SMALL, PUBLISHERS["bayframe"], seed=3)
    series.publish(crowd(0), compromised=pl.DataFrame({"id": ["p1"], "dx": ["v1"], "p": [0.5]}))
    with pytest.raises(PolicyError, match="an adversary knows something of single people"):
        series.verify(engine=Here(parts=2))


@pytest.mark.parametrize("top, shards", [(0, 1), (0, 3), (1, 4), (5, 3), (7, 7), (100, 8)])
def test_every_group_is_in_the_range_of_its_shard(top: int, shards: int) -> None:
    ranges = Ranges(top, shards)
    group = np.arange(1, top + 1)
    shard = ranges.of(group)
    first = np.array([ranges.first(s) for s in range(shards)])
    count = np.array([ranges.count(s) for s in range(shards)])
    assert count.sum() == top
    assert ((group > first[shard]) & (group <= first[shard] + count[shard])).all()
    assert ranges.of(np.array([-5, 0, top + 9])).tolist() == [0, 0, shards - 1]


# The command ----------------------------------------------------------------------------------------


def test_the_command_verifies_with_an_engine(
    tmp_path: Path, small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = small(tmp_path, TauSafety(3))
    asked: list[EngineOptions] = []

    @contextmanager
    def parts(options: EngineOptions) -> Iterator[Engine]:
        asked.append(options)
        yield Here(parts=3)

    expected = series.verify().as_dict()
    monkeypatch.setattr("republish.cli.verify.engine_of", parts)
    done = CliRunner().invoke(
        app,
        [
            "verify",
            str(series.root),
            "--engine",
            "spark",
            "--master",
            "local[2]",
            "--part-rows",
            "20",
            "--json",
        ],
    )
    assert asked == [EngineOptions("spark", "local[2]", 20)]
    alike(json.loads(done.stdout), {"schema_version": 1, "command": "verify", **expected})
    swap_groups(series, 2)
    assert CliRunner().invoke(app, ["verify", str(series.root), "--engine", "spark"]).exit_code == 1


@pytest.mark.parametrize("options", [["--engine", "spark"], ["--part-rows", "5"], ["--master", "yarn"]])
def test_a_table_is_verified_by_one_process(tmp_path: Path, options: list[str]) -> None:
    crowd(0).write_csv(tmp_path / "table.csv")
    done = CliRunner().invoke(app, ["verify", str(tmp_path / "table.csv"), *options])
    assert isinstance(done.exception, PolicyError)
    assert "are for a series; a table is verified here" in str(done.exception)
