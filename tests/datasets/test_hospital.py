from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import chi2

from republish.datasets import HospitalSeries, hospital
from republish.datasets.progression import VALUES
from republish.errors import PolicyError
from republish.schema import read_schema


@pytest.fixture(scope="module")
def series() -> HospitalSeries:
    return hospital()


@pytest.fixture(scope="module")
def histories() -> pl.DataFrame:
    """A big sample with what each person showed before, by the classes that the knowledge file defines."""
    sample = hospital(views=12, rows=25_000, seed=11)
    rules = tomllib.loads(sample.knowledge.toml)["classes"]
    rows = pl.concat([view.with_columns(week=pl.lit(i)) for i, view in enumerate(sample.views)])
    rows = rows.sort("patient", "week").with_columns(
        last1=pl.col("diagnosis").shift(1).over("patient"),
        last2=pl.col("diagnosis").shift(2).over("patient"),
    )
    for name in ("age", "weight"):
        band = np.searchsorted(rules[name]["breaks"], rows[name].to_numpy(), side="right") - 1
        rows = rows.with_columns(pl.Series(name, np.array(rules[name]["labels"])[band]))
    return rows


def everyone(series: HospitalSeries) -> pl.DataFrame:
    return pl.concat([view.with_columns(week=pl.lit(i)) for i, view in enumerate(series.views)])


def assert_follows(table: pl.DataFrame) -> None:
    """Counts agree with `p` of `total`: chi-square below its 99.99 % point, no cell off by six deviations."""
    cells = table.with_columns(pl.col("count").fill_null(0), expected=pl.col("p") * pl.col("total"))
    cells = cells.filter(pl.col("expected") >= 5)
    assert cells.height > 300
    off = (cells["count"] - cells["expected"]) ** 2 / cells["expected"]
    # Each cell adds 1 - p to the mean; that holds too where the rare cells of a context are left out.
    freedom = float((1 - cells["p"]).sum())
    assert off.sum() < chi2.ppf(0.9999, freedom)
    assert (off / (1 - cells["p"])).to_numpy().max() < 36


def test_defaults_are_24_views_of_5000_rows(series: HospitalSeries) -> None:
    assert [view.shape for view in series.views] == [(5000, 5)] * 24


def test_columns_and_types(series: HospitalSeries) -> None:
    assert series.views[0].schema == {
        "patient": pl.String,
        "age": pl.Int64,
        "gender": pl.String,
        "weight": pl.Int64,
        "diagnosis": pl.String,
    }


def test_values_stay_in_their_domains(series: HospitalSeries) -> None:
    rows = everyone(series)
    assert (rows["age"].min(), rows["age"].max()) == (45, 74)
    assert (rows["weight"].min(), rows["weight"].max()) == (60, 89)
    assert set(rows["gender"]) == {"F", "M"}
    assert set(rows["diagnosis"]) == set(VALUES)


def test_identifiers_are_text_of_one_form(series: HospitalSeries) -> None:
    assert everyone(series)["patient"].str.contains(r"^H\d{7}$").all()


def test_identifiers_do_not_tell_when_a_person_arrived(series: HospitalSeries) -> None:
    first = everyone(series).group_by("patient").agg(pl.col("week").min())
    number = first["patient"].str.slice(1).cast(pl.Int64)
    correlation = first.select(pl.corr(number, pl.col("week"))).item()
    assert abs(correlation) < 0.04


def test_one_row_a_person_a_view(series: HospitalSeries) -> None:
    assert all(view["patient"].n_unique() == 5000 for view in series.views)


@pytest.mark.parametrize("seed", [0, 1, 7, 2024])
def test_about_16160_people_whatever_the_seed(seed: int) -> None:
    people = everyone(hospital(seed=seed))["patient"].n_unique()
    assert people == pytest.approx(16_160, rel=0.03)


def test_quasi_identifiers_of_a_person_do_not_change(series: HospitalSeries) -> None:
    rows = everyone(series)
    assert rows.select("patient", "age", "gender", "weight").n_unique() == rows["patient"].n_unique()


