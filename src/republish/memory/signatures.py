"""Signatures: the set of sensitive codes of a group, and what each person's last one was.

m-invariance and its successors keep a person's signature constant over a life, so the memory holds it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from republish.arrays import IntArray
from republish.grouping import Grouping
from republish.memory.memory import Memory
from republish.microdata import Microdata

Signature = tuple[int, ...]
NO_SIGNATURE = -1
ANEW = "anew"
"""The column of who has no signature, because another tool made the only groups she was in, of too few values."""


def group_signatures(
    group: IntArray, codes: IntArray, groups: int, counterfeit_group: IntArray, counterfeit_code: IntArray
) -> tuple[IntArray, tuple[Signature, ...]]:
    """The number of every group's signature and the signatures themselves, codes sorted; -1 for an empty group."""
    kept = group >= 0
    members = pl.DataFrame(
        {
            "group": np.concatenate([group[kept], counterfeit_group]).astype(np.int64),
            "code": np.concatenate([codes[kept], counterfeit_code]).astype(np.int32),
        }
    )
    sets = members.unique().sort("group", "code").group_by("group", maintain_order=True).agg("code")
    distinct = sets.select(pl.col("code").unique(maintain_order=True)).with_row_index("number")
    numbered = sets.join(distinct, on="code", how="left", maintain_order="left")
    number = np.full(groups, NO_SIGNATURE, dtype=np.int32)
    number[numbered["group"].to_numpy()] = numbered["number"].to_numpy()
    return number, tuple(tuple(codes) for codes in distinct["code"].to_list())


def remember_signatures(view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
    """The memory in which everyone in the view has the signature of their group.

    Signatures that nobody bears any more are dropped.
    """
    return _without_unused(_signed(view, grouping, memory, 1))


def remember_large_signatures(view: Microdata, grouping: Grouping, memory: Memory, least: int) -> Memory:
    """The memory in which everyone in the view has the signature of their group, if it has `least` values.

    Others keep the one they had while their value is in it. Whoever has none then is marked: she begins `ANEW`.
    """
    after = _signed(view, grouping, memory, least)
    assert view.people is not None
    entries, column = after.find(view.people), after.columns["signature"].copy()
    domain = max(len(view.values), 1)
    held = [place * domain + code for place, codes in enumerate(after.signatures) for code in codes]
    lost = ~np.isin(column[entries].astype(np.int64) * domain + view.codes, np.array(held, dtype=np.int64))
    column[entries[lost]] = NO_SIGNATURE
    anew = after.columns.get(ANEW, np.zeros(after.size, dtype=np.int8)).copy()
    anew[entries] = lost
    return _without_unused(replace(after, columns={**after.columns, "signature": column, ANEW: anew}))


def _signed(view: Microdata, grouping: Grouping, memory: Memory, least: int) -> Memory:
    assert view.people is not None
    number, found = group_signatures(
        grouping.group, view.codes, grouping.groups, grouping.counterfeit_group, grouping.counterfeit_code
    )
    known = {signature: place for place, signature in enumerate(memory.signatures)}
    table = list(memory.signatures)
    places = np.empty(len(found) + 1, dtype=np.int32)
    places[-1] = NO_SIGNATURE  # what -1 points to
    for place, signature in enumerate(found):
        if len(signature) < least:
            places[place] = NO_SIGNATURE
            continue
        places[place] = known.setdefault(signature, len(table))
        if places[place] == len(table):
            table.append(signature)
    column = memory.signature_column().copy()
    entries = memory.find(view.people)
    published = np.where(grouping.group >= 0, grouping.group, 0)
    now = places[number[published]] if len(number) else np.full(view.rows, NO_SIGNATURE)
    column[entries] = np.where((grouping.group >= 0) & (now >= 0), now, column[entries])
    return replace(memory, columns={**memory.columns, "signature": column}, signatures=tuple(table))


def _without_unused(memory: Memory) -> Memory:
    column = memory.columns["signature"]
    borne = np.zeros(len(memory.signatures) + 1, dtype=np.bool_)
    borne[column] = True
    place = np.append(np.cumsum(borne[:-1]) - 1, NO_SIGNATURE).astype(np.int32)
    kept = tuple(signature for signature, used in zip(memory.signatures, borne, strict=False) if used)
    return replace(memory, columns={**memory.columns, "signature": place[column]}, signatures=kept)
