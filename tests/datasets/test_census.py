from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from republish.datasets import PRESETS, CensusSeries, census
from republish.datasets.population import BIRTHPLACES, EDUCATION, INCOME
from republish.errors import PolicyError
from republish.schema import read_schema

SMALL = {"people": 2000, "rows": 500, "views": 6, "insert": 40, "delete": 30, "update": 50, "reinsert": 10}


def small(**changed: float) -> CensusSeries:
    return census(**{**SMALL, **changed})  # type: ignore[arg-type]


class Step(NamedTuple):
    """What happened from one view to the next, read off the views alone."""

    inserted: int
    deleted: int
    updated: int
    reinserted: int
    reinserted_unchanged: int


def steps(series: CensusSeries) -> list[Step]:
    found = []
    latest: dict[str, tuple[object, ...]] = {}
    present: set[str] = set()
    for number, view in enumerate(series):
        rows = {row[0]: row[1:] for row in view.iter_rows()}
        known = rows.keys() & latest.keys()
        back = known - present
        changed = {person for person in known if rows[person] != latest[person]}
        if number > 0:
            found.append(
                Step(
                    inserted=len(rows.keys() - latest.keys()),
                    deleted=len(present - rows.keys()),
                    updated=len(changed - back),
                    reinserted=len(back),
                    reinserted_unchanged=len(back - changed),
                )
            )
        latest |= rows
        present = set(rows)
    return found


def test_columns_and_types() -> None:
    assert next(iter(small())).schema == {
        "person": pl.String,
        "age": pl.Int64,
        "birthplace": pl.String,
        "education": pl.String,
        "gender": pl.String,
        "income": pl.String,
    }


def test_the_columns_of_the_thesis_have_its_numbers_of_values() -> None:
    view = next(iter(census(columns="thesis")))
    assert list(view.columns) == ["person", "age", "capital_gain", "fnlwgt", "occupation"]
    assert [view[name].n_unique() for name in view.columns[1:4]] == [94, 5, 127]
    assert view["occupation"].n_unique() in (48, 49, 50)
    counts = view["occupation"].value_counts()["count"]
    assert counts.max() * 10 < len(view)  # groups of ten different ones can be formed
    assert counts.min() < 10  # and some are scarce


def test_changes_of_the_thesis_are_those_of_its_protocol() -> None:
    series = census(
        people=900, rows=400, views=8, insert=10, delete=8, update=120, reinsert=4, columns="thesis"
    )
    assert [step.updated for step in steps(series)] == [120] * 7
    rows = pl.concat(list(series))
    assert rows["age"].is_between(27, 120).all()
    assert rows["capital_gain"].is_between(0, 4).all() and rows["fnlwgt"].is_between(1, 127).all()
    by_person = rows.group_by("person").agg(pl.col("age").max() - pl.col("age").min())
    assert by_person["age"].max() <= 7


def test_a_series_of_the_thesis_is_written_with_its_schema(tmp_path: Path) -> None:
    census(people=20, rows=5, views=2, insert=1, delete=0, update=1, reinsert=0, columns="thesis").write(
        tmp_path
    )
    schema = read_schema(tmp_path / "schema.toml")
    assert [column.name for column in schema.quasi_identifiers] == ["age", "capital_gain", "fnlwgt"]
    assert schema.sensitive is not None and len(schema.sensitive.closed or ()) == 50
    assert sorted(path.name for path in tmp_path.iterdir()) == ["schema.toml", "views"]


def test_unknown_columns_are_refused() -> None:
    with pytest.raises(PolicyError, match="columns must be census or thesis"):
        census(columns="adult")


def test_domains_have_the_sizes_of_the_papers() -> None:
    view = next(iter(census()))
    sizes = [view[name].n_unique() for name in ("age", "birthplace", "education", "gender", "income")]
    assert sizes == [79, 57, 17, 2, 50]
    assert (view["age"].min(), view["age"].max()) == (17, 95)


def test_values_stay_in_their_domains_through_all_changes() -> None:
    rows = pl.concat(list(small(update=400, views=20, people=2000)))
    assert rows["age"].is_between(17, 95).all()
    assert set(rows["birthplace"]) <= set(BIRTHPLACES)
    assert set(rows["education"]) <= set(EDUCATION)
    assert set(rows["income"]) <= set(INCOME)


