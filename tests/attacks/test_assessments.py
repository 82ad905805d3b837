"""What attacks found over a series, made, kept and read again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import two_tables
from report.marked import MARK, make, view
from republish import Adversary, JSReduce, LedgerError, Mondrian, PolicyError, Series, attack
from republish.attacks import IdentityResult
from republish.attacks.assessments import Assessment, assess, keep, kept
from republish.publishing.maintenance import forget, withdraw


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "s"
    make(folder).ledger.close()
    return folder


@pytest.fixture
def marked(made: Path, tmp_path: Path) -> Iterator[Series]:
    series = Series.open(shutil.copytree(made, tmp_path / "s"))
    yield series
    series.ledger.close()


def test_figures_are_those_of_the_attacks_after_each_release(marked: Series) -> None:
    adversary = Adversary(compromised=0.2, seed=5)
    found = assess(marked, adversary, ["tau", "compromised"])
    expected = {one.name: one.summary for one in attack(marked, adversary, ["tau", "compromised"])}
    assert {name: after[-1] for name, after in found.found.items()} == expected
    assert [len(after) for after in found.found.values()] == [3, 3]
    assert [part.people for part in found.found["tau"]] == [60, 65, 70]
    assert found.releases == 3
    assert found.head == marked.ledger.head.digest


def test_without_names_all_that_can_be_made_are_and_the_others_are_left_out(marked: Series) -> None:
    found = assess(marked, Adversary())
    assert list(found.found) == [
        "intersection", "tau", "compromised", "historical", "differencing", "linear",
    ]  # fmt: skip
    assert set(found.left_out) == {"beliefs", "joint"}
    assert "knowledge" in found.left_out["beliefs"]
    assert set(found.unclear) == {"linear"}
    assert found.adversary["knowledge"] is False


def test_a_publisher_with_knowledge_is_attacked_with_it(tmp_path: Path) -> None:
    series = make(tmp_path / "s", 2, JSReduce(k=3))
    found = assess(series, Adversary(), ["beliefs", "joint"])
    assert list(found.found) == ["beliefs", "joint"]
    assert (found.adversary["knowledge"], found.adversary["own_knowledge"]) == (True, False)
    series.ledger.close()


def test_raw_views_serve_attacks_that_match(marked: Series) -> None:
    views = [view(week) for week in range(3)]
    found = assess(marked, Adversary(membership="matched"), ["matched"], views=views)
    assert len(found.found["matched"]) == 3
    assert found.adversary["membership"] == "matched"
    with pytest.raises(PolicyError, match="make it alone"):
        assess(marked, Adversary(), ["matched", "tau"], views=views)
    with pytest.raises(PolicyError, match="3 releases, 2 views"):
        assess(marked, Adversary(), ["tau"], views=views[:2])


def test_attacks_that_seek_no_value_have_figures_of_their_own_after_each_release(tmp_path: Path) -> None:
    views = [two_tables.view(week) for week in (1, 2, 3)]
    series = two_tables.make(tmp_path / "two", 3)
    found = assess(series, Adversary(), views=views)
    assert list(found.identities) == ["linkage", "presence", "bcf", "tracing"]
    assert "linkage" not in {*found.found, *found.left_out}
    alone = two_tables.make(tmp_path / "one", 1)  # the same series when its first release was the last
    for name, after in found.identities.items():
        (last,) = attack(series, Adversary(), [name], views=views)
        (first,) = attack(alone, Adversary(), [name], views=views[:1])
        assert isinstance(last, IdentityResult) and isinstance(first, IdentityResult)
        assert (len(after), after[0], after[-1]) == (3, first.overall, last.overall)
    keep(series, found)
    assert kept(series) == [found]
    series.ledger.close()
    alone.ledger.close()


def test_progress_counts_releases_of_all_attacks(marked: Series) -> None:
    told: list[tuple[int, int]] = []
    assess(marked, Adversary(), ["intersection", "tau"], lambda done, of: told.append((done, of)))
    assert told[0] == (0, 6)
    assert told[-1] == (6, 6)
    assert told == sorted(told)


@pytest.mark.parametrize("name", ["beliefs", "matched", "minimality", "unheard-of"])
def test_an_attack_that_was_named_and_cannot_be_made_is_refused(marked: Series, name: str) -> None:
    with pytest.raises(PolicyError, match=name):
        assess(marked, Adversary(), [name])


def test_nothing_to_attack_is_refused(tmp_path: Path) -> None:
    empty, nothing_to_seek = make(tmp_path / "a", 0), make(tmp_path / "b", 1, Mondrian(2), sensitive=False)
    with pytest.raises(PolicyError, match="publish a first view"):
        assess(empty, Adversary())
    with pytest.raises(PolicyError, match="no sensitive column"):
        assess(nothing_to_seek, Adversary())
    with pytest.raises(PolicyError, match="membership known"):
        assess(make(tmp_path / "c", 1), Adversary(membership="matched"))


def test_a_series_that_goes_on_meanwhile_is_refused(marked: Series, monkeypatch: pytest.MonkeyPatch) -> None:
    from republish import attacks

    real = attacks.target_with_views

    def slow(series: Series, *rest: object) -> object:
        found = real(series, *rest)
        Series.open(series.root).publish(view(3), as_of="2026-02-01")
        return found

    monkeypatch.setattr(attacks, "target_with_views", slow)
    with pytest.raises(LedgerError, match="went on"):
        assess(marked, Adversary(), ["tau"])


def test_people_given_one_by_one_are_kept_as_a_number(marked: Series) -> None:
    people = list(marked.pseudonyms([f"{MARK}id1", f"{MARK}id2"]))
    found = assess(marked, Adversary(compromised=people), ["compromised"])
    assert found.adversary["compromised"] == {"people": 2}
    assert not any(one in json.dumps(found.as_dict()) for one in people)


def test_what_is_kept_is_read_again_newest_last(marked: Series) -> None:
    first = assess(marked, Adversary(), ["intersection"])
    second = assess(marked, Adversary(compromised=0.1), ["linear"])
    paths = [keep(marked, second), keep(marked, first)]
    assert kept(marked) == [first, second]
    assert [path.stat().st_mode & 0o777 for path in paths] == [0o600, 0o600]
    assert paths[0].parent.stat().st_mode & 0o777 == 0o700
    assert MARK not in paths[0].read_text()
    assert marked.verify().holds


def test_a_series_without_any_has_none(marked: Series) -> None:
    assert kept(marked) == []
    assert not (marked.root / "private" / "assessments").exists()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '"text"', '{"found": {}}', '{"found": {"tau": [1]}}', "\udcff"]
)
def test_broken_files_are_passed_over(marked: Series, text: str) -> None:
    path = keep(marked, assess(marked, Adversary(), ["tau"]))
    path.with_name("broken.json").write_bytes(text.encode(errors="surrogateescape"))
    path.with_name("folder.json").mkdir()
    assert len(kept(marked)) == 1


def test_an_assessment_without_all_releases_is_none(marked: Series) -> None:
    document = assess(marked, Adversary(), ["tau"]).as_dict()
    with pytest.raises(ValueError, match="every release"):
        Assessment.from_dict(document | {"releases": 4})


def test_people_are_counted_by_confidence_after_each_release_and_in_each(marked: Series) -> None:
    one = assess(marked, Adversary(), ["tau", "linear"])
    for name, after in one.found.items():
        assert [sum(people) for people in one.spread[name]] == [part.people for part in after]
        for people, part in zip(one.spread[name], after, strict=True):
            assert sum(people[18:]) == round(part.above_nine_tenths * part.people)
            assert sum(people[10:]) == round(part.above_half * part.people)
        worst = max(part.worst_confidence for part in one.by_release[name])
        assert worst == after[-1].worst_confidence


def test_an_older_assessment_counts_nobody_by_confidence(marked: Series) -> None:
    document = assess(marked, Adversary(), ["tau"]).as_dict()
    del document["spread"], document["by_release"]
    assert (Assessment.from_dict(document).spread, Assessment.from_dict(document).by_release) == ({}, {})


@pytest.mark.parametrize("key", ["spread", "by_release"])
def test_confidence_of_too_few_releases_is_none(marked: Series, key: str) -> None:
    document = assess(marked, Adversary(), ["tau"]).as_dict()
    document[key]["tau"] = document[key]["tau"][1:]
    with pytest.raises(ValueError, match="every release"):
        Assessment.from_dict(document)


def test_an_assessment_that_found_words_is_none(marked: Series) -> None:
    document = json.loads(json.dumps(assess(marked, Adversary(), ["linear"]).as_dict()))
    assert json.loads(json.dumps(Assessment.from_dict(document).as_dict())) == document
    document["found"]["linear"][1]["determined"] = "seven"
    with pytest.raises(ValueError, match="numbers"):
        Assessment.from_dict(document)


def test_it_survives_the_next_publisher_and_a_backup(marked: Series, tmp_path: Path) -> None:
    from republish.ledger.archive import backup, restore

    made = assess(marked, Adversary(), ["tau"])
    keep(marked, made)
    marked.publish(view(3), as_of="2026-02-01")
    backup(marked.root, tmp_path / "all.tar.gz")
    restore(tmp_path / "all.tar.gz", tmp_path / "again")
    assert kept(Series.open(tmp_path / "again")) == kept(marked) == [made]


def test_it_is_current_until_what_is_found_may_change(marked: Series) -> None:
    made = assess(marked, Adversary(), ["tau"])
    assert made.is_current(marked)
    withdraw(marked, 2)
    assert made.is_current(marked)
    forget(marked, pl.DataFrame({"patient": [f"{MARK}id20"]}))
    assert not made.is_current(marked)
    again = assess(marked, Adversary(), ["tau"])
    assert again.is_current(marked)
    marked.publish(view(3), as_of="2026-02-01")
    assert not again.is_current(marked)


def test_that_of_another_series_is_not_current(marked: Series, tmp_path: Path) -> None:
    other = make(tmp_path / "other")
    assert not assess(other, Adversary(), ["tau"]).is_current(marked)


def test_a_disk_that_refuses_leaves_nothing_behind(marked: Series, monkeypatch: pytest.MonkeyPatch) -> None:
    made = assess(marked, Adversary(), ["tau"])
    monkeypatch.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(LedgerError, match="could not be kept"):
        keep(marked, made)
    assert list((marked.root / "private" / "assessments").iterdir()) == []
