"""The walk of a release: what `publish` writes, what it refuses, and what stays as it was."""

from __future__ import annotations

import json
import re
import shutil
import stat
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from republish import (
    BrokenPromise,
    CannotPublish,
    LDiversity,
    LedgerError,
    Mondrian,
    Number,
    PolicyError,
    Schema,
    SchemaError,
    Series,
    ViewError,
    read_schema,
)
from republish.grouping import Grouping
from republish.ledger.files import PRIVATE_KINDS
from republish.verify.two_tables import verify_release

WEEKS = ["2026-01-05", "2026-01-12", "2026-01-19", "2026-01-26", "2026-02-02"]


def snapshot(root: Path) -> dict[str, bytes]:
    """Every file of a series but the lock and SQLite's own, by name."""
    skip = {"lock", "ledger.db", "ledger.db-wal", "ledger.db-shm"}
    return {
        str(p.relative_to(root)): p.read_bytes()
        for p in root.rglob("*")
        if p.is_file() and p.name not in skip
    }


def test_publish_writes_what_may_leave_and_what_may_not(series: Series, views: list[Path]) -> None:
    done = series.publish(views[0])
    assert (done.number, done.rows, done.suppressed, done.counterfeits) == (1, 400, 0, 0)
    assert sorted(p.name for p in (series.root / "releases" / "0001").iterdir()) == [
        "about.json",
        "codebook.xml",
        "datapackage.json",
        "dcat.jsonld",
        "read_release.R",
        "table.csv",
        "table.parquet",
    ]
    assert sorted(p.name for p in (series.root / "private").iterdir()) == sorted(
        [
            "compromised",
            "counts",
            "cuts",
            "hierarchies",
            "lock",
            "margins",
            "membership",
            "memory",
            "possible",
            "recodes",
            "scales",
            "secret.key",
            "staging",
        ]
    )
    assert stat.S_IMODE((series.root / "private").stat().st_mode) == 0o700
    assert stat.S_IMODE((series.root / "private" / "secret.key").stat().st_mode) == 0o600


def test_the_table_has_the_promised_columns(series: Series, views: list[Path]) -> None:
    series.publish(views[0])
    folder = series.root / "releases" / "0001"
    assert pl.read_csv(folder / "table.csv").columns == ["group", "age", "gender", "weight", "diagnosis"]
    assert pl.read_parquet(folder / "table.parquet").columns == [
        "group",
        "age_lo",
        "age_hi",
        "gender",
        "weight_lo",
        "weight_hi",
        "diagnosis",
    ]


def test_about_says_what_is_promised_and_nothing_secret(series: Series, views: list[Path]) -> None:
    series.publish(views[0], as_of=WEEKS[0])
    about = json.loads((series.root / "releases" / "0001" / "about.json").read_text())
    assert about["requirements"] == "k=5,l=3"
    assert about["promised_over_the_series"] == []
    assert about["not_promised_over_the_series"][0].startswith(
        "Nothing is promised over the series: each release"
    )
    assert about["as_of"] == WEEKS[0]
    assert "seed" not in json.dumps(about)


def test_nothing_that_leaves_holds_an_identifier(series: Series, views: list[Path]) -> None:
    series.publish(views[0])
    identifiers = pl.read_csv(views[0])["patient"].to_list()
    everything = b"".join(p.read_bytes() for p in series.root.rglob("*") if p.is_file())
    assert not any(identifier.encode() in everything for identifier in identifiers)


def test_the_same_view_memory_policy_seed_and_secret_give_the_same_release(
    tmp_path: Path, series: Series, views: list[Path]
) -> None:
    twin = tmp_path / "twin"
    shutil.copytree(series.root, twin)
    shuffled = pl.read_csv(views[0], infer_schema=False).sample(fraction=1, shuffle=True, seed=1)
    series.publish(views[0], as_of=WEEKS[0])
    Series.open(twin).publish(shuffled, as_of=WEEKS[0])
    tables = [(root / "releases/0001/table.csv").read_bytes() for root in (series.root, twin)]
    assert tables[0] == tables[1]