def test_who_is_deceased_or_discharged_never_comes_back(series: HospitalSeries) -> None:
    rows = everyone(series).with_columns(last=pl.col("week") == pl.col("week").max().over("patient"))
    ended = rows.filter(pl.col("diagnosis").is_in(["deceased", "discharged"]))
    assert ended.height > 5000
    assert ended["last"].all()


def test_some_people_skip_weeks(series: HospitalSeries) -> None:
    spans = (
        everyone(series)
        .group_by("patient")
        .agg(pl.len(), span=pl.col("week").max() - pl.col("week").min() + 1)
    )
    assert (spans["span"] > spans["len"]).to_numpy().mean() > 0.1


def test_no_diagnosis_is_rare_in_a_first_view(series: HospitalSeries) -> None:
    counts = series.views[0]["diagnosis"].value_counts()["count"].to_numpy()
    assert counts.min() > 20
    assert counts.max() < 0.15 * 5000


def test_same_seed_same_series() -> None:
    for one, other in zip(hospital(3, 200, 5).views, hospital(3, 200, 5).views, strict=True):
        assert_frame_equal(one, other)


def test_another_seed_another_series() -> None:
    assert not hospital(1, 200, 5).views[0].equals(hospital(1, 200, 6).views[0])


def test_one_row_is_enough() -> None:
    assert [view.height for view in hospital(views=10, rows=1).views] == [1] * 10


def test_first_results_follow_the_written_prior(histories: pl.DataFrame, series: HospitalSeries) -> None:
    group = ["age", "gender", "weight"]
    first = histories.filter(pl.col("last1").is_null())
    counts = first.group_by(*group, value="diagnosis").agg(count=pl.len())
    totals = first.group_by(group).agg(total=pl.len())
    known = series.knowledge.prior.join(totals, on=group)
    assert_follows(known.join(counts, on=[*group, "value"], how="left"))


@pytest.mark.parametrize("first_step", [True, False])
def test_later_results_follow_the_written_sequences(
    histories: pl.DataFrame, series: HospitalSeries, first_step: bool
) -> None:
    context = ["age", "gender", "weight", "last2", "last1"]
    later = histories.filter(pl.col("last1").is_not_null() & (pl.col("last2").is_null() == first_step))
    counts = later.group_by(*context, next="diagnosis").agg(count=pl.len())
    totals = later.group_by(context).agg(total=pl.len())
    known = series.knowledge.sequential.filter(pl.col("last2").is_null() == first_step)
    known = known.join(totals, on=context, nulls_equal=True)
    assert_follows(known.join(counts, on=[*context, "next"], how="left", nulls_equal=True))


def test_nothing_happens_that_the_written_sequences_rule_out(
    histories: pl.DataFrame, series: HospitalSeries
) -> None:
    steps = histories.filter(pl.col("last1").is_not_null()).rename({"diagnosis": "next"})
    keys = ["age", "gender", "weight", "last2", "last1", "next"]
    assert steps.join(series.knowledge.sequential, on=keys, how="anti", nulls_equal=True).height == 0


def test_the_second_last_value_matters(series: HospitalSeries) -> None:
    one = pl.col("age") == "55-64", pl.col("gender") == "F", pl.col("weight") == "70-79"
    move = pl.col("last1") == "HIV 200-499", pl.col("next") == "HIV under 200"
    rows = series.knowledge.sequential.filter(*one, *move)
    p = dict(rows.select("last2", "p").iter_rows())
    assert p["HIV 500+"] > 4 * p["HIV 200-499"]


def test_prior_has_a_row_for_each_class_and_value(series: HospitalSeries) -> None:
    sums = series.knowledge.prior.group_by("age", "gender", "weight").agg(pl.len(), pl.col("p").sum())
    assert sums["len"].to_list() == [19] * 18
    assert np.abs(sums["p"].to_numpy() - 1).max() < 1e-9


