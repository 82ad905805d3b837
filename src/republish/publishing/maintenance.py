"""What may happen to a series besides publishing: amend, withdraw, forget. Each is a row of the chain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import WordArray
from republish.errors import PolicyError, ViewError
from republish.gate.amendment import GateAmendment, amended
from republish.gate.limits import Gate
from republish.hierarchies import read_hierarchy
from republish.ledger import Draft
from republish.memory.memory import KEY, Memory
from republish.policy import table_hierarchies
from republish.schema.column_names import listed
from republish.secret import order_of
from republish.series import Series
from republish.sources.identifiers import read_identifiers
from republish.sources.paths import read_parquet, write_parquet


def amend_hierarchy(series: Series, column: str, file: Path) -> int:
    """Append the leaves of `file` that the column's hierarchy lacks; return how many there are."""
    with series.writing("amend"):
        head = series.ledger.head
        current = table_hierarchies(series.schema).get(column)
        if current is None:
            known = listed(table_hierarchies(series.schema)) or "none"
            raise PolicyError(
                f"column {column} has no hierarchy that is a table; columns that have one: {known}"
            )
        extended = current.extended(read_hierarchy(file))
        added = len(extended.paths) - len(current.paths)
        if not added:
            raise PolicyError(f"the file adds no leaf to the hierarchy of {column}; nothing was written")
        with series.ledger.stage() as draft:
            path = draft.private_file("hierarchies", ".csv")
            extended.write(path)
            payload = {"column": column, "hierarchy": draft.name(path), "added": added}
            series.ledger.commit(draft, "amend", payload, head)
    return added


def amend_gate(series: Series, settings: str | Gate, reason: str = "") -> GateAmendment:
    """Change settings of the gate for the releases to come, `none` to take it away; to loosen it needs a reason.

    A whole gate takes the place of the one there is, such as that of `republish.tune.recommended_gate(series, views)`.

    Raises:
        PolicyError: nothing would change, a setting cannot be, or the gate would be looser and nobody says why.
    """
    with series.writing("amend"):
        head = series.ledger.head
        before = series.gate
        gate = settings if isinstance(settings, Gate) else amended(before, settings)
        after = replace(series.policy, gate=gate).gate  # which chooses attacks, and checks
        made = GateAmendment(before, after, reason.strip())
        made.require_reason()
        series.ledger.commit(None, "amend", made.payload(), head)
    return made


def withdraw(series: Series, number: int, reason: str = "") -> None:
    """Mark a release as withdrawn; it stays in memory and ledger, because an adversary may have it."""
    with series.writing("withdraw"):
        head = series.ledger.head
        series.record(number)
        if number in series.withdrawn():
            raise PolicyError(f"release {number} is withdrawn already")
        series.ledger.commit(None, "withdraw", {"reason": reason}, head, number)


@dataclass(frozen=True)
class Forgotten:
    """How many people were asked for, how many were remembered, and what protection ends for them."""

    asked: int
    erased: int
    releases: int
    consequence: str


CONSEQUENCE = (
    "Their past releases cannot be called back. Should they appear in a later view, they will be treated as newcomers: "
    "what this series promises over several releases does not cover their old and new records together. People who "
    "were in a group with them may be less hidden than before from an adversary who knows them. Counts over all "
    "people, such as how often a value followed another, stay as they are."
)


def forget(series: Series, identifiers: Any) -> Forgotten:
    """Erase people from the memory and from the membership of every release.

    Where a publisher keeps regions of its last index they go as a whole, for a region may be that of one person.
    """
    schema = series.schema
    assert schema.identifier is not None
    texts = read_identifiers(identifiers, schema)
    with series.writing("forget"):
        head = series.ledger.head
        people = series.secret().pseudonyms(texts)
        memory = series.memory()
        known = people[memory.find(people) >= 0]
        if not len(known):
            raise ViewError(
                f"none of the {len(people)} people is remembered by this series; nothing was written"
            )
        with series.ledger.stage() as draft:
            path = draft.private_file("memory")
            remaining = memory.without(known)
            remaining.write(path)
            memberships, erased = _without(series, known, draft)
            entries = series.ledger.entries()
            compromised, untold = _untold(series, known, draft, "compromised", entries.compromised_file)
            possible, unlisted = _untold(series, known, draft, "possible", entries.possible_file)
            places = _places(series)
            payload = {
                "people": len(known),
                "memory": [draft.name(path)],
                "memory_rows": [remaining.size],
                "memberships": memberships,
                "compromised": compromised,
                **({"possible": possible} if possible else {}),
                "erased": [*series.memory_files(), *erased, *untold, *unlisted, *places],
            }
            if places:
                payload["counts"] = None  # the next release begins with none
            series.ledger.commit(draft, "forget", payload, head)
    return Forgotten(len(people), len(known), len(memberships), CONSEQUENCE)


def _without(series: Series, people: WordArray, draft: Draft) -> tuple[dict[str, str | list[str]], list[str]]:
    """Fresh membership files in which these people are nobody; their rows stay, so that groups still add up."""
    nobody = Memory(people[order_of(people)], {})
    memberships: dict[str, str | list[str]] = {}
    replaced = []
    for entry in series.records:
        number = entry.release or 0
        names = series.membership_files(number)
        fresh = [_nameless(series, name, nobody, draft, number) for name in names]
        if any(fresh):
            now = [new or old for new, old in zip(fresh, names, strict=True)]
            memberships[str(number)] = now if len(now) > 1 else now[0]
            replaced += [old for new, old in zip(fresh, names, strict=True) if new]
    return memberships, replaced


def _nameless(series: Series, name: str, nobody: Memory, draft: Draft, release: int) -> str | None:
    """The name of a fresh copy of a membership file without these people; None where it has none of them."""
    frame = read_parquet(series.ledger.path(name))
    words = np.column_stack([frame[key].to_numpy() for key in KEY])
    gone = nobody.find(words) >= 0
    if not gone.any():
        return None
    words[gone] = 0
    path = draft.private_file("membership", release=release)
    nameless = [pl.Series(key, words[:, i]) for i, key in enumerate(KEY)]
    unlinked = [pl.Series("row", np.where(gone, np.uint64(0), frame["row"].to_numpy()))]
    if "cell" in frame.columns:  # a batch counts who is in it; nothing counts who is in a cell
        unlinked.append(pl.Series("cell", np.where(gone, np.int32(0), frame["cell"].to_numpy())))
    write_parquet(frame.with_columns(*nameless, *unlinked), path)
    return draft.name(path)


def _places(series: Series) -> list[str]:
    """The file of regions that were shaped by single people; counts over all people are none."""
    name = series.counts_file() if series.policy.publisher.keeps_places else None
    return [] if name is None else [name]


def _untold(
    series: Series, people: WordArray, draft: Draft, kind: str, file_of: Callable[[int], str | None]
) -> tuple[dict[str, str], list[str]]:
    """Fresh files of one kind about single people, without these."""
    gone = pl.DataFrame({key: people[:, i] for i, key in enumerate(KEY)})
    files, replaced = {}, []
    for entry in series.records:
        number = entry.release or 0
        name = file_of(number)
        if name is None:
            continue
        frame = read_parquet(series.ledger.path(name))
        others = frame.join(gone, on=list(KEY), how="anti", maintain_order="left")
        if others.height < frame.height:
            path = draft.private_file(kind, release=number)
            write_parquet(others, path)
            files[str(number)] = draft.name(path)
            replaced.append(name)
    return files, replaced
