"""Places of other file systems, opened by fsspec: an object store, a server, the memory of this process.

Nothing else imports universal_pathlib or fsspec. Addresses of servers and credentials are fsspec's own matter: its
environment variables and files.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from upath.extensions import ProxyUPath

from republish.errors import LedgerError

_ABSENT = (FileNotFoundError, NotADirectoryError)
_ORDINARY = (*_ABSENT, IsADirectoryError, FileExistsError)


class StorePlace(ProxyUPath):  # type: ignore[misc]
    """A path in a store, used like a `pathlib.Path`; what the store refuses is a LedgerError.

    Folders are what the names say: making one, and closing it to others, does nothing here.
    """

    __slots__ = ()

    def stat(self, *, follow_symlinks: bool = True) -> Any:
        with _told(self):
            return self.__wrapped__.stat()

    def exists(self, *, follow_symlinks: bool = True) -> bool:
        return self._kind() is not None

    def is_file(self) -> bool:
        return self._kind() == "file"

    def is_dir(self) -> bool:
        return self._kind() == "directory"

    def is_symlink(self) -> bool:
        """A store knows no links."""
        return False

    def iterdir(self) -> Iterator[StorePlace]:
        with _told(self):
            found = self.fs.ls(self.path, detail=False)
        names = {name.strip("/") for name in found} - {self.path.strip("/")}
        return iter([self / name for name in sorted(name.rpartition("/")[2] for name in names)])

    def rglob(self, pattern: str, **_: Any) -> Iterator[StorePlace]:
        """Every file below, whatever the pattern."""
        return iter([self / name for name in sorted(self.sizes())])

    def sizes(self) -> dict[str, int]:
        """The bytes of every file below, by its name from here, in one listing."""
        root = self.path.rstrip("/")
        with _told(self):
            found = self.fs.find(root, detail=True)
        return {name[len(root) + 1 :]: int(about["size"]) for name, about in found.items() if name != root}

    def open(self, mode: str = "r", *_: Any, encoding: str | None = None, newline: str | None = None) -> Any:
        """A file to read or to write, whole; a new file is there once it is closed."""
        with _told(self):
            file = _File(self, self.fs.open(self.path, mode.replace("b", "").replace("t", "")[:1] + "b"))
        return file if "b" in mode else io.TextIOWrapper(file, encoding=encoding, newline=newline)

    def read_bytes(self) -> bytes:
        with _told(self):
            held: bytes = self.fs.cat_file(self.path)
            return held

    def read_text(self, encoding: str | None = None, *_: Any, **__: Any) -> str:
        return self.read_bytes().decode(encoding or "utf-8")

    def write_bytes(self, data: Any) -> int:
        with _told(self):
            self.fs.pipe_file(self.path, bytes(data))
        return len(data)

    def write_text(self, data: str, encoding: str | None = None, *_: Any, **__: Any) -> int:
        return self.write_bytes(data.encode(encoding or "utf-8"))

    def mkdir(self, *_: Any, **__: Any) -> None:
        """Nothing: a folder is there with its first file."""

    def chmod(self, *_: Any, **__: Any) -> None:
        """Nothing: who may read is settled where the store is kept."""

    def unlink(self, missing_ok: bool = False) -> None:
        try:
            with _told(self):
                self.fs.rm_file(self.path)
        except _ABSENT:
            if not missing_ok:
                raise

    def erase(self) -> None:
        """Remove a file, or everything below; nothing if nothing is there."""
        try:
            with _told(self):
                self.fs.rm(self.path, recursive=True)
        except _ABSENT:
            return

    def copy_from(self, source: StorePlace) -> None:
        """Make this file a copy of another one of the same store."""
        with _told(self):
            self.fs.cp_file(source.path, self.path)

    def _kind(self) -> str | None:
        try:
            with _told(self):
                return str(self.fs.info(self.path)["type"])
        except _ABSENT:
            return None


class _File(io.BufferedIOBase):
    """An open file of a store, of which every refusal is a LedgerError."""

    def __init__(self, place: StorePlace, file: Any) -> None:
        self._place, self._file = place, file

    def readable(self) -> bool:
        return bool(self._file.readable())

    def writable(self) -> bool:
        return bool(self._file.writable())

    def seekable(self) -> bool:
        return bool(self._file.seekable())

    def read(self, size: int | None = -1) -> bytes:
        with _told(self._place):
            return bytes(self._file.read(-1 if size is None else size))

    def read1(self, size: int = -1) -> bytes:
        return self.read(size)

    def write(self, data: Any) -> int:
        with _told(self._place):
            return int(self._file.write(bytes(data)))

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        if not self.closed:
            try:
                with _told(self._place):
                    self._file.close()
            finally:
                super().close()


def open_place(url: str) -> StorePlace:
    """The place that an address such as `s3://bucket/folder` names; nothing is asked of the store yet."""
    try:
        place = StorePlace(url.rstrip("/"), use_listings_cache=False)  # others write there too
        assert place.fs is not None
    except (ImportError, ValueError, OSError, TypeError) as problem:
        raise LedgerError(
            f"no file system for {url.partition('://')[0]}:// can be opened ({type(problem).__name__}); install the "
            "package that fsspec needs for it, for example s3fs, or name another store"
        ) from None
    return place


@contextmanager
def _told(place: StorePlace) -> Iterator[None]:
    """Turn whatever a driver raises, files that are not there aside, into an error that says what to do."""
    try:
        yield
    except (*_ORDINARY, LedgerError):
        raise
    except PermissionError:
        raise LedgerError(
            f"the store does not let this user read or write {place}; give fsspec the right credentials and repeat "
            "the command"
        ) from None
    except Exception as problem:
        raise LedgerError(
            f"the store of {place} cannot be reached or refused ({type(problem).__name__}); nothing that is committed "
            "is lost: make it reachable and repeat the command"
        ) from problem
