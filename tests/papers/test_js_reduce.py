"""The studies of JS-reduce at a tiny size: every figure finds its lines, every claim a verdict."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from republish.grouping import Grouping
from republish.papers import Outcome, Reproduction, Scale, paper_named, reproduce
from republish.papers.checks import Check
from republish.papers.js_reduce import protocol
from republish.papers.js_reduce.checks import (
    close,
    descends,
    exceeds_by,
    first_at_most,
    rises_little,
    spared,
    with_enough,
)
from republish.papers.js_reduce.protocol import DK, IE, PAPERS, SPM, SeriesSize, knowledge_of, scored, series
from republish.papers.study import Lines

TINY = SeriesSize(views=9, rows=200, queries=50)
NAMES = [
    "Fig. 3 l-diversity",
    "Fig. 3 t-closeness",
    "Fig. 3 (B,t)-privacy",
    "Fig. 4a",
    "Fig. 4b",
    "Fig. 4c",
    "Fig. 4c ours",
    "Fig. 4 exact",
    "Fig. 5a",
    "Fig. 5b",
    "Fig. 5c",
    "Fig. 5 ours",
    "Fig. 6",
    "Fig. 7",
    "Fig. 8a",
    "Fig. 8b",
    "Suppressed rows",
    "Why the walk stalls",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """All studies, tiny."""
    folder: Path = tmp_path_factory.mktemp("js-reduce")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(protocol.SIZES, "quick", TINY)
        return reproduce(paper_named("js-reduce"), folder, Scale(quick=True), workers=1)


def test_the_figures_are_those_of_the_paper_and_ours() -> None:
    assert [figure.name for figure in paper_named("js-reduce").figures] == NAMES


def test_every_figure_is_drawn_and_every_claim_judged(made: Reproduction) -> None:
    for shown in made.shown:
        assert shown.picture is not None, shown.figure.name
        assert shown.judged, shown.figure.name
        for one in shown.judged:
            assert one.finding.verdict is not Outcome.NOT_RUN, (shown.figure.name, one.claim.says)


def test_the_first_release_gives_little_and_the_series_much(made: Reproduction) -> None:
    first = made.shown[0].judged
    assert [one.finding.verdict for one in first] == [Outcome.HOLDS, Outcome.HOLDS]


def test_knowledge_of_two_steps_is_knowledge_in_full() -> None:
    known = series(TINY, 7).knowledge
    assert known.steps(2) is known and known.steps(3) is known


def test_mined_knowledge_has_the_known_prior_and_one_chain_for_all_classes() -> None:
    known, mined = series(TINY, 7).knowledge, knowledge_of(SPM, TINY, 7)
    assert mined.classes == known.classes
    np.testing.assert_array_equal(mined.prior, known.prior)
    table = mined.sequential
    assert table is not None and table.any()
    np.testing.assert_allclose(table, np.repeat(table[:1], len(table), axis=0), rtol=1e-12)


def test_extracted_knowledge_counts_everybody_together() -> None:
    views = series(TINY, 7)
    source = knowledge_of(IE, TINY, 7)
    view = views.views[0]
    codes = np.array([3, 3, 3, 5])
    none, before = np.full(4, -1), np.array([2, 2, 2, 2])
    counts = source.start().add(np.array([0, 1, 2, 2]), [before, none], codes)
    found = source.knowledge(counts, view.values)
    assert found.sequential is not None
    after = found.sequential[:, -1, 2]  # no value before the last one, which is 2
    assert np.allclose(after[:, 3], 0.75) and np.allclose(after[:, 5], 0.25)


def test_gain_and_confidence_are_those_of_the_definition() -> None:
    view = series(TINY, 7).views[0]
    rng = np.random.default_rng(3)
    group = rng.integers(-1, 6, view.rows)
    posterior = rng.dirichlet(np.ones(len(view.values)), view.rows)
    gains, sure = [], []
    for row in range(view.rows):
        if group[row] < 0:
            continue
        there = view.codes[group == group[row]]
        share = np.mean(there == view.codes[row])
        p = posterior[row, view.codes[row]]
        gains.append((p - share) / (1 - share) if share < 1 else 0.0)
        sure.append(p)
    assert scored(view, Grouping(group), posterior) == pytest.approx((np.mean(gains), np.mean(sure)))


@pytest.mark.parametrize(
    ("check", "verdict"),
    [
        (first_at_most("a", 0.1), Outcome.HOLDS),
        (first_at_most("b", 0.4), Outcome.SHAPE),
        (first_at_most("b", 0.1), Outcome.FAILS),
        (exceeds_by("a", 2, 0.3), Outcome.HOLDS),
        (exceeds_by("a", 2, 0.6), Outcome.SHAPE),
        (exceeds_by("a", 2, 0.9), Outcome.FAILS),
        (descends("b"), Outcome.HOLDS),
        (descends("c"), Outcome.SHAPE),
        (descends("a"), Outcome.FAILS),
        (close("a", "b", 0.5), Outcome.HOLDS),
        (close("a", "b", 0.3), Outcome.SHAPE),
        (close("a", "b", 0.1), Outcome.FAILS),
        (rises_little("b", 0.1), Outcome.HOLDS),
        (rises_little("a", 0.5), Outcome.SHAPE),
        (rises_little("a", 0.1), Outcome.FAILS),
        (spared("d", 6, 0.5), Outcome.HOLDS),
        (spared("d", 7, 0.5), Outcome.SHAPE),
        (spared("d", 7, 0.1), Outcome.FAILS),
        (spared("d", 5, 0.5), Outcome.OPEN),
        (with_enough("d", descends("a")), Outcome.FAILS),
        (with_enough("a", descends("a")), Outcome.OPEN),
    ],
)
def test_checks(check: Check, verdict: Outcome) -> None:
    values = {"a": [0.0, 0.5, 0.8], "b": [0.5, 0.4, 0.2], "c": [0.5, 0.4, 0.48]}
    long = ([*range(1, 8)], np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.8]))
    lines = Lines({name: ([1, 2, 3], np.array(y)) for name, y in values.items()} | {"d": long})
    assert check(lines).verdict is verdict


def test_a_release_without_rows_is_no_attack() -> None:
    class Nothing:
        reasoning = None

        def publish(self, view, memory, rng):  # type: ignore[no-untyped-def]
            return Grouping(np.full(view.rows, -1))

        def remember(self, view, grouping, memory):  # type: ignore[no-untyped-def]
            return memory

    rows = protocol.published(series(TINY, 7), Nothing(), protocol.adversaries((DK,), TINY, 7), 20)  # type: ignore[arg-type]
    assert {row["what"] for row in rows} == {"release", "penalty", "error"}
    assert all(row["left_out"] == 100 for row in rows if row["what"] == "release")
    assert PAPERS in {str(cell.settings["technique"]) for cell in paper_named("js-reduce").cells(Scale())}