def test_another_secret_gives_another_order(tmp_path: Path, hospital_folder: Path, views: list[Path]) -> None:
    schema = read_schema(hospital_folder / "schema.toml")
    tables = []
    for name in "ab":
        made = Series.create(tmp_path / name, schema, Mondrian(5), seed=3)
        made.publish(views[0])
        tables.append(pl.read_csv(tmp_path / name / "releases/0001/table.csv"))
    assert tables[0].drop("group").sort(pl.all()).equals(tables[1].drop("group").sort(pl.all()))
    assert not tables[0].equals(tables[1])


def test_who_knows_the_seed_cannot_undo_the_order(series: Series, views: list[Path]) -> None:
    """Every generator of numpy seeded with what a seed could mean leaves the rows in no order of the source."""
    series.publish(views[0])
    published = pl.read_csv(series.root / "releases/0001/table.csv")["diagnosis"].to_numpy()
    source = pl.read_csv(views[0])["diagnosis"].to_numpy()
    by_chance = float(np.mean([np.mean(source == np.roll(source, shift)) for shift in range(1, 50)]))
    guesses = [3, (3, 1), (1, 3), 1, 4, "3-1"]
    for guess in guesses:
        entropy = [ord(c) for c in guess] if isinstance(guess, str) else guess
        order = np.random.default_rng(entropy).permutation(len(source))
        for attempt in (published[order], published[np.argsort(order)], published):
            assert np.mean(attempt == source) < by_chance + 0.15


def test_group_numbers_carry_nothing_to_the_next_release(series: Series, views: list[Path]) -> None:
    """The same view twice: whoever was in group g is not in group g again, beyond chance."""
    series.publish(views[0], as_of=WEEKS[0])
    series.publish(views[0], as_of=WEEKS[1], meant=["same-view"])
    first, second = series.membership(1), series.membership(2)
    joined = first.join(second, on="person", suffix="_later")
    assert (joined["group"] == joined["group_later"]).mean() < 0.1


def test_membership_and_pseudonyms_find_a_person(series: Series, views: list[Path]) -> None:
    series.publish(views[0])
    raw = pl.read_csv(views[0], infer_schema=False)
    person = series.pseudonyms([raw["patient"][0]])[0]
    group = series.membership(1).filter(pl.col("person") == person)["group"][0]
    cells = series.release(1).groups().filter(pl.col("group") == group)
    low, high = (int(x) for x in (re.findall(r"\d+", cells["age"][0]) * 2)[:2])
    assert low <= int(raw["age"][0]) <= high


def test_history_counts_who_came_and_went(series: Series, views: list[Path]) -> None:
    raw = [pl.read_csv(view) for view in views]
    people = [set(frame["patient"]) for frame in raw]
    done = [series.publish(view, as_of=week) for view, week in zip(views, WEEKS, strict=True)]
    for i in range(1, 5):
        before = set().union(*people[:i])
        assert done[i].arrivals.new == len(people[i] - before)
        assert done[i].arrivals.returned == len((people[i] & before) - people[i - 1])
        assert done[i].arrivals.left == len(people[i - 1] - people[i])
    assert series.memory().size == len(set().union(*people))


def test_a_dry_run_leaves_the_series_as_it_was(series: Series, views: list[Path]) -> None:
    series.publish(views[0], as_of=WEEKS[0])
    before = snapshot(series.root)
    done = series.publish(views[1], as_of=WEEKS[1], dry_run=True)
    assert (done.number, done.folder, done.verification.holds) == (2, None, True)
    assert snapshot(series.root) == before
    assert len(series.records) == 1


def test_an_empty_week_is_a_release_without_rows(series: Series, views: list[Path]) -> None:
    series.publish(views[0], as_of=WEEKS[0])
    done = series.publish(
        pl.read_csv(views[1], infer_schema=False).clear(), as_of=WEEKS[1], meant=["fewer-rows"]
    )
    assert (done.rows, done.groups, done.arrivals.left) == (0, 0, 400)
    series.publish(views[2], as_of=WEEKS[2])
    assert series.verify().holds


def test_a_view_smaller_than_k_is_refused(series: Series, views: list[Path]) -> None:
    before = snapshot(series.root)
    with pytest.raises(CannotPublish, match="4 rows"):
        series.publish(pl.read_csv(views[0], infer_schema=False).head(4))
    assert snapshot(series.root) == before


