"""The codebook of a release: what `about.json`, its columns and the custodian say, written beside its tables."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from republish.policy import FILE
from republish.release.codebook import write_codebook
from republish.release.codebook.study import DescribedTable, study_of

TOLD = ("title", "purpose", "contact")
"""What recipients are told of `[report]` in `series.toml`; the rest of it is for the house."""


def write_beside(
    folder: Path, root: Path, about: Mapping[str, Any], tables: Sequence[DescribedTable]
) -> None:
    """Write the codebook of a release of the series at `root` into its folder."""
    write_codebook(folder, study_of(about, tables, said_of_series(root)))


def said_of_series(root: Path) -> dict[str, str]:
    """What the custodian says to recipients of the series as a whole, where `series.toml` says it."""
    try:
        report = tomllib.loads((root / FILE).read_text(encoding="utf-8")).get("report")
    except (OSError, ValueError):  # the policy was read before: what is missing now is only words
        return {}
    said = report if isinstance(report, Mapping) else {}
    return {key: said[key] for key in TOLD if isinstance(said.get(key), str)}
