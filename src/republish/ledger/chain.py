"""The hash chain: each entry of the catalogue holds the digest of the one before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from republish.errors import LedgerError

ADOPT = "adopt"
"""The kind of entry that brings in a release which another tool made before the series began."""
KINDS = ("init", "release", "amend", "withdraw", "forget", ADOPT, "migrate")
WITH_RELEASE = ("release", ADOPT)
"""The kinds of entry that bring a new release into the series."""

START = "0" * 64
"""What the first entry names as the digest before it."""


@dataclass(frozen=True)
class Entry:
    """One thing that happened to the series, as the catalogue recorded it."""

    seq: int
    kind: str
    release: int | None
    recorded_at: str
    payload: dict[str, Any]
    previous: str
    digest: str

    @property
    def adopted(self) -> bool:
        """Whether it brought in a release that another tool made before."""
        return self.kind == ADOPT


class Record(NamedTuple):
    """One row of the catalogue as it is stored: the payload is text that may have been tampered with."""

    seq: int
    kind: str
    release: int | None
    recorded_at: str
    payload: str
    previous: str
    digest: str


class Head(NamedTuple):
    """Which entry the catalogue holds to be the last."""

    seq: int
    digest: str


def canonical(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no spaces, ASCII, no NaN."""
    # Through JSON once before sorting: keys that are numbers become text first, so that reading back and
    # writing again gives the same text.
    plain = json.loads(json.dumps(value, allow_nan=False))
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest_of(record: Record) -> str:
    """BLAKE2b-256 over everything in a record but the digest itself."""
    return hashlib.blake2b(canonical(list(record[:-1])).encode(), digest_size=32).hexdigest()


def seal(kind: str, release: int | None, payload: dict[str, Any], previous: Head | None) -> Record:
    """The record that follows `previous`, stamped with the time and its digest."""
    record = Record(
        seq=previous.seq + 1 if previous else 1,
        kind=kind,
        release=release,
        recorded_at=datetime.now(UTC).isoformat(timespec="seconds"),
        payload=canonical(payload),
        previous=previous.digest if previous else START,
        digest="",
    )
    return record._replace(digest=digest_of(record))


def entry_of(record: Record) -> Entry:
    """A record with its payload read."""
    try:
        payload = json.loads(record.payload)
    except (TypeError, ValueError):
        payload = None
    if not _well_formed(record.kind, payload):
        raise LedgerError(
            f"entry {record.seq} of the ledger cannot be read: its payload does not have the form of one; "
            "restore the series from a backup"
        )
    return Entry(**{**record._asdict(), "payload": payload})


def _well_formed(kind: str, payload: Any) -> bool:
    if not isinstance(payload, dict):
        return False
    files, erased = payload.get("files", {}), payload.get("erased", [])
    return (
        isinstance(files, dict)
        and all(isinstance(found, dict) and {"digest", "bytes"} <= found.keys() for found in files.values())
        and isinstance(erased, list)
        and all(isinstance(name, str) for name in erased)
        and (kind not in WITH_RELEASE or isinstance(payload.get("staging"), str))
    )


def faults_in(records: Sequence[Record], head: Head | None) -> Iterator[str]:
    """A sentence for every place where the chain does not hold; nothing for a whole chain."""
    expected, before = 1, START
    for record in records:
        if record.seq > expected:
            gap = (
                f"entry {expected} is"
                if record.seq == expected + 1
                else f"entries {expected} to {record.seq - 1} are"
            )
            yield f"{gap} missing from the ledger"
        elif record.previous != before:
            yield f"entry {record.seq} of the ledger does not follow the entry before it"
        if not _genuine(record):
            yield f"entry {record.seq} of the ledger was altered: its digest does not match what it holds"
        if record.kind not in KINDS:
            yield f"entry {record.seq} of the ledger is of no known kind"
        expected, before = record.seq + 1, record.digest
    if head is None:
        yield "the ledger does not say which entry is the last"
    elif not records or head != (records[-1].seq, before):
        last = f"entry {records[-1].seq}" if records else "nothing"
        yield f"the ledger must end with entry {head.seq} as committed, but ends with {last} or another"
    if records and records[0].kind != "init":
        yield "the ledger does not begin with the creation of the series"
    yield from _missing_releases(records)


def _genuine(record: Record) -> bool:
    try:
        return digest_of(record) == record.digest
    except (TypeError, ValueError):  # a tampered row can hold what JSON cannot
        return False


def _missing_releases(records: Sequence[Record]) -> Iterator[str]:
    numbers = [record.release for record in records if record.kind in WITH_RELEASE]
    present = {number for number in numbers if isinstance(number, int) and number > 0}
    for number in range(1, min(max(present, default=0), len(records)) + 1):
        if number not in present:
            yield f"release {number} is missing from the ledger"
    if len(present) != len(numbers):
        yield "a release of the ledger has no number of its own"
