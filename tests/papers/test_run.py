"""Studies are run, kept, taken up again, drawn and written down."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from republish.errors import PolicyError
from republish.papers import NAMES, Paper, Scale, paper_named, reproduce
from republish.papers.cells import code, code_of, digest, files_of, run_cells, seconds_of
from republish.papers.checks import at_most, grows, reaches
from republish.papers.markdown import CLAIMS, PAGE, summary
from republish.papers.pictures import _broken, _name, _releases, draw, front
from republish.papers.reasons import BEFORE, OWN, Earlier, Reason, before, notes, reason_of, reasons
from republish.papers.study import Cell, Claim, Figure, Finding, Lines, Outcome, Row
from republish.show.plots import load_pyplot

CALLS: list[float] = []


def squares(scale: Scale, *, x: float, line: str) -> list[Row]:
    CALLS.append(x)
    return [{"y": x * x * (1 if line == "a" else 2)}]


def slow(scale: Scale, *, x: int, log: str) -> list[Row]:
    with Path(log).open("a") as file:
        file.write(f"{x}\n")
    time.sleep(0.4 if x else 0.0)
    return [{"y": x}]


def study(names: str = "ab") -> Paper:
    claims = (
        Claim("It grows.", "step by step", grows("a")),
        Claim("It stays small.", "at most 1", at_most("a", 1.0)),
    )
    figure = Figure("Fig. 1a", "squares | of numbers", "s", "x", "y", "line", ("x (m)", "y (m2)"), claims)
    adult = Figure(
        "Fig. 2",
        "adults",
        "adult",
        "x",
        "y",
        "line",
        ("x", "y"),
        (Claim("Yes.", "always", reaches("a", 0)),),
        needs="UCI Adult",
    )
    return Paper(
        "made-up",
        "A made-up paper",
        "Nobody (2000).",
        "No data.",
        lambda _: [Cell("s", squares, {"x": x, "line": name}) for name in names for x in (3, 1, 2)],
        (figure, adult),
    )


def test_a_study_is_computed_drawn_judged_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(reasons(), ("made-up", "Fig. 1a"), Reason("data", "squares grow"))
    monkeypatch.setitem(reasons(), ("made-up", "Fig. 2"), Reason("ours", "nothing to explain"))
    monkeypatch.setitem(notes(), ("made-up", "Fig. 2"), "always to be said")
    made = reproduce(study(), tmp_path, Scale(quick=True), workers=1)
    verdicts = [one.finding.verdict for shown in made.shown for one in shown.judged]
    assert verdicts == [Outcome.HOLDS, Outcome.FAILS, Outcome.NOT_RUN]
    assert made.count(Outcome.FAILS) == 1
    with (tmp_path / "fig-1a.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["line"], row["x"], row["y"]) for row in rows if row["line"] == "b"] == [
        ("b", "1", "2.0"),
        ("b", "2", "8.0"),
        ("b", "3", "18.0"),
    ]
    page = (tmp_path / "index.html").read_text()
    assert page.count("data:image/png;base64,") == 1
    assert "does not hold" in page and "squares grow" in page and "Not run: UCI Adult" in page
    assert "nothing to explain" not in page
    assert "Note: always to be said" in page and "Where nothing else is said, in shape means" in page
    assert "src=" not in page.replace('src="data:', "") and "http" not in page
    table = (tmp_path / "claims.md").read_text()
    assert "| Fig. 1a | It stays small. | at most 1 | a at most 9; limit 1 | does not hold |" in table
    text = (tmp_path / "README.md").read_text()
    assert "2 claims: 1 holds, 1 does not hold." in text
    assert "- *does not hold*: It stays small." in text and "](fig-1a.png)" in text
    assert "Why, of the full run (the data): squares grow" in text
    assert "Note: always to be said" in text
    assert f"code {code()}" in text
    assert "seed 7" in text and "quick run" in text
    assert json.loads(json.dumps(made.as_dict()))["claims"][1]["verdict"] == "does not hold"


@pytest.mark.parametrize("scale, other", [(Scale(), False), (Scale(seed=8), True), (Scale(quick=True), True)])
def test_reasons_are_of_the_full_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scale: Scale, other: bool
) -> None:
    monkeypatch.setitem(reasons(), ("made-up", "Fig. 1a"), Reason("data", "squares grow"))
    reproduce(study("a"), tmp_path, scale, workers=1)
    assert ("Why, of the full run (the data): squares grow" in (tmp_path / "index.html").read_text()) is other


def test_what_cannot_be_judged_is_counted_marked_and_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(reasons(), ("made-up", "Fig. 1a"), Reason("paper", "nothing is left"))
    claim = Claim("It is so.", "if any", lambda _: Finding(Outcome.OPEN, "none to compare"))
    paper = study("a")
    paper = replace(paper, figures=(replace(paper.figures[0], claims=(claim,)),))
    made = reproduce(paper, tmp_path, workers=1)
    assert made.count(Outcome.OPEN) == 1
    page = (tmp_path / "index.html").read_text()
    assert 'class="verdict open">? cannot be judged' in page and "nothing is left" in page
    assert "1 claim: 1 cannot be judged" in (tmp_path / "README.md").read_text()


def test_a_claim_that_fails_against_a_better_rival_has_another_baseline(tmp_path: Path) -> None:
    paper = study("a")
    small, grown = paper.figures[0].claims[::-1]
    claims = (replace(small, baseline="ours is faster"), replace(grown, baseline="ours is faster"))
    made = reproduce(replace(paper, figures=(replace(paper.figures[0], claims=claims),)), tmp_path, workers=1)
    assert [one.finding.verdict for one in made.shown[0].judged] == [Outcome.OTHER, Outcome.HOLDS]
    assert "Other baseline: ours is faster" in (tmp_path / "README.md").read_text()
    assert f"| A made-up paper | the paper | {made.date}, full | 2 | 1 | 0 | 0 | 1 | 0 | 0 |  |" in summary(
        [made]
    )


def test_the_index_counts_verdicts_before_and_now_and_whom_failures_are_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(before(), ("made-up", False), Earlier([0, 1, 1, 0, 0, 0], ", of another version"))
    made = reproduce(study("a"), tmp_path, workers=1)
    assert "| 3 | 1 | 0 | 1 | 0 | 0 | 1 | not known 1 | [page](made-up/README.md)" in summary([made])
    monkeypatch.setitem(reasons(), ("made-up", "Fig. 1a"), Reason("ours", "squares grow"))
    said = summary([made])
    row = f"| A made-up paper | the paper | {BEFORE}, of another version | 2 | 0 | 1 | 1 | 0 | 0 | 0 |  |  |"
    assert row in said
    assert "| our own work 1 | [page](made-up/README.md), [all claims](made-up/claims.md) |" in said
    assert "in shape means" in said


def test_our_own_claims_are_counted_and_explained_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(reasons(), ("made-up", "Fig. 1a"), Reason("paper", "squares grow"))
    monkeypatch.setitem(reasons(), ("made-up", f"Fig. 1a{OWN}"), Reason("ours", "we expected less"))
    paper = study("a")
    grown, small = paper.figures[0].claims
    paper = replace(paper, figures=(replace(paper.figures[0], claims=(grown, replace(small, own=True))),))
    made = reproduce(paper, tmp_path, workers=1)
    said = summary([made])
    assert (
        f"| A made-up paper | the paper | {made.date}, full | 1 | 1 | 0 | 0 | 0 | 0 | 0 |  | [page]" in said
    )
    assert (
        f"| A made-up paper | our own | {made.date}, full | 1 | 0 | 0 | 1 | 0 | 0 | 0 | our own work 1 |"
        in said
    )
    page = (tmp_path / "README.md").read_text()
    assert "1 claim: 1 holds; 1 of our own: 1 does not hold." in page
    assert "Why (our own work): we expected less" in page and "squares grow" not in page


def test_the_pages_of_two_hospital_series_name_each_other() -> None:
    for name in ("js-reduce", "bayframe"):
        assert paper_named(name).counterpart == f"{name}-fitted"
        assert paper_named(f"{name}-fitted").counterpart == name
        assert NAMES.index(f"{name}-fitted") == NAMES.index(name) + 1


def test_what_is_said_of_several_figures_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paper = study("a")
    twin = replace(paper.figures[0], name="Fig. 1b")
    for name in ("Fig. 1a", "Fig. 1b"):
        monkeypatch.setitem(notes(), ("made-up", name), "the same of both")
    reproduce(replace(paper, figures=(paper.figures[0], twin)), tmp_path, workers=1)
    text = (tmp_path / "README.md").read_text()
    assert text.count("the same of both") == 1 and "As at Fig. 1a." in text


def test_time_and_code_are_those_of_the_cells_of_this_run(tmp_path: Path) -> None:
    cells = [Cell("s", squares, {"x": x, "line": "a"}) for x in (1, 2)]
    run_cells(cells, Scale(), tmp_path, 1, lambda *_: None)
    files = files_of(cells, Scale(), tmp_path)
    for seconds, file in enumerate(files, 1):
        file.write_text(json.dumps(json.loads(file.read_text()) | {"seconds": seconds}))
    (tmp_path / "s-other.json").write_text(json.dumps({"rows": [], "seconds": 100}))
    assert seconds_of(files) == 3
    assert seconds_of([*files, files[0]]) == 3
    assert code_of(files) == f"code {code()}" and len(code()) == 12
    kept = json.loads(files[0].read_text())
    files[0].write_text(json.dumps(kept | {"code": "0" * 12}))
    assert code_of(files) == "code of several versions"
    for file in files:
        file.write_text(json.dumps({key: value for key, value in kept.items() if key != "code"}))
    assert code_of(files) == "code not recorded"


def test_a_figure_of_points_keeps_every_row() -> None:
    rows = pl.DataFrame({"line": ["a", "b", "a", "a"], "x": [4, 1, 4, 2], "y": [1.0, 5.0, 3.0, 7.0]})
    mean = Figure("Fig. 1", "t", "s", "x", "y", "line", ("x", "y"), ())
    assert mean.lines(mean.table({"s": rows})).points["a"][0] == [2, 4]
    points = replace(mean, points=True)
    assert points.table({"s": rows}).columns == ["line", "x", "y"]
    drawn = points.lines(points.table({"s": rows}))
    assert [(name, x, list(y)) for name, (x, y) in drawn.points.items()] == [
        ("a", [2, 4, 4], [7, 1, 3]),
        ("b", [1], [5]),
    ]


def test_a_line_breaks_where_a_release_has_no_point() -> None:
    drawn = Lines({"a": ([1, 2, 5], np.array([1.0, 2.0, 5.0])), "b": ([1, 2, 3], np.ones(3))})
    releases = _releases(drawn)
    assert releases == [1, 2, 3, 4, 5]
    x, y = _broken(drawn, "a", releases)
    assert x == releases and np.isnan(y).tolist() == [False, False, True, True, False]
    assert _releases(Lines({"a": ([1, 2, 4, 6], np.ones(4))})) == [1, 2, 4, 6]  # every other one, as a rule


@pytest.mark.parametrize(
    "how", [{}, {"log": "symlog", "points": True}, {"bars": True}, {"bars": True, "log": "y"}]
)
def test_pictures_are_drawn_of_every_kind(tmp_path: Path, how: dict[str, object]) -> None:
    figure = replace(Figure("Fig. 1", "t", "s", "release", "y", "line", ("x", "y"), ()), **how)
    drawn = Lines({"a": ([1, 2, 2], np.array([0.0, 2.0, 300.0])), "b": ([4], np.ones(1))})
    draw(figure, drawn, tmp_path / "one.png", quick=False)
    assert (tmp_path / "one.png").stat().st_size > 1000


def test_names_on_a_map_do_not_run_together() -> None:
    pyplot = load_pyplot()
    picture, panel = pyplot.subplots(figsize=(8, 5), layout="constrained")
    points = [("a m=3", 0.34, 0.0), ("b m=3", 0.39, 0.0), ("c m=6", 0.56, 0.0), ("d m=6 n=3", 0.56, 0.0)]
    points += [("e k=5 l=3", 0.08, 77.0), ("f size=90", 0.86, 0.0)]
    panel.plot([x for _, x, _ in points], [y for _, _, y in points], "o")
    _name(picture, panel, points)
    boxes = [text.get_window_extent() for text in panel.texts]
    assert sorted(text.get_text() for text in panel.texts) == sorted(name[2:] for name, _, _ in points)
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])
    frame = panel.get_window_extent()
    assert all(box.x0 >= frame.x0 and box.x1 <= frame.x1 for box in boxes)
    pyplot.close(picture)


def test_finished_cells_are_not_computed_again(tmp_path: Path) -> None:
    reproduce(study("a"), tmp_path, workers=1)
    CALLS.clear()
    reproduce(study("a"), tmp_path, workers=1)
    assert not CALLS
    reproduce(study("ab"), tmp_path, workers=1)
    assert len(CALLS) == 3
    CALLS.clear()
    reproduce(study("ab"), tmp_path, Scale(quick=True), workers=1)
    assert len(CALLS) == 6


def test_a_cell_is_known_by_all_that_it_depends_on() -> None:
    cell = Cell("s", squares, {"x": 1, "line": "a"})
    others = [
        digest(Cell("s", squares, {"x": 2, "line": "a"}), Scale()),
        digest(Cell("s", slow, {"x": 1, "line": "a"}), Scale()),
        digest(cell, Scale(quick=True)),
        digest(cell, Scale(seed=8)),
    ]
    assert len({digest(cell, Scale()), *others}) == 5
    assert digest(cell, Scale()) == digest(Cell("other", squares, {"line": "a", "x": 1}), Scale())


def test_cells_run_in_several_processes(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    cells = [Cell("s", squares, {"x": x, "line": "a"}, timed=x == 2) for x in range(4)]
    studies = run_cells(cells, Scale(), tmp_path, 2, lambda *now: told.append(now))
    assert studies["s"]["y"].to_list() == [0, 1, 4, 9]
    assert told[0] == (0, 4) and told[-1] == (4, 4)
    assert not list(tmp_path.glob("*.part"))


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    """Killed in the middle, the next run computes what was not finished and nothing else."""
    log = tmp_path / "log"
    code = (
        "from pathlib import Path\nfrom republish.papers import Scale\nfrom republish.papers.cells import run_cells\n"
        "from republish.papers.study import Cell\nfrom tests.papers.test_run import slow\n"
        f"cells = [Cell('s', slow, {{'x': x, 'log': {str(log)!r}}}) for x in range(6)]\n"
        f"run_cells(cells, Scale(), Path({str(tmp_path / 'cells')!r}), 1, lambda *_: None)\n"
    )
    root = Path(__file__).parents[2]
    where = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    first = subprocess.Popen([sys.executable, "-c", code], env=where, cwd=root)
    while not log.exists() or len(log.read_text().split()) < 3:
        assert first.poll() is None
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.wait()
    before = log.read_text().split()
    kept = len(list((tmp_path / "cells").glob("*.json")))
    assert 2 <= kept < 6
    subprocess.run([sys.executable, "-c", code], env=where, cwd=root, check=True)
    assert len(log.read_text().split()) == len(before) + 6 - kept
    assert len(list((tmp_path / "cells").glob("*.json"))) == 6


def test_a_failing_cell_loses_nothing(tmp_path: Path) -> None:
    cells = [Cell("s", squares, {"x": 1, "line": "a"}), Cell("s", squares, {"x": 1, "nothing": "a"})]
    with pytest.raises(TypeError):
        run_cells(cells, Scale(), tmp_path, 1, lambda *_: None)
    assert len(list(tmp_path.glob("*.json"))) == 1


def test_the_front_is_what_nothing_betters() -> None:
    assert front([(1, 9), (2, 9), (2, 5), (3, 6), (4, 1), (4, 0)]) == [(1, 9), (2, 5), (4, 0)]


def test_every_paper_is_there_and_an_unknown_one_is_refused() -> None:
    for name in NAMES:
        paper = paper_named(name)
        assert paper.name == name
        assert all(figure.claims for figure in paper.figures)
        assert len({figure.file for figure in paper.figures}) == len(paper.figures)
    with pytest.raises(PolicyError, match="js-reduce"):
        paper_named("nothing")


def test_reasons_are_given_for_figures_that_exist() -> None:
    figures = {(name, figure.name) for name in NAMES for figure in paper_named(name).figures}
    assert {(name, figure.removesuffix(OWN)) for name, figure in reasons()} <= figures
    assert notes().keys() <= figures and notes()
    assert not any("{" in said for said in [*map(str, reasons().values()), *notes().values()])


RESULTS = Path(__file__).parents[2] / "docs" / "results"
COMMITTED = [name for name in NAMES if (RESULTS / name).is_dir()]
MOST_OF_OURS, MOST_WORDS = 5, 2_000


def failing() -> list[tuple[str, str, bool]]:
    """The paper and the figure of every claim that does not hold in the committed run, and whether it is our own."""
    own = {
        (name, figure.name, claim.says): claim.own
        for name in COMMITTED
        for figure in paper_named(name).figures
        for claim in figure.claims
    }
    found = []
    for name in COMMITTED:
        for line in (RESULTS / name / CLAIMS).read_text(encoding="utf-8").splitlines():
            if line.endswith("| does not hold |"):
                figure, says = (cell.strip() for cell in line.split("|")[1:3])
                found.append((name, figure, own[name, figure, says]))
    return found


def test_whatever_does_not_hold_in_the_committed_run_has_its_reason() -> None:
    assert failing()
    why = {place: reason_of(*place) for place in failing()}
    assert all(why.values())
    ours = [place for place in failing() if not place[2] and getattr(why[place], "of", "") == "ours"]
    assert len(ours) <= MOST_OF_OURS


@pytest.mark.parametrize("name", COMMITTED)
def test_the_committed_page_of_a_paper_is_short_and_shows_pictures_that_are_there(name: str) -> None:
    text = (RESULTS / name / PAGE).read_text(encoding="utf-8")
    assert len(text.split()) <= MOST_WORDS
    shown = re.findall(r"!\[[^]]*\]\(([^)]+)\)", text)
    assert all((RESULTS / name / picture).is_file() for picture in shown)
