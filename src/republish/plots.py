"""Pictures of releases (extra `plots`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from republish.errors import PolicyError
from republish.microdata import INTERVAL
from republish.release import Release

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from republish.cells import Cells
    from republish.types import FloatArray

_MOST_GROUPS = 20_000


def plot_groups(release: Release, path: Path, axes: str | None = None) -> None:
    """Draw the cells of all groups over two quasi-identifiers; darker means more rows a unit of area."""
    pyplot = _pyplot()
    across, up = _two_axes(release, axes)
    figure, panel = pyplot.subplots(figsize=(8, 5.2), layout="constrained")
    _draw_boxes(panel, release, across, up)
    panel.set_xlabel(across.axis.column.name)
    panel.set_ylabel(up.axis.column.name)
    panel.set_title(
        f"{release.group_count:,} groups of {release.rows:,} rows, certainty penalty "
        f"{float(np.average(release.penalties(), weights=release.sizes)) if release.rows else 0:.3f}",
        fontsize=11,
    )
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _pyplot() -> Any:
    try:
        import matplotlib as mpl
    except ImportError:
        raise PolicyError(
            "pictures need matplotlib; install it with `pip install 'republish[plots]'`"
        ) from None
    mpl.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _two_axes(release: Release, names: str | None) -> tuple[Cells, Cells]:
    by_name = {cells.axis.column.name: cells for cells in release.cells}
    if names is None:
        ranked = sorted(release.cells, key=lambda cells: (cells.axis.kind_code != INTERVAL, -_spread(cells)))
        wanted = [cells.axis.column.name for cells in ranked[:2]]
    else:
        wanted = [name.strip() for name in names.split(",")]
    if len(wanted) != 2 or any(name not in by_name for name in wanted):
        raise PolicyError(
            f"a picture needs two quasi-identifiers, such as age,weight; there are {', '.join(by_name)}"
        )
    return by_name[wanted[0]], by_name[wanted[1]]


def _spread(cells: Cells) -> float:
    """Number of different lower bounds: what has many makes a telling axis."""
    return float(len(np.unique(cells.low[cells.said])))


def _draw_boxes(panel: Axes, release: Release, across: Cells, up: Cells) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.colors import LogNorm
    from matplotlib.patches import Rectangle

    said = np.flatnonzero(across.said & up.said)[:_MOST_GROUPS]
    left, width = _sides(across, said)
    bottom, height = _sides(up, said)
    density = release.sizes[said] / (width * height)
    boxes = [Rectangle((x, y), w, h) for x, y, w, h in zip(left, bottom, width, height, strict=True)]
    order = np.argsort(density)  # the densest on top, where boxes overlap
    collection = PatchCollection(
        [boxes[i] for i in order], cmap="cividis_r", edgecolor="white", linewidth=0.4
    )
    if len(said):
        shades = density[order]
        if shades.max() > shades.min():
            collection.set_norm(LogNorm(shades.min(), shades.max()))
        collection.set_array(shades)
    panel.add_collection(collection)
    panel.autoscale_view()
    bar = panel.figure.colorbar(collection, ax=panel)
    bar.set_label("rows a unit of area")
    for cells, set_ticks in ((across, panel.set_xticks), (up, panel.set_yticks)):
        labels = cells.axis.labels
        if 0 < len(labels) <= 20:
            set_ticks(np.arange(len(labels)), labels)


def _sides(cells: Cells, groups: Any) -> tuple[FloatArray, FloatArray]:
    """Lower edge and length of every box; a single value is drawn one unit wide where values are discrete."""
    low, high = cells.low[groups], cells.high[groups]
    discrete = cells.axis.whole_numbers or bool(cells.axis.labels)
    pad = 0.5 if discrete else max(cells.axis.width, 1e-9) / 400
    return low - pad, high - low + 2 * pad
