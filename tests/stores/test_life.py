"""A series whose releases and memory lie in a store does all that one in a folder does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from desk_client import desk
from earlier.make import HERE, SECRET, make_views
from republish import Category, LedgerError, Number, PenaltyTree, Schema, Series
from republish.attacks import Adversary, attack
from republish.cli import app
from republish.hierarchies import Hierarchy
from republish.ledger import backup, restore
from republish.publishing.maintenance import amend_hierarchy, forget, withdraw
from republish.secret import VARIABLE
from republish.sources.paths import place_of

pytestmark = pytest.mark.stores
RELEASED = [
    "about.json",
    "codebook.xml",
    "datapackage.json",
    "dcat.jsonld",
    "read_release.R",
    "table.csv",
    "table.parquet",
]
Make = Callable[[Path, str | None], Series]


def publish(series: Series, views: list[Path], count: int = 3) -> None:
    for week, view in enumerate(views[:count]):
        series.publish(view, as_of=f"2026-01-{5 + 7 * week:02d}")


def test_three_releases_are_published_read_and_verified(stored: Series, views: list[Path]) -> None:
    publish(stored, views)
    reader = Series.open(stored.root)
    found = reader.verify()
    assert found.holds, found.problems
    assert [record.payload["rows"] for record in reader.records] == [400, 400, 400]
    assert reader.release(2).rows == 400
    assert reader.appearances(3).height == 400
    assert reader.memory().size == sum(record.payload["arrivals"]["new"] for record in reader.records)


def test_two_tables_are_published_read_and_verified(
    store: str, views: list[Path], tmp_path: Path, make_two: Make
) -> None:
    publish(make_two(tmp_path / "series", store), views)
    reader = Series.open(tmp_path / "series")
    found = reader.verify()
    assert found.holds, found.problems
    names = sorted(path.name for path in (place_of(store) / "releases" / "0001").iterdir())
    assert names == [
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
    assert [len(list((place_of(store) / "private" / kind).iterdir())) for kind in ("cuts", "membership")] == [
        1,
        3,
    ]
    release = reader.release(2)
    assert release.rows == 400 and release.values.rows == 400 + release.counterfeits.sum()
    gone = pl.read_csv(views[0])["patient"].head(3)
    assert forget(reader, gone.to_frame()).erased == 3
    backup(reader.root, tmp_path / "all.tar", store=reader.policy.store)
    restore(tmp_path / "all.tar", tmp_path / "back")
    back = Series.open(tmp_path / "back")
    assert back.verify().holds
    assert back.publish(views[3], as_of="2026-02-02").number == 4


def test_it_publishes_and_gives_away_what_a_series_in_a_folder_does(
    store: str, views: list[Path], tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPUBLISH_SECRET", "7" * 64)
    stored, plain = make(tmp_path / "stored", store), make(tmp_path / "plain", None)
    for series in (stored, plain):
        publish(series, views, 2)
    assert stored.release(2).frame().equals(plain.release(2).frame())
    found, expected = (attack(series, Adversary(), ["tau"])[0].as_dict() for series in (stored, plain))
    assert found == expected


def test_releases_and_memory_lie_in_the_store_and_secret_and_ledger_do_not(
    stored: Series, views: list[Path], store: str
) -> None:
    publish(stored, views, 1)
    place = place_of(store)
    assert sorted(path.name for path in (place / "releases" / "0001").iterdir()) == RELEASED
    assert len(list((place / "private" / "membership").iterdir())) == 1
    assert not (place / "private" / "staging").is_dir() or not list((place / "private" / "staging").iterdir())
    here = sorted(
        path.relative_to(stored.root).as_posix() for path in stored.root.rglob("*") if path.is_file()
    )
    assert here == [
        "hierarchies/1-diagnosis.csv",
        "ledger.db",
        "private/lock",
        "private/secret.key",
        "series.toml",
    ]


def test_people_are_forgotten_and_releases_withdrawn(stored: Series, views: list[Path]) -> None:
    publish(stored, views, 2)
    before = stored.membership_files(1)
    gone = pl.read_csv(views[0])["patient"].head(3)
    assert forget(stored, gone.to_frame()).erased == 3
    withdraw(stored, 1, "typing error")
    reader = Series.open(stored.root)
    assert reader.withdrawn() == {1}
    assert not any(reader.ledger.path(name).exists() for name in before)
    assert reader.verify().holds
    assert reader.publish(views[2], as_of="2026-02-02").number == 3


def test_a_backup_is_restored_into_a_folder_and_leaves_the_store_alone(
    stored: Series, views: list[Path], tmp_path: Path, store: str
) -> None:
    publish(stored, views, 2)
    backup(stored.root, tmp_path / "all.tar.gz", store=stored.policy.store)
    restore(tmp_path / "all.tar.gz", tmp_path / "back")
    back = Series.open(tmp_path / "back")
    assert back.policy.store is None
    assert back.verify().holds
    assert back.publish(views[2], as_of="2026-02-02").number == 3
    assert len(Series.open(stored.root).records) == 2
    assert Series.open(stored.root).verify().holds
    assert not (place_of(store) / "releases" / "0003").exists()


def test_a_backup_is_restored_into_another_store(
    stored: Series, views: list[Path], tmp_path: Path, store: str
) -> None:
    publish(stored, views, 2)
    backup(stored.root, tmp_path / "all.tar", store=stored.policy.store)
    restore(tmp_path / "all.tar", tmp_path / "back", store=f"{store}-restored")
    back = Series.open(tmp_path / "back")
    assert back.policy.store == str(place_of(f"{store}-restored"))
    assert back.verify().holds
    assert not (tmp_path / "back" / "releases").exists()
    assert back.publish(views[2], as_of="2026-02-02").number == 3


def test_a_store_that_holds_a_series_is_not_given_to_another(
    stored: Series, views: list[Path], tmp_path: Path, store: str, make: Make
) -> None:
    publish(stored, views, 1)
    with pytest.raises(LedgerError, match="holds releases or memory"):
        make(tmp_path / "second", store)
    backup(stored.root, tmp_path / "all.tar", store=stored.policy.store)
    with pytest.raises(LedgerError, match="name another store"):
        restore(tmp_path / "all.tar", tmp_path / "back", store=store)
    assert not (tmp_path / "back").exists()
    assert stored.verify().holds


def test_a_store_that_is_not_that_of_the_series_is_not_written_to(
    stored: Series, views: list[Path], store: str
) -> None:
    publish(stored, views, 1)
    settings = stored.root / "series.toml"
    settings.write_text(settings.read_text().replace(str(stored.policy.store), f"{stored.policy.store}x"))
    with pytest.raises(LedgerError, match=r"no republish-store\.txt"):
        Series.open(stored.root).publish(views[1])
    assert not place_of(f"{store}x").exists()


def test_what_is_altered_or_missing_in_the_store_is_found(
    stored: Series, views: list[Path], store: str
) -> None:
    publish(stored, views, 2)
    place = place_of(store)
    table = place / "releases" / "0001" / "table.csv"
    held = table.read_bytes()
    table.write_bytes(held[:-2] + b"x\n")
    (place / "releases" / "0002" / "about.json").unlink()
    (place / "releases" / "0002" / "table.parquet").unlink()
    problems = Series.open(stored.root).verify().problems
    assert "releases/0001/table.csv was altered: its digest does not match the ledger" in problems
    assert "releases/0002/about.json is missing" in problems
    assert "releases/0002/table.parquet is missing" in problems
    with pytest.raises(LedgerError, match="missing or was altered"):
        Series.open(stored.root).publish(views[2])


def test_files_that_no_entry_names_are_removed_by_the_next_writer(
    stored: Series, views: list[Path], store: str
) -> None:
    publish(stored, views, 1)
    place = place_of(store)
    orphan = place / "private" / "memory" / "0002-0123456789abcdef.parquet"
    staged = place / "private" / "staging" / "0123456789abcdef" / "table.csv"
    staged.parent.mkdir()
    orphan.write_bytes(b"left behind")
    staged.write_bytes(b"left behind")
    assert Series.open(stored.root).verify().holds
    withdraw(Series.open(stored.root), 1)
    assert not orphan.exists()
    assert not staged.exists()


def test_hierarchies_and_counts_lie_in_the_store_too(store: str, views: list[Path], tmp_path: Path) -> None:
    tree = Hierarchy((("101", "10*", "*"), ("102", "10*", "*"), ("201", "20*", "*")))
    schema = Schema("id", [Number("age"), Category("zip", hierarchy=tree)], "dx")
    series = Series.create(
        tmp_path / "towns", schema, PenaltyTree(k=2, incremental=True), seed=1, one_table=True, store=store
    )
    people = pl.DataFrame(
        {"id": ["a", "b", "c", "d"], "age": [30, 31, 50, 52], "zip": "101", "dx": ["flu", "cold"] * 2}
    )
    series.publish(people, as_of="2026-01-05")
    more = tmp_path / "more.csv"
    more.write_text("202;20*;*\n")
    assert amend_hierarchy(series, "zip", more) == 1
    later = people.with_columns(zip=pl.lit("202"))
    assert Series.open(series.root).publish(later, as_of="2026-01-12").number == 2
    assert series.verify().holds
    place = place_of(store)
    assert [len(list((place / "private" / kind).iterdir())) for kind in ("hierarchies", "counts")] == [1, 1]
    assert forget(series, people.select("id").head(1)).erased == 1
    assert series.counts_file() is None
    assert series.verify().holds


def test_the_command_line_keeps_a_series_in_a_store(
    store: str, hospital_folder: Path, views: list[Path], tmp_path: Path
) -> None:
    root = str(tmp_path / "series")
    schema = str(hospital_folder / "schema.toml")
    steps = [
        ["init", root, "--schema", schema, "--publisher", "tau-safety", "-p", "m=3", "--store", store],
        ["publish", root, str(views[0])],
        ["show", root, "1"],
        ["history", root],
        ["verify", root],
        ["measure", root],
        ["backup", root, str(tmp_path / "all.tar")],
        ["restore", str(tmp_path / "all.tar"), f"{root}-2", "--store", f"{store}-2"],
        ["verify", f"{root}-2"],
    ]
    said = []
    for step in steps:
        done = CliRunner().invoke(app, step)
        assert done.exit_code == 0, (step, done.output)
        said.append(done.output)
    assert f"releases and memory lie in {place_of(store)}" in said[0].replace("\n", "")
    assert Series.open(f"{root}-2").policy.store == str(place_of(f"{store}-2"))


def test_the_desk_sends_files_from_the_store(stored: Series, views: list[Path]) -> None:
    publish(stored, views, 1)
    held = (stored.ledger.folder(1) / "table.csv").read_bytes()
    with desk(stored.root) as client:
        assert client.get("/api/series/series/releases/1/table.csv").content == held
        sent = client.get("/s/series/r/1/files/table.csv")
    assert sent.content == held
    assert "attachment" in sent.headers["content-disposition"]


def test_the_desk_does_not_send_an_altered_file_from_the_store(stored: Series, views: list[Path]) -> None:
    publish(stored, views, 1)
    table = stored.ledger.folder(1) / "table.csv"
    table.write_bytes(table.read_bytes().replace(b"1", b"2", 1))
    with desk(stored.root) as client:
        assert client.get("/api/series/series/releases/1/table.csv").status_code == 409
        (problem,) = client.get("/api/series/series").json()["problems"]
    assert problem.startswith("table.csv of release 1 is missing or was altered")


def test_a_series_of_an_earlier_version_is_migrated_in_its_store(
    tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)
    restore(HERE / "mondrian.tgz", tmp_path / "old", store=store)
    series = Series.open(tmp_path / "old")
    before = [*series.memory_files(), *series.membership_files(1)]
    done = series.publish(make_views(tmp_path / "views")[-1], as_of="2024-01-22")
    assert done.arrivals.changed_quasi_identifiers == 0
    assert [entry.kind for entry in series.ledger.entries()][-2:] == ["migrate", "release"]
    assert not any(series.ledger.path(name).exists() for name in before)
    assert series.verify().holds
