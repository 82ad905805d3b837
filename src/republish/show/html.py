"""How releases, series and results look in a notebook: small tables, and a picture where matplotlib is installed.

Every text is escaped. What is shown of a release is what was published; of people there are counts and shares alone.
"""

from __future__ import annotations

import base64
import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING, Any

from republish.errors import PolicyError
from republish.show.numbers import day, is_number, number
from republish.show.promises import promised_of_groups

if TYPE_CHECKING:
    from republish.attacks import Result, Summary
    from republish.publishing.result import Published
    from republish.release.release import Release
    from republish.release.two_tables import AnyRelease
    from republish.series import Series

ROWS = 8
"""So many rows of a table are shown."""
_MOST_RELEASES = 24
_FIGURES = {
    "people": "people",
    "determined": "determined",
    "determined_share": "share",
    "above_nine_tenths": "surer than .9",
    "above_half": "surer than .5",
    "mean_confidence": "mean confidence",
    "worst_confidence": "worst confidence",
    "gain": "gain",
}
_CELL = "text-align:{};padding:.15em .6em;white-space:nowrap"


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = "") -> str:
    """A table in HTML; columns of numbers stand to the right."""
    right = [all(row[i] is None or is_number(row[i]) for row in rows) for i in range(len(columns))]
    head = "".join(_cell("th", name, right[i]) for i, name in enumerate(columns))
    body = "".join(
        "<tr>" + "".join(_cell("td", number(cell), right[i]) for i, cell in enumerate(row)) + "</tr>"
        for row in rows
    )
    above = (
        f'<caption style="text-align:left;font-weight:bold">{escape(caption)}</caption>' if caption else ""
    )
    return f'<table style="border-collapse:collapse">{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cell(tag: str, text: str, right: bool) -> str:
    scope = ' scope="col"' if tag == "th" else ""
    return f'<{tag}{scope} style="{_CELL.format("right" if right else "left")}">{escape(text)}</{tag}>'


def note(text: str) -> str:
    """A line of text below a table."""
    return f'<p style="margin:.3em 0">{escape(text)}</p>'


def picture(draw: Callable[[Any], None], says: str) -> str:
    """What `draw` writes into a file, as a picture in the page; nothing where it cannot be drawn."""
    file = io.BytesIO()
    try:
        with _backend_kept():
            draw(file)
    except PolicyError:  # no matplotlib, or nothing to be drawn
        return ""
    text = base64.b64encode(file.getvalue()).decode("ascii")
    return f'<img alt="{escape(says)}" style="max-width:100%" src="data:image/png;base64,{text}">'


@contextmanager
def _backend_kept() -> Iterator[None]:
    """Leave the way in which a notebook shows its own pictures as it is; ours are drawn without a screen."""
    from republish.show.plots import load_pyplot

    loaded = sys.modules.get("matplotlib.pyplot")
    before = os.environ.get("MPLBACKEND") if loaded is None else loaded.get_backend()
    pyplot = load_pyplot()
    try:
        yield
    finally:
        if before and before.lower() != pyplot.get_backend().lower():
            pyplot.switch_backend(before)


def release_html(release: AnyRelease) -> str:
    """A release: its numbers, the first rows of its tables, and the groups over two quasi-identifiers."""
    from republish.release.release import Release
    from republish.show.two_tables import plot_release

    numbers, shown = _numbers_of(release.people, int(release.counterfeits.sum())), release.head(ROWS)
    says = "groups over two quasi-identifiers"
    if isinstance(release, Release):
        parts = [table(shown.columns, shown.rows(), f"The first of {release.rows:,} rows")]
    else:
        batches = release.batches()
        numbers = {"people": numbers.pop("rows"), **numbers, "batches": release.values.group_count}
        if release.clock is not None:
            numbers["held"] = numbers.pop("counterfeits")
        says = f"{says}, and a few batches with the shares of their values"
        parts = [
            table(shown.columns, shown.rows(), f"People: the first of {release.rows:,}"),
            table(
                batches.columns,
                batches.head(ROWS).rows(),
                f"Values by batch: the first of {batches.height:,} lines",
            ),
        ]
    if release.rows:
        parts.append(picture(lambda file: plot_release(release, file), says))
    return page([table(list(numbers), [list(numbers.values())], "Release"), *parts])


def _numbers_of(groups: Release, counterfeits: int) -> dict[str, Any]:
    """The numbers of a table with quasi-identifiers."""
    sizes = groups.sizes
    own = sizes - groups.counterfeits
    return {
        "rows": groups.rows,
        "groups": groups.group_count,
        "smallest group": int(sizes.min()) if len(sizes) else None,
        "counterfeits": counterfeits,
        "penalty": float(own @ groups.penalties() / max(int(own.sum()), 1)) if len(sizes) else None,
    }


