"""A release on its way into the ledger: written beside the series, seen by nobody until it is committed."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

from republish.errors import LedgerError
from republish.kernels import threads
from republish.ledger import crash_points
from republish.ledger.files import (
    PRIVATE_KINDS,
    Layout,
    is_refusal,
    measure,
    refusal,
    regular_files,
    remove,
    sync_file,
    sync_folder,
    sync_tree,
    writing,
)
from republish.sources.paths import is_local


def _require_kind(kind: str) -> None:
    if kind not in PRIVATE_KINDS:
        raise ValueError(f"a private file is of one of the kinds {', '.join(PRIVATE_KINDS)}, not {kind!r}")


def _measured(files: Mapping[str, Path]) -> dict[str, dict[str, Any]]:
    """Digest and size of files by name, several at a time: hashing holds no lock."""
    with ThreadPoolExecutor(threads()) as pool:
        return dict(zip(files, pool.map(measure, files.values()), strict=True))


def _in_store(path: Path, stated: dict[str, Any]) -> dict[str, Any]:
    """What was stated of a file in a store if its size is that: to read the file costs a transfer."""
    size = path.stat().st_size
    return stated if size == stated["bytes"] else {"bytes": size}


class Draft:
    """The files of one entry that does not exist yet.

    As a context manager it discards itself unless it was committed before the block ended.
    """

    def __init__(self, layout: Layout, release: int | None) -> None:
        self.release = release
        self.token = secrets.token_hex(8)
        self.folder = layout.staged(self.token)
        self._layout = layout
        self._private: list[Path] = []
        self._kept = False
        self._complete = False
        self._measured: dict[str, dict[str, Any]] = {}
        self._parts: dict[str, int] = {}
        with writing("the release could not be staged"):
            self.folder.mkdir()
        crash_points.reach("staged")

    def private_file(self, kind: str, suffix: str = ".parquet", release: int | None = None) -> Path:
        """A path of its own under `private/` and the kind, to be written by the caller.

        `release` is the number in the file's name, where it is not the draft's own.
        """
        _require_kind(kind)
        number = release or self.release or 0
        folder = self._layout.remembered / kind
        path = folder / f"{number:04d}-{self.token}{suffix}"
        copies = 1
        while path in self._private:
            copies += 1
            path = folder / f"{number:04d}-{self.token}-{copies}{suffix}"
        self._private.append(path)
        return path

    def private_files(self, kind: str, count: int, release: int | None = None) -> list[Path]:
        """Paths of their own for a private table in parts, whose names sort in the order of the parts.

        `release` is the number in the files' names, where it is not the draft's own.
        """
        _require_kind(kind)
        folder = self._layout.remembered / kind
        first = self._parts.get(kind, 0)  # a name that was given up is not used again
        self._parts[kind] = first + count
        paths = [
            folder / f"{release or self.release or 0:04d}-{self.token}-{first + part:05d}.parquet"
            for part in range(count)
        ]
        self._private += paths
        return paths

    def give_up(self, paths: Iterable[Path]) -> None:
        """Remove private files that turned out not to be needed, and their names from the draft."""
        for path in paths:
            self._private.remove(path)
            self._measured.pop(self.name(path), None)
            remove(path)

    def adopt(self, measured: Mapping[str, Mapping[str, Any]]) -> None:
        """Take the digest and size of files, by their names, from those who checked them.

        `seal` refuses a file that is another by then; in a store it looks at the size alone and reads none again.
        """
        self._measured.update({name: dict(found) for name, found in measured.items()})

    def adopt_release(self) -> None:
        """Take digest and size of every file of the release as it is now, before it is checked."""
        self.adopt(_measured({self.name(path): path for path in regular_files(self.folder)}))
        self._complete = True

    def name(self, path: Path) -> str:
        """The name under which the ledger will know a file of this draft."""
        if path.is_relative_to(self.folder):
            return f"releases/{self.release or 0:04d}/{path.relative_to(self.folder).as_posix()}"
        return path.relative_to(self._layout.store).as_posix()

    def seal(self) -> dict[str, dict[str, Any]]:
        """Digest and size of every file by its name, all of them safely on disk."""
        with writing("the files of the release could not be written"):
            sync_tree(self.folder)
            sync_folder(self.folder.parent)
            crash_points.reach("release-synced")
            for path in self._private:
                if not path.is_file() or path.is_symlink():
                    raise LedgerError(f"{path} was announced as part of the release, but not written")
                path.chmod(0o600)
                sync_file(path)
            for folder in self._layout.private_folders:
                sync_folder(folder)
            crash_points.reach("private-synced")
            return self._measure()

    def _measure(self) -> dict[str, dict[str, Any]]:
        found = {self.name(path): path for path in self._paths()}
        distant = {name for name in self._measured if name in found and not is_local(found[name])}
        now = _measured({name: path for name, path in found.items() if name not in distant})
        now |= {name: _in_store(found[name], self._measured[name]) for name in distant}
        others = [name for name, stated in self._measured.items() if now.get(name) != stated]
        if self._complete:
            others += [name for name in found if name.startswith("releases/") and name not in self._measured]
        if others:
            raise LedgerError(
                f"{len(others)} files of the release are not those that were checked: they were changed, added or "
                f"removed before the commit, the first is {others[0]}. Nothing was committed; the series is as it "
                "was. Find out what else writes there, and repeat the command"
            )
        return {name: now[name] for name in found}

    def require_files(self, files: dict[str, dict[str, Any]]) -> None:
        """An error unless every sealed file is still there with its size."""
        for path in self._paths():
            if not path.is_file() or path.stat().st_size != files.get(self.name(path), {}).get("bytes"):
                raise LedgerError(
                    "another process changed or removed files of this release before it was committed; "
                    "nothing was committed; the series is as it was. Repeat the command"
                )

    def keep(self, decided: bool = True) -> None:
        """From here on the catalogue decides whether these files belong to the series."""
        self._kept = decided

    def discard(self) -> None:
        """Remove every file of a draft that will not be committed; a committed one stays."""
        if not self._kept:
            for path in (*self._private, self.folder):
                remove(path)

    def _paths(self) -> list[Path]:
        return [*(regular_files(self.folder) if self.folder.is_dir() else ()), *self._private]

    def __enter__(self) -> Draft:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.discard()
        except (OSError, LedgerError):
            if error is None:  # what is left is an orphan, which the next writer removes
                raise
        if isinstance(error, OSError) and is_refusal(error) and not self._kept:
            raise refusal("the files of the release could not be written", error) from error
