"""The tables of a release made in parts, as its codebook describes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from republish.parts.publish.shards import Written
from republish.parts.publish.two_tables import WrittenPeople
from republish.parts.survey import Domains
from republish.release.codebook.study import DescribedTable
from republish.release.codebook.tables import listed_values, tables_in_parts
from republish.sources.paths import parquet_schema


def described(
    folder: Path,
    about: dict[str, Any],
    domains: Domains,
    written: Sequence[Written],
    of_people: Sequence[WrittenPeople],
) -> list[DescribedTable]:
    """The tables in a folder, with the types of the first part of each and the values that occur."""
    parts: dict[str, list[str]] = {}
    files = [
        *(path for one in of_people for path in one.files),
        *(path for one in written for path in one.files),
    ]
    for path in sorted(files):
        if path.is_relative_to(folder):
            file = path.relative_to(folder).as_posix()
            parts.setdefault(file.partition(".")[0], []).append(file)
    large = {"table", "people", "values"} & parts.keys()
    types = {name: parquet_schema([folder / parts[name][0]]) for name in large}
    listed, sensitive = {}, domains.schema.sensitive
    if sensitive is not None:
        occurs = np.sum([one.codes for one in written], axis=0) > 0
        listed[sensitive.name] = listed_values(domains.values.filter(pl.Series(occurs)))
    return tables_in_parts(about, parts, types, listed)
