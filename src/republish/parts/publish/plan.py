"""Which parts a view is cut into, and which publishers can be run in parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.errors import PolicyError
from republish.knowledge import Extracted, Transitions
from republish.parts.blocks import Mover
from republish.parts.counts import ROWS, Placing, Plan, add_up, code_table, count_pieces, count_transitions
from republish.parts.publish.routes import Fits, Pieces, Routes, homes, joined, ranges, regions
from republish.parts.survey import Domains
from republish.policy import Policy
from republish.publishers import Publisher
from republish.requirements import Whole

PIECES_A_PART = 16


@dataclass(frozen=True)
class Sizes:
    """Into how many tasks the work on a view is divided: people by pseudonym, parts, shards."""

    rows: int
    parts: int

    @classmethod
    def of(cls, rows: int, part_rows: int, parts: int | None) -> Sizes:
        """So many parts, or as many as it takes for each to have about `part_rows`."""
        return cls(rows, parts or max(1, -(-rows // part_rows)))

    @property
    def shards(self) -> int:
        """How many files the release has: fewer than parts where those are many, for each part sends to each shard."""
        return self.parts if self.parts <= 16 else -(-self.parts // 2)

    @property
    def sums(self) -> int:
        return -(-self.parts // 16)

    @property
    def limit(self) -> int:
        return max(1, -(-self.rows // self.parts))


def require_in_parts(policy: Policy) -> None:
    """Refuse what only one process can do.

    Raises:
        PolicyError: the publisher, an option of it, or the gate looks at the whole view or all releases at once.
    """
    reason = policy.publisher.undivided
    if reason is None and policy.gate is not None:
        reason = "the gate attacks all releases together"
    if reason is None and policy.form is not None and policy.form.hide_batch:
        reason = "cells that hide the batch are made of whole batches (hide_batch)"
    if reason:
        raise PolicyError(
            f"a release is made in parts only where no step needs all rows at once, and {reason}; "
            "publish without --engine, or choose another publisher or option in a new series. Nothing was written"
        )


def plan(
    mover: Mover[Any], people: Any, publisher: Publisher, domains: Domains, sizes: Sizes, release: int
) -> tuple[Plan, Whole]:
    """The parts of a view, from counts alone, and what the whole view says of its sensitive values.

    `release` is the number of releases so far.
    """
    division = publisher.division
    placing = Placing(domains.cube, division.along)
    pieces = _pieces(mover, people, placing, sizes)
    cut = ranges(pieces, sizes.parts) if division.along == "hilbert" else regions(pieces, sizes.limit)
    made = Plan(placing, Routes(pieces, cut), division.signatures, release)
    counted = add_up(mover, people, sizes.sums, partial(made.count_codes, sizes.sums))
    free, kept = code_table(counted, made.routes.parts, len(domains.values))
    whole = domains.whole((free + kept).sum(axis=0))
    routes = replace(made.routes, part=joined(cut, free, _fits(publisher, whole)))
    made = replace(made, routes=routes)
    if made.rule is not None and release:
        counted = add_up(mover, people, sizes.sums, partial(made.count_signatures, sizes.sums))
        if counted.height:
            signatures, home = homes(counted, sizes.limit)
            made = replace(made, routes=replace(routes, signatures=signatures, home=home))
    return made, whole


def _pieces(mover: Mover[Any], people: Any, placing: Placing, sizes: Sizes) -> Pieces:
    """Counts along the line, refined until pieces are a fraction of a part, or cannot be told apart."""
    pieces = Pieces.whole(sizes.rows)
    limit = max(1, sizes.limit // PIECES_A_PART)
    while sizes.parts > 1 and (crowded := pieces.crowded(limit)).any():
        counted = add_up(
            mover, people, sizes.sums, partial(count_pieces, placing, pieces, crowded, sizes.sums)
        )
        start, depth, rows = (counted[name].to_numpy() for name in ("start", "depth", "rows"))
        pieces = pieces.refined(crowded, start, depth, rows)
    return pieces


def _fits(publisher: Publisher, whole: Whole) -> Fits:
    """Whether a part could be one group; of those without a signature, whether they are m-eligible."""
    kept = publisher.division.signatures
    if kept is None:

        def one_group(counts: IntArray) -> BoolArray:
            holds = [
                requirement.holds(counts.astype(np.int64), whole) for requirement in publisher.requirements
            ]
            return np.all(holds, axis=0) if holds else np.ones(len(counts), dtype=np.bool_)

        return one_group

    def eligible(counts: IntArray) -> BoolArray:
        found: BoolArray = kept.m * counts.max(axis=1) <= counts.sum(axis=1)
        return found | kept.pads

    return eligible


def with_counts(
    mover: Mover[Any],
    people: Any,
    publisher: Publisher,
    domains: Domains,
    before: Any,
    release: int,
    tasks: int,
) -> tuple[Publisher, Any]:
    """The publisher with the counts of all views up to this one, where its knowledge is counted; and their table.

    `before` are the counts of earlier views, `None` for none.
    """
    source = publisher.knowledge
    if not isinstance(source, Extracted):
        return publisher, before
    counted = add_up(mover, people, tasks, partial(count_transitions, source, domains, release, tasks))
    counts = source.start() if before is None else Transitions(source.start().order, before)
    counts = counts.plus(counted.rename({ROWS: "count"}, strict=False))
    return publisher.with_knowledge(replace(source, counted=counts)), counts.table
