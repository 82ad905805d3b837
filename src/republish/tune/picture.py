"""The map of a search: usefulness lost against risk, every point that was tried and the frontier."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from republish.errors import PolicyError
from republish.show.colours import MANY_COLOURS, MARKERS
from republish.show.html import page, picture, table
from republish.show.plots import load_pyplot, save
from republish.tune.frontier import LIMITS, Tuned

_ENDINGS = (".png", ".svg", ".pdf")


def require_drawable(path: Path) -> None:
    """Refuse, before anything is computed, a picture that could not be written."""
    load_pyplot()
    if path.suffix.lower() not in _ENDINGS or not path.absolute().parent.is_dir():
        raise PolicyError(
            f"a picture goes to a file that ends in {', '.join(_ENDINGS)}, in a folder that is there; choose another"
        )


def plot_frontier(tuned: Tuned, path: Path) -> None:
    """Draw risk against loss, with the limit, the frontier and the chosen point."""
    save(frontier_figure(tuned), path)


def frontier_figure(tuned: Tuned) -> Any:
    """The figure that `plot_frontier` writes."""
    figure, panel = load_pyplot().subplots(figsize=(8, 5.2), layout="constrained")
    feasible = [point for point in tuned.points if point.feasible]
    for place, name in enumerate(dict.fromkeys(point.publisher for point in feasible)):
        figures = [point.figures for point in feasible if point.publisher == name]
        panel.scatter(
            *zip(*figures, strict=True),
            label=name,
            color=MANY_COLOURS[place % len(MANY_COLOURS)],
            marker=MARKERS[place % len(MARKERS)],
            s=28,
            alpha=0.8,
        )
    front = [tuned.points[i].figures for i in tuned.frontier]
    if front:
        across, up = zip(*front, strict=True)
        panel.step(across, up, where="post", color="0.3", linewidth=1, label="frontier", zorder=0)
    if tuned.best is not None:
        panel.plot(*tuned.best.figures, "o", color="black", fillstyle="none", markersize=13, label="chosen")
    panel.axhline(tuned.limit, color="0.5", linestyle="--", linewidth=1, label=f"limit {tuned.limit:g}")
    panel.set(
        xlabel=tuned.measure,
        ylabel=f"risk: {LIMITS[next(iter(tuned.limits))]}",
        title=f"{len(feasible)} of {len(tuned.points)} points publish the views",
    )
    panel.set_xlim(left=0)
    panel.set_ylim(bottom=min(0.0, *(risk for _, risk in front)) if front else 0.0)
    panel.legend(fontsize=8)
    return figure


def tuned_html(tuned: Tuned) -> str:
    """The frontier of a search, the point that is chosen, and the map."""
    columns = [
        "publisher",
        "settings",
        tuned.measure,
        "risk",
        "suppressed",
        "counterfeits",
        "distinguished",
        "chosen",
    ]
    rows = [
        (
            point.publisher,
            point.settings,
            *point.figures,
            point.suppressed,
            point.counterfeits,
            "" if point.told_apart is None else point.told_apart,
            i == tuned.chosen,
        )
        for i, point in ((i, tuned.points[i]) for i in tuned.frontier)
    ]
    limit = ", ".join(f"{name}={value:g}" for name, value in tuned.limits.items())
    says = f"Frontier of {len(tuned.points):,} points, {limit}"
    return page([table(columns, rows, says), picture(lambda file: plot_frontier(tuned, file), says)])
