"""Facts of a series: what the ledger and the policy say, without a look at any table."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from report.marked import MARK, SEED, make, view
from republish import Adversary, Gate, LDiversity, LedgerError, Mondrian, PenaltyTree, Series
from republish.attacks.assessments import assess, keep
from republish.publishing.maintenance import forget, withdraw
from republish.publishing.schema_changes import drop_change
from republish.report import facts_of
from republish.report.sentences import events


def without_tables(series: Series) -> Series:
    """The series after everything was lost but the ledger, the policy and assessments."""
    for folder in (series.root / "releases", *(series.root / "private").iterdir()):
        if folder.is_dir() and folder.name != "assessments":
            shutil.rmtree(folder)
    return Series.open(series.root)


def test_no_table_is_opened(tmp_path: Path) -> None:
    series = make(tmp_path / "s")
    keep(series, assess(series, Adversary(), ["tau"]))
    before = facts_of(series)
    assert facts_of(without_tables(series)) == before
    assert before.current == [True]


def test_the_catalogue_is_read_once_however_long_the_series(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = make(tmp_path / "s")
    for seed in range(3):
        keep(series, assess(series, Adversary(seed=seed), ["intersection"]))
    real, reads = series.ledger.catalogue.records, []
    monkeypatch.setattr(series.ledger.catalogue, "records", lambda: (reads.append(1), real())[1])
    assert len(facts_of(series).assessments) == 3
    assert len(reads) == 1


def test_a_release_is_as_the_ledger_recorded_it(tmp_path: Path) -> None:
    series = make(tmp_path / "s", 2)
    facts, record = facts_of(series), series.record(2)
    last = facts.releases[1]
    assert (last.number, last.as_of[:10], last.rows, last.holds) == (2, "2026-01-02", 60, True)
    assert (last.arrivals["new"], last.arrivals["left"]) == (5, 5)
    assert last.digest == facts.head == record.digest
    assert last.published == record.payload["measures"]["rows"]
    assert set(last.files) >= {"table.csv", "table.parquet", "about.json"}
    assert last.files["table.csv"] == record.payload["files"]["releases/0002/table.csv"]["digest"]
    assert not any("/" in name for name in last.files)


def test_what_happened_besides_is_told_with_its_reason(tmp_path: Path) -> None:
    series = make(tmp_path / "s", 2)
    series.amend([drop_change("floor")], "the source has floors now")
    series.publish(view(3).head(20), expect_anyway="a ward was closed")
    facts = facts_of(series)
    assert [(one["what"], one["reason"]) for one in facts.changes] == [
        ("column floor is left out", "the source has floors now")
    ]
    assert [one.expect_anyway for one in facts.releases] == [None, None, "a ward was closed"]
    told = events(facts)
    assert told[0].endswith(": column floor is left out. Reason: the source has floors now")
    assert told[1] == (
        "Release 3 was published although its view was not expected. Reason: a ward was closed"
    )


def test_columns_have_roles_and_kinds(tmp_path: Path) -> None:
    columns = facts_of(make(tmp_path / "s", 0)).columns
    assert [(one["name"], one["role"], one["kind"]) for one in columns] == [
        ("patient", "identifier", ""),
        ("age", "quasi-identifier", "number"),
        ("zip", "quasi-identifier", "category"),
        ("diagnosis", "sensitive", "category"),
        ("ward", "insensitive", ""),
        ("remark", "drop", ""),
    ]


def test_a_series_without_releases_has_facts(tmp_path: Path) -> None:
    facts = facts_of(make(tmp_path / "nothing", 0))
    assert (facts.name, facts.releases, facts.last, facts.assessment) == ("nothing", [], None, None)
    assert facts.publisher["protects_series"]
    assert facts.promises["series"] == ["tau-safety=2"]


def test_a_one_table_publisher_protects_no_series(tmp_path: Path) -> None:
    facts = facts_of(make(tmp_path / "s", 2, Mondrian(3, (LDiversity(2),))))
    assert not facts.publisher["protects_series"]
    assert facts.promises["series"] == []
    assert list(facts.promises["meanings"]) == ["k=3", "l=2"]


def test_withdrawn_releases_and_forgotten_people_are_counted(tmp_path: Path) -> None:
    series = make(tmp_path / "s")
    withdraw(series, 2, f"{MARK} reason")
    forget(series, pl.DataFrame({"patient": [f"{MARK}id{i}" for i in (20, 21)]}))
    forget(series, pl.DataFrame({"patient": [f"{MARK}id22"]}))
    facts = facts_of(series)
    assert [one.withdrawn for one in facts.releases] == [False, True, False]
    assert facts.forgotten == 3


def test_the_gate_is_told_without_its_seed(tmp_path: Path) -> None:
    gate = Gate(max_determined=0.9, compromised=0.1, attacks=("intersection",), seed=77_665_544)
    facts = facts_of(make(tmp_path / "s", 1, gate=gate))
    assert facts.gate is not None
    assert facts.gate["limits"] == {"max_determined": 0.9}
    assert facts.releases[0].gate is not None
    assert facts.releases[0].gate["passed"]
    assert "77665544" not in json.dumps(facts.as_dict())


def test_neither_cells_nor_identifiers_nor_seed_nor_folder(tmp_path: Path) -> None:
    series = make(tmp_path / "s")
    withdraw(series, 1, f"{MARK} reason")
    keep(series, assess(series, Adversary(compromised=0.1)))
    text = json.dumps(facts_of(series).as_dict())
    assert MARK not in text
    assert "71300" not in text
    assert str(SEED) not in text
    assert str(tmp_path) not in text


def test_break_points_are_not_told(tmp_path: Path) -> None:
    facts = facts_of(make(tmp_path / "s", 1, PenaltyTree(k=3, scales="age=7130011:7130022")))
    assert facts.publisher["parameters"]["scales"] == "given"
    assert "71300" not in json.dumps(facts.as_dict())


def test_a_changed_policy_is_a_problem(tmp_path: Path) -> None:
    series = make(tmp_path / "s", 1)
    file = series.root / "series.toml"
    file.write_text(file.read_text().replace("m = 2", "m = 3"))
    assert any("not what the ledger recorded" in one for one in facts_of(Series.open(series.root)).problems)


def test_an_altered_ledger_is_a_problem(tmp_path: Path) -> None:
    import sqlite3

    series = make(tmp_path / "s", 2)
    assert facts_of(series).problems == []
    series.ledger.close()
    with sqlite3.connect(series.root / "ledger.db") as database:
        (table,) = database.execute(
            "select name from sqlite_master where sql like '%previous%' and type = 'table'"
        ).fetchone()
        database.execute(f"update {table} set payload = replace(payload, '60', '61') where seq = 2")
    database.close()
    assert any("altered" in one for one in facts_of(Series.open(series.root)).problems)


def test_a_record_without_what_every_release_has_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = make(tmp_path / "s", 1)
    records, head = series.ledger.catalogue.records()
    short = records[1]._replace(payload=json.dumps({"staging": "0" * 16, "policy": "", "hierarchies": {}}))
    monkeypatch.setattr(series.ledger.catalogue, "records", lambda: ([records[0], short], head))
    with pytest.raises(LedgerError, match="entry 2"):
        facts_of(series)


def test_the_newest_assessment_that_still_holds_is_taken(tmp_path: Path) -> None:
    series = make(tmp_path / "s", 2)
    keep(series, assess(series, Adversary(), ["tau"]))
    series.publish(view(2), as_of="2026-02-01")
    assert facts_of(series).assessment is None
    keep(series, assess(series, Adversary(), ["intersection"]))
    facts = facts_of(series)
    assert facts.current == [False, True]
    assert facts.assessment is not None
    assert list(facts.assessment.found) == ["intersection"]
