"""What pages and API show alike, as plain documents: pictures of releases, frontiers of searches, publishers, jobs."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from republish.errors import PolicyError
from republish.schema.column_names import listed
from republish.web.errors import writable

if TYPE_CHECKING:
    from republish.release.cells import Cells
    from republish.release.release import Release
    from republish.release.two_tables import AnyRelease
    from republish.web.jobs.jobs import Job

MOST_BOXES = 5_000
MOST_BATCHES = 100
MOST_VALUES = 12
_ROUND = 6
T = TypeVar("T")


def picture(release: Release, axes: tuple[str, str] | None) -> dict[str, Any]:
    """At most 5,000 groups as boxes [x0, x1, y0, y1, rows], and [size, groups] for every size.

    A group with missing values in one of the two columns has no box. Labels of categories are given where the schema
    lists them: others would be values that were perhaps never published.
    """
    by_name = {cells.axis.column.name: cells for cells in release.cells}
    chosen = _two(release, axes)
    sizes = release.sizes
    found, counts = np.unique(sizes, return_counts=True)
    document: dict[str, Any] = {
        "columns": list(by_name),
        "groups": release.group_count,
        "rows": release.rows,
        "histogram": np.column_stack([found, counts]).tolist(),
        "axes": list(chosen),
        "about_axes": [_about(by_name[name]) for name in chosen],
        "boxes": [],
        "left_out": 0,
    }
    if len(chosen) == 2:
        across, up = (by_name[name] for name in chosen)
        said = np.flatnonzero(across.said & up.said)
        shown = said[:MOST_BOXES]
        sides = [*_sides(across, shown), *_sides(up, shown), sizes[shown].astype(np.float64)]
        document["boxes"] = np.column_stack(sides).round(_ROUND).tolist()
        document["left_out"] = release.group_count - len(shown)
    return document


def batches(release: AnyRelease) -> dict[str, Any]:
    """At most 100 batches, the largest first: number, people, counterfeits, values counted, and up to 12 shares.

    `most` is the largest share of all.
    """
    from republish.release.release import Release

    assert not isinstance(release, Release)
    counts = release.batches()
    sizes, number = release.values.sizes, release.values.group_count
    people = np.bincount(release.batch, minlength=number + 1)[1:]
    largest = (np.argsort(-sizes, kind="stable")[:MOST_BATCHES] + 1).tolist()
    by_batch = counts.filter(counts["batch"].is_in(largest)).sort("count", descending=True)
    shares = by_batch.partition_by("batch", as_dict=True)
    shown = [
        {
            "batch": batch,
            "people": int(people[batch - 1]),
            "counterfeits": int(release.counterfeits[batch - 1]),
            "counted": int(sizes[batch - 1]),
            "different": shares[(batch,)].height,
            "shares": [
                {"value": "missing" if value is None else str(value), "share": count / int(sizes[batch - 1])}
                for _, value, count in shares[(batch,)].rows()
            ][:MOST_VALUES],
        }
        for batch in largest
    ]
    most = max((part["share"] for one in shown for part in one["shares"]), default=1.0)
    return {"batches": shown, "most": most, "left_out": number - len(shown)}


def _two(release: Release, axes: tuple[str, str] | None) -> tuple[str, ...]:
    """Two quasi-identifiers: those asked for, else those that tell most; all where there are fewer."""
    names = [cells.axis.column.name for cells in release.cells]
    if axes is not None:
        if len(set(axes)) != 2 or any(name not in names for name in axes):
            raise PolicyError(f"a picture needs two different quasi-identifiers; there are {listed(names)}")
        return axes
    ranked = sorted(
        release.cells, key=lambda c: (c.axis.kind_code != 0, -len(np.unique(c.low[c.said])))
    )  # intervals first
    return tuple(cells.axis.column.name for cells in ranked[:2])


def _about(cells: Cells) -> dict[str, Any]:
    column = cells.axis.column
    return {"name": column.name, "kind": column.kind, "labels": list(column.closed or ())}


def _sides(cells: Cells, groups: Any) -> tuple[Any, Any]:
    """Both ends of every box; a single value is one unit wide where values are discrete."""
    discrete = cells.axis.whole_numbers or bool(cells.axis.labels)
    pad = 0.5 if discrete else max(cells.axis.width, 1e-9) / 400
    return cells.low[groups] - pad, cells.high[groups] + pad


def frontiers(root: Path) -> list[dict[str, Any]]:
    """What `tune` kept beside a series, the newest last; files that hold nothing of that kind are passed over."""
    found = []
    for path in sorted((root / "private" / "tune").glob("*.json")):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(document, dict) and isinstance(document.get("points"), list):
            found.append({"file": path.name, **document})
    return sorted(found, key=lambda one: str(one.get("made_at", "")))


def publishers() -> list[dict[str, Any]]:
    """Every publisher: name, paper, summary, whether it protects a series, and its parameters with defaults."""
    from republish.publishers import PUBLISHERS

    found = []
    for name, kind in PUBLISHERS.items():
        parameters = [
            {
                "name": field.name,
                "type": str(field.type),
                "default": None if field.default is dataclasses.MISSING else field.default,
                "required": field.default is dataclasses.MISSING
                and field.default_factory is dataclasses.MISSING,
            }
            for field in kind.parameters().values()
        ]
        found.append(
            {
                "name": name,
                "paper": kind.paper,
                "summary": kind.summary,
                "protects_series": kind.protects_series,
                "parameters": parameters,
            }
        )
    return found


def job_document(job: Job) -> dict[str, Any]:
    """A job as JSON."""
    return plain(job.as_dict())


def plain(value: T) -> T:
    """The same without what JSON cannot hold: figures that are no numbers become null."""
    return cast(T, _plain(value))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {writable(str(key)): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return writable(value) if isinstance(value, str) else value
