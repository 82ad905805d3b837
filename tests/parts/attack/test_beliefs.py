"""The belief attack in parts is as sure as on all of the series at once."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from attack_command import document
from parts.changing import close, published, schema
from republish import (
    Bands,
    Classes,
    Extracted,
    JSReduce,
    Listed,
    MInvariance,
    PolicyError,
    Series,
)
from republish.attacks import Adversary, attack_beliefs
from republish.parts import Here
from republish.parts.attack.beliefs import BeliefsInParts
from republish.publishing.maintenance import forget

PUBLISHER = JSReduce(4, 0.4, 0.3, crowd=4)
ADVERSARIES = {
    "full": Adversary(),
    "snapshot": Adversary(steps=0),
    "told of some": Adversary(0.2, seed=3),
    "told after, not sure": Adversary(0.2, certainty=0.8, cascading="posterior", steps=1),
    "without events": Adversary(0.1, event_lists=False),
    "another posterior": Adversary(posterior="omega"),
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Series:
    return published(tmp_path_factory.mktemp("kept"), PUBLISHER)


def agrees(series: Series, adversary: Adversary, engine: Here) -> BeliefsInParts:
    found = engine.attack(series, adversary, ["beliefs"])["beliefs"]
    expected = attack_beliefs(series, adversary)
    assert isinstance(found, BeliefsInParts)
    for mine, theirs in zip(
        (found.summary, *found.by_release), (expected.summary, *expected.by_release), strict=True
    ):
        assert asdict(mine) == close(asdict(theirs))
    assert (found.label, found.posterior) == (expected.label, expected.posterior)
    return found


@pytest.mark.parametrize("name", ADVERSARIES)
def test_beliefs_are_those_of_the_whole_series(name: str, kept: Series) -> None:
    assert sum(record.payload["suppressed"] for record in kept.records) > 0
    agrees(kept, ADVERSARIES[name], Here(parts=3))


@pytest.mark.parametrize("engine", [Here(parts=1), Here(parts=8)])
def test_the_number_of_parts_changes_nothing(engine: Here, kept: Series) -> None:
    agrees(kept, ADVERSARIES["told of some"], engine)


def test_compromised_people_can_be_named(kept: Series) -> None:
    names = kept.pseudonyms([f"p{i}" for i in range(0, 60, 3)])
    told = agrees(kept, Adversary(list(names)), Here(parts=3))
    assert told.summary.people == 150 - 20


def test_classes_that_the_series_keeps_go_with_people(tmp_path: Path) -> None:
    knowledge = Extracted(1, Classes((Listed("ward", ("east", "north", "south", "west")),)))
    series = published(tmp_path, replace(PUBLISHER, knowledge=knowledge), Here(parts=2))
    agrees(series, Adversary(0.1), Here(parts=3))
    other = Extracted(1, Classes((Bands("age", (20, 50, 80)),)))
    with pytest.raises(PolicyError, match="classes of this knowledge are found from quasi-identifiers"):
        Here(parts=3).attack(series, Adversary(knowledge=other), ["beliefs"])


def test_beliefs_after_people_were_forgotten(tmp_path: Path) -> None:
    series = published(tmp_path, PUBLISHER)
    identifiers = tmp_path / "gone.csv"
    identifiers.write_text("id\n" + "".join(f"p{i}\n" for i in range(12)))
    forget(series, identifiers)
    agrees(series, ADVERSARIES["told of some"], Here(parts=3))


def test_gaps_that_count_are_left_to_one_process(kept: Series) -> None:
    with pytest.raises(PolicyError, match="attack without --engine"):
        Here(parts=3).attack(kept, Adversary(knowledge=Extracted(1, gaps="count")), ["beliefs"])


def test_without_knowledge_there_are_no_beliefs(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "series", schema(), MInvariance(2))
    with pytest.raises(PolicyError, match="beliefs cannot be made: it needs to know how values follow"):
        Here(parts=3).attack(series, attacks=["beliefs"])


def test_a_series_without_releases_gives_nobody_away(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "series", schema(), PUBLISHER)
    found = Here(parts=3).attack(series, attacks=["beliefs"])["beliefs"]
    assert (found.summary.people, found.by_release) == (0, ())


def test_the_command_looks_at_as_many_values_as_it_is_told(
    kept: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("republish.cli.attack.engine_of", lambda *_: nullcontext(Here(parts=2)))
    found = document(kept.root, "--attack", "beliefs", "--steps", "0,9,full", "--engine", "spark")
    assert [one["steps"] for one in found["beliefs"]] == [0, 9, "full"]
    expected = [attack_beliefs(kept, Adversary(steps=steps)).summary for steps in (0, None, None)]
    assert [one["summary"] for one in found["beliefs"]] == [close(asdict(one)) for one in expected]
