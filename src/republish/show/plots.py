"""Pictures of releases, of what adversaries believe, and of what Cor-Split's analysis says (extra `plots`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from republish.attacks.summary import ranked
from republish.errors import PolicyError
from republish.microdata import INTERVAL
from republish.publishers.breach import breach_probability, n_choose
from republish.release.release import Release
from republish.show.colours import COLOURS, STYLES, look_of
from republish.spatial.nested import block_volumes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from republish.arrays import FloatArray
    from republish.attacks import BeliefResult, Summary, Sureness
    from republish.release.cells import Cells

_MOST_GROUPS = 20_000


def plot_groups(release: Release, path: Path, axes: str | None = None) -> None:
    """Draw the cells of all groups over two quasi-identifiers; darker means more rows a unit of area."""
    pyplot = load_pyplot()
    across, up = two_axes(release, axes)
    figure, panel = pyplot.subplots(figsize=(8, 5.2), layout="constrained")
    draw_boxes(panel, release, across, up)
    panel.set_xlabel(across.axis.column.name)
    panel.set_ylabel(up.axis.column.name)
    panel.set_title(
        f"{release.group_count:,} groups of {release.rows:,} rows, certainty penalty {mean_penalty(release):.3f}",
        fontsize=11,
    )
    save(figure, path)


def plot_regions(
    release: Release, path: Path, clustered: Release | None = None, axes: str | None = None
) -> None:
    """Draw nested regions over two quasi-identifiers, and beside them the groups that blocks were clustered into.

    Inner regions lie on the regions around them, so that what is seen of a region is its block. `BangA`
    makes such a release; `clustered` is one of the same view in boxes. Without `axes`, the names of two
    quasi-identifiers, the two that tell most are drawn.

    Raises:
        PolicyError: the release has no levels, or there are no such quasi-identifiers.
    """
    save(regions_figure(release, clustered, axes), path)


def regions_figure(release: Release, clustered: Release | None = None, axes: str | None = None) -> Figure:
    """The figure that `plot_regions` writes: on the left nested regions, on the right the clusters."""
    if release.level is None:
        raise PolicyError(
            "a picture of nested regions needs a release with levels; publish with BangA, or draw "
            "boxes with plot_groups"
        )
    across, up = two_axes(release, axes)
    names = f"{across.axis.column.name},{up.axis.column.name}"
    shown = [(release, f"{release.group_count:,} nested regions")]
    if clustered is not None:
        shown.append((clustered, f"{clustered.group_count:,} groups, blocks clustered"))
    figure: Figure
    figure, panels = load_pyplot().subplots(
        1, len(shown), figsize=(1 + 5.5 * len(shown), 5.2), layout="constrained", squeeze=False, sharey=True
    )
    for panel, (part, title) in zip(panels[0], shown, strict=True):
        across, up = two_axes(part, names)
        draw_boxes(panel, part, across, up)
        panel.set_title(f"{title}, certainty penalty {mean_penalty(part):.3f}", fontsize=10)
        panel.set_xlabel(across.axis.column.name)
    panels[0, 0].set_ylabel(up.axis.column.name)
    return figure


def plot_breach(p: float, m: int, path: Path, L: int = 24, h: float = 0.1) -> None:
    """Draw how Cor-Split's probability of a breach and its two parts grow with the number of releases, up to L.

    There is one curve for each degree n from 1 to 4, and for each that n-Choose takes; rings mark its choice for
    every number of releases, the least n below the allowed probability h.

    Args:
        p: probability that a tuple is compromised.
        m: number of values in a group.
        path: where the picture goes.
        L: how many releases a person is in, at most.
        h: the allowed probability of a breach.

    Raises:
        PolicyError: a parameter is out of range.
    """
    save(breach_figure(p, m, L, h), path)


def breach_figure(p: float, m: int, L: int, h: float) -> Figure:
    """The figure that `plot_breach` writes: on the left the breach and n-Choose, on the right the two parts."""
    if not 0.0 < h <= 1.0:
        raise PolicyError("h must lie above 0 and not above 1; give the limit of a probability")
    breach_probability(p, L, m, 1)  # refuses parameters out of range
    chosen = _choices(p, m, L, h)
    releases = np.arange(1, L + 1)
    figure: Figure
    figure, (whole, parts) = load_pyplot().subplots(1, 2, figsize=(8, 5.2), layout="constrained")
    degrees = sorted({*range(1, min(m, 4) + 1), *chosen} - {0})
    for place, n in enumerate(degrees):
        found = breach_probability(p, releases, m, n)
        look = {"color": COLOURS[place % len(COLOURS)], "linestyle": STYLES[place % len(STYLES)]}
        whole.plot(releases, found.probability, label=f"n = {n}", **look)
        parts.plot(releases, found.historical_part, **look)
    alone = breach_probability(p, releases, m, 1).compromised_part
    parts.plot(releases, alone, color="black", label="$p_{ct}$, whatever n is")
    taken = np.flatnonzero(chosen)
    reached = breach_probability(p, releases[taken], m, np.array(chosen)[taken]).probability
    whole.plot(releases[taken], reached, "o", color="black", fillstyle="none", label="what n-Choose takes")
    whole.axhline(h, color="0.5", label=f"allowed: h = {h:g}")
    whole.set(
        ylim=(0, min(1.0, 2.5 * h) if taken.size else 1.0), ylabel="$p_{pb}$: a person's value is disclosed"
    )
    parts.set(yscale="log" if p else "linear", ylabel="$p_{hc}$ and $p_{ct}$: one false value is excluded")
    for panel in (whole, parts):
        panel.set_xlabel("releases with the person (L)")
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.grid(color="0.9")
    figure.suptitle(f"p = {p:g}, m = {m}. {_in_words(chosen)}", fontsize=11, wrap=True)
    figure.legend(loc="outside lower center", ncols=4)
    return figure


def plot_beliefs(results: Mapping[str, BeliefResult], path: Path) -> None:
    """Draw how gain and confidence of adversaries change from release to release; one colour for each, by its name.

    Where people were compromised, the picture is of those she was told nothing of.
    """
    save(beliefs_figure(results), path)


def beliefs_figure(results: Mapping[str, BeliefResult]) -> Figure:
    """The figure that `plot_beliefs` writes: on the left the gain, on the right the confidence in true values."""
    figure: Figure
    figure, (gain, confidence) = load_pyplot().subplots(1, 2, figsize=(8, 4.6), layout="constrained")
    gain.axhline(0.0, color="0.5", linewidth=0.8)
    told = False
    for place, (name, result) in enumerate(results.items()):
        look = {"color": COLOURS[place % len(COLOURS)], "linestyle": STYLES[place % len(STYLES)]}
        dot = {"marker": "o", "markersize": 3} if len(result.releases) < 3 else {}
        told |= any(part.uncompromised is not None for part in result.releases)
        shown: list[Sureness] = [part.uncompromised or part.everyone for part in result.releases]
        releases = [i for i, part in enumerate(shown, start=1) if part.rows]
        shown = [part for part in shown if part.rows]
        gain.plot(releases, [part.gain for part in shown], label=name, **look, **dot)
        confidence.plot(releases, [part.mean_confidence for part in shown], **look, **dot)
        confidence.plot(releases, [part.confidence_95 for part in shown], linewidth=0.7, **look, **dot)
    low, high = gain.get_ylim()
    gain.set(
        ylabel="mean gain over the shares in the group", ylim=(min(low, -0.02), min(1.02, max(high, 0.25)))
    )
    confidence.set(ylabel="confidence in the true value", ylim=(0, 1.02))
    confidence.set_title("mean; thin: 95th percentile", fontsize=10)
    gain.set_title("signed, as in JS-reduce", fontsize=10)
    for panel in (gain, confidence):
        panel.set_xlabel("release")
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.grid(color="0.9")
    whom = "people she was told nothing of" if told else "everyone in a group"
    figure.suptitle(f"What an adversary believes of {whom}", fontsize=11)
    figure.legend(loc="outside lower center", ncols=3)
    return figure


def plot_attacks(found: Mapping[str, Sequence[Summary]], path: Path) -> None:
    """Draw what attacks found after each release, each of everyone until then; one colour for each, by its name.

    `found` is what `republish.attacks.over_time` returns, by the name to show.
    """
    save(attacks_figure(found), path, dpi=100)


def attacks_figure(found: Mapping[str, Sequence[Summary]]) -> Figure:
    """The figure that `plot_attacks` writes: people determined, people above .9, and the mean confidence.

    Axes show what is found and little more: of people from 0 on and at least .1 %, of confidence a range of at least
    .1. The legend begins with the attack that finds most in the end.
    """
    figure: Figure
    figure, panels = load_pyplot().subplots(1, 3, figsize=(8, 4.2), layout="constrained")
    shown = (
        ("determined_share", 100.0, 0.001, "exactly determined", "people (%)"),
        ("above_nine_tenths", 100.0, 0.001, "confidence above .9", "people (%)"),
        ("mean_confidence", 1.0, 0.1, "mean confidence", "probability of the true value"),
    )
    for panel, (name, scale, least, title, unit) in zip(panels, shown, strict=True):
        for place, (label, parts) in enumerate(found.items()):
            every, look = max(1, len(parts) // 3), look_of(label)
            panel.plot(
                range(1, len(parts) + 1),
                [scale * getattr(part, name) for part in parts],
                color=look.colour,
                linestyle=look.style,
                linewidth=max(0.8, 2.6 - 0.3 * place),  # what lies below is seen beside what lies above
                marker=look.marker,
                markersize=max(3.0, 9.0 - 0.9 * place),
                markevery=(place % every, every),
                fillstyle="none",
                label=label,
            )
        figures = [scale * getattr(part, name) for parts in found.values() for part in parts]
        panel.set(xlabel="after release", ylabel=unit, ylim=_ends(figures, scale, least))
        panel.set_title(title, fontsize=10)
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.grid(color="0.9")
    figure.suptitle("What adversaries find out of everyone published until then", fontsize=11)
    order = [*ranked({name: after for name, after in found.items() if after}), *found]
    worst_first = sorted(
        panels[0].get_lines(),
        key=lambda line: order.index(str(line.get_label())),
    )
    figure.legend(handles=worst_first, loc="outside lower center", ncols=4)
    return figure


def _ends(figures: Sequence[float], scale: float, least: float) -> tuple[float, float]:
    """Where an axis begins and ends: shares in percent (`scale` 100) begin at 0, confidence around its middle."""
    low, high = (0.0 if scale > 1 else min(figures, default=0.0)), max(figures, default=0.0)
    span = max(high - low, least * scale)
    if scale == 1:
        low = max(0.0, (low + high - span) / 2)
    return low - 0.04 * span, min(low + 1.08 * span, 1.02 * scale)


def _choices(p: float, m: int, L: int, h: float) -> list[int]:
    """What n-Choose takes for 1 to L releases, 0 where no n is enough."""
    releases = np.arange(1, L + 1)
    reached = breach_probability(p, releases[:, None], m, np.arange(1, m + 1)).probability
    enough = reached.min(axis=1) < h
    return [n_choose(p, r, m, h) if enough[r - 1] else 0 for r in range(1, L + 1)]


def _in_words(chosen: list[int]) -> str:
    """Such as `n-Choose: n = 1 up to L = 4, n = 2 up to L = 22, then none`."""
    said: list[str] = []
    last = 0
    for n, run in groupby(chosen):
        last += len(list(run))
        said.append(f"n = {n} up to L = {last}" if n else "then none" if said else "none")
    return f"n-Choose: {', '.join(said)}"


def load_pyplot() -> Any:
    """matplotlib.pyplot without a screen; PolicyError where it is not installed."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise PolicyError(
            "pictures need matplotlib; install it with `pip install 'republish[plots]'`"
        ) from None
    mpl.use("Agg")
    from matplotlib import pyplot

    return pyplot


