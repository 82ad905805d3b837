"""A tiny run of the Cor-Split studies, and the checks of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from republish.arrays import BoolArray
from republish.datasets import census
from republish.papers import Outcome, Scale, paper_named, reproduce
from republish.papers.cor_split import between, least_degree, measurements, nowhere_above, on_average
from republish.papers.releases import history_of_all, publish_all
from republish.papers.study import Lines

TINY = measurements.CorSplitScale(part=200, queries=50, attacked_rows=300, draws=1, views=5)


def lines(**of: list[float]) -> Lines:
    """Lines of these values at 1, 2, ..."""
    return Lines({name: (list(range(1, len(y) + 1)), np.array(y)) for name, y in of.items()})


def test_every_figure_of_the_paper_is_computed_drawn_and_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measurements, "QUICK", TINY)
    made = reproduce(paper_named("cor-split"), tmp_path, Scale(quick=True), workers=1)
    names = [shown.figure.name for shown in made.shown]
    assert names == ["Fig. 2a", "Fig. 2b", "Fig. 2c", "Fig. 7", "Fig. 8", "Fig. 9a", "Fig. 9b"]
    assert all(shown.picture is not None and shown.judged for shown in made.shown)
    assert made.count(Outcome.NOT_RUN) == 0


def test_the_same_seed_gives_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurements, "QUICK", TINY)
    settings = {"publisher": "Cor-Split", "preset": "cor-split-33"}
    first, again = (measurements.run_scenario(Scale(quick=True), **settings) for _ in range(2))
    other = measurements.run_scenario(Scale(quick=True, seed=8), **settings)
    assert first == again != other


def test_a_full_run_has_the_sizes_of_the_paper() -> None:
    assert (measurements.FULL.part, measurements.FULL.queries, measurements.FULL.views) == (1, 10_000, None)


def test_the_history_of_releases_made_in_memory_is_what_was_published() -> None:
    data = census(people=500, rows=240, views=3, insert=0.1, delete=0.1, update=0.1, reinsert=0.05, seed=3)
    made = list(publish_all(data, measurements.PUBLISHERS["m-invariance"], 3))
    history = history_of_all(made)
    assert history.releases == 3
    assert [int(np.count_nonzero(history.release == i)) for i in range(3)] == [one.view.rows for one in made]
    assert np.diff(history.group_start).tolist() == [one.release.group_count for one in made]
    assert history.nobodys.sum() == sum(one.grouping.counterfeits for one in made)
    assert history.events is not None
    assert int(history.events.sensitive_updates[:, 1].sum()) > 0


def test_targets_are_those_in_all_releases_who_are_not_compromised() -> None:
    data = census(people=900, rows=600, views=3, insert=0.1, delete=0.1, update=0, reinsert=0, seed=3)
    history = history_of_all(publish_all(data, measurements.PUBLISHERS["m-invariance"], 3))
    known = np.zeros(history.people, dtype=np.bool_)
    first = measurements._targets(history, known)
    assert 600 - 2 * 60 <= first.sum() < 540
    known[np.flatnonzero(first)[:5]] = True
    assert measurements._targets(history, known).sum() == first.sum() - 5
    there = history.until(1)
    assert measurements._targets(there, np.zeros(there.people, dtype=np.bool_)).sum() == 600


def test_the_more_is_inferred_the_more_people_are_laid_open() -> None:
    data = census(people=900, rows=300, views=5, insert=0.1, delete=0.1, update=0, reinsert=0, seed=3)
    history = history_of_all(publish_all(data, measurements.PUBLISHERS["m-invariance"], 3))

    def found(known: BoolArray) -> list[float]:
        rows = measurements._attacked(history, known, "Cor-Split")
        return [float(row.get("compromised", row.get("breach", -1))) for row in rows]

    excluded, once, again, sets_alone = found(np.random.default_rng(1).random(history.people) < 0.5)
    assert 0.5 < excluded < 1
    assert 0 < sets_alone < once <= again
    assert found(np.zeros(history.people, dtype=np.bool_)) == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("check", "given", "verdict"),
    [
        (nowhere_above("a", "b", 1.1, 1.3), lines(a=[1.1, 2.0], b=[1.0, 2.0]), Outcome.HOLDS),
        (nowhere_above("a", "b", 1.1, 1.3), lines(a=[1.2, 1.0], b=[1.0, 2.0]), Outcome.SHAPE),
        (nowhere_above("a", "b", 1.1, 1.3), lines(a=[1.4, 1.0], b=[1.0, 2.0]), Outcome.FAILS),
        (between("a", "b", 0.05), lines(a=[0.1, 0.2], b=[0.12, 0.16]), Outcome.HOLDS),
        (between("a", "b", 0.05), lines(a=[0.1, 0.2], b=[0.2, 0.2]), Outcome.SHAPE),
        (between("a", "b", 0.05), lines(a=[0.1, 0.2], b=[0.3, 0.2]), Outcome.FAILS),
        (on_average("a", 1.0), lines(a=[0.0, 0.5, 1.5]), Outcome.HOLDS),
        (on_average("a", 1.0), lines(a=[0.0, 0.5, 0.5]), Outcome.SHAPE),
        (on_average("a", 1.0), lines(a=[0.0, 0.0, 1.0]), Outcome.FAILS),
    ],
)
def test_checks(check, given: Lines, verdict: Outcome) -> None:  # type: ignore[no-untyped-def]
    assert check(given).verdict is verdict


@pytest.mark.parametrize(
    ("two", "verdict"),
    [([0.2, 0.2], Outcome.HOLDS), ([0.05, 0.2], Outcome.SHAPE), ([0.05, 0.05], Outcome.FAILS)],
)
def test_the_least_degree_is_looked_for_after_every_number_of_releases(
    two: list[float], verdict: Outcome
) -> None:
    given = lines(**{"n = 1": [0.9, 0.9], "n = 2": two, "n = 3": [0.04, 0.04]})
    assert least_degree(3, (1, 2), 0.1)(given).verdict is verdict
