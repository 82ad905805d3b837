"""The picture of a release whatever its form; in two tables, people on the left and batches on the right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from republish.release.release import Release
from republish.release.two_tables import AnyRelease, TwoTableRelease
from republish.show.colours import COLOURS, MANY_COLOURS
from republish.show.plots import (
    draw_boxes,
    load_pyplot,
    mean_penalty,
    plot_groups,
    save,
    sides,
    two_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from republish.release.cells import Cells

_MOST_BATCHES = 3
_MOST_VALUES = 6
_LONGEST = 24


def plot_release(release: AnyRelease, path: Path, axes: str | None = None) -> None:
    """Draw a release whatever its form: the cells of its groups, in two tables batches beside them."""
    if isinstance(release, Release):
        plot_groups(release, path, axes)
    else:
        plot_two_tables(release, path, axes)


def plot_two_tables(release: TwoTableRelease, path: Path, axes: str | None = None) -> None:
    """Draw the form: on the left the cells of people over two quasi-identifiers, on the right a few batches.

    One group of people is framed, and the batches are those that most people of it are in.
    """
    save(two_tables_figure(release, axes), path)


def two_tables_figure(release: TwoTableRelease, axes: str | None = None) -> Figure:
    """The figure that `plot_two_tables` writes."""
    people = release.people
    across, up = two_axes(people, axes)
    figure: Figure
    figure, (left, right) = load_pyplot().subplots(
        1, 2, figsize=(12, 5.2), layout="constrained", width_ratios=(3, 2)
    )
    draw_boxes(left, people, across, up)
    left.set_xlabel(across.axis.column.name)
    left.set_ylabel(up.axis.column.name)
    left.set_title(
        f"people: {people.rows:,} in {people.group_count:,} groups that look alike, "
        f"penalty {mean_penalty(people):.3f}",
        fontsize=10,
    )
    framed = _framed(people, across, up)
    if framed is not None:
        _frame(left, across, up, framed)
    _draw_batches(right, release, framed)
    return figure


def _framed(people: Release, across: Cells, up: Cells) -> int | None:
    """The group of people that is drawn as an example: one of usual size near the middle, with cells on both axes."""
    said = np.flatnonzero(across.said & up.said)
    if not len(said):
        return None
    far = np.zeros(len(said))
    for cells in (across, up):
        middle = (cells.low[said] + cells.high[said]) / 2
        far += np.abs(middle - np.median(middle)) / max(np.ptp(middle), 1e-9)
    return int(said[np.argmin(far)])


def _frame(panel: Axes, across: Cells, up: Cells, group: int) -> None:
    one = np.array([group])
    (x,), (width,) = sides(across, one)
    (y,), (height,) = sides(up, one)
    frame = load_pyplot().Rectangle((x, y), width, height, fill=False, edgecolor=COLOURS[0], linewidth=2.2)
    panel.add_patch(frame)


def _draw_batches(panel: Axes, release: TwoTableRelease, framed: int | None) -> None:
    """The shares of values of a few batches as bars: those of the people of the framed group, then the largest."""
    counts = release.batches()
    name = counts.columns[1]
    inside = np.zeros(release.values.group_count + 1, dtype=np.int64)
    if framed is not None:
        inside += np.bincount(release.batch[release.people.group == framed + 1], minlength=len(inside))
    order = np.lexsort((-release.values.sizes, -inside[1:]))[:_MOST_BATCHES] + 1
    first, ticks, names = 0.0, [], []
    for colour, batch in zip(MANY_COLOURS[1:], order.tolist(), strict=False):
        own = counts.filter(counts["batch"] == batch).sort("count", descending=True)
        shares = own["count"].to_numpy()[:_MOST_VALUES] / own["count"].sum()
        bars = first + 1.0 + np.arange(len(shares))
        panel.barh(bars, shares, color=colour)
        says = f"batch {batch}: {own['count'].sum():,} values, {own.height} different"
        says += f", {inside[batch]} of those in the frame" if inside[batch] else ""
        panel.text(0, first, says, fontsize=8.5, va="center")
        ticks += bars.tolist()
        names += [_short(value) for value in own[name].to_list()[: len(bars)]]
        first = bars[-1] + 1.4
    panel.set_yticks(ticks, names, fontsize=8)
    panel.set_ylim(first - 0.4, -0.9)
    panel.spines[["top", "right"]].set_visible(False)
    panel.xaxis.set_major_formatter("{x:.0%}")
    panel.set_xlabel(f"share of each {name} in its batch")
    panel.set_title(f"values: {len(order)} of {release.values.group_count:,} batches", fontsize=10)


def _short(value: object) -> str:
    text = "missing" if value is None else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
