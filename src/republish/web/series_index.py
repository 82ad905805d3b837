"""Which series a desk has: a name leads to one folder for as long as the desk lives."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path

from republish.errors import PolicyError


class SeriesIndex:
    """Folders of series, and folders that hold several."""

    def __init__(self, roots: Sequence[str | Path]) -> None:
        self.roots = [Path(root).resolve() for root in roots]
        for root, given in zip(self.roots, roots, strict=True):
            if not root.is_dir():
                raise PolicyError(
                    f"there is no folder {given}; give the folder of a series, or one that holds several"
                )
        self._lock = threading.Lock()
        self._names: dict[str, Path] = {}

    @property
    def home(self) -> Path | None:
        """Where new series are made, `None` where only single series were given."""
        return next((root for root in self.roots if not _is_series(root)), None)

    def paths(self) -> dict[str, Path]:
        """The folder of every series by its name, new ones last; links inside a folder are not followed.

        Once given, a name is never another folder's, also where its own is gone.
        """
        there = [path for path in self._folders() if _is_text(path.name)]
        with self._lock:
            named = set(self._names.values())
            for path in there:
                if path in named:
                    continue
                name, again = path.name, 1
                while name in self._names:
                    again += 1
                    name = f"{path.name}-{again}"
                self._names[name] = path
                named.add(path)
            return {name: path for name, path in self._names.items() if path in there}

    def unnamed(self) -> list[str]:
        """Series in folders whose names are no text, as far as these can be shown."""
        return [
            os.fsencode(path.name).decode("utf-8", "replace")
            for path in self._folders()
            if not _is_text(path.name)
        ]

    def is_taken(self, name: str, path: Path) -> bool:
        """Whether the name leads, or has led, to another folder."""
        self.paths()
        with self._lock:
            return self._names.get(name, path) != path

    def _folders(self) -> list[Path]:
        found: list[Path] = []
        for root in self.roots:
            found += [path for path in _inside(root) if _is_series(path) and path not in found]
        return found


def _inside(root: Path) -> list[Path]:
    if _is_series(root):
        return [root]
    try:
        return sorted(path for path in root.iterdir() if not path.is_symlink())
    except OSError:  # gone, or closed to this user
        return []


def _is_series(path: Path) -> bool:
    try:
        return (path / "series.toml").is_file()
    except OSError:
        return False


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
