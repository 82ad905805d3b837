"""Figures as pages show them: charts as plain data, numbers and dates as words. No page is made here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from republish.gate.verdict import used, verdict_from
from republish.report.words import LIMITS as LIMIT_WORDS
from republish.show.colours import look_of, status_of
from republish.show.numbers import (
    DESK_FILTERS,
    short_number,
    spaced_percent,
)
from republish.show.promises import promised_of_groups

if TYPE_CHECKING:
    from republish.report.facts import ReleaseFacts, SeriesFacts

_NEAR = 0.8  # a figure above this share of its limit is near it
_BARS = 40  # more sizes than this are put into ranges
_USUAL = ((0.2, "groups of 5: 20 %"), (0.09, "groups of 11: 9 %"), (0.05, "groups of 20: 5 %"))
FILES = {
    "table.csv": "the published table, for people and spreadsheets",
    "table.parquet": "the same table, for programs",
    "people.csv": "one line a person with the number of a batch, for people and spreadsheets",
    "people.parquet": "the same table of people, for programs",
    "values.csv": "how often each value occurs in a batch, for people and spreadsheets",
    "values.parquet": "the same table of values, for programs",
    "counterfeits.csv": "how many counterfeits each group or batch has, or how many it counts as they were",
    "batches.csv": "when each batch was last counted, and how many of its people wait",
    "about.json": "what is promised, for recipients",
    "read_release.R": "reads the tables in R, with weights and midpoints",
    "datapackage.json": "the columns of every table, as a Frictionless Data Package",
    "codebook.xml": "the columns of every table, as a DDI Codebook",
    "dcat.jsonld": "the release and its series for a catalogue of data, in DCAT",
}


# Numbers and words --------------------------------------------------------------------------------


def change(now: float, before: float | None) -> str:
    """How a share compares with the last one."""
    if before is None:
        return "first release"
    points = 100 * (now - before)
    return "as before" if abs(points) < 0.05 else f"{points:+.1f} points since the last"


def spark(values: Sequence[float | None]) -> dict[str, Any] | None:
    """A line of a few values in a box of 120 by 32, from 0 up."""
    known = [value for value in values if value is not None][-60:]
    if len(known) < 2:
        return None
    high = max(*known, 1e-9)
    marks = [
        (round(4 + 112 * i / (len(known) - 1), 1), round(28 - 24 * v / high, 1)) for i, v in enumerate(known)
    ]
    return {"line": " ".join(f"{x},{y}" for x, y in marks), "x": marks[-1][0], "y": marks[-1][1]}


# The gate -----------------------------------------------------------------------------------------


def verdicts(gate: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """For every attack and limit of a recorded verdict the worst draw; what uses most of its limit first."""
    if gate is None:
        return []
    verdict = verdict_from(gate)
    found: list[dict[str, Any]] = [
        {
            "attack": attack,
            "limit": limit,
            "words": LIMIT_WORDS.get(limit, limit),
            "found": found,
            "allowed": verdict.limits[limit],
            "status": status_of(found, verdict.limits[limit]),
            "holds": found <= verdict.limits[limit] + 1e-9,
        }
        for attack, figures in verdict.worst().items()
        for limit, found in figures.items()
    ]
    return sorted(found, key=lambda one: -used(one["found"], one["allowed"]))


def gate_state(series: SeriesFacts) -> str:
    """One word for how the gate stands after the last release: none, empty, passed, near or broken."""
    if series.gate is None:
        return "none"
    if not series.releases or series.releases[-1].gate is None:
        return "empty"
    found = verdicts(series.releases[-1].gate)
    if not all(one["holds"] for one in found):
        return "broken"
    near = any(one["found"] > _NEAR * one["allowed"] and one["found"] > 0 for one in found)
    return "near" if near else "passed"


def gate_words(gate: Mapping[str, Any]) -> str:
    """What a gate asks for, as a sentence."""
    limits = "; ".join(
        f"{LIMIT_WORDS.get(name, name)} at most {spaced_percent(limit)}"
        for name, limit in gate["limits"].items()
    )
    known = gate.get("granted", {}).get("compromised", 0)
    told = f", by an adversary who knows {spaced_percent(known)} of the people already" if known else ""
    return f"{limits}; found by {' and '.join(gate['attacks'])}{told}."


# Charts -------------------------------------------------------------------------------------------


def lines(
    x: Sequence[Any],
    series: Mapping[str, Sequence[float | None]],
    limits: Any = (),
    attacks: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Shares over releases; a line that tells of one of the `attacks` has its colour."""
    drawn: list[dict[str, Any]] = [{"name": name, "values": list(values)} for name, values in series.items()]
    for one in drawn:
        if one["name"] in (attacks or {}):
            one["slot"] = look_of((attacks or {})[one["name"]]).slot
    return {"kind": "lines", "x": list(x), "percent": True, "series": drawn, "limits": list(limits)}


