"""Files of SPSS, Stata and SAS as frames, read by pyreadstat; labels stand for the values that have one.

What the file declares missing is missing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

from republish.sources.files.formats import SAS, SPSS, STATA, XPORT, legible_as
from republish.sources.values import as_text, whole_numbers

_PROCESS = Path(__file__).with_name("reading_process.py")
_SECONDS = 3600
_READERS = {SPSS: "read_sav", STATA: "read_dta", SAS: "read_sas7bdat", XPORT: "read_xport"}


def read_statistical(path: Path, what: str, numbers: Collection[str] | None) -> pl.DataFrame:
    """The table; cells of columns that are no `numbers` have their labels.

    Where it is not known yet which are (`None`), a column has labels if every value that occurs has one.
    """
    with legible_as(what, path):
        told, table = _read(path, what)
        columns = []
        for column in pl.read_ipc(table).get_columns():
            plain, meant = whole_numbers(column), dict(told["labels"].get(column.name, ()))
            if meant and (_has_labels(plain, meant) if numbers is None else column.name not in numbers):
                plain = _labelled(plain, meant)
            columns.append(plain)
        return pl.DataFrame(columns)


def names_and_rows(path: Path, what: str) -> tuple[list[str], int]:
    """The names of the columns, and the number of rows, 0 where the file does not say it."""
    with legible_as(what, path):
        told, _ = _read(path, what, names_only=True)
        return list(told["names"]), int(told["rows"])


def _read(path: Path, what: str, names_only: bool = False) -> tuple[dict[str, Any], bytes]:
    """What another process found in the file: it alone ends where the file makes the library crash."""
    if find_spec("pyreadstat") is None:
        raise ImportError
    with path.open("rb"):  # who may not read it is told so here
        pass
    words = [sys.executable, str(_PROCESS), _READERS[what], str(path), "yes" if names_only else "no"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(words, env=environment, capture_output=True, check=True, timeout=_SECONDS)
    told, _, table = done.stdout.partition(b"\n")
    return json.loads(told), table


def _texts(column: pl.Series) -> pl.Series:
    return as_text(column.cast(pl.Float64)) if column.dtype.is_numeric() else column.cast(pl.String)


def _meanings(column: pl.Series, meant: Mapping[Any, str]) -> dict[str, str]:
    """The labels by the texts of their values."""
    values = pl.Series(
        list(meant), dtype=pl.Float64 if column.dtype.is_numeric() else pl.String, strict=False
    )
    return dict(zip(_texts(values).to_list(), meant.values(), strict=True))


def _has_labels(column: pl.Series, meant: Mapping[Any, str]) -> bool:
    return bool(_texts(column.drop_nulls().unique()).is_in(list(_meanings(column, meant))).all())


def _labelled(column: pl.Series, meant: Mapping[Any, str]) -> pl.Series:
    return _texts(column).replace(_meanings(column, meant))
