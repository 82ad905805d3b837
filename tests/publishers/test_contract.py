"""What every publisher must do, whatever it is: one suite for all of them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from republish import (
    CannotPublish,
    Category,
    Date,
    LDiversity,
    Number,
    Ordered,
    PolicyError,
    Redaction,
    Schema,
    read_view,
)
from republish.memory.memory import Memory
from republish.microdata import Microdata
from republish.publishers import PUBLISHERS, Publisher, make_publisher, parameters_of
from republish.release.release import build_release
from republish.secret import Secret
from republish.verify.table import verify_against_view, verify_frame

SCHEMA = Schema(
    "id",
    [
        Number("age"),
        Category("zip", hierarchy=Redaction()),
        Category("town"),
        Ordered("degree", order=("school", "college", "doctor")),
        Date("seen"),
    ],
    "dx",
    ["ward"],
)
SECRET = Secret.from_text("the same for all contract tests")


def people(rows: int, seed: int = 0, missing: float = 0.05) -> pl.DataFrame:
    """Made-up people of all kinds, some cells missing."""
    rng = np.random.default_rng(seed)

    def gaps(values: list[object]) -> list[object]:
        return [
            None if hidden else value
            for value, hidden in zip(values, rng.random(rows) < missing, strict=True)
        ]

    return pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(rows)],
            "age": gaps(rng.integers(20, 90, rows).tolist()),
            "zip": gaps([f"{z:05d}" for z in rng.integers(10000, 10100, rows)]),
            "town": gaps(rng.choice(["north", "south", "east|west", "*", "{a\\b}"], rows).tolist()),
            "degree": gaps(rng.choice(["school", "college", "doctor"], rows).tolist()),
            "seen": gaps(
                [
                    f"2026-{m:02d}-{d:02d}"
                    for m, d in zip(rng.integers(1, 13, rows), rng.integers(1, 29, rows), strict=True)
                ]
            ),
            "dx": gaps(rng.choice(["flu", "cold", "hiv", "none", "asthma"], rows).tolist()),
            "ward": rng.integers(0, 3, rows),
        },
        schema_overrides={
            "age": pl.Int64,
            "zip": pl.String,
            "town": pl.String,
            "degree": pl.String,
            "seen": pl.String,
        },
        strict=False,
    )


PARAMETERS = {
    "mondrian": {},
    "penalty-tree": {},
    "banga": {},
    "rplus-tree": {},
    "m-invariance": {"m": 2},
    "tau-safety": {"m": 2},
    "cor-split": {"m": 2, "n": 2},
    "cohorts": {"m": 2, "size": 20, "values": 3},
    "value-blind": {"m": 2, "size": 20, "n": 3},
    "js-reduce": {"crowd": 8},
    "bayframe": {"crowd": 8},
}
LEAVE_OUT = ("js-reduce", "bayframe", "value-blind")  # rows that fit in no group


def test_every_publisher_is_under_contract() -> None:
    assert set(PARAMETERS) == set(PUBLISHERS)


@pytest.fixture(params=sorted(PARAMETERS))
def publisher(request: pytest.FixtureRequest) -> Publisher:
    return make_publisher(request.param, PARAMETERS[request.param], (LDiversity(2),))


def view_of(frame: pl.DataFrame) -> Microdata:
    return read_view(frame, SCHEMA).pseudonymous(SECRET)


def check(publisher: Publisher, view: Microdata) -> None:
    grouping = publisher.publish(view, Memory.empty(), np.random.default_rng(0))
    release, group_of_row = build_release(view, grouping, SECRET, 1)
    found = verify_frame(release.frame(), view.schema, publisher.requirements)
    found.with_checks(verify_against_view(release, view, group_of_row)).require()


@pytest.mark.parametrize("seed", range(5))
def test_what_it_returns_is_verified_by_other_code(publisher: Publisher, seed: int) -> None:
    check(publisher, view_of(people(200, seed)))


def test_it_is_a_function_of_its_input(publisher: Publisher) -> None:
    view = view_of(people(150))
    groups = [publisher.publish(view, Memory.empty(), np.random.default_rng(0)).group for _ in range(2)]
    assert np.array_equal(*groups)


def test_it_leaves_its_input_alone(publisher: Publisher) -> None:
    view = view_of(people(150))
    points, codes = view.points.copy(), view.codes.copy()
    publisher.publish(view, Memory.empty(), np.random.default_rng(0))
    assert np.array_equal(view.points, points)
    assert np.array_equal(view.codes, codes)


def test_an_empty_view_has_no_groups(publisher: Publisher) -> None:
    check(publisher, view_of(people(150).clear()))


def test_one_row_cannot_hide(publisher: Publisher) -> None:
    view = view_of(people(1))
    if publisher.name in LEAVE_OUT:
        assert publisher.publish(view, Memory.empty(), np.random.default_rng(0)).group.tolist() == [-1]
        return
    with pytest.raises(CannotPublish):
        publisher.publish(view, Memory.empty(), np.random.default_rng(0))


def test_rows_that_are_all_alike_are_published(publisher: Publisher) -> None:
    alike = pl.concat([people(1, missing=0)] * 60).with_columns(
        id=pl.Series([f"p{i}" for i in range(60)]), dx=pl.Series(["flu", "cold"] * 30)
    )
    check(publisher, view_of(alike))


def test_duplicates_and_gaps_are_published(publisher: Publisher) -> None:
    twice = pl.concat([people(60, missing=0.4)] * 3).with_columns(id=pl.Series([f"p{i}" for i in range(180)]))
    check(publisher, view_of(twice))


def test_it_can_be_written_down_and_made_again(publisher: Publisher) -> None:
    again = make_publisher(publisher.name, parameters_of(publisher), (LDiversity(2),))
    assert parameters_of(again) == parameters_of(publisher)
    assert again.requirements == publisher.requirements
    assert again.series_promises == publisher.series_promises


def test_it_says_what_it_is(publisher: Publisher) -> None:
    kind = type(publisher)
    assert kind.paper
    assert kind.summary.endswith(".")
    assert bool(publisher.series_promises) is kind.protects_series


def test_unknown_names_and_parameters_are_refused(publisher: Publisher) -> None:
    with pytest.raises(PolicyError, match=f"{publisher.name} has no parameter nonsense"):
        make_publisher(publisher.name, {"nonsense": "1"})
    with pytest.raises(PolicyError, match="there is no publisher called nobody"):
        make_publisher("nobody", {})


def test_a_requirement_of_k_sets_k() -> None:
    assert (
        parameters_of(make_publisher("mondrian", {}, make_publisher("mondrian", {"k": "3"}).requirements))[
            "k"
        ]
        == 3
    )


def test_texts_of_the_command_line_become_parameters() -> None:
    assert parameters_of(make_publisher("mondrian", {"k": "7", "strict": "false"})) == {
        "k": 7,
        "strict": False,
    }
    for bad in ({"k": "many"}, {"strict": "perhaps"}, {"k": "0"}):
        with pytest.raises(PolicyError):
            make_publisher("mondrian", bad)
