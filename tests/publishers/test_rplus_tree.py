"""The R+-tree as a publisher; what every publisher does is in test_contract.py."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from republish.errors import CannotPublish, PolicyError
from republish.memory.memory import Memory
from republish.microdata import Microdata, read_view
from republish.publishers.rplus_tree import RPlusTree
from republish.release.release import build_release
from republish.requirements import KAnonymity, LDiversity
from republish.schema import Category, Number, Schema
from republish.secret import Secret
from republish.verify.table import verify_against_view, verify_frame


def view_of(rows: int, seed: int = 0) -> Microdata:
    rng = np.random.default_rng(seed)
    age = [
        None if gap else int(x)
        for x, gap in zip(rng.integers(0, 90, rows), rng.random(rows) < 0.1, strict=True)
    ]
    frame = pl.DataFrame(
        {
            "age": age,
            "town": rng.choice(list("abcdef"), rows),
            "weight": rng.normal(70, 9, rows).round(1),
            "dx": rng.choice(["flu", "cold", "hiv"], rows),
        },
        schema_overrides={"age": pl.Int64},
    )
    return read_view(
        frame, Schema(quasi_identifiers=[Number("age"), Category("town"), Number("weight")], sensitive="dx")
    )


def publish(publisher: RPlusTree, view: Microdata) -> np.ndarray:
    group = publisher.publish(view, Memory.empty(), np.random.default_rng(0)).group
    release, of_row = build_release(
        view,
        publisher.publish(view, Memory.empty(), np.random.default_rng(0)),
        Secret.from_text("a secret for tests only"),
        1,
    )
    found = verify_frame(release.frame(), view.schema, publisher.requirements)
    found.with_checks(verify_against_view(release, view, of_row)).require()
    return group


@pytest.mark.parametrize("k", [2, 5, 30])
@pytest.mark.parametrize("m", [0, 2])
@pytest.mark.parametrize("packed", [False, True])
def test_every_group_is_verified_by_other_code(k: int, m: int, packed: bool) -> None:
    group = publish(RPlusTree(k, (LDiversity(2),), m, packed), view_of(400))
    assert np.bincount(group).min() >= k


def test_leaves_of_k_are_smaller_groups_than_a_scan_of_smaller_leaves() -> None:
    view = view_of(2000)
    assert publish(RPlusTree(50), view).max() + 1 > 10
    assert np.array_equal(publish(RPlusTree(50, m=5), view), RPlusTree(5).index(view).cut(50))


def test_packed_leaves_are_more() -> None:
    view = view_of(2000)
    assert publish(RPlusTree(5, packed=True), view).max() > publish(RPlusTree(5), view).max()


def test_it_promises_k_and_what_is_required_and_nothing_over_a_series() -> None:
    publisher = RPlusTree(4, (LDiversity(2),))
    assert publisher.requirements == (KAnonymity(4), LDiversity(2))
    assert publisher.series_promises == ()
    assert publisher.remember(view_of(1), None, "memory") == "memory"  # type: ignore[arg-type]


def test_too_few_rows_cannot_be_published() -> None:
    with pytest.raises(CannotPublish, match="k=5"):
        publish(RPlusTree(5), view_of(4))


def test_no_rows_have_no_groups() -> None:
    assert RPlusTree().publish(view_of(0), Memory.empty(), np.random.default_rng(0)).groups == 0


@pytest.mark.parametrize(
    "parameters", [{"k": 0}, {"m": 6}, {"m": -1}, {"m": True}, {"packed": "yes"}, {"require": (5,)}]
)
def test_parameters_that_mean_nothing_are_refused(parameters: dict[str, object]) -> None:
    with pytest.raises(PolicyError):
        RPlusTree(**parameters)  # type: ignore[arg-type]
