"""Cor-Split with theta: nobody hides among impossible values, and other code looks it up pair by pair."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish import BrokenPromise, CannotPublish, Category, Number, Schema, Series, read_view
from republish.grouping import Grouping
from republish.knowledge.possible_values import PossibleValues
from republish.memory.memory import Memory
from republish.publishers.cor_split import CorSplit
from republish.release.release import build_release
from republish.secret import Secret
from republish.verify.possible_values import checks_of_possible

SCHEMA = Schema("id", [Number("age"), Category("gender")], "dx")
MAY = {"f": ["v0", "v1", "v2"], "m": ["v2", "v3", "v4"]}
THETA = '{"gender": {"f": ["v0", "v1", "v2"], "m": ["v2", "v3", "v4"]}}'
SECRET = Secret.from_text("the same for all tests of possible values")


def crowd(first: int, last: int) -> pl.DataFrame:
    """Half women, half men, each sex with three values; and some others, who may have any."""
    gender = ["fmfmx"[i % 5] for i in range(first, last)]
    value = [MAY.get(g, ["v1", "v3", "v4"])[(i // 5) % 3] for i, g in enumerate(gender, first)]
    ids = [f"p{i}" for i in range(first, last)]
    return pl.DataFrame(
        {"id": ids, "age": [i % 50 for i in range(first, last)], "gender": gender, "dx": value}
    )


def shown_to(folder: Path) -> dict[str, set[str]]:
    """The values of all groups in which a gender is the only one."""
    table = pl.read_csv(folder / "table.csv")
    found = table.filter(pl.col("gender").is_in(["f", "m"])).group_by("gender").agg(pl.col("dx").unique())
    return {gender: set(values) for gender, values in found.rows()}


@pytest.mark.parametrize("pad", [True, False])
@pytest.mark.parametrize("membership", ["random", "nearest"])
def test_groups_show_possible_values_alone(tmp_path: Path, membership: str, pad: bool) -> None:
    publisher = CorSplit(m=3, n=2, pad=pad, theta=THETA, membership=membership)
    series = Series.create(tmp_path / "s", SCHEMA, publisher, seed=3)
    for first, last in ((0, 150), (30, 180), (60, 210)):
        done = series.publish(crowd(first, last))
        assert done.folder is not None
        assert shown_to(done.folder) == {gender: set(values) for gender, values in MAY.items()}
    found = series.verify()
    assert found.holds
    assert found.not_recomputable == ("theta=gender",)
    assert series.policy.publisher == publisher


def test_padding_stays_among_possible_values() -> None:
    frame = crowd(0, 150).filter((pl.col("gender") != "f") | (pl.col("dx") == "v0"))
    view = read_view(frame.head(90), SCHEMA).pseudonymous(SECRET)
    publisher = CorSplit(m=3, n=2, pad=True, theta=THETA)
    for seed in range(5):
        made = publisher.publish(view, Memory.empty(), np.random.default_rng(seed))
        assert made.counterfeits
        release, group = build_release(view, made, SECRET, seed)
        assert all(check.holds for check in checks_of_possible(publisher.possible, view, group, release))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["f", "m", "x", None]), st.integers(0, 4), st.integers(-1, 2)), min_size=1
    )
)
def test_every_member_is_looked_up_with_every_value_of_the_group(
    people: list[tuple[str | None, int, int]],
) -> None:
    frame = pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(len(people))],
            "age": [30] * len(people),
            "gender": pl.Series([gender for gender, _, _ in people], dtype=pl.String),
            "dx": [f"v{value}" for _, value, _ in people],
        }
    )
    view = read_view(frame, SCHEMA)
    used = sorted({group for _, _, group in people if group >= 0})
    number = np.array([used.index(group) if group >= 0 else -1 for _, _, group in people], dtype=np.int32)
    release, group = build_release(view, Grouping(number), SECRET, 1)
    (found,) = checks_of_possible(PossibleValues.of(THETA), view, group, release)
    wrong = [
        (gender, mine)
        for gender, _, mine in people
        if mine >= 0
        and gender in MAY
        and any(other == mine and f"v{value}" not in MAY[gender] for _, value, other in people)
    ]
    assert (found.holds, found.rows, found.groups) == (not wrong, len(wrong), len({g for _, g in wrong}))


def test_an_impossible_value_in_a_group_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = CorSplit.publish

    def careless(self: CorSplit, *given: object) -> Grouping:
        return plain(replace(self, theta="all"), *given)  # type: ignore[arg-type]

    monkeypatch.setattr(CorSplit, "publish", careless)
    series = Series.create(tmp_path / "s", SCHEMA, CorSplit(m=3, n=2, pad=True, theta=THETA), seed=3)
    with pytest.raises(BrokenPromise, match="theta=gender: does not hold in"):
        series.publish(crowd(0, 150))


def test_who_keeps_a_set_of_values_that_became_impossible_is_refused(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "s", SCHEMA, CorSplit(m=3, n=2, pad=True, theta=THETA), seed=3)
    series.publish(crowd(0, 150))
    both = pl.when((pl.col("dx") == "v2") & (pl.col("gender") == "f")).then(pl.lit("m"))
    with pytest.raises(CannotPublish, match="for 20 people it is no longer"):
        series.publish(crowd(0, 150).with_columns(both.otherwise("gender").alias("gender")))
