"""BangA's studies, tiny: every figure finds its lines, every claim gets a verdict."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from republish.metrics import Workload, true_counts
from republish.papers.banga import PAPER, answers, checks, data, granularity, joining, quality, times
from republish.papers.run import Reproduction, reproduce
from republish.papers.study import Lines, Outcome, Scale

TINY = Scale(quick=True)
NAMES = [
    "Table 3.4",
    "Section 3.7.2, time by block size",
    "Section 3.7.2, quality by block size",
    "Section 3.7.2, blocks joined otherwise",
    "Fig. 3.9, UCI Adult",
    "Fig. 3.9, generated adults",
    "Fig. 3.10, UCI Adult",
    "Fig. 3.10, generated adults",
    "Fig. 3.11, UCI Adult",
    "Fig. 3.11, generated adults",
    "Fig. 3.11, other pairings",
    "Fig. 3.12, customers even",
    "Fig. 3.12, customers in clusters",
    "Fig. 3.13, customers even",
    "Fig. 3.13, customers in clusters",
    "Section 3.6.2, time",
    "Section 3.6.2, quality",
    "Section 3.8.3, quality",
    "Section 3.8.3, smallest group",
]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "QUICK_SHARE", 500)
        patch.setattr(answers, "QUERIES", 20)
        return reproduce(PAPER, tmp_path_factory.mktemp("banga"), TINY, workers=1)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "QUICK_SHARE", 500)


def test_figures_are_those_of_the_thesis() -> None:
    assert [figure.name for figure in PAPER.figures] == NAMES


def test_every_claim_gets_a_verdict_without_uci_adult_its_own_do_not(tiny: Reproduction) -> None:
    for shown in tiny.shown:
        missing = shown.figure.needs == quality.NEEDS_ADULT
        for judged in shown.judged:
            assert (judged.finding.verdict is Outcome.NOT_RUN) == missing, (shown.figure.name, judged)


def test_no_cell_asks_for_uci_adult_where_it_is_not_given() -> None:
    asked = {cell.settings.get("table") for cell in PAPER.cells(TINY)}
    assert quality.UCI not in asked
    given = {cell.settings.get("table") for cell in PAPER.cells(Scale(adult=Path("somewhere")))}
    assert quality.UCI in given


def test_uci_adult_is_read_from_its_folder_and_from_its_file(tmp_path: Path) -> None:
    rows = "\n".join(
        f"{20 + i % 50}, {1000 * i}, {i % 16}, {'Sales' if i % 2 else 'Tech'}" for i in range(300)
    )
    file = tmp_path / "adult.csv"
    file.write_text(f"age, fnlwgt, education-num, occupation\n{rows}\n")
    for given in (tmp_path, file):
        found = quality.run_quality(Scale(adult=given), table=quality.UCI, method=data.RPLUS, k=100)
        assert 0 < found[0]["penalty"] < 1
    assert quality.run_quality(Scale(adult=file), table=quality.UCI, method=data.RPLUS, k=1000) == []


def test_only_times_are_timed() -> None:
    timed = {cell.study for cell in PAPER.cells(TINY) if cell.timed}
    assert timed == {"banga-times", "banga-blocks", "banga-cuts"}


@pytest.mark.usefixtures("few")
def test_sizes_are_those_of_the_thesis() -> None:
    full = Scale()
    assert data.rows_at(full, data.MILLION) == 1_000_000
    assert data.rows_at(full, data.VOTERS) == 54_803
    assert (data.adults(TINY).rows, len(data.adults(TINY).axes)) == (2000, 3)
    assert (data.voters(TINY).rows, len(data.voters(TINY).axes)) == (109, 3)
    wide = times.TABLES[times.WIDE](TINY)
    assert (wide.rows, len(wide.axes)) == (2000, 15)


@pytest.mark.usefixtures("few")
def test_a_growing_table_keeps_its_rows() -> None:
    half, whole = (data.customers(TINY, clustered=True, share=share) for share in (0.5, 1.0))
    assert (half.rows, whole.rows) == (1000, 2000)
    assert np.array_equal(half.points, whole.points[:, :1000])


@pytest.mark.usefixtures("few")
def test_cells_give_the_same_again() -> None:
    first, second = (granularity.run_granular(TINY, how=granularity.ONE_BANGA) for _ in range(2))
    assert first == second
    assert [row["k"] for row in first] == [5, 10, 20, 50, 100, 1000]


def test_the_closest_pair_is_merged_first_and_then_counts_as_one() -> None:
    """A row of four blocks with densities e, e ** 3, e ** 3.5 and 1: the middle ones merge, then e, then 1."""
    count, volume = np.array([1, 1, 1, 1]), np.exp([-1.0, -3.0, -3.5, 0.0])
    start, near = np.array([0, 1, 3, 5, 6]), np.array([1, 0, 2, 1, 3, 2])
    child, space = joining.closest_first(count, volume, start, near)
    assert child.tolist() == [[1, 2], [0, 4], [3, 5]]
    np.testing.assert_allclose(space[4:], np.cumsum(volume[[1, 0, 3]] + [volume[2], 0, 0]))


def test_clusters_without_neighbours_are_merged_last() -> None:
    none = np.zeros(4, dtype=np.int64)
    child, _ = joining.closest_first(np.array([1, 2, 3]), np.ones(3), none, none[:0])
    assert child.tolist() == [[0, 1], [2, 3]]


@pytest.mark.usefixtures("few")
def test_blocks_are_joined_to_groups_of_k_in_every_way() -> None:
    view = data.customers(TINY, clustered=True)
    for how in joining._JOINS:
        release = joining.joined(view, how, 20, 5)
        assert np.unique(release.group, return_counts=True)[1].min() >= 20


@pytest.mark.usefixtures("few")
def test_whole_groups_never_count_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "QUERIES", 20)
    for table in (answers.EVEN, answers.CLUSTERED):
        rows = answers.run_answers(TINY, table=table)
        assert all(row["error"] >= 0 for row in rows)
        points = [(row["method"], row["dimensions"]) for row in rows if row["kind"] == "point"]
        assert points == [(method, asked) for method in data.MAKERS for asked in range(1, 8)]


@pytest.mark.usefixtures("few")
def test_queries_are_put_together_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "QUERIES", 20)
    view = data.customers(TINY)
    together = true_counts(view, answers._all_queries(view, 3))
    assert len(together) == 2 * 7 * 20
    assert np.array_equal(together[40:60], true_counts(view, Workload.points(view, 20, 3, 3)))
    assert np.array_equal(together[-20:], true_counts(view, Workload.random(view, 20, 7, 0.05, 3)))


def lines(**found: list[float]) -> Lines:
    return Lines({name: ([10, 100, 1000][: len(y)], np.array(y)) for name, y in found.items()})


@pytest.mark.parametrize(
    ("check", "low", "high", "verdict"),
    [
        (checks.saves("low", "high", 100, 0.1), [1, 9, 1], [1, 10, 1], "holds"),
        (checks.saves("low", "high", 100, 0.1), [1, 9.5, 1], [1, 10, 1], "holds in shape"),
        (checks.saves("low", "high", 100, 0.1), [1, 10, 1], [1, 10, 1], "does not hold"),
        (checks.saves_above_least("low", "high", 100, 0.48), [0, 110, 0], [0, 120, 0], "holds"),
        (checks.saves_above_least("low", "high", 100, 0.48), [0, 119, 0], [0, 120, 0], "holds in shape"),
        (checks.saves_above_least("low", "high", 100, 0.48), [0, 121, 0], [0, 120, 0], "does not hold"),
        (checks.saves_above_least("low", "high", 100, 0.48), [0, 100, 0], [0, 100, 0], "does not hold"),
        (checks.gap_grows("low", "high"), [1, 1, 1], [1, 2, 3], "holds"),
        (checks.gap_grows("low", "high"), [1, 1, 1], [1, 3, 2], "holds in shape"),
        (checks.gap_grows("low", "high"), [1, 1, 1], [3, 2, 1], "does not hold"),
        (checks.gap_grows("low", "high"), [1], [3], "not run"),
        (checks.steady("low", 0.05), [1, 1.05, 1.02], [], "holds"),
        (checks.steady("low", 0.05), [1, 1.15, 1], [], "holds in shape"),
        (checks.steady("low", 0.05), [1, 1.2, 1], [], "does not hold"),
        (checks.steadier("low", "high"), [5, 6, 7], [1, 4, 7], "holds"),
        (checks.steadier("low", "high"), [50, 60, 70], [1, 4, 7], "holds in shape"),
        (checks.steadier("low", "high"), [1, 40, 70], [4, 5, 6], "does not hold"),
        (checks.takes_times("low", 100, 10, 3.05), [1, 3, 0], [], "holds"),
        (checks.takes_times("low", 100, 10, 3.05), [1, 4, 0], [], "holds in shape"),
        (checks.takes_times("low", 100, 10, 3.05), [1, 5, 0], [], "does not hold"),
        (checks.ratio_falls("low", "high", 100, 10), [8, 7], [10, 10], "holds"),
        (checks.ratio_falls("low", "high", 100, 10), [7, 8], [10, 10], "does not hold"),
        (checks.only("low", "high", 1000), [1, 1, 1], [1, 1], "holds"),
        (checks.only("low", "high", 1000), [1, 1, 1], [1, 1, 1], "does not hold"),
        (checks.only("low", "high", 1000), [1, 1], [1, 1], "not run"),
    ],
)
def test_judging(check: checks.Check, low: list[float], high: list[float], verdict: str) -> None:
    assert check(lines(low=low, high=high)).verdict.value == verdict


def test_a_tree_that_runs_out_of_memory_has_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def out(view: object) -> object:
        if view.rows > small.rows:  # type: ignore[attr-defined]
            raise MemoryError
        return None

    monkeypatch.setattr(data, "QUICK_SHARE", 500)
    small = data.voters(TINY)
    monkeypatch.setitem(times._INDEXES, data.RPLUS, out)
    methods = [row["method"] for row in times.run_times(TINY, table=times.WIDE)]
    assert methods == [data.BANGA, data.PENALTY]