def test_a_release_must_be_later_than_the_last(series: Series, views: list[Path]) -> None:
    series.publish(views[0], as_of=WEEKS[1])
    with pytest.raises(PolicyError, match="later than the last"):
        series.publish(views[1], as_of=WEEKS[0])
    with pytest.raises(PolicyError, match="must be a date"):
        series.publish(views[1], as_of="next week")


def test_one_table_publishers_need_consent_for_a_second_release(
    tmp_path: Path, hospital_folder: Path, views: list[Path]
) -> None:
    schema = read_schema(hospital_folder / "schema.toml")
    made = Series.create(tmp_path / "s", schema, Mondrian(5))
    made.publish(views[0])
    with pytest.raises(PolicyError, match="one_table = true"):
        made.publish(views[1])
    settings = tmp_path / "s" / "series.toml"
    settings.write_text(settings.read_text().replace("one_table = false", "one_table = true"))
    assert Series.open(tmp_path / "s").publish(views[1]).number == 2


def test_the_policy_is_frozen_after_the_first_release(series: Series, views: list[Path]) -> None:
    settings = series.root / "series.toml"
    settings.write_text(settings.read_text().replace("k = 5", "k = 6"))
    Series.open(series.root).publish(views[0])
    settings.write_text(settings.read_text().replace("k = 6", "k = 5"))
    with pytest.raises(PolicyError, match="frozen"):
        Series.open(series.root).publish(views[1])


def test_a_changed_hierarchy_is_a_changed_policy(series: Series, views: list[Path]) -> None:
    series.publish(views[0])
    file = series.root / "hierarchies" / "1-diagnosis.csv"
    file.write_text(file.read_text().replace(";HIV;", ";other;"))
    with pytest.raises(PolicyError, match="frozen"):
        Series.open(series.root).publish(views[1])


def test_a_lost_secret_stops_everything_before_anything_is_written(series: Series, views: list[Path]) -> None:
    series.publish(views[0])
    secret = series.root / "private" / "secret.key"
    kept = secret.read_text()
    secret.unlink()
    before = snapshot(series.root)
    with pytest.raises(LedgerError, match="secret of this series is lost"):
        series.publish(views[1])
    assert snapshot(series.root) == before
    secret.write_text("0" * 64 + "\n")
    secret.chmod(0o600)
    with pytest.raises(LedgerError, match="not the secret"):
        series.publish(views[1])
    secret.write_text(kept)
    assert series.publish(views[1]).number == 2