def save(figure: Figure, path: Path, dpi: int = 120) -> None:
    """Write a figure to a file, and give back what it holds."""
    figure.savefig(path, dpi=dpi)
    load_pyplot().close(figure)


def two_axes(release: Release, names: str | None) -> tuple[Cells, Cells]:
    """The two quasi-identifiers that are drawn: those named, else those that tell most."""
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


def mean_penalty(release: Release) -> float:
    """The certainty penalty of the average row."""
    return float(np.average(release.penalties(), weights=release.sizes)) if release.rows else 0.0


def _spread(cells: Cells) -> float:
    """Number of different lower bounds: what has many makes a telling axis."""
    return float(len(np.unique(cells.low[cells.said])))


def draw_boxes(panel: Axes, release: Release, across: Cells, up: Cells) -> None:
    """Draw a box for every group; darker means more rows a unit of area."""
    from matplotlib.collections import PatchCollection
    from matplotlib.colors import LogNorm
    from matplotlib.patches import Rectangle

    said = np.flatnonzero(across.said & up.said)[:_MOST_GROUPS]
    left, width = sides(across, said)
    bottom, height = sides(up, said)
    density = release.sizes[said] / _areas(release, said, left, bottom, width, height)
    boxes = [Rectangle((x, y), w, h) for x, y, w, h in zip(left, bottom, width, height, strict=True)]
    # The densest on top where boxes overlap, inner regions on top where they are nested.
    order = np.argsort(density if release.level is None else release.level[said], kind="stable")
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


def _areas(
    release: Release, said: Any, left: FloatArray, bottom: FloatArray, width: FloatArray, height: FloatArray
) -> FloatArray:
    """The area of every box; of nested regions over these two quasi-identifiers alone, that of the block."""
    if release.level is None or len(release.cells) > 2:
        return width * height
    boxes = np.stack(
        [np.stack([left, left + width], axis=1), np.stack([bottom, bottom + height], axis=1)], axis=1
    )
    return np.maximum(block_volumes(release.level[said], boxes), 1e-9 * width * height)


def sides(cells: Cells, groups: Any) -> tuple[FloatArray, FloatArray]:
    """Lower edge and length of every box; a single value is drawn one unit wide where values are discrete."""
    low, high = cells.low[groups], cells.high[groups]
    discrete = cells.axis.whole_numbers or bool(cells.axis.labels)
    pad = 0.5 if discrete else max(cells.axis.width, 1e-9) / 400
    return low - pad, high - low + 2 * pad
