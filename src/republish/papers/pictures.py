"""The picture of a figure: lines, bars or a map of points, told apart by colour, style and marker."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from republish.arrays import FloatArray
from republish.papers.study import Figure, Lines, Value
from republish.show.colours import MANY_COLOURS, MARKERS, STYLES
from republish.show.plots import load_pyplot

_COLOURS = 64  # of a picture
_MANY = 25  # points of a line that are all marked
_FEW = 15  # bars that all have room for their numbers
_PLACES = [(side, up) for up in (9, -9, 0, 20, -20, 31, 42, 53) for side in (1, -1)]  # of names beside points


def draw(figure: Figure, lines: Lines, path: Path, quick: bool) -> None:
    """Write the picture, 800 points wide; a quick run says so on it."""
    pyplot = load_pyplot()
    picture, panel = pyplot.subplots(figsize=(8, 5), layout="constrained")
    if figure.front:
        _map(panel, lines)
    elif figure.bars:
        _bars(panel, lines)
    else:
        _lines(panel, figure, lines)
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
    if figure.log == "symlog":
        panel.set_yscale("symlog", linthresh=1.0)
        panel.set_ylim(bottom=-0.1)
    elif "y" in figure.log:
        panel.set_yscale("log")
        panel.margins(y=0.1)
    elif all((values >= 0).all() for _, values in lines.points.values()):
        highest = max(float(values.max()) for _, values in lines.points.values())
        panel.set_ylim(-0.03 * highest if figure.front else 0.0, 1.08 * highest or 1.0)
    if len(lines.points) > 1:
        columns = 1 + (len(lines.points) > 3) + (len(lines.points) > 6)
        picture.legend(
            *panel.get_legend_handles_labels(), loc="outside lower center", ncols=columns, fontsize=10
        )
    if figure.front:
        _name(picture, panel, _spots(lines))
    _save(picture, path)
    pyplot.close(picture)


def _save(picture: Any, path: Path) -> None:
    """Write a picture in few colours, which takes a third of the room."""
    from PIL import Image  # matplotlib brings it

    drawn = io.BytesIO()
    picture.savefig(drawn, dpi=100, format="png")
    Image.open(drawn).convert("RGB").quantize(_COLOURS).save(path, optimize=True)


def _lines(panel: Any, figure: Figure, lines: Lines) -> None:
    joined = not figure.points
    over_time = _releases(lines) if joined and figure.x == "release" else []
    for place, name in enumerate(lines.points):
        x, y = _broken(lines, name, over_time) if over_time else lines.points[name]
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


def _releases(lines: Lines) -> list[Value]:
    """The releases of a figure; also those that no line has, unless a release is left out as a rule."""
    found = sorted({int(x) for xs, _ in lines.points.values() for x in xs})
    if len(found) > 1 and np.median(np.diff(found)) == 1:
        return list(range(found[0], found[-1] + 1))
    return list(found)


def _broken(lines: Lines, name: str, releases: list[Value]) -> tuple[list[Value], FloatArray]:
    """A line that breaks where a release has no point."""
    known = lines.places(name)
    return releases, np.array([known.get(release, np.nan) for release in releases])


def _bars(panel: Any, lines: Lines) -> None:
    places = list(dict.fromkeys(x for xs, _ in lines.points.values() for x in xs))
    width = 0.8 / max(1, len(lines.points))
    shown = sum(len(xs) for xs, _ in lines.points.values())
    for i, (name, (xs, y)) in enumerate(lines.points.items()):
        at = np.array([places.index(x) for x in xs]) - 0.4 + width * (i + 0.5)
        bars = panel.bar(
            at,
            y,
            width,
            label=name,
            color=MANY_COLOURS[i % len(MANY_COLOURS)],
            hatch=("", "//", "..", "xx")[i % 4],
            edgecolor="white",
        )
        if shown <= _FEW:
            panel.bar_label(bars, fmt="%.3g", fontsize=9 if shown <= 12 else 6.5, padding=1)
    panel.set_xticks(range(len(places)), [str(x) for x in places])


def _map(panel: Any, lines: Lines) -> None:
    """Points in the colour of their publisher, the first word of their name, and the front."""
    points = _spots(lines)
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
    best = front([(x, y) for _, x, y in points])
    panel.plot(
        *zip(*best, strict=True), color="0.5", linestyle=":", zorder=0, label="front", drawstyle="steps-post"
    )
    panel.margins(0.12)


def _spots(lines: Lines) -> list[tuple[str, float, float]]:
    return [(name, float(x[0]), float(y[0])) for name, (x, y) in lines.points.items()]


def _name(picture: Any, panel: Any, points: list[tuple[str, float, float]]) -> None:
    """Write the setting beside each point, where it covers no other name and no point, if there is such a place."""
    picture.draw_without_rendering()  # fixes the places of points, which the names must not move
    renderer, frame = picture.canvas.get_renderer(), panel.get_window_extent()
    box_at = frame.frozen().from_bounds
    taken = [box_at(x - 9, y - 9, 18, 18) for x, y in panel.transData.transform([p[1:] for p in points])]
    for name, x, y in sorted(points, key=lambda point: (point[1], point[2])):
        text = panel.annotate(
            name.partition(" ")[2], (x, y), xytext=(0, 0), textcoords="offset points", fontsize=10
        )
        text.set_in_layout(False)
        tried: list[tuple[int, int, int, int, Any]] = []
        for side, up in _PLACES:
            text.set(position=(9 * side, up), ha="left" if side > 0 else "right", va="center")
            box = text.get_window_extent(renderer).expanded(1.05, 0.9)
            outside = box.x0 < frame.x0 or box.x1 > frame.x1 or box.y0 < frame.y0 or box.y1 > frame.y1
            tried.append(
                (outside + sum(bool(box.overlaps(other)) for other in taken), len(tried), side, up, box)
            )
            if not tried[-1][0]:
                break
        _, _, side, up, box = min(tried, key=lambda one: one[:2])
        text.set(position=(9 * side, up), ha="left" if side > 0 else "right")
        taken.append(box)


def front(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points of which no other is as low in both and lower in one, from left to right."""
    best: list[tuple[float, float]] = []
    for x, y in sorted(set(points)):
        if not best or y < best[-1][1]:
            best.append((x, y))
    return best
