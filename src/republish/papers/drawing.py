"""The picture of a figure: lines, bars or a map of points, told apart by colour, style and marker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from republish.papers.study import Figure, Lines
from republish.plots import MANY_COLOURS, MARKERS, STYLES, load_pyplot

_MANY = 25  # points of a line that are all marked


def draw(figure: Figure, lines: Lines, path: Path, quick: bool) -> None:
    """Write the picture, 800 points wide; a quick run says so on it."""
    pyplot = load_pyplot()
    picture, panel = pyplot.subplots(figsize=(8, 5), layout="constrained")
    if figure.front:
        _map(panel, lines)
    elif figure.bars:
        _bars(panel, lines)
    else:
        _lines(panel, lines, joined=not figure.points)
    panel.set_xlabel(figure.labels[0], fontsize=12)
    panel.set_ylabel(figure.labels[1], fontsize=12)
    size = "\n(quick run: smaller views)" if quick else ""
    panel.set_title(f"{figure.name}: {figure.title}{size}", fontsize=12, wrap=True)
    panel.tick_params(labelsize=11)
    panel.grid(color="0.9")
    panel.set_axisbelow(True)
    if "x" in figure.log:
        panel.set_xscale("log")
    elif not figure.bars and all(isinstance(x, int) for xs, _ in lines.points.values() for x in xs):
        panel.xaxis.get_major_locator().set_params(integer=True)
    if "y" in figure.log:
        panel.set_yscale("log")
    elif all((values >= 0).all() for _, values in lines.points.values()):
        highest = max(float(values.max()) for _, values in lines.points.values())
        panel.set_ylim(-0.03 * highest if figure.front else 0.0, 1.08 * highest or 1.0)
    if len(lines.points) > 1:
        columns = 1 + (len(lines.points) > 3) + (len(lines.points) > 6)
        picture.legend(
            *panel.get_legend_handles_labels(), loc="outside lower center", ncols=columns, fontsize=10
        )
    picture.savefig(path, dpi=100)
    pyplot.close(picture)


def _lines(panel: Any, lines: Lines, joined: bool) -> None:
    for place, (name, (x, y)) in enumerate(lines.points.items()):
        panel.plot(
            x,
            y,
            label=name,
            color=MANY_COLOURS[place % len(MANY_COLOURS)],
            linestyle=STYLES[place % len(STYLES)] if joined else "none",
            marker=MARKERS[place % len(MARKERS)],
            markevery=max(1, len(x) // _MANY),
            markersize=max(4.0, 9.0 - 1.5 * place),  # of lines that coincide all are seen
        )


def _bars(panel: Any, lines: Lines) -> None:
    places = list(dict.fromkeys(x for xs, _ in lines.points.values() for x in xs))
    width = 0.8 / max(1, len(lines.points))
    for i, (name, (xs, y)) in enumerate(lines.points.items()):
        at = np.array([places.index(x) for x in xs]) - 0.4 + width * (i + 0.5)
        panel.bar(
            at,
            y,
            width,
            label=name,
            color=MANY_COLOURS[i % len(MANY_COLOURS)],
            hatch=("", "//", "..", "xx")[i % 4],
            edgecolor="white",
        )
    panel.set_xticks(range(len(places)), [str(x) for x in places])


def _map(panel: Any, lines: Lines) -> None:
    """Points in the colour of their publisher, the first word of their name, with the rest of it beside them."""
    points = [(name, float(x[0]), float(y[0])) for name, (x, y) in lines.points.items()]
    publishers = list(dict.fromkeys(name.split()[0] for name, _, _ in points))
    for place, publisher in enumerate(publishers):
        theirs = [(x, y) for name, x, y in points if name.split()[0] == publisher]
        panel.plot(
            *zip(*theirs, strict=True),
            linestyle="none",
            label=publisher,
            color=MANY_COLOURS[place % len(MANY_COLOURS)],
            marker=MARKERS[place % len(MARKERS)],
            markersize=9,
        )
    _named(panel, points)
    best = front([(x, y) for _, x, y in points])
    panel.plot(
        *zip(*best, strict=True), color="0.5", linestyle=":", zorder=0, label="front", drawstyle="steps-post"
    )
    panel.margins(0.12)


def _named(panel: Any, points: list[tuple[str, float, float]]) -> None:
    """Write the setting beside each point, above or below it where another name is in the way."""
    across = max(x for _, x, _ in points) - min(x for _, x, _ in points) or 1.0
    up = max(y for _, _, y in points) or 1.0
    taken: list[tuple[float, float, float]] = []
    for name, x, y in sorted(points, key=lambda point: (point[1], point[2])):
        setting = name.partition(" ")[2]
        left, low, wide = 500 * x / across, 270 * y / up, 7.0 * len(setting)
        shift = next(
            (
                shift
                for shift in (5, -12, 18, 31, -25, 44)
                if all(
                    left + wide < other or other_end < left or abs(low + shift - height) > 12
                    for other, other_end, height in taken
                )
            ),
            57,
        )
        taken.append((left, left + wide, low + shift))
        panel.annotate(setting, (x, y), textcoords="offset points", xytext=(7, shift), fontsize=10)


def front(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points of which no other is as low in both and lower in one, from left to right."""
    best: list[tuple[float, float]] = []
    for x, y in sorted(set(points)):
        if not best or y < best[-1][1]:
            best.append((x, y))
    return best