def test_the_secret_may_live_in_the_environment(
    tmp_path: Path, hospital_folder: Path, views: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPUBLISH_SECRET", "a long enough secret text")
    made = Series.create(
        tmp_path / "s", read_schema(hospital_folder / "schema.toml"), Mondrian(5), one_table=True
    )
    assert not (tmp_path / "s" / "private" / "secret.key").exists()
    made.publish(views[0])
    monkeypatch.delenv("REPUBLISH_SECRET")
    with pytest.raises(LedgerError, match="lost"):
        made.publish(views[1])


class Liar(Mondrian):
    """Says it groups by k and puts every row in a group of its own."""

    def publish(self, view, memory, rng):  # type: ignore[no-untyped-def]
        return Grouping(np.arange(view.rows, dtype=np.int32))


def test_a_publisher_that_breaks_its_promise_is_caught(series: Series, views: list[Path]) -> None:
    object.__setattr__(series.policy, "publisher", Liar(5, (LDiversity(3),)))
    before = snapshot(series.root)
    with pytest.raises(BrokenPromise, match="k=5: does not hold in 400 groups with 400 rows"):
        series.publish(views[0])
    assert snapshot(series.root) == before


def test_a_bad_view_leaves_the_series_as_it_was(series: Series, views: list[Path], tmp_path: Path) -> None:
    series.publish(views[0], as_of=WEEKS[0])
    before = snapshot(series.root)
    bad = tmp_path / "bad.csv"
    bad.write_text(views[1].read_text().replace(",F,", ",F,extra,", 1))
    with pytest.raises(ViewError, match="cells"):
        series.publish(bad)
    with pytest.raises(SchemaError, match="every column needs a role"):
        series.publish(pl.read_csv(views[1], infer_schema=False).with_columns(note=pl.lit("x")))
    assert snapshot(series.root) == before


def test_a_series_needs_an_identifier_and_a_free_folder(tmp_path: Path, series: Series) -> None:
    with pytest.raises(PolicyError, match="identifier"):
        Series.create(tmp_path / "n", Schema(quasi_identifiers=[Number("age")]), Mondrian(2))
    assert not (tmp_path / "n").exists()
    with pytest.raises(LedgerError, match="new or an empty"):
        Series.create(series.root, series.schema, Mondrian(2))
    with pytest.raises(LedgerError, match="no series"):
        Series.open(tmp_path / "nowhere")


def test_without_a_sensitive_column_only_k_is_promised(tmp_path: Path) -> None:
    schema = Schema("id", [Number("age")])
    with pytest.raises(PolicyError, match="l=2 needs a sensitive column"):
        Series.create(tmp_path / "s", schema, Mondrian(2, (LDiversity(2),)))
    made = Series.create(tmp_path / "s", schema, Mondrian(2))
    made.publish(pl.DataFrame({"id": ["a", "b", "c", "d"], "age": [1, 2, 8, 9]}))
    table = pl.read_csv(tmp_path / "s/releases/0001/table.csv")
    assert sorted(table["age"].to_list()) == ["[1-2]", "[1-2]", "[8-9]", "[8-9]"]


def test_stored_releases_read_back_as_published(series: Series, views: list[Path]) -> None:
    series.publish(views[0])
    release = series.release(1)
    stored = pl.read_parquet(series.root / "releases/0001/table.parquet")
    assert release.frame().equals(stored)
    texts = pl.read_csv(series.root / "releases/0001/table.csv", infer_schema=False)
    assert release.table().cast(pl.String).equals(texts)


def test_verify_needs_no_private_file_for_one_release(series: Series, views: list[Path]) -> None:
    series.publish(views[0])
    shutil.rmtree(series.root / "private")
    found = verify_release(series.root / "releases/0001", series.policy.schema, series.policy.requirements)
    assert found.holds


def test_memory_files_do_not_pile_up(series: Series, views: list[Path]) -> None:
    for view, week in zip(views, WEEKS, strict=True):
        series.publish(view, as_of=week)
    kept = {str(p.relative_to(series.root)) for p in (series.root / "private" / "memory").iterdir()}
    assert kept == set(series.memory_files())
    assert series.verify().holds


def test_without_the_secret_the_membership_does_not_tell_whose_quasi_identifiers_are_alike(
    tmp_path: Path,
) -> None:
    """In sums of one word a cell, two ages in two towns add up alike, and equal rows look alike."""
    view = pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(40)],
            "age": [30 + i % 2 for i in range(40)],
            "zip": [10 + i // 2 % 2 for i in range(40)],
            "dx": ["flu", "cold"] * 20,
        }
    )
    schema = Schema("id", [Number("age"), Number("zip")], "dx")
    series = Series.create(tmp_path / "series", schema, Mondrian(2), seed=1, one_table=True)
    series.publish(view)
    people = pl.DataFrame({"person": series.pseudonyms(view["id"]), "cells": [i % 4 for i in range(40)]})
    found = series.appearances(1).join(people, on="person")
    words = [found.filter(cells=cells)["row"].to_numpy() for cells in range(4)]
    assert len(set(np.concatenate(words))) == 40
    alike = words[0][:, None] + words[3]
    across = words[1][:, None] + words[2]
    assert not np.isin(alike, across).any()


def test_every_file_of_a_series_is_on_the_page_of_what_thieves_learn(
    series: Series, views: list[Path]
) -> None:
    series.publish(views[0])
    page = (Path(__file__).parent.parent / "docs" / "security.md").read_text()
    found = {path.relative_to(series.root) for path in series.root.rglob("*") if path.is_file()}
    shown = {name.parts[:2] if name.parts[0] == "private" else name.parts[:1] for name in found}
    kinds = {("private", kind) for kind in (*PRIVATE_KINDS, "staging", "assessments", "tune", "audit.log")}
    names = {"/".join(parts).removesuffix("-wal").removesuffix("-shm") for parts in shown | kinds}
    assert [name for name in sorted(names) if f"`{name}" not in page] == []


def test_an_altered_release_is_not_read(series: Series, views: list[Path]) -> None:
    series.publish(views[0])
    table = series.ledger.folder(1) / "table.parquet"
    pl.read_parquet(table).reverse().write_parquet(table)
    with pytest.raises(LedgerError, match="missing or was altered"):
        series.release(1)
