"""Rows followed over releases: everybody compared with everybody, cell by cell, and cases counted by hand."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attack_command import document, said
from attacks.matching.two_tables import two_table_series
from republish import Mondrian, Number, PolicyError, Schema, Series
from republish.attacks import Adversary, IdentityResult, Linked, attack
from republish.attacks.matching.linkage import linkage
from republish.attacks.matching.sightings import MatchedView
from republish.release.cells import SOME_MISSING
from republish.release.forms import TwoTables

SEEDS = st.integers(0, 2**32 - 1)


def held(sighting: MatchedView, cell: int, texts: list[object]) -> bool:
    """Whether quasi-identifiers, as numbers or labels, lie in a cell of a release."""
    for cells, text in zip(sighting.release.people.cells, texts, strict=True):
        labels = cells.axis.labels
        if labels and text is not None and text not in labels:
            if cells.missing[cell - 1] == SOME_MISSING:
                continue
            return False  # nobody had it so far
        at = -np.inf if text is None else float(labels.index(str(text)) if labels else text)  # type: ignore[arg-type]
        if not cells.cover(np.array([cell - 1]), np.array([at]))[0]:
            return False
    return True


def spelled(sighting: MatchedView, row: int) -> list[object]:
    found: list[object] = []
    for cells, at in zip(sighting.release.people.cells, sighting.points[:, row], strict=True):
        labels = cells.axis.labels
        found.append(None if np.isneginf(at) else labels[int(at)] if labels else float(at))
    return found


def naive_left(sightings: list[MatchedView]) -> dict[tuple[int, int], int]:
    """Of every person and release how many people are left, straight from the definition."""
    rows: dict[int, list[tuple[int, int]]] = {}
    for i, sighting in enumerate(sightings):
        for row, person in enumerate(sighting.person.tolist()):
            if sighting.cell[row] > 0:
                rows.setdefault(person, []).append((i, row))
    found = {}
    for person, where in rows.items():
        chains: list[list[tuple[int, int]]] = []
        for i, row in where:
            if chains and spelled(sightings[chains[-1][-1][0]], chains[-1][-1][1]) == spelled(
                sightings[i], row
            ):
                chains[-1].append((i, row))
            else:
                chains.append([(i, row)])
        for chain in chains:
            last = sightings[chain[-1][0]]
            left = sum(
                all(held(sightings[i], int(sightings[i].cell[row]), spelled(last, one)) for i, row in chain)
                for one in range(len(last.person))
            )
            found.update({(person, i): left for i, _ in chain})
    return found


@given(SEEDS, st.sampled_from([0.0, 0.1]))
@settings(max_examples=40)
def test_who_is_left_fits_all_cells_of_a_chain(seed: int, missing: float) -> None:
    history, sightings = two_table_series(seed, missing=missing)
    expected = naive_left(sightings)
    found = linkage(history, sightings, k=3)
    assert isinstance(found.overall, Linked)
    for i, part in enumerate(found.releases):
        left = [count for (_, release), count in expected.items() if release == i]
        assert isinstance(part, Linked)
        assert (part.people, part.k) == (len(left), 3)
        assert part.alone == pytest.approx(np.mean(np.array(left) == 1))
        assert part.below_k == pytest.approx(np.mean(np.array(left) < 3))
        assert part.median_left == median(left)
        assert found.by_release[i].mean_confidence == pytest.approx(np.mean(1 / np.array(left)))
    fewest: dict[int, int] = {}
    for (person, _), count in expected.items():
        fewest[person] = min(count, fewest.get(person, count))
    assert found.overall.people == len(fewest)
    assert found.overall.alone == pytest.approx(np.mean([count == 1 for count in fewest.values()]))
    assert found.summary.determined == sum(count == 1 for count in fewest.values())


ONE = Schema("id", [Number("age", domain=(0, 120))], "ill", ["car", "ward"])


def weeks(*ages: dict[str, int], cars: dict[str, str] | None = None) -> list[pl.DataFrame]:
    return [
        pl.DataFrame(
            [
                {"id": one, "age": age, "ill": "ab"[i % 2], "car": (cars or {}).get(one, "red"), "ward": 1}
                for i, (one, age) in enumerate(week.items())
            ]
        )
        for week in ages
    ]


def series_of(tmp_path: Path, views: list[pl.DataFrame], form: TwoTables | None) -> Series:
    series = Series.create(tmp_path / "s", ONE, Mondrian(2), seed=1, one_table=True, form=form)
    for week, view in enumerate(views, start=1):
        series.publish(view, as_of=f"2026-03-{week:02d}", meant=("new-people", "fewer-rows", "same-view"))
    return series


def linked(series: Series, views: list[pl.DataFrame]) -> Linked:
    (found,) = attack(series, Adversary(), ["linkage"], views=views)
    assert isinstance(found, IdentityResult)
    assert isinstance(found.overall, Linked)
    return found.overall


def test_boxes_made_anew_isolate_and_kept_cuts_do_not(tmp_path: Path) -> None:
    views = weeks({"a": 10, "b": 20, "c": 30, "d": 40}, {"x": 5, "b": 20, "c": 30, "y": 90})
    assert linked(series_of(tmp_path / "one", views, None), views).alone > 0
    two = linked(series_of(tmp_path / "two", views, TwoTables(k=2)), views)
    assert (two.alone, two.below_k, two.k) == (0.0, 0.0, 2)


def test_insensitive_cells_that_are_unique_and_stay_link_rows(tmp_path: Path) -> None:
    week = {"a": 10, "b": 20, "c": 30, "d": 40}
    views = weeks(week, week, cars={"a": "blue", "b": "green"})
    views[1] = views[1].with_columns(
        car=pl.when(pl.col("id") == "b").then(pl.lit("black")).otherwise(pl.col("car"))
    )
    found = linked(series_of(tmp_path, views, TwoTables(k=2)), views)
    assert (found.unique_cells, found.same_cells, found.followed_by_cells) == (0.5, 0.75, 0.25)


def test_the_command_says_and_writes_what_linkage_and_presence_find(tmp_path: Path) -> None:
    week = {"a": 10, "b": 20, "c": 30, "d": 40}
    views = weeks(week, week, cars={"a": "blue"})
    series = series_of(tmp_path, views, TwoTables(k=2))
    series.ledger.close()
    (tmp_path / "views").mkdir()
    for number, view in enumerate(views):
        view.write_csv(tmp_path / "views" / f"{number}.csv")
    asked = (tmp_path / "s", "--truth", tmp_path / "views", "--attack", "linkage,presence")
    linkage_found, presence_found = document(*asked)["identities"]
    assert linkage_found["overall"]["people"] == 4
    assert linkage_found["overall"]["followed_by_cells"] == 0.25
    assert presence_found["overall"] == {
        "present": 8, "absent": 0, "shown_present": 1.0, "shown_absent": 0.0, "mean_present": 1.0, "mean_absent": 0.0
    }  # fmt: skip
    text = said(*asked).replace("\n", " ")
    assert "alone: nobody else of the last release fits all cells" in text
    assert "link rows too: they are unique in a release for 25.0%" in text
    assert "shown absent: no cell admits them" in text


def test_views_of_other_releases_are_refused(tmp_path: Path) -> None:
    views = weeks({"a": 10, "b": 20, "c": 30, "d": 40})
    series = series_of(tmp_path, views, TwoTables(k=2))
    for name in ("linkage", "presence"):
        with pytest.raises(PolicyError, match="1 of 4 published people are not in the view"):
            attack(series, Adversary(), [name], views=[views[0].head(3)])
        with pytest.raises(PolicyError, match=f"{name} cannot be made: it looks people up"):
            attack(series, Adversary(), [name])


def test_people_who_all_grow_older_are_followed_in_a_frame_that_moves(tmp_path: Path) -> None:
    ages = {f"p{i}": 20 + i for i in range(12)}
    views = weeks(ages, {one: age + 1 for one, age in ages.items()})
    series = series_of(tmp_path, views, TwoTables(k=2))
    (found,) = attack(series, Adversary(), ["linkage"], views=views)
    assert isinstance(found, IdentityResult)
    first, second = found.releases
    assert isinstance(first, Linked)
    assert isinstance(second, Linked)
    assert first == second  # chains go on, so that both releases tell of the same people
    assert first.alone == 0.0
