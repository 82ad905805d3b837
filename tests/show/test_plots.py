"""Pictures of Cor-Split's analysis: the curves are the functions, the rings what n-Choose takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from republish import Number, PolicyError, Schema, breach_probability, read_view
from republish.publishers.banga import BangA
from republish.publishers.breach import n_choose
from republish.release.release import Release, build_release
from republish.secret import Secret

pyplot = pytest.importorskip("matplotlib.pyplot")

from republish.show.plots import breach_figure, plot_breach, plot_regions, regions_figure  # noqa: E402


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    pyplot.close("all")  # whatever another test left open
    yield
    pyplot.close("all")


def curves(panel: Any) -> dict[str, Any]:
    return {line.get_label(): line for line in panel.get_lines()}


def test_a_picture_is_written_and_closed(tmp_path: Path) -> None:
    plot_breach(0.04, 6, tmp_path / "breach.png")
    assert (tmp_path / "breach.png").read_bytes().startswith(b"\x89PNG")
    assert pyplot.get_fignums() == []


def test_the_left_curves_are_the_probability_of_a_breach() -> None:
    whole, _ = breach_figure(0.04, 6, 24, 0.1).axes
    found = curves(whole)
    assert list(found) == ["n = 1", "n = 2", "n = 3", "n = 4", "what n-Choose takes", "allowed: h = 0.1"]
    for n in (1, 2, 3, 4):
        expected = breach_probability(0.04, np.arange(1, 25), 6, n).probability
        assert found[f"n = {n}"].get_ydata() == pytest.approx(expected)
    assert set(found["allowed: h = 0.1"].get_ydata()) == {0.1}


def test_the_right_curves_are_the_two_parts() -> None:
    _, parts = breach_figure(0.04, 6, 24, 0.1).axes
    *by_history, by_compromised = parts.get_lines()
    for n, line in enumerate(by_history, start=1):
        expected = breach_probability(0.04, np.arange(1, 25), 6, n).historical_part
        assert line.get_ydata() == pytest.approx(expected)
    assert by_compromised.get_ydata() == pytest.approx(1 - 0.96 ** np.arange(1, 25))


def test_rings_mark_what_n_choose_takes() -> None:
    figure = breach_figure(0.04, 6, 24, 0.1)
    rings = curves(figure.axes[0])["what n-Choose takes"]
    taken = [
        float(breach_probability(0.04, r, 6, n_choose(0.04, r, 6, 0.1)).probability) for r in range(1, 25)
    ]
    assert rings.get_ydata() == pytest.approx(taken)
    assert max(rings.get_ydata()) < 0.1
    assert (
        figure.get_suptitle()
        == "p = 0.04, m = 6. n-Choose: n = 1 up to L = 4, n = 2 up to L = 22, n = 3 up to L = 24"
    )


def test_where_no_degree_is_enough_there_is_no_ring() -> None:
    figure = breach_figure(0.1, 8, 40, 0.05)
    assert max(curves(figure.axes[0])["what n-Choose takes"].get_xdata()) == 10
    assert figure.get_suptitle().endswith("n = 4 up to L = 10, then none")
    assert breach_figure(0.9, 2, 3, 0.05).get_suptitle().endswith("n-Choose: none")


def test_a_degree_above_four_is_drawn_where_it_is_taken() -> None:
    m, p, releases = 12, 0.25, 9
    h = float(breach_probability(p, releases, m, 5).probability) * 1.000001
    assert n_choose(p, releases, m, h) > 4
    assert "n = 5" in curves(breach_figure(p, m, releases, h).axes[0])


@pytest.mark.parametrize(("p", "m", "releases"), [(0.0, 6, 24), (1.0, 2, 24), (0.04, 2, 1)])
def test_the_ends_of_the_ranges_can_be_drawn(tmp_path: Path, p: float, m: int, releases: int) -> None:
    plot_breach(p, m, tmp_path / "breach.png", L=releases)
    assert (tmp_path / "breach.png").exists()


@pytest.mark.parametrize(
    "wrong", [{"p": 1.5}, {"m": 1}, {"L": 0}, {"L": 2.5}, {"h": 0.0}, {"h": 1.5}], ids=str
)
def test_parameters_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(PolicyError):
        breach_figure(**{"p": 0.04, "m": 6, "L": 24, "h": 0.1, **wrong})  # type: ignore[arg-type]


def in_squares(k: int) -> Release:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.integers(0, 64, 300), "y": rng.integers(0, 64, 300) // 3})
    view = read_view(frame, Schema(None, [Number("x"), Number("y")]))
    grouping = BangA(k, compact=False).publish(view, None, rng)
    return build_release(view, grouping, Secret.from_text("a secret for tests only"), 1)[0]


def test_regions_are_drawn_from_the_outermost_to_the_innermost(tmp_path: Path) -> None:
    release, clustered = in_squares(5), in_squares(20)
    plot_regions(release, tmp_path / "regions.png", clustered)
    assert (tmp_path / "regions.png").read_bytes().startswith(b"\x89PNG")
    panel = regions_figure(release, axes="y,x").axes[0]
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("y", "x")
    boxes = panel.collections[0].get_paths()
    assert len(boxes) == release.group_count
    drawn = [tuple(box.get_extents().extents.tolist()) for box in boxes]
    up, across = release.cells
    expected = [
        (across.low[g] - 0.5, up.low[g] - 0.5, across.high[g] + 0.5, up.high[g] + 0.5)
        for g in np.argsort(release.level, kind="stable")
    ]
    assert drawn == expected


def test_shades_of_regions_are_of_blocks_which_fill_the_plane() -> None:
    release = in_squares(5)
    shades = regions_figure(release).axes[0].collections[0].get_array()
    sizes = release.sizes[np.argsort(release.level, kind="stable")]
    assert float(np.sum(sizes / np.asarray(shades))) == pytest.approx(64 * 22)


def test_boxes_are_no_nested_regions(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="a release with levels"):
        plot_regions(replace(in_squares(5), level=None), tmp_path / "regions.png")


def test_two_tables_are_drawn_with_the_shares_of_their_batches(tmp_path: Path) -> None:
    from republish.show.two_tables import plot_release, two_tables_figure
    from two_tables import make

    series = make(tmp_path / "s", 1)
    release = series.release(1)
    assert not isinstance(release, Release)
    cells, batches = two_tables_figure(release, "age,weight").axes[:2]
    assert cells.get_title().startswith("people: 60 in 8 groups")
    assert batches.get_title() == "values: 2 of 2 batches"
    assert [round(bar.get_width(), 3) for bar in batches.patches] == [0.333] * 6
    plot_release(release, tmp_path / "two.png")
    assert (tmp_path / "two.png").read_bytes().startswith(b"\x89PNG")
    series.ledger.close()