def test_identifiers_are_text_of_one_form() -> None:
    assert next(iter(small()))["person"].str.contains(r"^P\d{7}$").all()


def test_no_income_is_so_frequent_that_ten_cannot_share_a_group() -> None:
    view = next(iter(census()))
    assert view["income"].value_counts()["count"].to_numpy().max() <= view.height // 10


def test_income_follows_education_and_gender() -> None:
    view = next(iter(census())).with_columns(thousands=pl.col("income").str.slice(0, 2).cast(pl.Int64))
    mean = {
        (level, gender): value
        for level, gender, value in view.group_by("education", "gender")
        .agg(pl.col("thousands").mean())
        .iter_rows()
    }
    assert mean["bachelor", "F"] > mean["high school", "F"] + 5
    assert mean["high school", "M"] > mean["high school", "F"] + 3


def test_one_row_a_person_a_view() -> None:
    assert all(view["person"].n_unique() == view.height for view in small())


def test_changes_per_step_are_exactly_those_asked_for() -> None:
    found = steps(small())
    assert [step.inserted for step in found] == [40] * 5
    assert [step.deleted for step in found] == [30] * 5
    assert [step.updated for step in found] == [50] * 5


def test_nobody_can_come_back_in_the_second_view() -> None:
    assert [step.reinserted for step in steps(small())] == [0, 10, 10, 10, 10]


def test_half_of_those_who_come_back_are_as_they_left() -> None:
    assert [step.reinserted_unchanged for step in steps(small(delete=60, reinsert=11))] == [0, 6, 6, 6, 6]


def test_as_many_come_back_as_there_are() -> None:
    assert [step.reinserted for step in steps(small(delete=5, reinsert=100))] == [0, 5, 5, 5, 5]


def test_an_update_adds_a_year_and_at_most_one_level() -> None:
    first, second = list(small(views=2, insert=0, delete=0, reinsert=0))
    pairs = first.join(second, on="person").filter(pl.col("age") != pl.col("age_right"))
    level = {name: i for i, name in enumerate(EDUCATION)}
    gained = pairs.select(
        years=pl.col("age_right") - pl.col("age"),
        levels=pl.col("education_right").replace_strict(level) - pl.col("education").replace_strict(level),
    )
    assert pairs.height == 50
    assert set(gained["years"]) == {1}
    assert set(gained["levels"]) == {0, 1}
    assert pairs["birthplace"].equals(pairs["birthplace_right"])
    assert pairs["gender"].equals(pairs["gender_right"])


def test_shares_are_of_the_first_view() -> None:
    changes = census(1000, 200, 3, insert=0.1, delete=0.05, update=0.5, reinsert=0.011).changes
    assert (changes.insert, changes.delete, changes.update, changes.reinsert) == (20, 10, 100, 2)


def test_from_one_on_a_rate_is_a_number_of_people() -> None:
    changes = census(1000, 200, 3, insert=1, delete=1.0, update=7, reinsert=0).changes
    assert (changes.insert, changes.delete, changes.update, changes.reinsert) == (1, 1, 7, 0)


def test_same_arguments_same_views_also_when_read_twice() -> None:
    series = small()
    for one, again, other in zip(series, series, small(), strict=True):
        assert_frame_equal(one, again)
        assert_frame_equal(one, other)


def test_another_seed_another_series() -> None:
    assert not next(iter(small())).equals(next(iter(small(seed=8))))


def test_tau_safety_preset_is_the_protocol_of_the_thesis() -> None:
    series = census(**PRESETS["tau-safety"])
    assert (series.people, series.rows, len(series)) == (600_000, 60_000, 20)
    c = series.changes
    assert (c.insert, c.delete, c.update, c.reinsert) == (5000, 3000, 4000, 1000)


def test_tau_safety_preset_step_by_step() -> None:
    series = census(**{**PRESETS["tau-safety"], "people": 80_000, "views": 3})  # type: ignore[arg-type]
    assert steps(series) == [Step(5000, 3000, 4000, 0, 0), Step(5000, 3000, 4000, 1000, 500)]


def test_cor_split_preset_replaces_a_tenth_and_uses_everyone() -> None:
    series = census(**PRESETS["cor-split"])
    c = series.changes
    assert (series.rows, len(series)) == (200_000, 21)
    assert (c.insert, c.delete, c.update, c.reinsert) == (20_000, 20_000, 0, 0)
    assert series.rows + 20 * c.insert == series.people


