"""`verify` finds a hand-made violation of every requirement, and of everything else a release promises."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from republish import (
    BrokenPromise,
    Category,
    Number,
    Ordered,
    PolicyError,
    Schema,
    SchemaError,
    Series,
    TwoTables,
    ValueBlind,
    ViewError,
    parse_requirements,
    read_view,
    verify_table,
)
from republish.grouping import Grouping
from republish.hierarchies import Hierarchy
from republish.release.cells import Cells
from republish.release.release import build_release
from republish.requirements.histograms import histograms
from republish.secret import Secret
from republish.verify.table import verify_against_view
from republish.verify.two_tables import compared_texts

STAGES = Hierarchy((("a1", "a", "*"), ("a2", "a", "*"), ("b1", "b", "*"), ("b2", "b", "*")))
SCHEMA = Schema(
    quasi_identifiers=[Number("age")], sensitive=Ordered("stage", order=STAGES.leaves, hierarchy=STAGES)
)


def table(*groups: str) -> pl.DataFrame:
    """One group a word; its letters are the stages a1, a2, b1, b2 written 1, 2, 3, 4."""
    rows = [
        (f"[{g}0-{g}9]", STAGES.leaves[int(letter) - 1])
        for g, word in enumerate(groups, 1)
        for letter in word
    ]
    return pl.DataFrame(rows, schema=["age", "stage"], orient="row")


VIOLATIONS = {
    "k=3": (("111", "22"), 1, 2),
    "l=2": (("12", "33"), 1, 2),
    "probabilistic-l=2": (("12", "3332"), 1, 4),
    "entropy-l=2": (("12", "3332"), 1, 4),
    "recursive=2/2": (("12", "3332"), 1, 4),
    "t=0.3": (("1234", "1234", "1234", "1144"), 1, 4),
    "t-ordered=0.2": (("1234", "1234", "1234", "1112"), 1, 4),
    "t-hierarchical=0.2": (("1234", "1234", "1234", "1122"), 1, 4),
    "beta=1": (("1234", "1234", "1234", "1111"), 1, 4),
    "beta-enhanced=1": (("1234", "1234", "1234", "1111"), 1, 4),
    "delta=1": (("1234", "1234", "1224"), 1, 4),
    "alpha-k=0.5/2": (("12", "1112"), 1, 4),
}


@pytest.mark.parametrize("requirement", VIOLATIONS)
def test_a_violation_of_each_requirement_is_found_and_counted(requirement: str) -> None:
    groups, broken, rows = VIOLATIONS[requirement]
    found = verify_table(table(*groups), SCHEMA, parse_requirements(requirement))
    check = found.checks[0]
    assert (check.holds, check.groups, check.rows) == (False, broken, rows)


@pytest.mark.parametrize("requirement", VIOLATIONS)
def test_a_table_of_equal_groups_satisfies_each_requirement(requirement: str) -> None:
    assert verify_table(table("1234", "1234"), SCHEMA, parse_requirements(requirement)).holds


def test_groups_are_equal_quasi_identifiers_where_there_is_no_group_column() -> None:
    found = verify_table(table("12", "34", "12"), SCHEMA, parse_requirements("k=2"))
    assert (found.groups, found.rows, found.holds) == (3, 6, True)


def test_the_group_column_goes_first() -> None:
    grouped = table("11", "22").with_columns(group=pl.Series([7, 7, 7, 7]))
    found = verify_table(grouped, SCHEMA, parse_requirements("k=4"))
    assert (found.groups, found.checks[0].holds) == (1, True)


def test_a_group_whose_rows_differ_is_a_claim_and_no_protection() -> None:
    grouped = table("11", "22").with_columns(group=pl.Series([7, 7, 7, 7]))
    checks = {c.promise: c for c in verify_table(grouped, SCHEMA, parse_requirements("k=4")).checks}
    assert (checks["uniform groups"].holds, checks["uniform groups"].groups) == (False, 1)


def test_fully_starred_rows_count_as_suppressed() -> None:
    stars = pl.DataFrame({"age": ["*"], "stage": ["a1"]})
    found = verify_table(pl.concat([table("12", "34"), stars]), SCHEMA, parse_requirements("k=2"))
    assert (found.suppressed, found.groups, found.holds) == (1, 2, True)


def test_a_table_without_the_columns_of_its_schema_is_refused() -> None:
    with pytest.raises(SchemaError, match="no column age"):
        verify_table(table("12").drop("age"), SCHEMA, parse_requirements("k=2"))
    with pytest.raises(SchemaError, match="no column stage"):
        verify_table(table("12").drop("stage"), SCHEMA, parse_requirements("k=2"))
    with pytest.raises(ViewError, match="1 rows of the table have none"):
        verify_table(table("12").with_columns(group=pl.Series([1, None])), SCHEMA, parse_requirements("k=2"))
    with pytest.raises(PolicyError, match="need a sensitive column"):
        verify_table(table("12"), Schema(quasi_identifiers=[Number("age")]), parse_requirements("l=2"))


def test_histograms_in_parts_are_those_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    group, codes = rng.integers(0, 50, 1000), rng.integers(0, 7, 1000)
    ((_, whole),) = histograms(group, codes, 50, 7)
    monkeypatch.setattr("republish.requirements.histograms.CELLS_AT_ONCE", 20)
    parts = list(histograms(group, codes, 50, 7))
    assert len(parts) == 25
    assert np.array_equal(np.concatenate([counts for _, counts in parts]), whole)


def test_a_column_without_a_role_is_not_passed_over() -> None:
    named = table("1234", "1234").with_columns(name=pl.Series([f"n{i}" for i in range(8)]))
    failed = [c.promise for c in verify_table(named, SCHEMA, parse_requirements("k=2")).checks if not c.holds]
    assert failed == ["columns have roles"]


def test_a_table_of_nothing_but_stars_is_one_group() -> None:
    stars = pl.DataFrame({"age": ["*", "*"], "stage": ["a1", "a1"]})
    found = verify_table(stars, SCHEMA, parse_requirements("k=100"))
    assert (found.groups, found.suppressed, found.holds) == (1, 0, False)


# Against the view -----------------------------------------------------------------------------------

RAW = pl.DataFrame({"age": [1, 2, 8, 9], "sex": ["F", "M", "F", "F"], "dx": ["flu", "hiv", "flu", "cold"]})
RAW_SCHEMA = Schema(quasi_identifiers=[Number("age"), Category("sex")], sensitive="dx")


def test_a_true_release_is_true() -> None:
    view = read_view(RAW, RAW_SCHEMA)
    grouping = Grouping(np.array([0, 0, 1, -1]), np.array([1]), np.array([0]))
    release, group_of_row = build_release(view, grouping, Secret.new(), 1)
    assert verify_against_view(release, view, group_of_row).holds


@pytest.mark.parametrize(
    "moved", [{"age": [1, 2, 30, 9]}, {"sex": ["F", "M", "M", "F"]}, {"dx": ["hiv", "hiv", "flu", "cold"]}]
)
def test_a_release_that_does_not_fit_the_view_is_found(moved: dict[str, list[object]]) -> None:
    view = read_view(RAW, RAW_SCHEMA)
    release, group_of_row = build_release(view, Grouping(np.array([0, 0, 1, 1])), Secret.new(), 1)
    other = read_view(
        RAW.with_columns(**{k: pl.Series(v) for k, v in moved.items()}), RAW_SCHEMA, view.values
    )
    assert not verify_against_view(release, other, group_of_row).holds


def test_a_counterfeit_that_is_not_declared_is_found() -> None:
    view = read_view(RAW, RAW_SCHEMA)
    grouping = Grouping(np.array([0, 0, 1, 1]), np.array([1]), np.array([0]))
    release, group_of_row = build_release(view, grouping, Secret.new(), 1)
    release.counterfeits[:] = release.counterfeits[::-1].copy()
    assert not verify_against_view(release, view, group_of_row).holds


# A stored series ------------------------------------------------------------------------------------


def rewrite(path: Path, change: pl.Expr) -> None:
    pl.read_parquet(path).with_columns(change).write_parquet(path)


def test_an_altered_release_is_detected(series: Series, views: list[Path]) -> None:
    series.publish(views[0])
    assert series.verify().holds
    table = series.root / "releases/0001/table.csv"
    data = bytearray(table.read_bytes())
    data[len(data) // 2] ^= 1
    table.write_bytes(data)
    found = series.verify()
    assert not found.holds
    assert "table.csv" in found.problems[0]


def test_promises_are_recomputed_from_the_table_not_from_the_record(
    series: Series, views: list[Path]
) -> None:
    series.publish(views[0])
    rewrite(series.root / "releases/0001/table.parquet", pl.lit("discharged").alias("diagnosis"))
    found = series.verify().releases[1]
    assert {c.promise for c in found.checks if not c.holds} == {"l=3", "same tables", "membership"}


def test_a_csv_table_that_says_more_than_the_parquet_table_is_found(
    series: Series, views: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Cells.texts
    monkeypatch.setattr(Cells, "texts", lambda self: honest(self) + " and more")
    with pytest.raises(BrokenPromise, match="same tables"):
        series.publish(views[0])


@pytest.fixture
def decimals(tmp_path: Path) -> Series:
    """A series in kept cells of people whose wages have two decimals."""
    chance = np.random.default_rng(7)
    view = pl.DataFrame(
        {
            "id": [f"p{row}" for row in range(400)],
            "wage": chance.lognormal(2.0, 0.5, 400).round(2),
            "stage": chance.choice(["a", "b", "c", "d"], 400),
        }
    )
    schema = Schema("id", [Number("wage")], "stage")
    made = Series.create(tmp_path / "s", schema, ValueBlind(size=60, n=4, m=2), form=TwoTables(k=5))
    made.publish(view)
    return made


def test_cells_of_decimals_are_spelled_with_few_digits_and_verified(decimals: Series) -> None:
    cells = pl.read_csv(decimals.ledger.folder(1) / "people.csv")["wage"].unique()
    assert cells.str.starts_with("(").any() and cells.str.len_chars().max() <= len("(12.345-67.891]")
    assert decimals.verify().holds


@pytest.mark.parametrize(
    ("spelled", "holds"),
    [
        (lambda cell: f">={np.nextafter(float(cell[1:]), np.inf)}", True),
        (lambda cell: f">={cell[1:]}", False),
    ],
)
def test_a_cut_may_be_spelled_to_the_last_digit_and_not_otherwise(
    decimals: Series, spelled: Callable[[str], str], holds: bool
) -> None:
    path = decimals.ledger.folder(1) / "people.csv"
    table = pl.read_csv(path)
    [cell] = [text for text in table["wage"].unique() if text.startswith(">")]
    path.chmod(0o600)
    table.with_columns(pl.col("wage").replace({cell: spelled(cell)})).write_csv(path)
    found = {check.promise: check.holds for check in compared_texts(path.parent, decimals.schema)}
    assert found["people: same tables"] == holds


def test_an_edited_policy_is_found(series: Series, views: list[Path]) -> None:
    series.publish(views[0])
    settings = series.root / "series.toml"
    settings.write_text(settings.read_text().replace("k = 5", "k = 500"))
    found = Series.open(series.root).verify()
    assert [problem for problem in found.problems if "series.toml" in problem]


def test_a_lost_secret_is_found(series: Series, views: list[Path]) -> None:
    series.publish(views[0])
    (series.root / "private" / "secret.key").unlink()
    assert [problem for problem in series.verify().problems if "secret" in problem]


def test_a_release_that_cannot_be_read_is_a_problem_not_a_crash(series: Series, views: list[Path]) -> None:
    series.publish(views[0])
    (series.root / "releases/0001/table.parquet").write_bytes(b"PAR1 nothing")
    found = series.verify()
    assert "release 1 cannot be read any more" in found.problems


def test_membership_must_account_for_every_row(series: Series, views: list[Path]) -> None:
    series.publish(views[0])
    path = series.ledger.path(series.membership_files(1)[0])
    path.chmod(0o600)
    pl.read_parquet(path).head(399).write_parquet(path)
    failed = [c.promise for c in series.verify().releases[1].checks if not c.holds]
    assert failed == ["membership"]


def test_a_verification_speaks_json(series: Series, views: list[Path]) -> None:
    series.publish(views[0])
    document = json.loads(json.dumps(series.verify().as_dict()))
    assert document["holds"] is True
    assert [c["promise"] for c in document["releases"]["1"]["checks"]][:2] == ["k=5", "l=3"]
