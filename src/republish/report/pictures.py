"""The pictures of the report as inline SVG, dark on white, with a text for those who do not see them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from republish.errors import PolicyError
from republish.report.facts import ReleaseFacts
from republish.show.colours import COLOURS, MARKERS, STYLES, look_of
from republish.show.numbers import percent
from republish.show.plots import attacks_figure, load_pyplot

if TYPE_CHECKING:
    from republish.attacks.assessments import Assessment

Figure: TypeAlias = Any  # matplotlib is imported in republish.show.plots only
Axes: TypeAlias = Any
RISK_LINES = (0.09, 0.05)
GROUP_LINES = (5, 11, 20)
_WIDTH = 8.0
_RED = "#a3261b"
_WORST = (
    ("worst_after", "worst placed person, after each release", {"color": _RED, "linewidth": 2.2}),
    ("worst_in", "worst placed of each release, now", {"color": COLOURS[0], "linestyle": "--"}),
    ("mean_after", "mean, after each release", {"color": COLOURS[1], "linestyle": "-."}),
)


class Picture(NamedTuple):
    """An SVG element and what it shows in words."""

    svg: str
    text: str


def rows_picture(releases: Sequence[ReleaseFacts], names: Sequence[str]) -> Picture:
    """Rows of every release under three names: those of people, counterfeits, and those left out."""
    counts_of = (
        [one.rows - one.suppressed for one in releases],
        [one.counterfeits for one in releases],
        [one.suppressed for one in releases],
    )
    parts = tuple(zip(names, counts_of, strict=True))
    with _figure(1, 2.9) as (figure, (panel,)):
        below = [0] * len(releases)
        for place, (label, counts) in enumerate(parts):
            look = {
                "color": COLOURS[(1, 4, 3)[place]],
                "hatch": ("", "///", "xxx")[place],
                "edgecolor": "white",
            }
            panel.bar(_numbers(releases), counts, bottom=below, label=label, **look)
            below = [low + count for low, count in zip(below, counts, strict=True)]
        panel.set(ylabel="rows", ylim=(0, 1.08 * max(1, *below)))
        panel.yaxis.set_major_formatter("{x:,.0f}")
        _finish(figure, [panel], len(parts))
        last = ", ".join(f"{counts[-1]:,} {label}" for label, counts in parts)
        return Picture(_svg(figure, "rows"), f"Rows by release. In the last one {last}.")


def usefulness_picture(releases: Sequence[ReleaseFacts]) -> Picture:
    """Certainty penalty of every release, all together and by column, and the rows of the average group."""
    with _figure(2, 3.1) as (figure, (penalty, size)):
        for place, name in enumerate(releases[-1].measures["penalty_by_column"]):
            look = {"color": COLOURS[place % len(COLOURS)], "linestyle": STYLES[1 + place % 3]}
            _line(penalty, releases, _penalty_of(name), label=name, linewidth=1.1, **look)
        _line(penalty, releases, itemgetter("penalty"), label="all columns", color="black", linewidth=2.2)
        penalty.set(ylim=(0, 1.15 * penalty.get_ylim()[1]), ylabel="certainty penalty")
        _line(size, releases, _mean_size, color="black", linewidth=2.2)
        size.set(
            ylim=(0, 1.15 * max(1.0, *(_mean_size(one.measures) for one in releases))),
            ylabel="rows of the average group",
        )
        _finish(figure, [penalty, size], 4)
        first, last = releases[0].measures["penalty"], releases[-1].measures["penalty"]
        return Picture(
            _svg(figure, "usefulness"),
            f"Certainty penalty by release, {first:.3f} in the first and {last:.3f} in the last, and rows of the "
            f"average group, {releases[-1].measures['average_class_size']:.1f} in the last.",
        )


def risk_picture(releases: Sequence[ReleaseFacts]) -> Picture:
    """Prosecutor's and marketer's risk of every release taken alone, and the smallest group, with limits in use."""
    with _figure(2, 3.4) as (figure, (risk, size)):
        solid, dashed = {"linewidth": 2.2}, {"linestyle": "--", "linewidth": 1.8}
        _line(risk, releases, _highest, label="highest (prosecutor, journalist)", color=COLOURS[0], **solid)
        _line(risk, releases, _average, label="average (marketer)", color=COLOURS[1], **dashed)
        risk.set(ylim=(0, max(0.12, 1.1 * max(_highest(one.measures) for one in releases))), ylabel="risk")
        _limits(risk, RISK_LINES, "{:g}")
        _line(size, releases, _smallest, label="smallest group", color=COLOURS[2], **solid)
        _line(size, releases, _mean_size, label="average group", color=COLOURS[3], **dashed)
        size.set(
            ylim=(0, max(22.0, 1.1 * max(_mean_size(one.measures) for one in releases))),
            ylabel="rows of a group",
        )
        size.yaxis.get_major_locator().set_params(integer=True)
        _limits(size, GROUP_LINES, "{:g} rows")
        _finish(figure, [risk, size], 4)
        last = releases[-1].measures
        return Picture(
            _svg(figure, "risk"),
            f"Risk of each release taken alone, with lines at 0.09 and 0.05: in the last one at most "
            f"{_highest(last):.3f} and {_average(last):.3f} on average. Rows of groups, with lines at 5, 11 and 20: "
            f"in the last one at least {_smallest(last)} and {_mean_size(last):.1f} on average.",
        )


def serial_picture(one: Assessment, number: int) -> Picture:
    """What every attack found after each release; lines at 5 % and 9 % of people."""
    with _style():
        figure = attacks_figure(one.found)
        figure.set_size_inches(_WIDTH, 3.9)
        for panel in figure.axes:
            _whole_releases(panel)
        for panel in figure.axes[:2]:
            low, high = panel.get_ylim()
            panel.set_ylim(min(low, -0.4), max(high, 10.5))
            _limits(panel, [100 * limit for limit in RISK_LINES], "{:g}%")
        said = ", ".join(
            f"{name} {percent(after[-1].determined_share)} with mean confidence {after[-1].mean_confidence:.2f}"
            for name, after in one.found.items()
        )
        return Picture(
            _svg(figure, f"serial-{number}"),
            f"What attacks find after each release. People determined after the last one: {said}.",
        )


def confidence_picture(found: Mapping[str, Any], number: int) -> Picture:
    """How many people the strongest attack is how sure of, and how sure of the worst placed after each release."""
    counts = [part["people"] for part in found["people"]]
    ends = [part["up_to"] for part in found["people"]]
    with _figure(2, 3.6) as (figure, (spread, line)):
        width = ends[0]
        colours = [_RED if end > 0.9 + 1e-9 else COLOURS[1] for end in ends]
        spread.bar([end - width / 2 for end in ends], counts, width=0.9 * width, color=colours)
        spread.set(ylabel="people", xlim=(0, 1), ylim=(0, 1.08 * max(1, *counts)))
        spread.yaxis.get_major_locator().set_params(integer=True)
        spread.yaxis.set_major_formatter("{x:,.0f}")
        for name, label, look in _WORST:
            drawn = {"marker": "o", "markersize": 4} if len(found[name]) < 25 else {}
            line.plot(range(1, len(found[name]) + 1), found[name], label=label, **drawn, **look)
        line.set(ylim=(0, 1.04), ylabel="confidence in the true value")
        _finish(figure, [line], 3)
        spread.set_xlabel("confidence in the true value; red: above .9")
        spread.grid(color="0.9")
        spread.set_axisbelow(True)
        above = sum(count for count, end in zip(counts, ends, strict=True) if end > 0.9 + 1e-9)
        return Picture(
            _svg(figure, f"confidence-{number}"),
            f"People by the confidence of {found['attack']} in their true value, {above:,} of {sum(counts):,} above "
            f".9; and the confidence in the worst placed person, {found['worst_after'][0]:.2f} after the first release "
            f"and {found['worst_after'][-1]:.2f} after the last.",
        )


def identities_picture(found: Sequence[Mapping[str, Any]]) -> Picture:
    """The shares that attacks found which seek no value, after each release."""
    with _figure(len(found), 3.4) as (figure, panels):
        for panel, one in zip(panels, found, strict=True):
            shares = [row for row in one["rows"] if row["share"]]
            for place, row in enumerate(shares):
                panel.plot(
                    range(1, one["releases"] + 1),
                    [None if share is None else 100 * share for share in row["after_release"]],
                    color=COLOURS[place % len(COLOURS)],
                    linestyle=STYLES[place % len(STYLES)],
                    marker=MARKERS[place % len(MARKERS)] if one["releases"] < 40 else None,
                    fillstyle="none",
                    label=row["figure"].replace("_", " "),
                )
            panel.set(ylim=(-2, 102), ylabel="percent")
            panel.set_title(one["name"], fontsize=10)
        _finish(figure, panels, 4)
        said = "; ".join(
            f"{row['figure'].replace('_', ' ')} {percent(row['last'])}"
            for one in found
            for row in one["rows"]
            if row["share"]
        )
        return Picture(
            _svg(figure, "identities"), f"Rows and presence after each release. After the last: {said}."
        )


def gate_picture(rows: Sequence[Mapping[str, Any]]) -> Picture:
    """The figures that the gate limits before each release, with the limits."""
    limits = list(dict.fromkeys(row["limit"] for row in rows))
    with _figure(len(limits), 2.9) as (figure, panels):
        for panel, limit in zip(panels, limits, strict=True):
            those = [row for row in rows if row["limit"] == limit]
            for row in those:
                look = look_of(row["attack"])
                panel.plot(
                    list(row["found"]),
                    list(row["found"].values()),
                    color=look.colour,
                    linestyle=look.style,
                    marker=look.marker if len(row["found"]) < 40 else None,
                    fillstyle="none",
                    label=row["attack"],
                )
            allowed = those[0]["allowed"]
            _limits(panel, [allowed], "allowed: {:g}")
            panel.set_ylim(0, max([1.2 * allowed, 0.001, *(1.1 * row["worst"] for row in those)]))
            panel.set_title(limit, fontsize=10)
        _finish(figure, panels, 4)
        said = "; ".join(
            f"{row['limit']} by {row['attack']} {row['last']:.4f} of {row['allowed']:g}" for row in rows
        )
        return Picture(
            _svg(figure, "gate"), f"What the gate's attacks found before each release. Last: {said}."
        )


def _penalty_of(column: str) -> Callable[[Mapping[str, Any]], float | None]:
    return lambda measures: measures["penalty_by_column"].get(column)


def _highest(measures: Mapping[str, Any]) -> float:
    return float(measures["prosecutor_risk"]["highest"])


def _average(measures: Mapping[str, Any]) -> float:
    return float(measures["marketer_risk"])


def _smallest(measures: Mapping[str, Any]) -> int:
    return int(measures["levels"]["k"] or 0)  # none where everything was left out


def _mean_size(measures: Mapping[str, Any]) -> float:
    return float(measures["average_class_size"])


def _numbers(releases: Sequence[ReleaseFacts]) -> list[int]:
    return [one.number for one in releases]


def _line(
    panel: Axes, releases: Sequence[ReleaseFacts], figure: Callable[[Mapping[str, Any]], Any], **look: Any
) -> None:
    dot = {"marker": "o", "markersize": 4} if len(releases) < 25 else {}
    panel.plot(_numbers(releases), [figure(one.measures) for one in releases], **dot, **look)


def _limits(panel: Axes, limits: Sequence[float], label: str) -> None:
    """Lines across a panel, each with its number at the right end."""
    for limit in limits:
        panel.axhline(limit, color="0.25", linewidth=0.9, linestyle=(0, (6, 3)))
        panel.annotate(
            label.format(limit),
            (1.0, limit),
            xycoords=("axes fraction", "data"),
            xytext=(-3, 2),
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=8,
            color="0.15",
        )


def _whole_releases(panel: Axes) -> None:
    """Ticks at releases only, with room on both sides also where there is but one."""
    low, high = panel.dataLim.intervalx
    panel.set_xlim(min(low, 1) - 0.5, max(high, 1) + 0.5)
    panel.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)


def _finish(figure: Figure, panels: Sequence[Axes], columns: int) -> None:
    for panel in panels:
        panel.set_xlabel("release")
        _whole_releases(panel)
        panel.grid(color="0.9")
        panel.set_axisbelow(True)
    handles = [line for panel in panels for line in panel.get_legend_handles_labels()[0]]
    labels = [text for panel in panels for text in panel.get_legend_handles_labels()[1]]
    unique = dict(zip(labels, handles, strict=True))
    if unique:
        figure.legend(
            list(unique.values()), list(unique), loc="outside lower center", ncols=columns, fontsize=9
        )


@contextmanager
def _style() -> Iterator[None]:
    try:
        pyplot = load_pyplot()
    except PolicyError:
        raise PolicyError(
            "the report's pictures need matplotlib; install it with `pip install 'republish[report]'`, or take "
            "--format md"
        ) from None
    with pyplot.rc_context(
        {"svg.fonttype": "none", "font.family": "sans-serif", "svg.hashsalt": "republish"}
    ):
        yield


@contextmanager
def _figure(panels: int, height: float) -> Iterator[tuple[Figure, list[Axes]]]:
    with _style():
        figure, axes = load_pyplot().subplots(
            1, panels, figsize=(_WIDTH, height), layout="constrained", squeeze=False
        )
        yield figure, list(axes[0])


def _svg(figure: Figure, name: str) -> str:
    """The figure as an SVG element whose names are its own, so that several fit into one page; closes the figure."""
    text = StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    load_pyplot().close(figure)
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    used = set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", svg))
    svg = re.sub(r' id="([^"]+)"', lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", svg)
    svg = re.sub(r"(url\(#|href=\"#)", rf"\g<1>{name}-", svg)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    return re.sub(r'(<svg[^>]*?) height="[^"]*"', r'\1 aria-hidden="true"', svg, count=1)
