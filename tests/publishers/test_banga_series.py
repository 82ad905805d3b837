"""Insert-only BangA: groups only grow, other code finds out where they do not, and what subtracting releases tells."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from publishers.test_penalty_tree_series import SCHEMA, Town
from republish import Adversary, BangA, CannotPublish, LDiversity, Series, TCloseness
from republish.attacks import attack
from republish.memory.membership import Membership
from republish.publishing.maintenance import forget
from republish.verify.promises import AuditedRelease, Before, grown_groups, no_signatures


@pytest.fixture
def town() -> Town:
    return Town()


def series_of(folder: Path, publisher: BangA) -> Series:
    return Series.create(folder, SCHEMA, publisher, seed=1)


def grown(town: Town, rows: int = 120) -> pl.DataFrame:
    town.people = pl.concat([town.people, town.newcomers(rows)])
    return town.people


@pytest.mark.parametrize("require", [(), (LDiversity(3),), (TCloseness(0.45),)], ids=str)
def test_groups_only_grow_and_keep_what_is_promised(tmp_path: Path, town: Town, require) -> None:
    series = series_of(tmp_path / "s", BangA(8, require, insert_only=True))
    groups = [series.publish(town.people).groups]
    for _ in range(3):
        reopened = Series.open(series.root)
        done = reopened.publish(grown(town))
        assert done.verification.holds
        groups.append(done.groups)
        reopened.ledger.close()
    assert groups == sorted(groups, reverse=True)
    assert groups[0] > 10
    if not require:
        assert len(set(groups)) == 1
    found = series.verify()
    assert found.holds, found.problems
    checks = {check.promise: check.holds for check in found.releases[4].checks}
    assert checks["growing-groups: groups of the last release"]
    assert len(series.members(4).people) == 400 + 3 * 120
    series.ledger.close()


def leaving(town: Town) -> pl.DataFrame:
    return grown(town)[3:]


def changing(town: Town) -> pl.DataFrame:
    flu = pl.int_range(pl.len()) < 30
    return grown(town).with_columns(dx=pl.when(flu).then(pl.lit("flu")).otherwise("dx"))


def moving(town: Town) -> pl.DataFrame:
    moved = pl.int_range(pl.len()) < 30
    return grown(town).with_columns(town=pl.when(moved).then(pl.lit("t0")).otherwise("town"))


@pytest.mark.parametrize(
    ("later", "said"),
    [
        (leaving, "3 people left"),
        (changing, "the sensitive value of 2[0-9] changed"),
        (moving, "[1-9][0-9]* groups lost people to others"),
    ],
)
def test_whoever_leaves_or_changes_is_refused(tmp_path: Path, town: Town, later, said: str) -> None:
    series = series_of(tmp_path / "s", BangA(5, insert_only=True))
    series.publish(town.people)
    with pytest.raises(CannotPublish, match=said):
        series.publish(later(town))
    assert len(series.records) == 1
    series.publish(grown(town))
    assert series.verify().holds
    series.ledger.close()


def test_a_series_goes_on_after_somebody_was_forgotten(tmp_path: Path, town: Town) -> None:
    series = series_of(tmp_path / "s", BangA(5, insert_only=True))
    series.publish(town.people)
    forget(series, town.people.head(40).select("id"))
    town.people = town.people.tail(-40)
    done = series.publish(grown(town, 10))
    assert done.verification.holds
    assert series.verify().holds
    assert np.bincount(series.members(2).group)[1:].min() >= 5
    series.ledger.close()


def test_so_it_does_when_whole_groups_were_forgotten(tmp_path: Path, town: Town) -> None:
    series = series_of(tmp_path / "s", BangA(5, insert_only=True))
    series.publish(town.people)
    members = series.members(1)
    both = members.people[np.isin(members.group, [1, 2])]
    theirs = pl.Series(np.isin(series.secret().pseudonyms(town.people["id"])[:, 0], both[:, 0]))
    assert 10 <= theirs.sum() < 60
    forget(series, town.people.filter(theirs).select("id"))
    town.people = town.people.filter(~theirs)
    assert series.publish(town.people).verification.holds
    assert series.verify().holds
    series.ledger.close()


def test_values_that_were_never_foreseen_are_refused(tmp_path: Path, town: Town) -> None:
    series = series_of(tmp_path / "s", BangA(5, insert_only=True))
    series.publish(town.people)
    later = grown(town).with_columns(
        age=pl.col("age") + pl.when(pl.int_range(pl.len()) >= 400).then(500).otherwise(0)
    )
    with pytest.raises(CannotPublish, match="do not lie on their scales"):
        series.publish(later)
    series.ledger.close()


def test_recipients_are_told_that_newcomers_do_not_hide(tmp_path: Path, town: Town) -> None:
    series = series_of(tmp_path / "s", BangA(5, insert_only=True))
    series.publish(town.people)
    about = json.loads((series.ledger.folder(1) / "about.json").read_text())
    assert about["promised_over_the_series"] == ["growing-groups"]
    said = about["not_promised_over_the_series"]
    assert "where one person joined, hers" in said[0]
    series.ledger.close()


def people(count: int) -> np.ndarray:
    return np.stack([np.arange(1, count + 1), np.arange(count)], axis=1).astype(np.uint64)


@pytest.mark.parametrize(
    ("group", "code", "present", "holds"),
    [
        ([1, 1, 2, 2, 2], [0, 1, 2, 3, 0], 4, True),  # newcomer joins the second group
        ([1, 1, 1, 1, 1], [0, 1, 2, 3, 0], 4, True),  # both become one
        ([1, 2, 2, 2, 1], [0, 1, 2, 3, 0], 4, False),  # the first is parted
        ([1, 1, 2, 2, 2], [0, 1, 2, 0, 0], 4, False),  # a value changed
        ([1, 1, 2, 2, 2], [0, 1, 2, 3, 0], 5, False),  # somebody left
        ([1, 1, 2, 0, 2], [0, 1, 2, 3, 0], 4, False),  # somebody is left out
    ],
)
def test_what_does_not_grow_is_found(group, code, present, holds) -> None:
    last = pl.DataFrame(
        {"code": [0, 1, 2, 3, None], "release": [1, 1, 1, 1, None], "group": [7, 7, 3, 3, None]},
        schema={"code": pl.Int32, "release": pl.Int32, "group": pl.Int32},
    ).with_columns(signature=pl.lit(None, dtype=pl.String))
    now = AuditedRelease(
        2, Membership(people(5), np.array(group), np.array(code, dtype=np.int32)), no_signatures(2)
    )
    never = lambda *_: pytest.fail("not asked for")  # noqa: E731
    before = Before(last, never, never, never, present)
    assert grown_groups("growing-groups", now, before).holds == holds


def test_whoever_joins_a_group_alone_is_found_by_subtracting(tmp_path: Path, town: Town) -> None:
    """k-anonymity after every release says nothing of that: the newcomer's value is what the group gained."""
    series = series_of(tmp_path / "s", BangA(5, insert_only=True))
    series.publish(town.people)
    series.publish(grown(town, 30))
    (found,) = attack(series, Adversary(), ["differencing"])
    first, second = series.members(1), series.members(2)
    new = ~np.isin(second.people[:, 0], first.people[:, 0])
    alone = np.count_nonzero(np.bincount(second.group[new]) == 1)
    assert alone > 5
    assert found.overall.determined >= alone
    series.ledger.close()
