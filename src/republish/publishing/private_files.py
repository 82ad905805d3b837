"""What is kept in private of a release: scales, margins, membership, memory, counts, what outsiders know of people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

from republish.expect.margins import Margins
from republish.release.domains import Scales
from republish.schema import Schema
from republish.sources.paths import write_parquet

if TYPE_CHECKING:
    from republish.ledger import Draft
    from republish.series import Series


def needs_fresh_base(lines: int, people: int) -> bool:
    """Whether files of the memory hold so many outdated lines that everyone's latest line is written anew.

    So they hold at most half as many lines again as there are people.
    """
    return lines > people + people // 2


def write_private(
    series: Series,
    draft: Draft,
    scales: tuple[Scales, Schema],
    counts: pl.DataFrame | None,
    membership: str | list[str],
    memory: dict[str, int],
) -> dict[str, Any]:
    """Write scales and counts; return what the ledger keeps of all private files.

    `membership` and `memory`, with the lines of each file, are the names of those that are written.
    """
    meaning = draft.private_file("scales", ".json")
    document = scales[0].to_json(scales[1])
    meaning.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    superseded = [name for name in series.memory_files() if name not in memory]
    more: dict[str, str] = {}
    if counts is not None:
        more["counts"] = write_private_table(draft, "counts", counts)
        superseded += [name for name in [series.counts_file()] if name]
    return more | {
        "scales": draft.name(meaning),
        "membership": membership,
        "memory": list(memory),
        "memory_rows": list(memory.values()),
        "erased": superseded,
    }


def write_private_table(draft: Draft, kind: str, table: pl.DataFrame) -> str:
    """Write a private table of a draft; return the name under which the ledger knows it."""
    path = draft.private_file(kind)
    write_parquet(table, path)
    return draft.name(path)


def with_margins(series: Series, draft: Draft, margins: Margins, kept: dict[str, Any]) -> dict[str, Any]:
    """Write what the next view is compared with; return what the ledger keeps with it. The last one's is erased."""
    path, last = draft.private_file("margins", ".json"), series.ledger.entries().margins_file
    path.write_text(json.dumps(margins.document(), ensure_ascii=False), encoding="utf-8")
    return kept | {"margins": draft.name(path), "erased": [*kept["erased"], *([last] if last else [])]}