def alone(releases: Sequence[ReleaseFacts]) -> dict[str, Any]:
    """The risk of each release taken alone, with the limits in use in the field."""
    series = {
        "prosecutor, highest": [one.measures["prosecutor_risk"]["highest"] for one in releases],
        "prosecutor, average": [one.measures["prosecutor_risk"]["average"] for one in releases],
        "marketer": [one.measures["marketer_risk"] for one in releases],
    }
    usual = [{"name": name, "value": value, "always": value == 0.05} for value, name in _USUAL]
    return lines([one.number for one in releases], series, usual)


def useful(releases: Sequence[ReleaseFacts], keeps_counts: bool = False) -> dict[str, Any]:
    """What every release loses, as shares."""
    outside = "without a batch" if any(one.two_tables for one in releases) else "left out"
    outside, added = ("waiting", "held") if keeps_counts else (outside, "counterfeits")
    series = {
        "blur": [one.measures["penalty"] for one in releases],
        outside: [one.suppressed / max(one.rows, 1) for one in releases],
        added: [one.counterfeits / max(one.rows - one.suppressed + one.counterfeits, 1) for one in releases],
    }
    return lines([one.number for one in releases], series)


def sizes(histogram: Sequence[Sequence[int]]) -> dict[str, Any] | None:
    """How many groups have how many rows; many different sizes are put into ranges."""
    if not histogram:
        return None
    low, high = int(histogram[0][0]), int(histogram[-1][0])
    if len(histogram) <= _BARS:
        x, values = [str(size) for size, _ in histogram], [count for _, count in histogram]
    else:
        step = -(-(high - low + 1) // _BARS)
        starts = list(range(low, high + 1, step))
        x, values = [f"{start}-{start + step - 1}" for start in starts], [0] * len(starts)
        for size, count in histogram:
            values[(int(size) - low) // step] += count
    return {"kind": "bars", "x": x, "values": values, "xname": "rows in the group", "yname": "groups"}


def picture(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """The groups over two columns, with how much of each the average group leaves open."""
    boxes = document["boxes"]
    if len(document["axes"]) < 2 or not boxes:
        return None
    across, up = document["about_axes"]
    return {
        "kind": "boxes",
        "xname": across["name"],
        "yname": up["name"],
        "xkind": across["kind"],
        "ykind": up["kind"],
        "xlabels": across["labels"] or None,
        "ylabels": up["labels"] or None,
        "boxes": boxes,
        "xpad": _half(across),
        "ypad": _half(up),
        "total": document["groups"],
        "spread": [_spread(boxes, 0), _spread(boxes, 2)],
    }


def _half(axis: Mapping[str, Any]) -> float:
    """By how much boxes reach beyond the values of a column: half a step where values are counted."""
    return 0.5 if axis["labels"] or axis["kind"] != "number" else float(axis.get("pad", 0.5))


def _spread(boxes: Sequence[Sequence[float]], side: int) -> float:
    width = max(box[side + 1] for box in boxes) - min(box[side] for box in boxes)
    rows = sum(box[4] for box in boxes)
    open_ = sum((box[side + 1] - box[side]) * box[4] for box in boxes)
    return open_ / (width * rows) if width and rows else 0.0


def measures(found: Mapping[str, Any], keeps_counts: bool = False) -> list[dict[str, str]]:
    """The measures of one release with what each says."""
    from republish.metrics import EXPLANATIONS

    risk, levels = found["prosecutor_risk"], found.get("levels") or {}
    listed: list[tuple[str, str, str]] = [("Blur", spaced_percent(found["penalty"]), EXPLANATIONS["penalty"])]
    for name, value in (found.get("penalty_by_column") or {}).items():
        listed.append((f"Blur of {name}", spaced_percent(value), "The same for this column alone."))
    listed += [
        ("Rows in the average group", short_number(found["average_class_size"]), "Larger groups hide more."),
        ("Prosecutor's risk, highest", spaced_percent(risk["highest"]), EXPLANATIONS["prosecutor_risk"]),
        ("Prosecutor's risk, average", spaced_percent(risk["average"]), "The same, over all people."),
    ]
    for limit, share in (risk.get("above") or {}).items():
        smaller = f"In groups smaller than {math.ceil(1 / float(limit) - 1e-9)}."
        listed.append(
            (f"People above a risk of {spaced_percent(float(limit))}", spaced_percent(share), smaller)
        )
    listed.append(("Marketer's risk", spaced_percent(found["marketer_risk"]), EXPLANATIONS["marketer_risk"]))
    if levels.get("k") is not None:
        listed.append(("Smallest group", short_number(levels["k"]), "Rows; k in the literature."))
    if found.get("fewest_people") is not None and found.get("counterfeits"):
        fewest = short_number(found["fewest_people"])
        rest = "held" if keeps_counts else "counterfeits"
        listed.append(
            ("Fewest real people", fewest, f"In a group, or a batch of two tables; the rest are {rest}.")
        )
    if levels.get("distinct_l") is not None:
        listed.append(("Fewest different values", short_number(levels["distinct_l"]), "In any group; l."))
    return [{"name": name, "figure": figure, "says": says} for name, figure, says in listed]


# Searches -----------------------------------------------------------------------------------------


def searched(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """The map of a search: every setting that could publish, with loss and risk; `loss` says what is lost."""
    limits = list(document.get("limits", {}).values())
    points = []
    errors = any(one.get("value_error") is not None for one in document["points"])
    for index, one in enumerate(document["points"]):
        lost = one.get("value_error" if errors else "penalty")
        if lost is None or one.get("risk") is None:
            continue
        settings = dict(one.get("parameters") or {})
        if one.get("require"):
            settings["require"] = one["require"]
        text = " ".join(f"{key}={value}" for key, value in settings.items())
        within = bool(one.get("feasible")) and all(one["risk"] <= limit for limit in limits)
        points.append(
            {
                "index": index,
                "publisher": one["publisher"],
                "parameters": one.get("parameters") or {},
                "require": one.get("require", ""),
                "penalty": lost,
                "risk": one["risk"],
                "feasible": within,
                "chosen": index == document.get("chosen"),
                "label": f"{one['publisher']} {text}".strip(),
            }
        )
    limits_drawn = [{"name": f"limit {spaced_percent(limit)}", "value": limit} for limit in limits]
    loss = "error of counts with values" if errors else "blur"
    return {"kind": "points", "points": points, "limits": limits_drawn, "loss": loss} if points else None


FILTERS: dict[str, Callable[..., Any]] = {
    **DESK_FILTERS,
    "change": change,
    "spark": spark,
    "verdicts": verdicts,
    "gate_state": gate_state,
    "gate_words": gate_words,
    "promised": promised_of_groups,
}
