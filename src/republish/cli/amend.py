"""`amend`: what of a series may change while it goes on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from republish.cli.options import Folder, gathered, option
from republish.cli.output import say, say_json
from republish.cli.publish import WritingOptions, telling
from republish.show.numbers import number

if TYPE_CHECKING:
    from republish.gate.limits import Gate
    from republish.series import Series

Several = list[str] | None
AS_RECOMMENDED = "recommended"
"""The gate whose limit was tried."""


@dataclass(frozen=True)
class AmendOptions:
    """What is amended of hierarchies, of how views are read, and of the gate."""

    hierarchy: Several = option(None, "COLUMN=FILE: append the leaves that FILE adds.")
    drop: Several = option(None, "A new column of the source: leave it out of every view.")
    rename: Several = option(None, "OLD=NEW: column OLD of the series is now called NEW in the source.")
    absent: Several = option(None, "The source no longer has this column: its cells are missing from now on.")
    recode: Several = option(None, "COLUMN=FILE: codes of the source and those of the series (CSV: old,new).")
    gate: str | None = option(
        None,
        'Settings of the gate from now on: "max_determined=0.01,compromised=0.04"; none removes it; recommended tries '
        "a gate on the releases so far, and on --from.",
    )
    view: list[Path] | None = option(
        None, "With --gate recommended: a past raw view; several, oldest first.", "--from"
    )
    reason: str = option(
        "", "Why, for ledger and report; no names. --hierarchy and a tighter gate need none."
    )

    def new_gate(self, series: Series) -> str | Gate:
        """The settings of the gate, or the whole gate that is recommended."""
        from republish.tune.recommended_gate import recommended_gate

        assert self.gate is not None
        return recommended_gate(series, self.view or ()) if self.gate == AS_RECOMMENDED else self.gate


@gathered
def amend(series: Folder, options: AmendOptions, how: WritingOptions) -> None:
    """Append leaves to a hierarchy, say how columns of the source are read, or change the gate for releases to come."""
    from republish.cli.arguments import assignments
    from republish.errors import PolicyError
    from republish.gate.run import broken_already
    from republish.publishing.maintenance import amend_gate, amend_hierarchy
    from republish.publishing.schema_changes import absent_change, drop_change, recode_change, rename_change

    opened = how.open(series)
    leaves = assignments(options.hierarchy or [], "--hierarchy")
    changes = [
        *(drop_change(name) for name in options.drop or ()),
        *(rename_change(*pair) for pair in assignments(options.rename or [], "--rename").items()),
        *(absent_change(name) for name in options.absent or ()),
        *(recode_change(*pair) for pair in assignments(options.recode or [], "--recode").items()),
    ]
    kinds = sum((bool(leaves), bool(changes), options.gate is not None))
    if kinds != 1:
        raise PolicyError(
            "say what to amend, one of these in a command: hierarchies (--hierarchy), columns (--drop, --rename, "
            f"--absent, --recode) or the gate (--gate); found {kinds or 'none'} of them"
        )
    if options.view and options.gate != AS_RECOMMENDED:
        raise PolicyError(f"--from goes with --gate {AS_RECOMMENDED}, whose limit is tried on views")
    added, sentences = {}, []
    with telling(opened):
        for column, file in leaves.items():
            added[column] = amend_hierarchy(opened, column, Path(file))
            sentences.append(f"{column}: {number(added[column])} leaves added")
        if changes:
            sentences += opened.amend(changes, options.reason)
        if options.gate is not None:
            sentences.append(amend_gate(opened, options.new_gate(opened), options.reason).sentence())
            sentences += [f"note: {one}" for one in broken_already(opened)]
    if how.as_json:
        say_json({"added": added, "amended": sentences})
    else:
        for sentence in sentences:
            say(sentence)