def test_sequential_sums_to_one_in_each_context(series: HospitalSeries) -> None:
    sums = series.knowledge.sequential.group_by("age", "gender", "weight", "last2", "last1").agg(
        pl.col("p").sum()
    )
    assert np.abs(sums["p"].to_numpy() - 1).max() < 1e-9


def test_no_sequence_goes_on_after_an_end(series: HospitalSeries) -> None:
    seen = set(series.knowledge.sequential["last1"]) | set(series.knowledge.sequential["last2"])
    assert seen.isdisjoint({"deceased", "discharged"})


def test_written_files(tmp_path: Path) -> None:
    hospital(2, 50).write(tmp_path)
    files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert files == [
        "diagnosis.csv",
        "knowledge/knowledge.toml",
        "knowledge/prior.csv",
        "knowledge/sequential.csv",
        "schema.toml",
        "views/001.csv",
        "views/002.csv",
    ]


def test_written_files_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name in ("one", "other"):
        hospital(2, 50).write(tmp_path / name)
    for path in (tmp_path / "one").rglob("*.*"):
        assert path.read_bytes() == (tmp_path / "other" / path.relative_to(tmp_path / "one")).read_bytes()


def test_a_written_view_reads_back_as_it_was(tmp_path: Path) -> None:
    series = hospital(1, 50)
    series.write(tmp_path)
    assert_frame_equal(pl.read_csv(tmp_path / "views" / "001.csv"), series.views[0])


def test_written_knowledge_reads_back_as_it_was(tmp_path: Path, series: HospitalSeries) -> None:
    hospital(1, 50).write(tmp_path)
    about = tomllib.loads((tmp_path / "knowledge" / "knowledge.toml").read_text())
    assert about["order"] == 2
    assert about["classes"]["age"] == {"breaks": [45, 55, 65, 75], "labels": ["45-54", "55-64", "65-74"]}
    assert about["classes"]["gender"] == {"values": ["F", "M"]}
    assert_frame_equal(pl.read_csv(tmp_path / "knowledge" / about["prior"]), series.knowledge.prior)
    assert_frame_equal(pl.read_csv(tmp_path / "knowledge" / about["sequential"]), series.knowledge.sequential)


def test_the_schema_names_the_roles(tmp_path: Path) -> None:
    hospital(1, 50).write(tmp_path)
    schema = read_schema(tmp_path / "schema.toml")
    assert schema.identifier == "patient"
    assert [(q.name, q.kind) for q in schema.quasi_identifiers] == [
        ("age", "number"),
        ("gender", "category"),
        ("weight", "number"),
    ]
    assert schema.sensitive is not None
    assert schema.sensitive.name == "diagnosis"


def test_the_hierarchy_holds_every_diagnosis(tmp_path: Path) -> None:
    hospital(1, 50).write(tmp_path)
    lines = (tmp_path / "diagnosis.csv").read_text().splitlines()
    assert lines[0] == "liver F0;liver disease;*"
    assert [line.split(";")[0] for line in lines] == list(VALUES)


def test_a_folder_with_views_is_refused(tmp_path: Path) -> None:
    hospital(3, 20).write(tmp_path)
    with pytest.raises(PolicyError, match="holds 3 files"):
        hospital(2, 20).write(tmp_path)


@pytest.mark.parametrize("wrong", [{"views": 0}, {"rows": 0}, {"seed": -1}])
def test_sizes_out_of_range_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(PolicyError, match="at least"):
        hospital(**wrong)


def test_the_fitted_series_has_other_results_and_its_own_knowledge() -> None:
    fitted = hospital(views=2, rows=300, seed=3, preset="fitted")
    plain = hospital(views=2, rows=300, seed=3)
    assert fitted.views[0].equals(plain.views[0])  # first results are drawn from the same prior
    assert not fitted.views[1].equals(plain.views[1])
    assert fitted.knowledge.sequential.height > plain.knowledge.sequential.height
    with pytest.raises(PolicyError, match="one of recreated, fitted"):
        hospital(preset="other")
