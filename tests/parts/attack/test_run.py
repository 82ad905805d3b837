"""Attacks in parts find what they find on all of the series at once."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attack_command import document, said
from parts.changing import VALUES, close, published, schema, views_of
from republish import (
    CorSplit,
    JSReduce,
    LDiversity,
    MInvariance,
    Mondrian,
    Number,
    PolicyError,
    Schema,
    Series,
    TauSafety,
)
from republish.attacks import KINDS, Adversary, AttackResult, attack, history_of
from republish.attacks.results import Exposure, together
from republish.parts import Here
from republish.parts.attack.run import EXCLUDING, IN_PARTS, AttackInParts, FoundInParts
from republish.publishing.maintenance import forget
from slow import quick

PUBLISHERS = {
    "mondrian": Mondrian(3, (LDiversity(2),)),
    "m-invariance": MInvariance(2),
    "tau-safety": TauSafety(2),
    "cor-split": CorSplit(3, 3),
    "js-reduce": JSReduce(4, 0.4, 0.3, crowd=4),
}
ADVERSARIES = {
    "plain": Adversary(),
    "knows some": Adversary(0.15, seed=3),
    "does not cascade": Adversary(0.15, cascade=False, seed=4),
    "without events": Adversary(0.15, event_lists=False),
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Series:
    """A series of Mondrian that no test changes."""
    return published(tmp_path_factory.mktemp("kept"), PUBLISHERS["mondrian"])


def same(found: FoundInParts, expected: AttackResult) -> None:
    assert isinstance(found, AttackInParts)
    assert found.m == expected.m
    for mine, theirs in zip(
        (found.overall, *found.releases), (expected.overall, *expected.releases), strict=True
    ):
        assert asdict(mine) == close(asdict(theirs))


def agrees(series: Series, adversary: Adversary, engine: Here) -> dict[str, FoundInParts]:
    found = engine.attack(series, adversary)
    for result in attack(series, adversary, EXCLUDING):
        assert isinstance(result, AttackResult)
        same(found[result.name], result)
    assert tuple(found) == EXCLUDING
    return found


@pytest.mark.parametrize("engine", quick([None, Here(parts=4)], bool), ids=["whole", "in parts"])
@pytest.mark.parametrize("name", quick(PUBLISHERS, lambda name: name == "tau-safety"))
def test_figures_are_those_of_the_whole_series(name: str, engine: Here | None, tmp_path: Path) -> None:
    series = published(tmp_path, PUBLISHERS[name], engine)
    for adversary in ADVERSARIES.values():
        agrees(series, adversary, Here(parts=3))


def test_series_hold_what_makes_attacks_differ(tmp_path: Path) -> None:
    left_out = published(tmp_path / "js-reduce", PUBLISHERS["js-reduce"]).records
    false = published(tmp_path / "tau-safety", PUBLISHERS["tau-safety"]).records
    assert sum(record.payload["suppressed"] for record in left_out) > 0
    assert sum(record.payload["counterfeits"] for record in false) > 0
    assert false[2].payload["rows"] == 0
    assert false[4].payload["arrivals"]["returned"] > 0
    assert false[4].payload["arrivals"]["changed_value"] > 0


def test_rounds_go_on_until_nothing_is_excluded(tmp_path: Path) -> None:
    series = published(tmp_path, Mondrian(2))
    found = agrees(series, Adversary(0.3), Here(parts=5))
    alone = found["intersection"].summary.determined
    assert found["tau"].summary.determined > alone
    assert found["compromised"].summary.determined > found["tau"].summary.people // 10


@pytest.mark.parametrize(
    "engine", quick([Here(parts=1), Here(parts=7), Here(part_rows=60)], lambda engine: engine.parts == 7)
)
def test_the_number_of_parts_changes_nothing(engine: Here, kept: Series) -> None:
    agrees(kept, ADVERSARIES["knows some"], engine)


@pytest.mark.parametrize("publisher", quick(["mondrian", "tau-safety"], lambda name: name == "tau-safety"))
def test_nobody_hides_behind_people_who_were_forgotten(publisher: str, tmp_path: Path) -> None:
    series = published(tmp_path, PUBLISHERS[publisher])
    forget(series, views_of(150, 5, 1)[0].head(12).select("id"))
    forgotten = history_of(series).forgotten
    assert forgotten is not None
    assert len(forgotten) > 0
    for name in ("plain", "knows some"):
        agrees(series, ADVERSARIES[name], Here(parts=3))


def test_compromised_people_can_be_named(kept: Series) -> None:
    series = kept
    names = series.pseudonyms([f"p{i}" for i in range(0, 60, 3)])
    agrees(series, Adversary(list(names)), Here(parts=3))
    agrees(series, Adversary(range(0, 60, 3)), Here(parts=3))
    with pytest.raises(PolicyError, match="1 of 2 never were"):
        Here(parts=3).attack(series, Adversary([names[0], "0" * 31 + "1"]))
    with pytest.raises(PolicyError, match="numbers from 0 to"):
        Here(parts=3).attack(series, Adversary([100_000]))


def test_what_should_be_left_can_be_given(kept: Series) -> None:
    series = kept
    found = Here(parts=3).attack(series, attacks=["intersection"], m=4)["intersection"]
    (expected,) = attack(series, attacks=["intersection"], m=4)
    assert isinstance(expected, AttackResult)
    same(found, expected)
    assert found.as_dict() == {**found.as_dict(), "attack": "intersection", "m": 4}


def test_a_series_without_releases_gives_nobody_away(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "series", schema(), PUBLISHERS["m-invariance"])
    agrees(series, ADVERSARIES["knows some"], Here(parts=3))


@pytest.mark.parametrize("name", [name for name in KINDS if name not in IN_PARTS])
def test_attacks_that_need_everybody_are_refused(name: str, tmp_path: Path) -> None:
    series = Series.create(tmp_path / "series", schema(), PUBLISHERS["m-invariance"])
    with pytest.raises(
        PolicyError, match=rf"{name} cannot .* intersection, tau, compromised and beliefs can; .* --engine"
    ):
        Here(parts=3).attack(series, attacks=["tau", name])


def test_unknown_groups_and_values_are_refused(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "series", schema(), PUBLISHERS["m-invariance"])
    with pytest.raises(PolicyError, match="there is no attack called mind"):
        Here(parts=3).attack(series, attacks=["mind"])
    with pytest.raises(PolicyError, match="who is in which group"):
        Here(parts=3).attack(series, Adversary(membership="matched"))
    bare = Series.create(tmp_path / "bare", Schema("id", [Number("age")]), Mondrian(3), one_table=True)
    with pytest.raises(PolicyError, match="no sensitive column"):
        Here(parts=3).attack(bare)


def test_figures_of_parts_are_weighed_by_their_people() -> None:
    few = Exposure(1, 1, 1.0, 1.0, 1.0, 1.0, 1.0, 0.5, 1, 1.0)
    many = Exposure(3, 0, 0.0, 0.0, 1 / 3, 0.4, 0.6, 0.1, 2, 0.0)
    nobody = Exposure(0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, None, 0.0)
    expected = Exposure(4, 1, 0.25, 0.25, 0.5, 0.55, 1.0, 0.2, 1, 0.25)
    assert asdict(together([few, nobody, many])) == close(asdict(expected))
    assert together([nobody, nobody]) == together([]) == nobody


@pytest.fixture
def small_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("republish.cli.attack.engine_of", lambda *_: nullcontext(Here(parts=3)))


@pytest.mark.usefixtures("small_engine")
def test_the_command_attacks_with_an_engine(kept: Series) -> None:
    series = kept
    found = document(series.root, "--compromised", "0.15", "--seed", "3", "--engine", "spark")
    expected = Here(parts=3).attack(series, ADVERSARIES["knows some"])
    assert found["attacks"] == [result.as_dict() for result in expected.values()]
    assert [one["attack"] for one in found["summaries"]] == list(EXCLUDING)
    assert set(found["left_out"]) == set(KINDS) - set(EXCLUDING)
    text = said(series.root, "--attack", "tau", "--engine", "spark")
    assert text.startswith("5 releases, attacked in parts\n")
    assert "intersection" not in text


@pytest.mark.usefixtures("small_engine")
def test_the_command_refuses_what_cannot_be_had_in_parts(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "series", schema(), PUBLISHERS["m-invariance"])
    with pytest.raises(PolicyError, match="--truth, --over-time cannot be had with --engine"):
        said(series.root, "--truth", tmp_path, "--over-time", "--engine", "spark")
    with pytest.raises(PolicyError, match="linear cannot be made in parts"):
        said(series.root, "--attack", "linear", "--engine", "spark")


Rows = st.dictionaries(
    st.integers(0, 11), st.tuples(st.integers(0, 9), st.sampled_from(VALUES[:5])), min_size=4
)


def view_of(rows: dict[int, Any]) -> pl.DataFrame:
    return pl.DataFrame(
        [(f"p{who}", age, value) for who, (age, value) in rows.items()],
        {"id": pl.String, "age": pl.Int64, "dx": pl.String},
        orient="row",
    )


@settings(max_examples=6)
@given(
    weeks=st.lists(Rows, min_size=2, max_size=4), share=st.sampled_from([0.0, 0.3]), parts=st.integers(2, 4)
)
def test_random_series_are_attacked_alike(weeks: list[dict[int, Any]], share: float, parts: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = Series.create(
            Path(folder) / "s", Schema("id", [Number("age")], "dx"), Mondrian(2), seed=1, one_table=True
        )
        for week, rows in enumerate(weeks, 1):
            made.publish(view_of(rows), as_of=f"2026-03-{week:02d}", meant=["same-view"])
        agrees(made, Adversary(share), Here(parts=parts))
        made.ledger.close()
