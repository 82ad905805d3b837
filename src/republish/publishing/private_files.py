"""What is kept in private of a release: scales, membership, memory, counts, and what outsiders know of people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from republish.memory.memory import Memory
from republish.publishing.compromised_records import compromised_table
from republish.release.domains import Scales
from republish.sources.paths import write_parquet
from republish.verify.similarity import require_beliefs, shown_to

if TYPE_CHECKING:
    from republish.grouping import Grouping
    from republish.ledger import Draft
    from republish.microdata import Microdata
    from republish.series import Series


def write_private(
    series: Series, draft: Draft, view: Microdata, grouping: Grouping, seen: Memory, memory: Memory
) -> dict[str, Any]:
    """Write memory, membership and scales; return the names under which the ledger knows them."""
    scales = draft.private_file("scales", ".json")
    scales.write_text(json.dumps(Scales.of(view).to_json(view.schema), ensure_ascii=False), encoding="utf-8")
    membership = draft.private_file("membership")
    columns = {name: seen.columns[name] for name in ("group", "code", "row")}
    if series.reasoning is not None:
        columns["class"] = series.reasoning.respondents(view).classes.astype(np.int32)
    Memory(seen.people, columns).write(membership)
    known = memory.merged(seen)
    after = series.policy.publisher.remember(view, grouping, known)
    if series.reasoning is not None:
        shown = shown_to(series.reasoning, view, draft.folder)
        require_beliefs(series.reasoning, shown, seen.columns["group"], known, after)
    earlier = series.memory_files()
    path = draft.private_file("memory")
    since_base = sum(list(earlier.values())[1:]) + seen.size
    if since_base > after.size // 2:  # a fresh base costs little more than the changes
        after.write(path)
        files, superseded = {draft.name(path): after.size}, list(earlier)
    else:
        after.seen_in(draft.release or 0).write(path)
        files, superseded = {**earlier, draft.name(path): seen.size}, []
    more: dict[str, str] = {}
    if after.counts is not None:
        counts = draft.private_file("counts")
        write_parquet(after.counts, counts)
        more["counts"] = draft.name(counts)
        superseded += [name for name in [series.counts_file()] if name]
    if view.compromised is not None:
        told = draft.private_file("compromised")
        write_parquet(compromised_table(view), told)
        more["compromised"] = draft.name(told)
    return more | {
        "scales": draft.name(scales),
        "membership": draft.name(membership),
        "memory": list(files),
        "memory_rows": list(files.values()),
        "erased": superseded,
    }
