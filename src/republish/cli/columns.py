"""What `init` is told of columns, and what it asks: roles by patterns or in a table, and how files are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from republish.cli.options import option
from republish.cli.output import say

if TYPE_CHECKING:
    from republish.sources.columns.understood import Understood
    from republish.sources.propose import Proposal


@dataclass(frozen=True)
class ColumnOptions:
    """What is known of the columns before anybody is asked."""

    schema: Path | None = option(
        None,
        "schema.toml with the role of every column, or a series that has it; or a Table Schema, datapackage.json: "
        "roles are proposed.",
    )
    view: list[Path] | None = option(
        None,
        "A past view, a file of any format: roles are proposed from the first, the publisher is chosen on all, oldest "
        "first.",
        "--from",
    )
    yes: bool = option(False, "Take the proposal without asking.", "--yes")
    label: list[str] | None = option(
        None, "With --from: the role of columns by a pattern of their names: 'lab_*=quasi-identifier:number'."
    )
    columns: Path | None = option(
        None,
        "With --from: a table with the role of every column. Where there is none it is written, to be edited; run the "
        "same command again then.",
    )
    read_as: list[str] | None = option(
        None,
        "With --from: how files are written, where it is not found: decimal=, or dates.born=DD/MM/YYYY, "
        "missing=NA,k.A., missing.age=999, encoding, separator, thousands, sheet.",
        "--read",
    )

    @property
    def proposes(self) -> bool:
        return self.schema is None or self.schema.suffix == ".json"

    def proposed(self, quiet: bool) -> tuple[list[Proposal], Understood]:
        """Proposals by the codebook, the first view and what is said of columns; and what is understood."""
        from republish.cli.arguments import assignments
        from republish.schema.table_schema import read_table_schema
        from republish.sources.columns.labels import read_columns, settings_said, with_labels, write_columns
        from republish.sources.columns.understood import Understood, understand
        from republish.sources.propose import propose, propose_by_names, with_codebook

        codebook = read_table_schema(self.schema) if self.schema is not None else None
        said = settings_said(assignments(self.read_as or [], "--read"))
        if codebook is not None:
            said = dict(codebook.settings) | said
        if self.view:
            understood = understand(self.view[0], said)
            proposals = propose(understood)
            proposals = proposals if codebook is None else with_codebook(proposals, codebook)
        else:
            assert codebook is not None
            understood, proposals = Understood.of_codebook(said), propose_by_names(codebook)
        proposals = with_labels(proposals, self.label or [])
        if self.columns is None:
            return proposals, understood
        if not self.columns.exists():
            write_columns(self.columns, proposals, understood)
            if not quiet:
                say(f"wrote {self.columns}: {len(proposals)} columns with the roles that are proposed")
                say("edit role, kind, dates and missing, and run the same command again")
            raise typer.Exit
        return read_columns(self.columns, proposals, understood)


def is_said(proposal: Proposal) -> bool:
    """Whether a person gave this column its role already."""
    from republish.sources.columns.labels import LABELLED, LISTED

    return proposal.why in (LABELLED, LISTED)


def ask_reading(understood: Understood, proposals: Sequence[Proposal], yes: bool, quiet: bool) -> Understood:
    """What is understood, with answers where a file can be read in two ways; with nobody to ask, numbers stay."""
    kept = {p.name: p for p in proposals if p.role not in ("drop", "identifier")}
    for name, forms in understood.unclear.items():
        if name in kept and kept[name].kind == "date" and not yes:
            understood = understood.with_form(name, choose(f"{name}: days are written", forms, forms[0]))
    for name, codes in understood.maybe.items():
        if name not in kept or kept[name].kind != "number":
            continue
        many, command = ", ".join(codes), f"--read missing.{name}={','.join(codes)}"
        if not yes and typer.confirm(f"{name}: does {many} mean missing?", default=False):
            understood = understood.with_codes(name, codes)
        elif yes and not quiet:
            say(f"note: {many} in {name} is read as a number; if it means missing, say {command}")
    return understood


def choose(question: str, choices: Sequence[str], default: str) -> str:
    """One of the choices, or a beginning that only one of them has."""
    while True:
        answer = str(typer.prompt(f"{question} ({', '.join(choices)})", default=default))
        fitting = [choice for choice in choices if choice.startswith(answer)]
        if len(fitting) == 1:
            return fitting[0]
        say(f"please answer with one of {', '.join(choices)}")
