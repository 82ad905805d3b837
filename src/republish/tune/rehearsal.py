"""A series that is published in memory, to be attacked before it begins: nothing is stored and nothing leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from republish.grouping import Grouping, Regions
from republish.inference import Reasoning
from republish.memory.membership import Membership
from republish.memory.memory import Memory
from republish.microdata import Microdata
from republish.policy import Policy
from republish.publishers import Publisher
from republish.publishers.contract import MustWait
from republish.publishing.steps import Piece, Terms
from republish.release.two_tables import AnyRelease
from republish.schema import Schema
from republish.secret import Secret
from republish.spatial.batch_cells import hiding_batches
from republish.spatial.kept_cuts import KeptCuts

REHEARSED = Secret.from_text("a dry run, of which nothing is kept")
"""The same views give the same answer."""


@dataclass(frozen=True)
class RehearsedRelease:
    """One release as an adversary would have it, and what it costs."""

    release: AnyRelease
    members: Membership
    view: Microdata
    rows: int
    suppressed: int
    counterfeits: int
    adopted: bool = False


@dataclass
class Rehearsal:
    """The releases of a policy so far, as a series shows them to whoever attacks it."""

    policy: Policy
    memory: Memory = field(default_factory=Memory.empty)
    made: list[RehearsedRelease] = field(default_factory=list)
    cuts: KeptCuts = field(default_factory=KeptCuts.none)

    @classmethod
    def of(cls, policy: Policy, views: Sequence[Microdata]) -> Rehearsal:
        """All views published in turn, oldest first; those of people under their pseudonyms.

        Raises:
            CannotPublish: one of them cannot be published as the policy asks.
        """
        series = cls(policy)
        for view in views:
            series.publish(view)
        return series

    def publish(self, view: Microdata) -> None:
        """Make the next release, and remember it."""
        policy, rows = self.policy, view.rows
        view = self._coded(view)
        view = view.without(policy.publisher.waits(view, self.memory))
        try:
            grouping = self._grouped(view)
        except MustWait as found:
            view = view.without(found.rows)
            grouping = self._grouped(view)
        number = len(self.made) + 1
        terms = Terms(policy.publisher, policy.requirements, REHEARSED, policy.seed, number, policy.of_people)
        cells = self._cells(view, grouping)
        piece = Piece(terms, view, grouping, view.row_digests(REHEARSED), self.memory, cells=cells)
        release, placed = piece.built()
        seen = piece.seen(placed.group)
        classes = None if self.reasoning is None else self.reasoning.respondents(view).classes
        group, code, row = (seen.columns[name] for name in ("group", "code", "row"))
        cell = None if cells is None else placed.cell
        members = Membership(seen.people, group, code, row, classes, cell, piece.held(placed.group))
        left = grouping.suppressed + rows - view.rows
        self.memory = piece.after(self.memory.merged(seen))
        self.made.append(RehearsedRelease(release, members, view, rows, left, grouping.counterfeits))

    def _coded(self, view: Microdata) -> Microdata:
        """The view with the codes of values that earlier releases showed; new ones follow."""
        if not self.made:
            return view
        known = self.known_values()
        domain = pl.concat([known, view.values]).unique(maintain_order=True)
        number = (
            view.values.to_frame("value")
            .join(
                domain.to_frame("value").with_row_index("code"),
                on="value",
                how="left",
                nulls_equal=True,
                maintain_order="left",
            )["code"]
            .to_numpy()
            .astype(np.int32)
        )
        return replace(view, codes=number[view.codes], values=domain, known=len(known))

    def _grouped(self, view: Microdata) -> Grouping:
        rng = REHEARSED.generator(self.policy.seed, len(self.made) + 1, "publisher")
        return self.policy.publisher.publish(view, self.memory, rng)

    def _cells(self, view: Microdata, grouping: Grouping) -> Grouping | None:
        form = self.policy.form
        if form is None:
            return None
        divided = self.cuts.divide(view, form.k)
        self.cuts = divided.cuts
        if form.hide_batch:
            divided = hiding_batches(view, divided, grouping.listed, form.k)
        return Grouping(divided.cell.astype(np.int32), regions=Regions(divided.low, divided.high))

    # What it shows of itself ----------------------------------------------------------------------

    def snapshot(self) -> Rehearsal:
        """The same: nobody else commits to it."""
        return self

    @property
    def records(self) -> Sequence[RehearsedRelease]:
        return self.made

    @property
    def schema(self) -> Schema:
        return self.policy.schema

    @property
    def publisher(self) -> Publisher:
        return self.policy.publisher

    @property
    def reasoning(self) -> Reasoning | None:
        return self.policy.reasoning

    def release(self, number: int) -> AnyRelease:
        return self.made[number - 1].release

    def members(self, number: int) -> Membership:
        return self.made[number - 1].members

    def values_at(self, number: int) -> pl.Series:
        return self.made[number - 1].view.values

    def known_values(self) -> pl.Series:
        return self.values_at(len(self.made))

    def secret(self) -> Secret:
        return REHEARSED
