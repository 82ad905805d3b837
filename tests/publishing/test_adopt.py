"""Releases of another tool in a series: who is where, what is remembered, what is refused, and that nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from republish import (
    Adversary,
    Cohorts,
    Date,
    JSReduce,
    LDiversity,
    LimitBroken,
    MInvariance,
    Mondrian,
    Number,
    PolicyError,
    Schema,
    SchemaError,
    Series,
    TauSafety,
    ViewError,
    attack,
    read_schema,
)
from republish.gate.limits import Gate
from republish.ledger import backup, restore
from republish.parts import Here
from republish.publishers import Publisher
from republish.publishing.export_postgres import ExportError, export
from republish.publishing.maintenance import forget
from republish.release.forms import TwoTables

DAYS = [f"2026-01-{5 + 7 * week:02d}" for week in range(5)]


@pytest.fixture(scope="module")
def elsewhere(hospital_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[list[Path]]]:
    """The tables of two releases that were made before, in one table and in two."""
    views = sorted((hospital_folder / "views").iterdir())
    schema, folder = read_schema(hospital_folder / "schema.toml"), tmp_path_factory.mktemp("elsewhere")
    found: dict[str, list[list[Path]]] = {}
    for name, files, form in (
        ("one", ["table.csv"], None),
        ("two", ["people.csv", "values.csv"], TwoTables(5)),
    ):
        publisher = Mondrian(8, (LDiversity(4),))
        made = Series.create(folder / name, schema, publisher, seed=3, one_table=True, form=form)
        for week in range(2):
            made.publish(views[week], as_of=DAYS[week])
        found[name] = [[made.ledger.folder(number) / file for file in files] for number in (1, 2)]
        made.ledger.close()
    return found


@pytest.fixture
def schema(hospital_folder: Path) -> Schema:
    return read_schema(hospital_folder / "schema.toml")


@pytest.fixture
def tau(tmp_path: Path, schema: Schema) -> Iterator[Series]:
    made = Series.create(tmp_path / "tau", schema, TauSafety(3), seed=1)
    yield made
    made.ledger.close()


def adopt_both(series: Series, tables: list[list[Path]], views: list[Path]) -> None:
    for week in range(2):
        series.adopt(*tables[week], view=views[week], as_of=DAYS[week])


@pytest.mark.parametrize(
    ("publisher", "past", "form"),
    [
        (TauSafety(3), "one", TwoTables(5)),
        (TauSafety(3), "two", None),
        (MInvariance(3), "one", None),
        (JSReduce(), "two", TwoTables(5)),
        (Mondrian(5), "one", TwoTables(5)),
    ],
    ids=["tau-to-two", "tau-from-two", "m-invariance", "js-reduce-in-two", "mondrian-to-two"],
)
def test_a_series_goes_on_from_any_past_and_verifies(
    publisher: Publisher,
    past: str,
    form: TwoTables | None,
    elsewhere: dict[str, list[list[Path]]],
    schema: Schema,
    views: list[Path],
    tmp_path: Path,
) -> None:
    series = Series.create(tmp_path / "on", schema, publisher, seed=1, one_table=True, form=form)
    adopt_both(series, elsewhere[past], views)
    assert series.verify().holds
    series.publish(views[2], as_of=DAYS[2])
    assert series.verify().holds
    assert [entry.kind for entry in series.records] == ["adopt", "adopt", "release"]
    assert attack(series, Adversary(), ["intersection"])[0].summary.people > 400
    series.ledger.close()


def test_members_are_those_whom_the_other_tool_put_there(
    tau: Series, elsewhere: dict[str, list[list[Path]]], views: list[Path]
) -> None:
    """Cells of Mondrian do not overlap, so that everyone fits one group alone."""
    done = tau.adopt(*elsewhere["one"][0], view=views[0])
    assert done.adopted is not None
    assert (done.adopted.elsewhere, done.adopted.left_out, done.adopted.nobodys) == (0, 0, 0)
    table = pl.read_csv(elsewhere["one"][0][0])
    members = tau.members(1)
    sizes = np.sort(np.bincount(members.group)[1:])
    assert sizes.tolist() == sorted(table.group_by("group").len()["len"].to_list())
    assert done.suppressed == done.counterfeits == 0


def test_signatures_of_adopted_groups_are_kept(
    tau: Series, elsewhere: dict[str, list[list[Path]]], views: list[Path]
) -> None:
    adopt_both(tau, elsewhere["one"], views)
    memory = tau.memory()
    assert (memory.signature_column() >= 0).all()
    done = tau.publish(views[2], as_of=DAYS[2])
    kept = next(c for c in done.verification.checks if c.promise == "tau-safety=3: constant signatures")
    assert kept.holds
    before = dict(zip(map(tuple, memory.people.tolist()), memory.signature_column().tolist(), strict=True))
    after = tau.memory()
    same = 0
    codes = dict(zip(map(tuple, memory.people.tolist()), memory.columns["code"].tolist(), strict=True))
    for person, code, place in zip(
        map(tuple, after.people.tolist()),
        after.columns["code"].tolist(),
        after.signature_column().tolist(),
        strict=True,
    ):
        if person in before and codes[person] == code:
            assert after.signatures[place] == memory.signatures[before[person]]
            same += 1
    assert same > 100


def test_whoever_hid_in_too_few_values_begins_anew(
    tmp_path: Path, schema: Schema, elsewhere: dict[str, list[list[Path]]], views: list[Path]
) -> None:
    series = Series.create(tmp_path / "six", schema, TauSafety(7), seed=1)
    done = series.adopt(*elsewhere["one"][0], view=views[0], as_of=DAYS[0])
    assert done.adopted is not None
    table = pl.read_csv(elsewhere["one"][0][0])
    values = table.group_by("group").agg(pl.col("diagnosis").n_unique().alias("n"), pl.len())
    assert done.adopted.anew == values.filter(pl.col("n") < 7)["len"].sum() > 0
    series.publish(views[1], as_of=DAYS[1])
    assert series.verify().holds
    series.ledger.close()


def test_how_far_promises_are_broken_is_said(
    tau: Series, elsewhere: dict[str, list[list[Path]]], views: list[Path]
) -> None:
    adopt_both(tau, elsewhere["one"], views)
    found = tau.record(2).payload["adopted"]
    broken = {one["promise"]: one["rows"] for one in found["promises"] if not one["holds"]}
    assert broken.keys() == {"m-unique=3", "tau-safety=3: constant signatures"}
    assert 0 < broken["tau-safety=3: constant signatures"] <= 400
    assert set(found["attacks"]) == {"intersection", "linear"}
    made = attack(tau, Adversary(), ["intersection"])[0].summary
    assert found["attacks"]["intersection"]["determined"] == made.determined
    assert found["attacks"]["intersection"]["people"] == made.people


def test_a_column_of_the_view_says_who_was_where(
    tmp_path: Path, schema: Schema, views: list[Path], tau: Series
) -> None:
    """Two groups that look alike are told apart by the view alone."""
    other = Series.create(tmp_path / "other", schema, Cohorts(m=3, values=4, size=12), seed=2)
    other.publish(views[0], as_of=DAYS[0])
    frame = pl.read_csv(views[0])
    members = other.members(1)
    order = pl.DataFrame({"person": members.table()["person"], "grp": members.group})
    named = frame.with_columns(person=other.pseudonyms(frame["patient"].cast(pl.String))).join(
        order, on="person", how="left"
    )
    table = other.ledger.folder(1) / "table.csv"
    guessed = tau.adopt(table, view=views[0], dry_run=True).adopted
    done = tau.adopt(table, view=named.drop("person"), groups="grp", as_of=DAYS[0]).adopted
    assert guessed is not None and done is not None
    assert guessed.elsewhere > 0
    assert (done.stated, done.elsewhere, done.left_out) == (True, 0, 0)
    assert done.nobodys == int(other.release(1).counterfeits.sum())
    own = dict(zip(tau.pseudonyms(frame["patient"].cast(pl.String)), named["grp"], strict=True))
    ours = tau.membership(1)
    pairs = {(own[person], group) for person, group in zip(ours["person"], ours["group"], strict=True)}
    assert len(pairs) == len({there for there, _ in pairs}) == len({here for _, here in pairs})
    other.ledger.close()


def test_cohorts_go_on_with_adopted_groups_that_keep_their_promise(
    tmp_path: Path, schema: Schema, views: list[Path]
) -> None:
    """Whoever stays is with the people of the adopted group, and the bound counts that release."""
    publisher = Cohorts(m=3, values=4, size=24, max_determined=0.5)
    other = Series.create(tmp_path / "other", schema, publisher, seed=2)
    other.publish(views[0], as_of=DAYS[0])
    frame = pl.read_csv(views[0]).with_columns(pl.col("patient").cast(pl.String))
    members = other.members(1)
    order = pl.DataFrame({"person": members.table()["person"], "grp": members.group})
    named = frame.with_columns(person=other.pseudonyms(frame["patient"])).join(order, on="person", how="left")
    series = Series.create(tmp_path / "on", schema, publisher, seed=1)
    series.adopt(other.ledger.folder(1) / "table.csv", view=named.drop("person"), groups="grp", as_of=DAYS[0])
    done = series.publish(views[1], as_of=DAYS[1])
    assert {c.promise for c in done.verification.checks} >= {"determined=0.5@0.04: together"}
    assert series.verify().holds
    for one in (other, series):
        one.ledger.close()


def test_cohorts_refuse_a_past_that_they_cannot_count(
    tmp_path: Path, schema: Schema, elsewhere: dict[str, list[list[Path]]], views: list[Path]
) -> None:
    series = Series.create(tmp_path / "cohorts", schema, Cohorts(m=6), seed=1)
    with pytest.raises(PolicyError, match="only where it keeps all that is promised"):
        series.adopt(*elsewhere["one"][0], view=views[0])
    assert not series.records and not list((series.root / "private" / "membership").iterdir())
    series.ledger.close()


def test_adopted_releases_come_first(
    tau: Series, elsewhere: dict[str, list[list[Path]]], views: list[Path]
) -> None:
    tau.publish(views[0], as_of=DAYS[0])
    with pytest.raises(PolicyError, match="before the first release of the series' own"):
        tau.adopt(*elsewhere["one"][1], view=views[1])
    assert len(tau.records) == 1


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        (lambda t: t.drop("age"), SchemaError, "no column age"),
        (lambda t: t.with_columns(age=pl.lit("old")), SchemaError, "cannot be read as number"),
        (lambda t: t.with_columns(age=pl.lit("[900-999]")), ViewError, "nobody in the raw view fits"),
        (lambda t: t.with_columns(patient=1), PolicyError, "identifier column"),
        (lambda t: t.head(0), ViewError, "it has none"),
    ],
    ids=["column", "cells", "nobody", "identifier", "empty"],
)
def test_what_cannot_be_adopted_is_refused_and_nothing_is_written(
    change: object,
    kind: type[Exception],
    words: str,
    tau: Series,
    elsewhere: dict[str, list[list[Path]]],
    views: list[Path],
) -> None:
    table = pl.read_csv(elsewhere["one"][0][0])
    with pytest.raises(kind, match=words):
        tau.adopt(change(table), view=views[0])  # type: ignore[operator]
    assert not tau.records
    assert not list((tau.root / "releases").iterdir())
    assert not list((tau.root / "private" / "staging").iterdir())


def test_batches_of_the_tables_must_fit_each_other(
    tau: Series, elsewhere: dict[str, list[list[Path]]], views: list[Path]
) -> None:
    people, values = (pl.read_csv(path) for path in elsewhere["two"][0])
    with pytest.raises(ViewError, match="every batch of the table of people"):
        tau.adopt(people, values.filter(pl.col("batch") > 3), view=views[0])
    with pytest.raises(SchemaError, match="needs a column batch"):
        tau.adopt(people.drop("batch"), values, view=views[0])


def test_rows_of_people_who_are_not_in_the_view_are_nobodys(
    tau: Series, elsewhere: dict[str, list[list[Path]]], views: list[Path]
) -> None:
    view = pl.read_csv(views[0]).tail(390)
    done = tau.adopt(*elsewhere["one"][0], view=view)
    assert done.adopted is not None
    assert (done.adopted.nobodys, done.counterfeits, done.rows) == (10, 10, 390)
    two = tau.adopt(*elsewhere["two"][1], view=pl.read_csv(views[1]).tail(390))
    assert two.adopted is not None and two.adopted.nobodys == 10 + two.adopted.left_out
    assert tau.verify().holds


def test_intervals_wider_than_the_view_are_read_and_kept(tau: Series, views: list[Path]) -> None:
    view = pl.read_csv(views[0])
    decade = (view["age"] // 10 * 10).cast(pl.String)
    table = view.drop("patient").with_columns(
        age=pl.Series([f"[{low}, {int(low) + 10})" for low in decade]), weight=pl.lit("[0-500]")
    )
    done = tau.adopt(table, view=views[0])
    assert done.adopted is not None and done.adopted.left_out == 0
    assert 0 <= done.measures.penalty <= 1
    cells = tau.release(1).groups()["age"].unique().to_list()
    assert all(int(high) - int(low) == 9 for low, high in (cell[1:-1].split("-") for cell in cells))


def test_a_dry_run_writes_nothing(
    tau: Series, elsewhere: dict[str, list[list[Path]]], views: list[Path]
) -> None:
    done = tau.adopt(*elsewhere["one"][0], view=views[0], dry_run=True)
    assert done.folder is None and done.adopted is not None
    assert not tau.records


def test_what_is_told_of_an_adopted_release(
    tau: Series, elsewhere: dict[str, list[list[Path]]], views: list[Path]
) -> None:
    adopt_both(tau, elsewhere["one"], views)
    tau.publish(views[2], as_of=DAYS[2])
    about = [json.loads((tau.ledger.folder(number) / "about.json").read_text()) for number in (1, 3)]
    assert "Another tool made this release" in about[0]["adopted"]
    assert about[0]["promised_over_the_series"] == []
    assert any(
        "Releases 1 to 2 were made by another tool" in one for one in about[1]["not_promised_over_the_series"]
    )
    with pytest.raises(ExportError, match="made by another tool"):
        export(tau, 1, "postgresql://nowhere/none")


def test_an_adopted_series_is_backed_up_forgotten_from_and_altered_like_any(
    tau: Series, elsewhere: dict[str, list[list[Path]]], views: list[Path], tmp_path: Path
) -> None:
    adopt_both(tau, elsewhere["one"], views)
    backup(tau.root, tmp_path / "all.tar")
    restore(tmp_path / "all.tar", tmp_path / "back")
    back = Series.open(tmp_path / "back")
    assert back.verify().holds
    forget(back, pl.read_csv(views[0]).select("patient").head(5))
    assert back.verify().holds
    table = back.ledger.folder(1) / "table.csv"
    table.write_text(table.read_text().replace("F", "M", 1))
    assert not back.verify().holds
    back.ledger.close()


def test_the_gate_counts_adopted_releases_and_says_that_it_would_refuse(
    tmp_path: Path, schema: Schema, elsewhere: dict[str, list[list[Path]]], views: list[Path]
) -> None:
    gate = Gate(attacks=("intersection",), max_mean_confidence=0.01)
    series = Series.create(tmp_path / "gated", schema, TauSafety(3), seed=1, gate=gate)
    done = series.adopt(*elsewhere["one"][0], view=views[0], as_of=DAYS[0])
    assert done.adopted is not None and len(done.adopted.gate) == 1
    assert series.verify().holds
    with pytest.raises(LimitBroken, match="max_mean_confidence"):
        series.publish(views[1], as_of=DAYS[1])
    assert len(series.records) == 1
    series.ledger.close()


def test_parts_publish_after_an_adoption_and_leave_its_verification_to_one_process(
    tau: Series, elsewhere: dict[str, list[list[Path]]], views: list[Path]
) -> None:
    adopt_both(tau, elsewhere["one"], views)
    tau.publish(views[2], as_of=DAYS[2], engine=Here())
    assert tau.verify().holds
    with pytest.raises(PolicyError, match="another tool made"):
        tau.verify(engine=Here())


def test_whoever_was_left_out_or_changed_in_a_small_group_can_still_be_published(
    tmp_path: Path, schema: Schema, views: list[Path]
) -> None:
    """The second table has one value a group: nobody keeps its sets, and whose value changed has none left."""
    series = Series.create(tmp_path / "small", schema, TauSafety(3), seed=1)
    for week, column in enumerate(("gender", "diagnosis")):
        view = pl.read_csv(views[week])
        table = view.drop("patient").with_columns(
            age=pl.lit("*"), weight=pl.lit("[0-500]"), group=view[column].rank("dense")
        )
        if column == "diagnosis":
            table = table.with_columns(gender=pl.lit("{F|M}"))
        view = view.with_columns(grp=table["group"])
        done = series.adopt(table, view=view, groups="grp", as_of=DAYS[week])
    assert done.adopted is not None and 0 < done.adopted.anew < 400
    assert done.adopted.attacks["intersection"]["determined"] == 400
    assert series.verify().holds
    series.publish(views[2], as_of=DAYS[2])
    assert series.verify().holds
    series.ledger.close()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_open_cells_of_our_own_people_are_read(tmp_path: Path, suffix: str) -> None:
    """Outermost cells do not say where they end: as far as the view does."""
    schema = Schema("id", [Number("age"), Date("seen")], "dx")
    days = pl.date_range(pl.date(2026, 1, 1), pl.date(2026, 2, 9), eager=True)
    view = pl.DataFrame({"id": range(40), "age": range(20, 60), "seen": days, "dx": list("abcd") * 10})
    other, series = (
        Series.create(tmp_path / name, schema, TauSafety(3), form=TwoTables(3)) for name in ("other", "own")
    )
    folder = other.publish(view).folder
    assert folder is not None and "<=" in (folder / "people.csv").read_text()
    done = series.adopt(folder / f"people.{suffix}", folder / f"values.{suffix}", view=view)
    assert done.adopted is not None and done.adopted.left_out == 0
    assert (done.rows, done.counterfeits) == (40, 0)
