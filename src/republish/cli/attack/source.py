"""What `attack` reads: a series of this tool, or the tables of another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from republish.errors import PolicyError, ViewError

if TYPE_CHECKING:
    from republish.attacks import Adversary, Target
    from republish.knowledge import Extracted, Knowledge
    from republish.schema.schema import Schema
    from republish.series import Series


_NO_CLASSES = (
    "beliefs need the classes of people, which are not read from tables of another tool; publish with this tool to "
    "compare"
)
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


class Attacked(Protocol):
    """What is attacked, before it is known by which attacks."""

    series: Series | None
    files: Sequence[Path]
    knowledge: Knowledge | Extracted | None
    notes: Sequence[str]
    assignment: Assignment | None

    def hindrance(self, name: str, adversary: Adversary) -> str | None:
        """Why an attack cannot be made, `None` where it can."""
        ...

    def target(self, adversary: Adversary, wanted: Sequence[str]) -> Target:
        """All that these attacks need."""
        ...


def attacked(folder: Path, schema: Path | None, truth: Path | None, knowledge: Path | None) -> Attacked:
    """A series, or with a schema the tables of another tool."""
    from republish.policy import FILE

    if schema is not None and (folder / FILE).is_file():
        raise PolicyError(
            f"--schema is for tables of another tool, and {folder} holds {FILE}: this is a series; leave --schema out"
        )
    return _Own(folder, truth, knowledge) if schema is None else _Other(folder, schema, truth, knowledge)


class _Own:
    """A series of this tool."""

    def __init__(self, folder: Path, truth: Path | None, knowledge: Path | None) -> None:
        from republish.cli.arguments import truth_views
        from republish.knowledge import read_knowledge
        from republish.series import Series

        self.series: Series | None = None
        self.opened = self.series = Series.open(folder)
        self.files: Sequence[Path] = truth_views(truth, len(self.opened.records)) if truth else ()
        self.notes: Sequence[str] = ()
        self.assignment: Assignment | None = None
        reasoning = self.opened.reasoning
        self.knowledge = None if reasoning is None else reasoning.knowledge
        if knowledge is not None:
            self.knowledge = read_knowledge(knowledge, self.opened.schema)

    def hindrance(self, name: str, adversary: Adversary) -> str | None:
        """Why an attack cannot be made, `None` where it can."""
        from republish.attacks import obstacle

        return obstacle(name, adversary, bool(self.files))

    def target(self, adversary: Adversary, wanted: Sequence[str]) -> Target:
        """The series with codes, and classes where knowledge needs them, of everyone in the raw views."""
        from republish.attacks import BELIEVES, granted_view, names, target_of

        series, known, files = self.opened.snapshot(), adversary.knowledge, self.files
        if not files:
            return target_of(series, adversary, wanted)
        numbered = list(enumerate(files, start=1))
        if known is None or not set(wanted) & set(names(BELIEVES)):
            frames = [series.true_codes(i, file) for i, file in numbered]
        else:
            frames = [granted_view(series, i, file, known.classes) for i, file in numbered]
        return target_of(series, adversary, wanted, frames, files)


class _Other:
    """A folder of tables that another tool made, with the raw views they were made of."""

    def __init__(self, folder: Path, schema: Path, truth: Path | None, knowledge: Path | None) -> None:
        from republish.attacks.matching.other_tools import tables_in
        from republish.cli.arguments import truth_views
        from republish.schema.schema import read_schema

        if knowledge is not None:
            raise PolicyError(f"--knowledge is of no use here: {_NO_CLASSES}")
        if truth is None:
            raise ViewError(
                "tables of another tool do not say who is in which group; give the raw views, --truth DIR"
            )
        self.schema: Schema = read_schema(schema)
        self.series: Series | None = None
        self.tables = tables_in(folder)
        self.files: Sequence[Path] = truth_views(truth, len(self.tables))
        self.knowledge: Knowledge | Extracted | None = None
        self.notes: Sequence[str] = ()
        self.assignment: Assignment | None = None

    def hindrance(self, name: str, adversary: Adversary) -> str | None:
        """Why an attack cannot be made, `None` where it can."""
        from republish.attacks import BELIEVES, KINDS, obstacle

        believes = name in KINDS and KINDS[name].way == BELIEVES
        return _NO_CLASSES if believes else obstacle(name, adversary, views=True)

    def target(self, adversary: Adversary, wanted: Sequence[str]) -> Target:
        """Everybody put into a group that fits."""
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
