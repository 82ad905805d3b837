"""A tiny run of the tau-safety studies, and the checks of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from republish.datasets import census
from republish.metrics import global_certainty_penalty
from republish.papers import Outcome, Scale, paper_named, reproduce
from republish.papers.releases import PublishedView, publish_all
from republish.papers.study import Lines
from republish.papers.tau_safety import cells, measurements
from republish.papers.tau_safety.checks import (
    alike,
    higher,
    levels_off,
    mostly_none,
    multiplies,
    never_fewer,
    some_but_below,
)
from republish.release.release import Release
from republish.release.two_tables import TwoTableRelease

TINY = measurements.TauSafetyScale(part=50, views=6, tenth=3, queries=50, repetitions=2)


def lines(**of: list[float]) -> Lines:
    """Lines of these values at 1, 2, ..."""
    return Lines({name: (list(range(1, len(y) + 1)), np.array(y)) for name, y in of.items()})


def test_every_figure_of_the_thesis_is_computed_drawn_and_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measurements, "QUICK", TINY)
    made = reproduce(paper_named("tau-safety"), tmp_path, Scale(quick=True), workers=1)
    names = [shown.figure.name for shown in made.shown]
    vulnerable = [f"Section 4.6.2, {what}" for what in ("update rate", "time", "m")]
    every = vulnerable + [f"Fig. 4.{number}" for number in range(6, 18)]
    counterfeits = ("Fig. 4.13", "Fig. 4.14", "Fig. 4.15")
    proposed = [
        f"Section 5.3, {what}"
        for what in ("penalty", "counts", "counts with occupation", "update rate", "time")
    ]
    both = ("", ", the thesis's columns")
    assert names == [
        f"{name}{data}"
        for name in every
        for data in (*both, *([", scarce values"] if name in counterfeits else []))
    ] + [f"{name}{data}" for name in proposed[:-1] for data in both] + [
        "Section 5.3, counterfeits, scarce values",
        *(f"{proposed[-1]}{data}" for data in both),
    ]
    assert all(shown.picture is not None and shown.judged for shown in made.shown)
    assert made.count(Outcome.NOT_RUN) == 0


def test_only_the_costs_are_timed_and_no_series_is_asked_for_twice() -> None:
    asked = cells(Scale())
    assert {cell.study for cell in asked if cell.timed} == {"cost"}
    series = [tuple(cell.settings.values()) for cell in asked if cell.study == "series"]
    points = len(measurements.MS) + len(measurements.RATES) - 1
    assert len(series) == len(set(series)) == 6 * points + 2 * (2 * points + 1)


def test_a_full_run_has_the_protocol_of_the_thesis() -> None:
    assert (measurements.FULL.part, measurements.FULL.views, measurements.FULL.tenth) == (1, 20, 10)
    assert measurements.FULL.queries == 1_000


def test_what_is_measured_is_the_same_for_the_same_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurements, "QUICK", TINY)
    settings = {"publisher": "tau-safety", "m": 4, "rate": 5_000, "data": "thesis"}
    first, again = (measurements.run_series(Scale(quick=True), **settings) for _ in range(2))
    assert first == again
    vulnerable = [row["vulnerable"] for row in first if "vulnerable" in row]
    assert vulnerable[0] == 0 < vulnerable[-1]
    assert vulnerable == sorted(vulnerable)


def test_what_section_5_3_proposes_is_published_as_it_says() -> None:
    data = census(people=900, rows=600, views=2, insert=0.05, delete=0.05, update=0.05, reinsert=0.01, seed=3)

    def last(name: str) -> PublishedView:
        *_, found = publish_all(data, measurements._publisher(name, 4), 3, measurements._people_k(name, 4))
        return found

    plain, bang, angel = last(measurements.TAU), last(measurements.BANGA), last(measurements.ANGEL)
    assert isinstance(plain.made.published, Release) and isinstance(bang.made.published, Release)
    assert isinstance(angel.made.published, TwoTableRelease)
    assert angel.release.rows == angel.view.rows  # people have no counterfeits among them
    assert angel.release.sizes.min() >= 4 and angel.made.cuts.cuts > 0
    assert plain.grouping.group.tolist() != bang.grouping.group.tolist()
    assert global_certainty_penalty(angel.release) < global_certainty_penalty(plain.release)


def test_critical_absences_are_the_values_of_lasting_groups_that_are_fewer_now() -> None:
    data = census(people=900, rows=300, views=2, insert=0.02, delete=0.3, update=0, reinsert=0, seed=3)
    before, now = publish_all(data, measurements._publisher("tau-safety", 4), 3)
    there = {tuple(words) for words in now.view.people.tolist()}
    codes: dict[int, int] = {}
    stayed = {
        int(group)
        for words, group in zip(before.view.people.tolist(), before.grouping.group, strict=True)
        if tuple(words) in there
    }
    for group, code in zip(before.grouping.group, before.view.codes, strict=True):
        if int(group) in stayed:
            codes[int(code)] = codes.get(int(code), 0) + 1
    for code in now.view.codes:
        codes[int(code)] = codes.get(int(code), 0) - 1
    missing = sum(count for count in codes.values() if count > 0)
    assert missing > 0
    assert measurements._critical_absences(before, now) == pytest.approx(
        100 * missing / len(now.release.group)
    )


@pytest.mark.parametrize(
    ("check", "given", "verdict"),
    [
        (higher("a", "b", 1.5), lines(a=[3.0, 1.5], b=[1.0, 1.0]), Outcome.HOLDS),
        (higher("a", "b", 1.5), lines(a=[3.0, 1.1], b=[1.0, 1.0]), Outcome.SHAPE),
        (higher("a", "b", 1.5), lines(a=[3.0, 0.9], b=[1.0, 1.0]), Outcome.FAILS),
        (alike("a", "b", 0.1), lines(a=[0.95, 1.05], b=[1.0, 1.0]), Outcome.HOLDS),
        (alike("a", "b", 0.1), lines(a=[0.75, 1.0], b=[1.0, 1.0]), Outcome.SHAPE),
        (alike("a", "b", 0.1), lines(a=[0.5, 1.0], b=[1.0, 1.0]), Outcome.FAILS),
        (never_fewer("a", "b"), lines(a=[0.0, 1.0], b=[0.0, 0.0]), Outcome.HOLDS),
        (never_fewer("a", "b"), lines(a=[0.0, 0.0], b=[0.0, 0.0]), Outcome.OPEN),
        (never_fewer("a", "b"), lines(a=[0.0, 1.0], b=[0.0, 1.0]), Outcome.SHAPE),
        (some_but_below("a", "b"), lines(a=[0.0, 0.0], b=[0.0, 1.0]), Outcome.OPEN),
        (some_but_below("a", "b"), lines(a=[0.0, 1.0], b=[0.0, 1.0]), Outcome.HOLDS),
        (some_but_below("a", "b"), lines(a=[0.0, 3.0], b=[0.0, 1.0]), Outcome.FAILS),
        (never_fewer("a", "b"), lines(a=[5.0, 0.0], b=[0.0, 1.0]), Outcome.FAILS),
        (multiplies("a", 3.0), lines(a=[1.0, 3.0]), Outcome.HOLDS),
        (multiplies("a", 3.0), lines(a=[1.0, 2.0]), Outcome.SHAPE),
        (multiplies("a", 3.0), lines(a=[1.0, 1.0]), Outcome.FAILS),
        (multiplies("a", 0.9), lines(a=[1.0, 0.8]), Outcome.HOLDS),
        (multiplies("a", 0.9), lines(a=[1.0, 0.95]), Outcome.SHAPE),
        (multiplies("a", 0.9), lines(a=[1.0, 1.1]), Outcome.FAILS),
        (levels_off("a"), lines(a=[1.0, 2.0, 2.5]), Outcome.HOLDS),
        (levels_off("a"), lines(a=[1.0, 2.0, 4.0]), Outcome.SHAPE),
        (levels_off("a"), lines(a=[1.0, 2.0, 0.5]), Outcome.FAILS),
        (mostly_none("a"), lines(a=[0.0, 0.0, 1.0]), Outcome.HOLDS),
        (mostly_none("a"), lines(a=[1.0, 0.0, 1.0]), Outcome.SHAPE),
        (mostly_none("a"), lines(a=[0.0, 1.0, 1.0]), Outcome.FAILS),
    ],
)
def test_checks(check, given: Lines, verdict: Outcome) -> None:  # type: ignore[no-untyped-def]
    assert check(given).verdict is verdict
