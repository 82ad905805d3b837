from __future__ import annotations

import json
import tempfile
from dataclasses import fields
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings

from metrics.twins import Case, cases, numbers, publish
from republish.errors import PolicyError, ViewError
from republish.hierarchies import Hierarchy
from republish.metrics import EXPLANATIONS, Levels, Measures, measure
from republish.microdata import read_view
from republish.release.domains import Scales
from republish.release.two_tables import read_release
from republish.schema import Category, Number, Schema


def test_every_measure_is_explained_in_a_sentence() -> None:
    assert list(EXPLANATIONS) == [field.name for field in fields(Measures)]
    assert all(sentence.endswith(".") and len(sentence) < 120 for sentence in EXPLANATIONS.values())


def test_a_release_is_measured_with_its_view() -> None:
    case = publish(numbers([0, 2, 8, 10, 5], list("abaab")), [0, 0, 1, 1, -1], [(1, 1)])
    found = measure(case.release, case.view, membership=case.membership, queries=20)
    assert (found.rows, found.groups, found.suppressed, found.counterfeits) == (5, 2, 1, 1)
    assert found.penalty == pytest.approx((4 * 0.2 + 1) / 5)
    assert found.penalty_by_column == {"age": pytest.approx(found.penalty)}
    assert found.discernibility == 4 + 9 + 5
    assert found.average_class_size == 2.5
    assert found.prosecutor_risk.highest == 0.5
    assert found.journalist_risk == found.prosecutor_risk
    assert found.marketer_risk == pytest.approx((2 / 2 + 2 / 3) / 4)
    assert found.record_linkage == pytest.approx((2 / 2 + 2 / 3) / 5)
    assert found.levels.k == 2
    assert found.query_error is not None
    assert found.query_error.queries == 20


def test_what_an_analyst_loses_is_measured_with_the_view() -> None:
    view = numbers([0, 1, 2, 3, 4, 5], list("aabbab"))
    exact = measure(publish(view, list(range(6))).release, view, queries=20)
    assert exact.value_query_error is not None
    assert (exact.value_query_error.median, exact.information_kept) == (0.0, pytest.approx(1.0))
    assert exact.regression is None
    fitted = measure(publish(view, list(range(6))).release, view, queries=0, regress="illness = 'a' ~ age")
    assert fitted.regression is not None
    assert list(fitted.regression["age"]) == ["true", "estimated", "standard_error", "low", "high"]
    with pytest.raises(PolicyError, match="give the view"):
        measure(publish(view, [0] * 6).release, regress="illness = 'a' ~ age")


def test_without_a_view_what_needs_one_is_none() -> None:
    found = measure(publish(numbers([0, 1]), [0, 0]).release, suppressed=2)
    assert found.suppressed == 2
    assert found.kl_divergence is None
    assert found.query_error is None
    assert found.record_linkage is None


def test_another_number_of_suppressed_rows_than_the_view_tells_is_refused() -> None:
    case = publish(numbers([0, 1, 2]), [0, 0, -1])
    assert measure(case.release, case.view, 1, queries=0).suppressed == 1
    with pytest.raises(PolicyError, match="1, found 2"):
        measure(case.release, case.view, 2)


def test_a_release_without_rows_is_measured() -> None:
    case = publish(numbers([], []), [])
    found = measure(case.release, case.view)
    assert (found.rows, found.penalty, found.kl_divergence, found.record_linkage) == (0, 0.0, 0.0, 0.0)
    assert found.levels == Levels(None)


def test_one_group_of_missing_values_is_measured() -> None:
    case = publish(numbers([None, None], ["a", "b"]), [0, 0])
    found = measure(case.release, case.view)
    assert (found.penalty, found.kl_divergence, found.record_linkage) == (0.0, 0.0, 0.5)
    assert found.query_error is not None
    assert found.query_error.mean == 0.0


def test_a_hierarchy_that_has_grown_since_does_not_matter() -> None:
    old = Hierarchy((("b", "x", "*"), ("c", "y", "*")))
    new = Hierarchy((("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")))
    frame = pl.DataFrame({"town": ["b", "b", "c", "c"]})
    then = read_view(frame, Schema(quasi_identifiers=[Category("town", hierarchy=old)]))
    now = read_view(frame, Schema(quasi_identifiers=[Category("town", hierarchy=new)]))
    release = publish(then, [0, 0, 1, 1]).release
    assert measure(release, now) == measure(release, then)


def test_a_view_of_other_columns_is_refused() -> None:
    release = publish(numbers([0, 1]), [0, 0]).release
    other = read_view(pl.DataFrame({"weight": [0, 1]}), Schema(quasi_identifiers=[Number("weight")]))
    with pytest.raises(ViewError, match="same quasi-identifiers"):
        measure(release, other)


@given(cases())
@settings(max_examples=30, deadline=None)
def test_measures_are_json(case: Case) -> None:
    found = measure(case.release, case.view, membership=case.membership, queries=5)
    text = json.dumps(found.as_dict(), allow_nan=False)
    assert json.loads(text)["prosecutor_risk"]["above"].keys() == {"0.2", "0.09", "0.05"}


@given(case=cases(least=1))
@settings(max_examples=20, deadline=None)
def test_a_stored_release_measures_as_on_the_day_it_was_published(case: Case) -> None:
    with tempfile.TemporaryDirectory() as folder:
        case.release.write(Path(folder), {})
        stored = read_release(Path(folder), case.view.schema, Scales.of(case.view))
    now, then = (
        measure(release, case.view, membership=case.membership, queries=5).as_dict()
        for release in (stored, case.release)
    )
    for name in ("kl_divergence", "record_linkage"):
        assert now.pop(name) == pytest.approx(then.pop(name))
    assert now == then
