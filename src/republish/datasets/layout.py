"""The folder of a generated series: `views/001.csv` and on, `schema.toml`, hierarchies beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from republish.errors import PolicyError


def write_series(folder: Path, views: Iterable[pl.DataFrame], texts: Mapping[str, str]) -> None:
    """Write the views in their order and each text under its name; a folder that holds views is refused."""
    target = folder / "views"
    found = len(list(target.glob("*"))) if target.is_dir() else 0
    if found:
        raise PolicyError(
            f"A series is generated into a folder without views, but {target} holds {found} files. "
            "Name another folder, or remove them."
        )
    target.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    for number, view in enumerate(views, start=1):
        view.write_csv(target / f"{number:03}.csv")


def identifiers(prefix: str, numbers: NDArray[np.int64]) -> pl.Series:
    """Identifiers as text: the prefix and at least seven digits."""
    return (prefix + pl.Series(numbers).cast(pl.String).str.zfill(7)).cast(pl.String)


def labels(names: Sequence[str], codes: NDArray[np.integer]) -> pl.Series:
    """The name of each code."""
    return pl.Series(list(names), dtype=pl.String).gather(pl.Series(codes.astype(np.uint32)))


def toml_list(values: Sequence[str] | Sequence[int]) -> str:
    """A TOML array; strings of plain letters are the same in JSON."""
    return json.dumps(list(values), ensure_ascii=False)


def schema_toml(**columns: Mapping[str, str | Sequence[str] | Sequence[int]]) -> str:
    """The text of `schema.toml`: the settings of every column, in this order."""
    tables = []
    for name, settings in columns.items():
        lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in settings.items()]
        tables.append(f"[columns.{name}]\n{''.join(lines)}")
    return "\n".join(tables)


def hierarchy_csv(paths: Iterable[Sequence[str]]) -> str:
    """A hierarchy in ARX's form: one leaf a line, then its generalizations, `*` last, `;` between."""
    return "".join(";".join((*path, "*")) + "\n" for path in paths)
