"""What `attack` reads: a series of this tool, or the tables of another one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from republish.errors import PolicyError, ViewError

if TYPE_CHECKING:
    from republish.attacks import Adversary, Target
    from republish.knowledge import Extracted, Knowledge
    from republish.schema import Schema
    from republish.series import Series


class Attacked(Protocol):
    """What is attacked, before it is known by which attacks."""

    series: Series | None
    files: Sequence[Path]
    knowledge: Knowledge | Extracted | None
    notes: Sequence[str]

    def target(self, adversary: Adversary, wanted: Sequence[str]) -> Target:
        """All that these attacks need."""
        ...


def attacked(folder: Path, schema: Path | None, truth: Path | None, knowledge: Path | None) -> Attacked:
    """A series, or with a schema the tables of another tool."""
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
        reasoning = self.opened.reasoning
        self.knowledge = None if reasoning is None else reasoning.knowledge
        if knowledge is not None:
            self.knowledge = read_knowledge(knowledge, self.opened.schema)

    def target(self, adversary: Adversary, wanted: Sequence[str]) -> Target:
        """The series with codes, and classes where knowledge needs them, of everyone in the raw views."""
        from republish.attacks import BELIEVES, granted_view, names, target_of

        series, known, files = self.opened, adversary.knowledge, self.files
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
        from republish.attacks.foreign import tables_in
        from republish.cli.arguments import truth_views
        from republish.schema import read_schema

        if knowledge is not None:
            raise PolicyError(
                "beliefs need the classes of people, which are not read from tables of another tool; leave --knowledge "
                "out, or publish with this tool to compare"
            )
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

    def target(self, adversary: Adversary, wanted: Sequence[str]) -> Target:
        """Everybody put into a group that fits."""
        from republish.attacks import Target
        from republish.attacks.foreign import foreign_history

        del adversary, wanted  # all of them need the same
        found = foreign_history(self.tables, self.schema, self.files)
        unsure = sum(found.elsewhere) > 0.1 * len(found.history.person)
        self.notes = (
            f"people were put into groups that fit them and have a row of their value; {sum(found.elsewhere):,} rows "
            f"of {len(found.history.person):,} could also be of other groups, {sum(found.left_out):,} people of the "
            f"views found no row, {sum(found.nobodys):,} rows belong to nobody",
            *(
                [
                    "what follows from group membership is that of one assignment out of many: where it finds people "
                    "determined the true groups may not; see --membership matched"
                ]
                if unsure
                else []
            ),
        )
        return Target(found.history, sightings=found.sightings)