def test_cor_split_33_preset_replaces_a_third() -> None:
    series = census(**PRESETS["cor-split-33"])
    c = series.changes
    assert (series.rows, len(series)) == (60_000, 24)
    assert (c.insert, c.delete, c.update, c.reinsert) == (19_800, 19_800, 0, 0)


@pytest.mark.parametrize("preset", ["cor-split", "cor-split-33"])
def test_in_cor_split_presets_values_persist_and_nobody_comes_back(preset: str) -> None:
    series = census(**{**PRESETS[preset], "people": 3000, "rows": 600, "views": 5})  # type: ignore[arg-type]
    churn = 60 if preset == "cor-split" else 198
    assert steps(series) == [Step(churn, churn, 0, 0, 0)] * 4


@settings(max_examples=30, deadline=None)
@given(
    insert=st.integers(0, 30),
    delete=st.integers(0, 30),
    update=st.integers(0, 30),
    reinsert=st.integers(0, 30),
    seed=st.integers(0, 1000),
)
def test_any_accepted_series_keeps_its_counts(
    insert: int, delete: int, update: int, reinsert: int, seed: int
) -> None:
    series = census(300, 150, 5, insert=insert, delete=delete, update=update, reinsert=reinsert, seed=seed)
    absent = 0
    for step in steps(series):
        assert step[:4] == (insert, delete, update, min(reinsert, absent))
        absent += delete - step.reinserted


def test_written_files(tmp_path: Path) -> None:
    small(views=2).write(tmp_path)
    files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert files == ["birthplace.csv", "schema.toml", "views/001.csv", "views/002.csv"]


def test_a_written_view_reads_back_as_it_was(tmp_path: Path) -> None:
    small().write(tmp_path)
    for number, view in enumerate(small(), start=1):
        assert_frame_equal(pl.read_csv(tmp_path / "views" / f"{number:03}.csv"), view)


def test_the_schema_names_the_roles(tmp_path: Path) -> None:
    small(views=1).write(tmp_path)
    schema = read_schema(tmp_path / "schema.toml")
    assert schema.identifier == "person"
    assert [(q.name, q.kind) for q in schema.quasi_identifiers] == [
        ("age", "number"),
        ("birthplace", "category"),
        ("education", "ordered"),
        ("gender", "category"),
    ]
    assert schema.sensitive is not None
    assert (schema.sensitive.name, schema.sensitive.kind) == ("income", "ordered")


def test_the_hierarchy_leads_every_birthplace_to_its_country(tmp_path: Path) -> None:
    small(views=1).write(tmp_path)
    lines = (tmp_path / "birthplace.csv").read_text().splitlines()
    assert lines[0] == "Connecticut;New England;Northeast;United States;*"
    assert len(lines) == 57
    assert {line.count(";") for line in lines} == {4}


def test_income_ranges_are_in_the_order_of_their_text() -> None:
    assert list(INCOME) == sorted(INCOME)
    assert (INCOME[0], INCOME[1], INCOME[-2], INCOME[-1]) == ("00k-02k", "02k-04k", "96k-98k", "98k+")


def test_too_few_people_are_refused_with_the_number_needed() -> None:
    with pytest.raises(PolicyError, match="at least 700 "):
        small(people=699)


def test_more_changes_than_people_are_refused() -> None:
    with pytest.raises(PolicyError, match="must not exceed the people present"):
        small(delete=300, update=300)


def test_a_series_that_would_run_empty_is_refused() -> None:
    with pytest.raises(PolicyError, match="would hold none"):
        small(delete=500, update=0, insert=0, reinsert=0, views=2)


@pytest.mark.parametrize("rate", [-0.1, -3, 1.5, float("nan"), float("inf")])
def test_rates_that_are_neither_share_nor_number_are_refused(rate: float) -> None:
    with pytest.raises(PolicyError, match="insert must be a share"):
        small(insert=rate)


@pytest.mark.parametrize("wrong", [{"people": 0}, {"rows": 0}, {"views": 0}, {"seed": -1}])
def test_sizes_out_of_range_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(PolicyError, match="at least"):
        small(**wrong)
