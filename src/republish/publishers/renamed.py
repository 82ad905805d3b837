"""What publishers are called now that policies of earlier versions name otherwise.

`banga` was once the name of what is `penalty-tree` now, with two parameters that nothing has any more:

| stored as `banga` with | is now |
|---|---|
| `merge = "penalty"`, `shape = "box"` | `penalty-tree`, everything else as it is |
| `merge = "penalty"`, `shape = "region"` | `banga` with `m = k`, `split = 2 k`, `compact = false`: the same tables |
| `merge = "density"`, `shape = "box"` | `banga` with `split = 2 m`: groups by pairs of densities, cells with levels |

The last two build their index anew with every release, also where that was `incremental`; none of it was ever promised.
Policies that name neither `merge` nor `shape` are of today.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_FORMER = ("merge", "shape")
_K, _M = 5, 1  # what was meant where they were not named


def named_now(name: str, stored: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name and the parameters of a publisher as a stored policy has them, in today's words."""
    given = dict(stored)
    if name != "banga" or not set(_FORMER) & set(given):
        return name, given
    merge, shape = (
        given.pop(former, usual) for former, usual in zip(_FORMER, ("penalty", "box"), strict=True)
    )
    if (merge, shape) == ("penalty", "box"):
        return "penalty-tree", given
    given.pop("incremental", None)
    m = given.get("k", _K) if shape == "region" else given.get("m", _M)
    return "banga", {**given, "m": m, "split": 2 * int(m), "compact": shape != "region"}


def named_formerly(name: str, stored: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """All that an earlier version may have stored for a publisher, so that what it recorded of it is known again."""
    given = dict(stored)
    if name == "penalty-tree":
        yield "banga", {**given, "merge": "penalty", "shape": "box"}
    if name != "banga" or given.pop("insert_only", False) or given.pop("split", 0) != 2 * given["m"]:
        return
    compact = given.pop("compact", True)
    for incremental in (False, True):
        shared = {**given, "incremental": incremental}
        if compact:
            yield "banga", {**shared, "merge": "density", "shape": "box"}
        elif given["m"] == given["k"]:
            for m in dict.fromkeys((_M, given["k"])):
                yield "banga", {**shared, "m": m, "merge": "penalty", "shape": "region"}
