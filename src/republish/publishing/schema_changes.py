"""Changes of the source that a frozen series can follow: each a row of the chain with its reason, or a clear no.

They say how a view is read into the columns of the series and never what is published of it, so that every promise
holds as before. What would change that, a column to be published that was not, is a new series: it adopts the releases
of this one, and counts with them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from republish.errors import PolicyError
from republish.schema import Schema
from republish.schema.amendments import ABSENT, DROP, RECODE, RENAME, new_series
from republish.schema.column_names import listed, require_names
from republish.sources.amended import read_codes, write_codes

if TYPE_CHECKING:
    from republish.ledger import Draft
    from republish.series import Series

_ANEW = (
    "begin a new series whose schema says so and adopt the releases of this one there, with the raw views that they "
    f"were made of: {new_series()}"
)


@dataclass(frozen=True)
class SchemaChange:
    """One change of how views are read: what is changed of which column, and to which heading, or by which codes."""

    kind: str
    column: str
    heading: str | None = None
    codes: dict[str, str] | None = None

    def payload(self) -> dict[str, Any]:
        """What the ledger keeps of it, besides the file of its codes."""
        more: dict[str, Any] = {"heading": self.heading} if self.heading is not None else {}
        more |= {"codes": len(self.codes)} if self.codes is not None else {}
        return {"change": self.kind, "column": self.column, **more}


def drop_change(heading: str) -> SchemaChange:
    """Leave a column of the source out of every view, which the series never had."""
    return SchemaChange(DROP, heading)


def rename_change(column: str, heading: str) -> SchemaChange:
    """Read a column under another heading too; it is published under the name that it has."""
    return SchemaChange(RENAME, column, heading=heading)


def absent_change(column: str) -> SchemaChange:
    """Let views lack a column; its cells are missing then."""
    return SchemaChange(ABSENT, column)


def recode_change(column: str, file: Any) -> SchemaChange:
    """Read new codes of a column as the old ones they stand for: a table with the columns old and new."""
    codes = read_codes(file)
    return SchemaChange(RECODE, column, codes={new: old for new, old in codes.items() if new != old})


def sentence_of(payload: dict[str, Any]) -> str:
    """What an entry of the ledger says of a change."""
    column = listed([payload["column"]])
    if payload["change"] == RENAME:
        return f"column {column} is read from {listed([payload['heading']])} too"
    if payload["change"] == RECODE:
        return f"column {column}: {payload['codes']:,} codes stand for others"
    return f"column {column} is left out" if payload["change"] == DROP else f"column {column} may be absent"


def amend_schema(series: Series, changes: Sequence[SchemaChange], reason: str) -> list[str]:
    """Commit all changes as one row of the chain; return what each does.

    Raises:
        PolicyError: nothing is published yet, there is no reason, or a change cannot be made; then nothing was written.
    """
    if not reason.strip():
        raise PolicyError("a change of how views are read needs a reason, without names: --reason WHY")
    with series.writing("amend"):
        if not series.records:
            raise PolicyError(
                "nothing is published yet, so that the schema may still be changed: edit [schema] of "
                f"{series.root / 'series.toml'}"
            )
        series.require_policy()
        head, schema = series.ledger.head, series.schema
        for change in changes:
            _CHECKS[change.kind](series, schema, change)
            schema = replace(schema, amended=schema.amended.amended(change.payload(), change.codes))
        with series.ledger.stage() as draft:
            made = [change.payload() | _file(draft, change) for change in changes]
            series.ledger.commit(draft, "amend", {"changes": made, "reason": reason.strip()}, head)
    return [sentence_of(one) for one in made]


def _file(draft: Draft, change: SchemaChange) -> dict[str, str]:
    if change.codes is None:
        return {}
    path = draft.private_file("recodes", ".csv")
    write_codes(change.codes, path)
    return {"recode": draft.name(path)}


def _require_drop(series: Series, schema: Schema, change: SchemaChange) -> None:
    _require_new_heading(schema, change.column)
    if change.column in schema.amended.headings:
        raise PolicyError(f"the source's column {listed([change.column])} has a meaning already; {_ONCE}")


def _require_rename(series: Series, schema: Schema, change: SchemaChange) -> None:
    if change.column not in schema.columns:
        raise PolicyError(
            f"the series has no column {listed([change.column])}; it has {listed(schema.columns)}"
        )
    assert change.heading is not None
    _require_new_heading(schema, change.heading)
    if schema.amended.headings.get(change.heading) is not None:
        raise PolicyError(f"the source's column {listed([change.heading])} has a meaning already; {_ONCE}")


_ONCE = "views that were published are read by it. Let the source call the column otherwise"


def _require_new_heading(schema: Schema, heading: str) -> None:
    require_names([heading])
    if heading in schema.columns:
        ways = (
            f", and `--absent {heading}` if the source has it no more"
            if heading in schema.may_be_absent
            else ""
        )
        raise PolicyError(
            f"column {listed([heading])} is a column of the series, which is published as it was promised. Leave it "
            f"in the view{ways}; to publish the table without it, {_ANEW}"
        )
    if heading in schema.dropped:
        raise PolicyError(
            f"column {listed([heading])} is left out of every view already; rename it in the source"
        )


def _require_absent(series: Series, schema: Schema, change: SchemaChange) -> None:
    name = change.column
    if name not in schema.columns:
        raise PolicyError(f"the series has no column {listed([name])}; it has {listed(schema.columns)}")
    if name in schema.amended.absent:
        raise PolicyError(f"column {listed([name])} may be absent already; nothing was written")
    if name == schema.identifier:
        raise PolicyError(
            f"without the identifier {listed([name])} nobody is recognised again, and no promise over the series can "
            f"be kept; if the source calls it otherwise, `--rename {name}=NEW`"
        )
    if name not in schema.may_be_absent:
        raise PolicyError(
            f"column {listed([name])} is the sensitive one, whose values the promises are about; if the source calls "
            f"it otherwise, `--rename {name}=NEW`; if there are no values any more, {_ANEW}"
        )


def _require_recode(series: Series, schema: Schema, change: SchemaChange) -> None:
    assert change.codes is not None
    columns = {c.name: c for c in (*schema.quasi_identifiers, schema.sensitive) if c is not None}
    column = columns.get(change.column)
    if column is None or column.kind not in ("category", "ordered"):
        of = listed(name for name, one in columns.items() if one.kind in ("category", "ordered")) or "none"
        raise PolicyError(
            f"codes stand for others in columns of categories that are generalized or sensitive: {of}. "
            f"{listed([change.column])} is none; convert its cells in the source"
        )
    known = _known_codes(series, schema, change.column)
    strange = sum(old not in known for old in change.codes.values())
    if strange:
        raise PolicyError(
            f"column {column.name}: an old code is one that the series knows; {strange} of {len(change.codes)} are "
            "not. Correct the file; what stands for nothing old needs no line there"
        )
    taken = sum(new in known for new in change.codes)
    if taken:
        raise PolicyError(
            f"column {column.name}: a new code must be none of the series; {taken} of {len(change.codes)} are, and "
            "views of before and after could not be distinguished. Let the source write them otherwise, with a letter "
            "in front for instance, and name these in the file"
        )
    earlier = schema.amended.recodes.get(change.column, {})
    again = sum(earlier.get(new, old) != old for new, old in change.codes.items())
    if again or not change.codes:
        raise PolicyError(
            f"column {column.name}: the file must add codes and never alter one; {again} stand for another one "
            "already. Correct the file"
        )


def _known_codes(series: Series, schema: Schema, name: str) -> set[str]:
    """All codes of a column that releases were made with, or that the schema and its hierarchies list."""
    column = schema.column(name)
    known = set(column.closed or ())
    if schema.sensitive is not None and name == schema.sensitive.name:
        return known | {str(value) for value in series.known_values().drop_nulls().to_list()}
    for entry in series.records:
        path: Path = series.ledger.intact(entry.payload["scales"])
        known.update(json.loads(path.read_text(encoding="utf-8"))["axes"][name].get("labels", ()))
    return known | set(getattr(column.hierarchy, "leaves", ()))


_CHECKS = {DROP: _require_drop, RENAME: _require_rename, ABSENT: _require_absent, RECODE: _require_recode}
