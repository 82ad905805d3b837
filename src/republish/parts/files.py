"""Files that executors read and write: the same names and bytes at every attempt, seen whole or not at all."""

from __future__ import annotations

import hashlib
import io
import os
import secrets
from pathlib import Path
from typing import Any

import polars as pl

from republish.errors import LedgerError
from republish.sources.paths import is_local


def read_intact(place: Path, recorded: dict[str, Any]) -> pl.DataFrame:
    """The table in a file, after a look that it is what the ledger recorded.

    Raises:
        LedgerError: it is not.
    """
    try:
        data = place.read_bytes()
    except FileNotFoundError:
        data = b""
    if _measured(data) != recorded:
        raise LedgerError(
            f"{place.name} is missing or was altered; nothing was written: restore the series from a backup. Executors "
            "must see the folder of the series, or the store, under the same path as the driver"
        )
    return pl.read_parquet(io.BytesIO(data))


def write_table(frame: pl.DataFrame, place: Path, aside: Path, **options: Any) -> dict[str, Any]:
    """Write a table as one Parquet file and return its digest and size."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, **options)
    return write_bytes(buffer.getvalue(), place, aside)


def write_bytes(data: bytes, place: Path, aside: Path) -> dict[str, Any]:
    """Write a file and return its digest and size.

    Attempts of one task write the same bytes under the same name. On a disk the file is written in the folder `aside`
    first, so that its name appears with all of it.
    """
    if not is_local(place):  # an object appears whole, whoever writes it
        place.write_bytes(data)
        return _measured(data)
    draft = aside / f"{place.name}-{secrets.token_hex(4)}"
    place.parent.mkdir(exist_ok=True)
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)
    return _measured(data)


def _measured(data: bytes) -> dict[str, Any]:
    return {"digest": hashlib.blake2b(data, digest_size=32).hexdigest(), "bytes": len(data)}
