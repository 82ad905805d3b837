"""Whether published files still are what the ledger recorded, looked at a little with every page."""

from __future__ import annotations

import stat
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from republish.errors import LedgerError
from republish.ledger.files import measure
from republish.ledger.recovery import resolve

if TYPE_CHECKING:
    from republish.ledger import Ledger

_MOST = 2**28  # bytes that one look measures; what is handed out is measured whatever its size


class _Written(NamedTuple):
    """When a file was written last, and which one it is: nobody can write to it without changing this."""

    changed: int
    modified: int
    number: int
    bytes: int


class _ReleaseFile(NamedTuple):
    release: int
    name: str
    path: Path | None
    recorded: dict[str, Any]


class Watch:
    """Which published files are missing or altered.

    Files of this machine are measured when they are first seen and whenever they were written since, as many as one
    look may, those written last first; the others are compared by their size. Of files in a store it is known what
    the last download found.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._measured: dict[Path, tuple[_Written, dict[str, Any]]] = {}
        self._refused: set[tuple[Path, int, str]] = set()

    def handed_out(self, ledger: Ledger, release: int, file: str, intact: bool) -> None:
        """Remember what a download found."""
        (self._refused.discard if intact else self._refused.add)((ledger.root, release, file))

    def altered(self, ledger: Ledger) -> dict[int, list[str]]:
        """The files that are not what the ledger recorded: by release their names in it."""
        found: dict[int, list[str]] = defaultdict(list)
        there: list[tuple[_Written, _ReleaseFile]] = []
        for file in _published(ledger):
            if file.path is not None and not ledger.layout.renames:
                wrong = (ledger.root, file.release, file.name) in self._refused
            else:
                written = _written(file.path)
                wrong = written is None or written.bytes != file.recorded["bytes"]
                if written is not None and not wrong:
                    there.append((written, file))
            if wrong:
                found[file.release].append(file.name)
        for file in self._wrong(sorted(there, reverse=True, key=lambda one: one[0])):
            found[file.release].append(file.name)
        return dict(found)

    def _wrong(self, files: list[tuple[_Written, _ReleaseFile]]) -> Iterator[_ReleaseFile]:
        """The files whose digest is another; not all may be measured at one look."""
        left = self._most
        for written, file in files:
            assert file.path is not None
            known = self._measured.get(file.path)
            if known is None or known[0] != written:
                left -= written.bytes
                if left < 0:
                    continue
                known = self._measured[file.path] = (written, _measure(file.path))
            if known[1] != file.recorded:
                yield file


def _published(ledger: Ledger) -> Iterator[_ReleaseFile]:
    """Every file of every release; without a path where the folder of its release is gone."""
    entries, layout = ledger.entries(), ledger.layout
    for entry in entries.releases:
        number = entry.release or 0
        start = f"releases/{number:04d}/"
        try:
            # In a store each look would be a request of its own, and the path is not looked at.
            folder: Path | None = resolve(layout, entries, number) if layout.renames else layout.releases
        except LedgerError:
            folder = None
        for name, recorded in entry.payload["files"].items():
            if name.startswith(start):
                file = name.removeprefix(start)
                yield _ReleaseFile(number, file, None if folder is None else folder / file, recorded)


def _written(path: Path | None) -> _Written | None:
    try:
        found = None if path is None else path.lstat()
    except OSError:
        found = None
    if found is None or not stat.S_ISREG(found.st_mode):
        return None
    return _Written(found.st_ctime_ns, found.st_mtime_ns, found.st_ino, found.st_size)


def _measure(path: Path) -> dict[str, Any]:
    try:
        return measure(path)
    except OSError:  # gone since, or not for this user
        return {}