def series_html(series: Series) -> str:
    """A series: who publishes it, what it promises, and a line a release; no table is opened."""
    from republish.release.forms import form_sentence

    policy, gate, withdrawn = series.policy, series.gate, series.withdrawn()
    lines = [_release_line(record.payload, record.release in withdrawn) for record in series.records]
    promised = "; ".join(policy.over_series).replace("nothing:", "nothing over the series:")
    says = f"Series {series.root.name}: {policy.publisher.name}"
    parts = [
        table(list(lines[0]), [list(line.values()) for line in lines[-_MOST_RELEASES:]], says)
        if lines
        else table(["releases"], [[0]], says)
    ]
    if len(lines) > _MOST_RELEASES:
        parts.append(note(f"The last {_MOST_RELEASES} of {len(lines):,} releases."))
    if policy.form is not None:
        parts.append(note(f"Form: {form_sentence(policy.form)}."))
    satisfied = promised_of_groups(policy.promises)
    parts.append(note(f"{satisfied[:1].upper()}{satisfied[1:]}. Promised: {promised}."))
    if gate is not None:
        parts.append(note(f"Gate: {gate.sentence()}."))
    if len(lines) > 1:
        followed = {name: [line[name] for line in lines] for name in ("penalty", "highest risk")}
        parts.append(_lines(followed, "penalty and highest risk, release by release"))
    return page(parts)


def _release_line(payload: Mapping[str, Any], withdrawn: bool) -> dict[str, Any]:
    measures = payload["measures"]
    return {
        "release": payload["release"],
        "as of": day(payload["as_of"]),
        **_sizes(payload),
        "penalty": measures["penalty"],
        "highest risk": measures["prosecutor_risk"]["highest"],
        "adopted": "adopted" in payload,
        "withdrawn": withdrawn,
    }


def _sizes(payload: Mapping[str, Any]) -> dict[str, int]:
    """How large a release is, in one table or in two."""
    names = ("rows", "groups", "suppressed", "counterfeits")
    if "two_tables" not in payload:
        return {name: payload[name] for name in names}
    rows, groups, suppressed, counterfeits = (payload[name] for name in names)
    batches = payload["two_tables"]["batches"]
    return {
        "people": rows, "groups": groups, "batches": batches, "without batch": suppressed,
        "held" if "stale" in payload["two_tables"] else "counterfeits": counterfeits,
    }  # fmt: skip


def published_html(done: Published) -> str:
    """What one `publish` did: its numbers and what was verified."""
    document = done.as_dict()
    line = _release_line(document, withdrawn=False)
    del line["withdrawn"]
    if done.gate is not None:
        line["gate"] = "passed" if done.gate.passed else "NOT passed"
    checked = ", ".join(check.promise for check in done.verification.checks)
    return page([table(list(line), [list(line.values())], "Published"), note(f"Verified: {checked}.")])


def summary_html(summary: Summary, caption: str = "") -> str:
    """The figures that every attack has."""
    return table(list(_FIGURES.values()), [_figures(summary)], caption)


def _figures(summary: Summary) -> list[Any]:
    found = asdict(summary)
    return [found[name] for name in _FIGURES]


def attack_html(result: Result) -> str:
    """What an attack found: of all releases, of each, and a picture of how it went."""
    parts = result.by_release
    first = max(0, len(parts) - _MOST_RELEASES)
    rows: list[list[Any]] = [["all", *_figures(result.summary)]]
    rows += [[str(i), *_figures(part)] for i, part in enumerate(parts[first:], start=first + 1)]
    name = result.name if result.label == result.name else f"{result.name}, {result.label}"
    shown = [table(["release", *_FIGURES.values()], rows, f"Attack: {name}")]
    unclear = getattr(result, "unclear", None)
    if unclear is not None and unclear.people:
        shown.append(note(f"Of {unclear.people:,} more people it is not known whether they are determined."))
    if len(parts) > 1:
        followed = {
            "mean confidence": [part.mean_confidence for part in parts],
            "surer than .9": [part.above_nine_tenths for part in parts],
            "determined": [part.determined_share for part in parts],
        }
        shown.append(_lines(followed, f"what {name} finds of each release"))
    return page(shown)


def _lines(followed: Mapping[str, Sequence[float]], says: str) -> str:
    return picture(lambda file: _draw(followed, file), says)


def _draw(followed: Mapping[str, Sequence[float]], file: Any) -> None:
    from republish.show.colours import COLOURS, MARKERS, STYLES
    from republish.show.plots import load_pyplot, save

    figure, panel = load_pyplot().subplots(figsize=(6, 2.6), layout="constrained")
    for place, (name, figures) in enumerate(followed.items()):
        panel.plot(
            range(1, len(figures) + 1),
            figures,
            color=COLOURS[place],
            linestyle=STYLES[place],
            marker=MARKERS[place],
            markersize=4,
            label=name,
        )
    panel.set(xlabel="release", ylim=(-0.02, 1.02))
    panel.xaxis.get_major_locator().set_params(integer=True)
    panel.legend(fontsize=8)
    save(figure, file, dpi=100)


def page(parts: Sequence[str]) -> str:
    """Tables, pictures and notes below each other."""
    return f"<div>{''.join(parts)}</div>"
