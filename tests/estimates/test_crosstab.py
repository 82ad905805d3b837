"""Tables of a quasi-identifier by sensitive value."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from estimates.generated import PAY, at_random, in_one, in_two, workers
from metrics.twins import SECRET
from republish.errors import PolicyError, SchemaError
from republish.grouping import Grouping
from republish.hierarchies import Redaction
from republish.microdata import read_view
from republish.release.release import build_release
from republish.schema import Category, Date, Number, Schema

VIEW = workers(600, seed=1)


def true_table(edges: list[int], cuts: list[str]) -> np.ndarray:
    pay = np.array([PAY.index(text) for text in VIEW.values.to_list()])[VIEW.codes]
    rows, columns = np.digitize(VIEW.points[0], edges), np.digitize(pay, [PAY.index(text) for text in cuts])
    table = np.zeros((len(edges) + 1, len(cuts) + 1))
    np.add.at(table, (rows, columns), 1)
    return table


@pytest.mark.parametrize("method", ["spread", "em"])
@pytest.mark.parametrize("form", ["one", "two"])
def test_the_truth_lies_within_the_bounds(form: str, method: str) -> None:
    release = in_one(VIEW) if form == "one" else in_two(VIEW, at_random(VIEW, 10, seed=2))
    found = release.crosstab("age", [30, 45], values=["03", "06"], method=method)
    true = true_table([30, 45], ["03", "06"])
    assert (found.lower <= true).all() and (true <= found.upper).all()
    assert (found.lower <= found.expected).all() and (found.expected <= found.upper).all()
    assert found.expected.sum() == pytest.approx(600, abs=5)
    assert found.bins == ("below 30", "30 to below 45", "45 and more")
    assert found.values == ("below 03", "03 to below 06", "06 and more")
    assert found.frame().columns == ["age", "pay", "expected", "standard_error", "lower", "upper"]
    assert found.table().shape == (3, 4)


def test_exact_cells_and_values_are_counted() -> None:
    frame = pl.DataFrame(
        {
            "zip": ["10", "10", "11", "20"],
            "born": [None, "2000-01-01", "2001-01-01", "2001-01-01"],
            "illness": ["flu", "gout", "flu", None],
        }
    ).with_columns(pl.col("born").str.to_date())
    schema = Schema(
        quasi_identifiers=[Category("zip", hierarchy=Redaction()), Date("born")],
        sensitive=Category("illness"),
    )
    view = read_view(frame, schema)
    release = build_release(view, Grouping(np.arange(4, dtype=np.int32)), SECRET, 1)[0]
    by_zip = release.crosstab("zip", ["1*"])
    assert (by_zip.bins, by_zip.values) == (("1*", "other"), ("flu", "gout", "missing"))
    assert by_zip.expected.tolist() == [[2.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    by_day = release.crosstab("born", ["2001-01-01"])
    assert by_day.bins == ("below 2001-01-01", "2001-01-01 and more", "missing")
    assert by_day.expected.tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    assert by_day.standard_error.max() == 0.0


def test_without_bins_people_are_cut_evenly() -> None:
    found = in_one(VIEW).crosstab("age")
    assert len(found.bins) == 5
    assert found.expected.sum(axis=1).max() < 2 * found.expected.sum(axis=1).min()
    assert found.values == PAY[: len(found.values)]


def test_association_is_that_of_the_table() -> None:
    found = in_one(VIEW, 5).crosstab("age", [30, 45], values=["03", "06"])
    assert 0.0 < found.cramers_v < 1.0
    assert found.mutual_information > 0.0
    assert found.as_dict()["expected"] == found.expected.tolist()


def test_what_cannot_be_tabled_is_refused() -> None:
    release = in_one(VIEW)
    with pytest.raises(PolicyError, match="that of a quasi-identifier: one of age, gender"):
        release.crosstab("ward")
    with pytest.raises(PolicyError, match='"spread" or "em"'):
        release.crosstab("age", method="magic")
    with pytest.raises(PolicyError, match="begin at numbers"):
        release.crosstab("age", ["young"])
    with pytest.raises(PolicyError, match="1 of 1 are neither"):
        release.crosstab("gender", ["x"])
    view = read_view(pl.DataFrame({"age": [1, 2]}), Schema(quasi_identifiers=[Number("age")]))
    alone = build_release(view, Grouping(np.zeros(2, dtype=np.int32)), SECRET, 1)[0]
    with pytest.raises(SchemaError, match="needs a sensitive column"):
        alone.crosstab("age")
