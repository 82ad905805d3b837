"""The studies of BayFrame, at a tiny size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from republish.inference import Compromised
from republish.microdata import Microdata
from republish.papers import Outcome, Scale, paper_named, reproduce
from republish.papers.bayframe import checks, data, frameworks, studies
from republish.papers.checks import grows
from republish.papers.study import Cell, Lines

PAPER = paper_named("bayframe")
FIGURES = (
    ["3a", "3b", "4a", "4b", "5a", "5b", "6", "7a", "7b", "8", "9a", "9b", "10", "11a", "11b"],
    ["k", "J", "beta", "CR"],
)


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(studies.SIZES, "quick", (24, 80))
    monkeypatch.setattr(studies, "RANGES", {name: values[:2] for name, values in studies.RANGES.items()})
    yield
    data.bkseq.cache_clear()
    data.changing_adult.cache_clear()


def adult(folder: Path, rows: int = 700) -> Path:
    rng = np.random.default_rng(3)
    level = rng.integers(1, 7, rows)
    table = pl.DataFrame(
        {
            "age": rng.integers(17, 91, rows),
            "education": [f"level {i}" for i in level],
            "education-num": level,
            "sex": rng.choice(["Male", "Female"], rows),
            "occupation": rng.choice(["Sales", "Craft", "Tech", "?", "Farming", "Clerk"], rows),
        }
    )
    table.write_csv(folder / "adult.csv")
    return folder


def test_figures_are_those_of_the_paper() -> None:
    names = [figure.name for figure in PAPER.figures]
    assert names == [f"Fig. {n}" for n in FIGURES[0]] + [f"Table 12, {n}" for n in FIGURES[1]]
    assert all(figure.claims for figure in PAPER.figures)


def test_every_figure_finds_its_lines_and_every_claim_a_verdict(tmp_path: Path) -> None:
    made = reproduce(PAPER, tmp_path / "out", Scale(quick=True, adult=adult(tmp_path)), workers=1)
    for shown in made.shown:
        assert shown.picture is not None and shown.picture.is_file(), shown.figure.name
        for judged in shown.judged:
            assert judged.finding.verdict is not Outcome.NOT_RUN, (shown.figure.name, judged.finding.number)


def test_without_adult_its_cells_are_left_out() -> None:
    told = [figure.name for figure in PAPER.figures if figure.needs]
    assert told == ["Fig. 6", "Fig. 8"]
    assert not [cell for cell in PAPER.cells(Scale()) if cell.settings.get("data") == "adult"]
    assert len(PAPER.cells(Scale(adult=Path("x")))) == len(PAPER.cells(Scale())) + 4


def rows_of(cell: Cell) -> list[dict[str, object]]:
    return cell.run(Scale(quick=True), **cell.settings)


def test_a_cell_gives_the_same_rows_again() -> None:
    cell = Cell(
        "cascading", studies.run_cascading, {"data": "bkseq", "steps": 1, "sigma": 0.1, "cascade": "prior"}
    )
    first = rows_of(cell)
    data.bkseq.cache_clear()
    assert rows_of(cell) == first
    assert [row["release"] for row in first] == list(range(1, 25))


def test_penalty_is_full_and_linkage_none_where_nothing_is_published() -> None:
    rows = rows_of(Cell("told", studies.run_told, {"framework": "JS-reduce", "steps": 1, "cascade": "prior"}))
    empty = [row for row in rows if row["suppressed"] == frameworks.PER]
    assert empty
    assert all(row["gcp"] == frameworks.PER and row["rl"] == 0 and "gain" not in row for row in empty)


def test_gain_is_that_of_equation_8() -> None:
    series = data.bkseq(1, 6, 5)
    view = series.views[0]
    view = replace(view, codes=np.array([0, 0, 1, 1, 2, 2], dtype=view.codes.dtype))
    grouping = frameworks.Grouping(np.array([0, 0, 0, 1, 1, -1], dtype=np.int32))
    p = np.zeros((6, len(view.values)))
    p[np.arange(6), view.codes] = [0.9, 0.5, 0.1, 0.5, 1.0, 1.0]
    found = frameworks._gains(view, grouping, p, np.array([True, False, True, True, True, True]), "")
    each = [abs(0.9 - 2 / 3) * 3, abs(0.5 - 2 / 3) * 3, abs(0.1 - 1 / 3) * 1.5, 0.0, 1.0]
    assert found["gain"] == pytest.approx(np.mean(each))
    assert found["others"] == pytest.approx(np.mean([each[0], *each[2:]]))


def test_a_record_is_compromised_with_chance_sigma_and_known_by_its_true_value() -> None:
    view = data.bkseq(1, 4000, 5).views[0]
    told = frameworks.compromised(0.1, 0.9, 5)
    known = told(view, 1).compromised
    assert isinstance(known, Compromised)
    assert 320 < len(known.row) < 480
    assert (known.code == view.codes[known.row]).all() and (known.p == 0.9).all()
    other = told(view, 2).compromised
    assert other is not None and set(other.row) != set(known.row)
    assert frameworks.compromised(0.0, 0.9, 5)(view, 1) is view


def people(view: Microdata) -> dict[tuple[int, int], int]:
    assert view.people is not None
    return {tuple(who): int(code) for who, code in zip(view.people.tolist(), view.codes, strict=True)}


def test_a_tenth_of_adult_leaves_comes_and_changes(tmp_path: Path) -> None:
    series = data.changing_adult(adult(tmp_path), 3, 100, 1)
    before, now = (people(view) for view in series.views[:2])
    assert len(before) == len(now) == 100
    stay = before.keys() & now.keys()
    assert len(stay) == 90
    assert 0 < sum(before[who] != now[who] for who in stay) <= 10
    sequential = series.knowledge.sequential
    assert sequential is not None
    np.testing.assert_allclose(sequential, 1 / len(series.views[0].values))


def test_too_small_an_adult_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="need 4300 rows of Adult"):
        data.changing_adult(adult(tmp_path), 34, 1000, 1)


def lines(**points: list[tuple[float, float]]) -> Lines:
    return Lines({name: ([x for x, _ in at], np.array([y for _, y in at])) for name, at in points.items()})


def test_curves_of_linkage_are_compared_at_equal_linkage() -> None:
    drawn = lines(
        cheap=[(10.0 - y, y) for y in range(11)],
        dear=[(20.0 - 2 * y, y) for y in range(11)],
        far=[(1.0, 99.0), (2.0, 90.0)],
    )
    assert checks.cheaper("cheap", "dear")(drawn).verdict is Outcome.HOLDS
    assert checks.cheaper("dear", "cheap")(drawn).verdict is Outcome.FAILS
    assert checks.alike_maps("cheap", "dear", 5.0)(drawn).verdict is Outcome.HOLDS  # by 0 to 10
    assert checks.alike_maps("cheap", "dear", 2.6)(drawn).verdict is Outcome.SHAPE
    assert checks.alike_maps("cheap", "dear", 2.0)(drawn).verdict is Outcome.FAILS
    assert checks.cheaper("cheap", "far")(drawn).verdict is Outcome.OPEN  # no level in common
    assert checks.narrower("far", "dear")(drawn).verdict is Outcome.HOLDS
    assert checks.narrower("cheap", "dear")(drawn).verdict is Outcome.SHAPE


def test_curves_without_releases_between_their_ends_are_not_compared() -> None:
    ends = lines(one=[(300.0, 400.0), (4000.0, 0.0)], other=[(300.0, 400.0), (4000.0, 0.0)])
    found = checks.alike_maps("one", "other", 400.0)(ends)
    assert found.verdict is Outcome.OPEN and "2 of 10 levels" in found.number


def test_releases_of_equal_linkage_count_by_their_mean_penalty() -> None:
    drawn = lines(
        twice=[(penalty - y, y) for y in range(11) for penalty in (5.0, 15.0)],
        once=[(10.0 - y, y) for y in range(11)],
    )
    assert checks.alike_maps("twice", "once", 1e-9)(drawn).verdict is Outcome.HOLDS


def test_few_releases_do_not_decide_who_is_lower() -> None:
    drawn = lines(
        low=[(i, 0.1) for i in range(8)], high=[(i, 0.2) for i in range(8)], few=[(0, 0.3), (1, 0.3)]
    )
    assert checks.lower("low", "high")(drawn).verdict is Outcome.HOLDS
    assert checks.lower("low", "few")(drawn).verdict is Outcome.OPEN
    assert checks.lower("few", "low")(drawn).verdict is Outcome.OPEN
    assert checks.alike("low", "few", 1.0)(drawn).verdict is Outcome.OPEN
    assert checks.alike("low", "few", 1.0, least=2)(drawn).verdict is Outcome.HOLDS
    assert checks.wider_gap(("high", "low"), ("few", "low"))(drawn).verdict is Outcome.OPEN
    assert checks.wider_gap(("high", "low"), ("low", "low"))(drawn).verdict is Outcome.HOLDS
    assert checks.lower("low", "few", 2)(drawn).verdict is Outcome.HOLDS


def test_stretches_of_releases() -> None:
    drawn = lines(
        up=[(1, 0.1), (2, 0.2), (3, 0.1), (4, 0.0)],
        low=[(1, 0.0), (2, 0.1), (3, 0.2), (4, 0.2)],
        gone=[(1, 0.1)],
    )
    below = checks.during(checks.alike("up", "low", 0.15, 2), 1, 2)
    assert below(drawn).verdict is Outcome.HOLDS
    assert checks.ends_lower("up", 2)(drawn).verdict is Outcome.HOLDS
    assert checks.ends_lower("low", 2)(drawn).verdict is Outcome.FAILS
    assert checks.ends_lower("gone", 2)(drawn).verdict is Outcome.OPEN
    assert checks.during(grows("gone"), 1, 4)(drawn).verdict is Outcome.OPEN
    assert checks.during(grows("gone"), 7, 9)(drawn).verdict is Outcome.NOT_RUN
    assert checks.drops_then_stays(["up"], 0.1)(drawn).verdict is Outcome.FAILS  # never below the first value
    assert checks.wider_gap(("up", "low"), ("low", "low"), 4)(drawn).verdict is Outcome.SHAPE
