"""The inspection of a series on disk: everything that is not as the ledger recorded it."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from republish.errors import LedgerError
from republish.ledger.catalogue import Catalogue
from republish.ledger.chain import WITH_RELEASE, Entry, Record, entry_of, faults_in
from republish.ledger.entries import LedgerEntries, named_files
from republish.ledger.files import Layout, measure, split_name
from republish.ledger.recovery import resolve

Progress = Callable[[int, int], None]
Measured = Mapping[str, Mapping[str, Any]]
"""Digest and size of files by name, found elsewhere; a file that is not among them is measured here."""
_ATTEMPTS = 3


def check_series(
    layout: Layout,
    catalogue: Catalogue,
    progress: Progress | None = None,
    measured: Measured | None = None,
) -> list[str]:
    """A sentence for everything wrong; empty if the series is intact."""
    found: list[str] = []
    for _ in range(_ATTEMPTS):
        # Before the catalogue: a folder that is there now has its entry there already.
        released = layout.released()
        try:
            records, head = catalogue.records()
            on_disk = _faults_on_disk(layout, records, released, progress, measured or {})
            found = [*faults_in(records, head), *on_disk]
            if not found or catalogue.records()[1] == head:
                return found
        except LedgerError as error:
            return [str(error)]
    return found  # publishers kept committing meanwhile; this is the newest of what was seen


def files_at_fault(faults: Sequence[str]) -> set[str]:
    """The names that faults begin with: of a file that is not as it was recorded its fault says so first."""
    return {fault.partition(" ")[0].rstrip(":") for fault in faults}


def _faults_on_disk(
    layout: Layout,
    records: Sequence[Record],
    released: set[str],
    progress: Progress | None,
    measured: Measured,
) -> Iterator[str]:
    legible: list[Entry] = []
    for record in records:
        try:
            legible.append(entry_of(record))
        except LedgerError as error:
            yield str(error)
    entries = LedgerEntries(legible)
    live = entries.files
    for done, (name, recorded) in enumerate(live.items(), start=1):
        yield from _file_faults(layout, entries, name, recorded, measured.get(name))
        if progress is not None:
            progress(done, len(live))
    # What a release supersedes is only in the way; what `forget` erases must really be gone.
    for name in sorted(named_files(entry for entry in entries if entry.kind not in WITH_RELEASE)[1]):
        yield from _erasure_faults(layout, name)
    known = {number for number in entries.by_release if isinstance(number, int)}
    for name in sorted(released - {layout.release(number).name for number in known}):
        yield f"releases/{name} is not part of the series: no entry of the ledger names it"
    for number in sorted(known):
        yield from _extra_files(layout, entries, number, live)
    for path in layout.open_to_others():
        mode = path.stat().st_mode & 0o777
        yield f"{path.name} must be closed to all but its owner, but has mode {mode:04o}; run chmod go= on it"


def places_of(layout: Layout, entries: LedgerEntries) -> dict[str, Path]:
    """Where the files lie that must exist; those that do not, or are no plain files, are left out."""
    found: dict[str, Path] = {}
    for name in entries.files:
        try:
            path = _locate(layout, entries, name)
            if path.is_file() and not path.is_symlink():
                found[name] = path
        except (OSError, LedgerError):
            continue  # what is wrong with it is said when its turn comes
    return found


def _file_faults(
    layout: Layout,
    entries: LedgerEntries,
    name: str,
    recorded: dict[str, object],
    measured: Mapping[str, Any] | None,
) -> Iterator[str]:
    try:
        path = _locate(layout, entries, name)
        if not path.exists():
            path = _locate(layout, entries, name)  # its release may have been moved to its place just now
        if path.is_symlink() or (path.exists() and not path.is_file()):
            yield f"{name} is not a plain file"
            return
        size = path.stat().st_size
        if size != recorded["bytes"]:
            yield f"{name} was altered: it has {size} bytes instead of {recorded['bytes']}"
        elif (measured or measure(path)) != recorded:
            yield f"{name} was altered: its digest does not match the ledger"
    except FileNotFoundError:
        yield f"{name} is missing"
    except OSError as error:
        yield f"{name} cannot be read: {error.strerror}"
    except LedgerError as error:
        yield f"{name}: {error}"


def _locate(layout: Layout, entries: LedgerEntries, name: str) -> Path:
    release, inner = split_name(name)
    return layout.store / inner if release is None else resolve(layout, entries, release) / inner


def _erasure_faults(layout: Layout, name: str) -> Iterator[str]:
    try:
        if split_name(name)[0] is not None:
            yield f"{name} cannot have been erased: it belongs to a release"
        elif (layout.store / name).exists():
            yield f"{name} must be erased, but is still there; the next command that writes removes it"
    except LedgerError as error:
        yield str(error)


def _extra_files(layout: Layout, entries: LedgerEntries, number: int, names: Container[str]) -> Iterator[str]:
    try:
        folder = resolve(layout, entries, number)
    except LedgerError:
        return  # each of its files was reported as missing
    for path in sorted(folder.rglob("*")):
        name = f"releases/{number:04d}/{path.relative_to(folder).as_posix()}"
        if name not in names and (path.is_symlink() or not path.is_dir()):
            yield f"{name} is not part of release {number}"
