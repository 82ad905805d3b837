"""The one step that brings what an earlier version keeps in private of a series to the form it has now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from republish.errors import LedgerError
from republish.memory.memory import KEY
from republish.microdata import NEWEST_ROWS
from republish.secret import Secret
from republish.sources.paths import read_parquet, write_parquet

if TYPE_CHECKING:
    from republish.ledger import Draft
    from republish.series import Series

MIGRATE = "migrate"
"""The kind of entry that stands for the step."""
_NOTE = (
    "private files of an earlier version were written anew, once: their digests of rows told more than they should; "
    "older backups still hold them, see docs/security-secret.md"
)


def migrate(series: Series) -> None:
    """Write memory and memberships anew with digests of rows in their newest form, and erase the old files.

    All of it is one entry of the chain, so that a series has one form or the other. The lock must be held. Without
    the secret nothing can be done, and nothing is: what needs the secret says so.

    Raises:
        LedgerError: a file is not what the ledger recorded, or cannot be written; then the series is as it was.
    """
    if series.row_digests == NEWEST_ROWS:
        return
    try:
        secret = series.secret()
    except LedgerError:
        return
    head, remembered = series.ledger.head, series.memory_files()
    members = {entry.release or 0: series.membership_files(entry.release or 0) for entry in series.records}
    with series.ledger.stage() as draft:
        memberships = {
            number: _rewritten(series, secret, draft, names, number) for number, names in members.items()
        }
        payload = {
            "row_digests": NEWEST_ROWS,
            "memory": _rewritten(series, secret, draft, list(remembered)),
            "memory_rows": list(remembered.values()),
            "memberships": memberships,
            "erased": [*remembered, *(name for names in members.values() for name in names)],
        }
        series.ledger.commit(draft, MIGRATE, payload, head)


def note_since(series: Series, known: int) -> str | None:
    """What to tell the user where the step was made after the first `known` entries of the chain."""
    return _NOTE if any(entry.kind == MIGRATE for entry in series.ledger.entries()[known:]) else None


def _rewritten(
    series: Series, secret: Secret, draft: Draft, names: list[str], release: int | None = None
) -> list[str]:
    """The names of fresh files of a memory, or of the membership of a release, in the order of the old ones."""
    kind = "memory" if release is None else "membership"
    paths = draft.private_files(kind, len(names), release)
    for name, path in zip(names, paths, strict=True):
        frame = read_parquet(series.ledger.intact(name))
        write_parquet(frame.with_columns(_of_people(frame, secret)), path, compression="lz4")
    return [draft.name(path) for path in paths]


def _of_people(frame: pl.DataFrame, secret: Secret) -> pl.Series:
    """The newest form of the digests in a table, by the oldest; of who was forgotten there stays none."""
    people = np.column_stack([frame[key].to_numpy() for key in KEY])
    words = secret.row_words(people, frame["row"].to_numpy())
    return pl.Series("row", np.where(people.any(axis=1), words, np.uint64(0)))
