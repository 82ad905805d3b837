"""What `attack` reads: a series of this tool, or the tables of another one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from republish.errors import PolicyError, ViewError

if TYPE_CHECKING:
    from republish.attacks import Adversary, Means, Target
    from republish.cli.attack.options import AttackOptions
    from republish.knowledge import Extracted, Knowledge
    from republish.schema import Schema
    from republish.series import Series


_MANY = 0.1  # with so large a share of rows that fit elsewhere, an assignment is one of many


@dataclass(frozen=True)
class Assignment:
    """How people of the views were put into the groups of another tool: rows taken, and what remains unclear.

    `elsewhere` rows could also be of other groups, `left_out` people found no row, `nobodys` rows belong to nobody.
    """

    rows: int
    elsewhere: int
    left_out: int
    nobodys: int

    @property
    def one_of_many(self) -> bool:
        """Whether so much could be otherwise that what follows from groups holds for this assignment alone."""
        return self.elsewhere > _MANY * self.rows


class AttackSource(ABC):
    """What is attacked, before it is known by which attacks; without `series` the tables of another tool."""

    series: Series | None = None
    files: Sequence[Path] = ()
    knowledge: Knowledge | Extracted | None = None
    notes: Sequence[str] = ()
    assignment: Assignment | None = None

    @property
    def promises(self) -> Sequence[str]:
        """What is promised over the series; nothing of tables of another tool."""
        return () if self.series is None else self.series.policy.promises["series"]

    def means(self, adversary: Adversary) -> Means:
        from republish.attacks import Means

        forming = None if self.series is None else self.series.publisher.forming
        return Means(adversary, bool(self.files), foreign=self.series is None, forming=forming)

    @abstractmethod
    def target(self, adversary: Adversary, wanted: Sequence[str]) -> Target:
        """All that these attacks need."""


def source_of(folder: Path, options: AttackOptions) -> AttackSource:
    """A series, or with a schema the tables of another tool."""
    from republish.policy import FILE

    schema, truth, knowledge = options.schema, options.truth, options.knowledge
    if schema is not None and (folder / FILE).is_file():
        raise PolicyError(
            f"--schema is for tables of another tool, and {folder} holds {FILE}: this is a series; leave --schema out"
        )
    return _Own(folder, truth, knowledge) if schema is None else _Other(folder, schema, truth, knowledge)


class _Own(AttackSource):
    """A series of this tool."""

    def __init__(self, folder: Path, truth: Path | None, knowledge: Path | None) -> None:
        from republish.cli.arguments import truth_views
        from republish.knowledge import read_knowledge
        from republish.series import Series

        self.opened = self.series = Series.open(folder)
        self.files = truth_views(truth, len(self.opened.records)) if truth else ()
        reasoning = self.opened.reasoning
        self.knowledge = None if reasoning is None else reasoning.knowledge
        if knowledge is not None:
            self.knowledge = read_knowledge(knowledge, self.opened.schema)

    def target(self, adversary: Adversary, wanted: Sequence[str]) -> Target:
        from republish.attacks import target_with_views

        return target_with_views(self.opened.snapshot(), adversary, wanted, self.files)


class _Other(AttackSource):
    """A folder of tables that another tool made, with the raw views they were made of."""

    def __init__(self, folder: Path, schema: Path, truth: Path | None, knowledge: Path | None) -> None:
        from republish.attacks.choose import NO_CLASSES
        from republish.attacks.matching.other_tools import tables_in
        from republish.cli.arguments import truth_views
        from republish.schema import read_schema

        if knowledge is not None:
            raise PolicyError(f"--knowledge is of no use here: {NO_CLASSES}")
        if truth is None:
            raise ViewError(
                "tables of another tool do not say who is in which group; give the raw views, --truth DIR"
            )
        self.schema: Schema = read_schema(schema)
        self.tables = tables_in(folder)
        self.files = truth_views(truth, len(self.tables))

    def target(self, adversary: Adversary, wanted: Sequence[str]) -> Target:
        from republish.attacks import Target
        from republish.attacks.matching.other_tools import foreign_history

        del adversary, wanted  # all of them need the same
        found = foreign_history(self.tables, self.schema, self.files)
        self.assignment = made = Assignment(
            len(found.history.person), sum(found.elsewhere), sum(found.left_out), sum(found.nobodys)
        )
        self.notes = (
            f"people were put into groups that fit them and have a row of their value; {made.elsewhere:,} rows "
            f"of {made.rows:,} could also be of other groups, {made.left_out:,} people of the "
            f"views found no row, {made.nobodys:,} rows belong to nobody",
        )
        if made.one_of_many:
            self.notes += (
                "what follows from group membership is that of one assignment out of many: where it finds people "
                "determined the true groups may not; see --membership matched",
            )
        return Target(found.history, sightings=found.sightings)
