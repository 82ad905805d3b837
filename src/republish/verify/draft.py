"""A release that is to be committed, checked against the memory, in time that does not depend on how many there are.

hc-safety is the exception: it compares with every earlier release.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from republish.arrays import BoolArray, IntArray
from republish.inference import Reasoning
from republish.inference.reasoning import value_order
from republish.memory.memory import Memory
from republish.verify.batches import BLIND, Renewals, batch_checks, counted_in
from republish.verify.check import Check
from republish.verify.cohorts import few_determined, known_from
from republish.verify.memory import spelled_signatures
from republish.verify.promises import WITHSTAND, AuditedRelease, Before, promise_checks
from republish.verify.similarity import similar
from republish.verify.withstand import from_memory


def check_against_memory(
    promises: Iterable[str],
    now: AuditedRelease,
    sizes: IntArray,
    memory: Memory,
    reasoning: Reasoning | None = None,
) -> tuple[Check, ...]:
    """The promises over the series for a new release, from what the memory holds of everyone in it."""
    entries = memory.find(now.members.people)
    known: BoolArray = entries >= 0
    stored = pl.DataFrame(
        {
            "code": pl.Series(memory.columns["code"], dtype=pl.Int32),
            "release": pl.Series(memory.columns["last"], dtype=pl.Int32),
            "signature": spelled_signatures(memory),
            "group": pl.Series(memory.columns["group"], dtype=pl.Int32),
        }
    )
    nobody = pl.DataFrame({name: [None] for name in stored.columns}, schema=stored.schema)
    last = pl.concat([stored, nobody])[np.where(known, entries, memory.size)]
    goes_on = known.copy()
    goes_on[known] = memory.columns["code"][entries[known]] == now.members.code[known]

    def groups() -> Sequence[IntArray]:
        found = [np.zeros(len(entries), dtype=np.int32) for _ in range(1, now.number)]
        for release, column in enumerate(found, start=1):
            if f"group@{release}" in memory.columns:  # nobody was published in an empty release
                column[goes_on] = memory.columns[f"group@{release}"][entries[goes_on]]
        return found

    def beliefs(promise: str) -> Check:
        assert reasoning is not None and now.shown is not None
        if promise.startswith(WITHSTAND):
            return from_memory(promise, reasoning, now.shown, now.members.group, memory)
        prior = reasoning.thoughts(now.shown.people, memory).prior
        order = value_order(now.shown.people.values)
        return similar(promise, prior, now.members.group, np.ones(len(sizes), dtype=np.bool_), order)

    promises = list(promises)
    renewals = Renewals(now, counted_in(memory)) if BLIND in promises else None

    def cohorts(promise: str) -> Sequence[Check]:
        if renewals is not None:
            return batch_checks(promise, renewals)
        return few_determined(promise, now, known_from(memory, now))

    present = int(np.count_nonzero(memory.columns["last"] == now.number - 1))
    return tuple(promise_checks(promises, now, Before(last, groups, beliefs, cohorts, present), sizes))
