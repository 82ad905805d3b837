"""What the desk shows and what it reads from requests: pictures, frontiers, roles, adversaries."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from republish.errors import PolicyError, SchemaError
from republish.schema.column_names import listed, require_names
from republish.web import Invalid
from republish.web.uploads.columns import names_in
from republish.web.uploads.uploads import Upload

if TYPE_CHECKING:
    from republish.release.cells import Cells
    from republish.release.release import Release
    from republish.schema.schema import Schema
    from republish.series import Series

MOST_BOXES = 5_000
_ROUND = 6
_MOST_SEED = 2**63 - 1
_GRANTED: dict[str, tuple[type, ...]] = {
    "compromised": (int, float),
    "event_lists": (bool,),
    "seed": (int,),
    "cascade": (bool,),
    "posterior": (str,),
    "steps": (int, type(None)),
    "certainty": (int, float),
    "membership": (str,),
}


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


def granted(adversary: Mapping[str, Any]) -> dict[str, Any]:
    """What an adversary is granted, as plain settings; people cannot be named at the desk."""
    from republish.attacks import Adversary

    unknown = sorted(set(adversary) - set(_GRANTED))
    if unknown:
        raise PolicyError(
            f"an adversary has no setting {', '.join(unknown)}; she may have {', '.join(_GRANTED)}"
        )
    for name, value in adversary.items():
        kinds = _GRANTED[name]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise PolicyError(
                f"{name} of an adversary must be {' or '.join(kind.__name__ for kind in kinds)}"
            )
    if not 0 <= adversary.get("seed", 0) <= _MOST_SEED:
        raise Invalid(f"seed of an adversary must be a whole number from 0 to {_MOST_SEED}")
    Adversary(**adversary)
    return dict(adversary)


def require_attackable(series: Series, adversary: Mapping[str, Any], attacks: Sequence[str] | None) -> None:
    """Refuse before a job is started what could not be done."""
    from republish.attacks import Adversary, informed, obstacle

    if not series.records:
        raise PolicyError("there is nothing to attack yet; publish a first view")
    if attacks is None:
        return
    if not attacks:
        raise PolicyError("at least one attack must be named")
    hers = informed(Adversary(**adversary), series)
    for name in attacks:
        reason = obstacle(name, hers, False)
        if reason is not None:
            raise PolicyError(f"{name} cannot be made: {reason}")


def require_moment(series: Series, as_of: str | None) -> None:
    """Refuse a date that is none, or not later than that of the last release."""
    from republish.publishing.as_of import moment_of

    records = series.records
    moment_of(as_of, records[-1].payload["as_of"] if records else None)


def schema_of(upload: Upload, roles: Sequence[Mapping[str, Any]] | Mapping[str, Any]) -> Schema:
    """The schema that a person confirmed, every column of the view labelled once."""
    from republish.schema.schema import ROLES
    from republish.sources.propose import Proposal, schema_from

    if isinstance(roles, Mapping):
        roles = [
            {"name": name, **(said if isinstance(said, Mapping) else {"role": said})}
            for name, said in roles.items()
        ]
    kinds = ("number", "category", "date")
    names = [str(column.get("name", "")) for column in roles]
    there = names_in(upload.path)
    require_names(there)
    lacking = [name for name in there if name not in names]
    if lacking or len(set(names)) < len(names) or set(names) - set(there):
        raise SchemaError(
            "every column of the view needs one role, and no other column has one; "
            f"the view has {listed(there)}" + (f", without a role are {listed(lacking)}" if lacking else "")
        )
    labelled = []
    for name, column in zip(names, roles, strict=True):
        role, kind = column.get("role"), column.get("kind") or None
        if role not in ROLES:
            raise SchemaError(f"column {name}: a role is one of {', '.join(ROLES)}")
        if kind is not None and kind not in kinds:
            raise SchemaError(
                f"column {name}: a kind is one of {', '.join(kinds)}; for an order write a schema.toml and use "
                "`republish init`"
            )
        labelled.append(Proposal(name, str(role), kind, ""))
    return schema_from(labelled)


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
