"""Raw views on their way through the desk: in a private folder, under names of our own, gone after the work."""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from republish.show.numbers import size
from republish.sources.files.encodings import marked_encoding
from republish.sources.files.formats import CSV, format_of
from republish.web import Busy, DeskError, NotFound, TooLarge, WrongType
from republish.web.uploads.packed_size import FORMATS, packed
from republish.web.uploads.parquet_size import contents

LIMIT = 200 * 2**20
_PREFIX = "republish-desk-"
_HELD = ".held"
_PIECE = 2**20
_LEAST_CELL = 2  # bytes of a cell of CSV with its separator
_UNPACKED = 20
_KEPT_SECONDS = 3600.0
AT_ONCE = 20
_OTHERS = {
    b"\x1f\x8b": "a gzip archive",
    b"%PDF": "a PDF",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"SQLite format 3": "a database",
}


@dataclass(frozen=True)
class Upload:
    """One raw view: where it lies, and what the desk may say of it."""

    id: str
    path: Path
    bytes: int
    format: str
    digest: str = ""

    def as_dict(self) -> dict[str, Any]:
        """A JSON document without the path."""
        return {"id": self.id, "bytes": self.bytes, "format": self.format, "digest": self.digest}


class Receiver:
    """One upload while it comes in: `write` pieces, then `finish`; whatever fails leaves nothing behind."""

    def __init__(self, uploads: Uploads) -> None:
        self._uploads = uploads
        self.id = secrets.token_hex(16)
        self._folder = uploads.folder / self.id
        self._folder.mkdir(mode=0o700)
        self._path = self._folder / "view"
        opened = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._file: IO[bytes] = os.fdopen(opened, "wb")
        self._bytes, self._digest = 0, hashlib.sha256()

    def write(self, piece: bytes) -> None:
        """Take a piece; `TooLarge` once there is more than the limit."""
        self._bytes += len(piece)
        if self._bytes > self._uploads.limit:
            raise too_large(self._uploads.limit)
        self._file.write(piece)
        self._digest.update(piece)

    def finish(self) -> Upload:
        """The upload, once all is in; `WrongType` where it is no table."""
        self._file.close()
        kind = _format_of(self._path)
        if kind != "csv":
            _require_bearable(self._path, kind, self._uploads.limit)
        path = self._path.rename(self._folder / f"view.{kind}")
        return Upload(self.id, path, self._bytes, kind, self._digest.hexdigest())

    def discard(self) -> None:
        self._file.close()
        shutil.rmtree(self._folder, ignore_errors=True)


class Uploads:
    """All uploads of one desk, in a folder that only its owner may open and that goes with the desk."""

    def __init__(self, limit: int = LIMIT, parent: Path | None = None) -> None:
        self.limit = limit
        above = Path(parent or tempfile.gettempdir())
        for folder in _abandoned(above):
            shutil.rmtree(folder, ignore_errors=True)
        self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=above))
        self._held = _hold(self.folder)
        self._lock = threading.Lock()
        self._uploads: dict[str, tuple[Upload, float]] = {}
        self._in_use: dict[str, int] = {}
        self._doomed: set[str] = set()

    def receive(self) -> Receiver:
        self._expire()
        if len(self._uploads) >= AT_ONCE:
            raise Busy(f"the desk keeps at most {AT_ONCE} uploads; publish or delete some of them first")
        return Receiver(self)

    def add(self, upload: Upload) -> Upload:
        """Keep a finished upload until it is removed, or an hour after it was last used."""
        with self._lock:
            self._uploads[upload.id] = (upload, time.monotonic())
        return upload

    def take(self, file: IO[bytes]) -> Upload:
        """Read an upload from a file object, piece by piece."""
        receiver = self.receive()
        try:
            while piece := file.read(_PIECE):
                receiver.write(piece)
            return self.add(receiver.finish())
        except BaseException:
            receiver.discard()
            raise

    def get(self, upload: str) -> Upload:
        self._expire()
        with self._lock:
            if upload not in self._uploads:
                raise NotFound(
                    "there is no such upload; it was published, deleted or kept for an hour: upload it again"
                )
            found = self._uploads[upload][0]
            self._uploads[upload] = (found, time.monotonic())
            return found

    def use(self, upload: str) -> Upload:
        """The upload, kept until `release` is called as often."""
        found = self.get(upload)
        with self._lock:
            self._in_use[upload] = self._in_use.get(upload, 0) + 1
        return found

    def release(self, upload: str, erase: bool = False) -> None:
        """End one use; with `erase` the upload goes with the last of them."""
        with self._lock:
            left = self._in_use.get(upload, 0) - 1
            if erase:
                self._doomed.add(upload)
            if left > 0:
                self._in_use[upload] = left
                return
            self._in_use.pop(upload, None)
            doomed = upload in self._doomed
            self._doomed.discard(upload)
        if doomed:
            self.remove(upload)

    def remove(self, upload: str) -> None:
        """Erase an upload; nothing happens where it is gone already."""
        with self._lock:
            if self._in_use.get(upload):
                raise Busy("a job is reading this upload; it goes when the job ends")
            found = self._uploads.pop(upload, None)
        if found is not None:
            shutil.rmtree(found[0].path.parent, ignore_errors=True)

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def _expire(self) -> None:
        now = time.monotonic()
        with self._lock:
            old = [
                key
                for key, (_, used) in self._uploads.items()
                if now - used > _KEPT_SECONDS and not self._in_use.get(key)
            ]
        for key in old:
            self.remove(key)


def too_large(limit: int) -> TooLarge:
    """What is said of an upload above the limit."""
    return TooLarge(
        f"an upload may have {size(limit)}; this one is larger. Start the desk with a higher --upload-limit, "
        "or publish the file with `republish publish`"
    )


def _require_bearable(path: Path, kind: str, limit: int) -> None:
    """Refuse a packed file that would become far more in memory than a CSV file within the limit could."""
    name = "Parquet" if kind == "parquet" else kind
    try:
        cells, unpacked = contents(path) if kind == "parquet" else packed(path, kind)
    except ValueError:
        raise WrongType(f"this {name} file does not say what it holds; write it anew") from None
    if cells > limit // _LEAST_CELL:
        raise TooLarge(
            f"a {name} file may have {limit // _LEAST_CELL:,} cells at this desk, and this one has {cells:,}; start "
            "the desk with a higher --upload-limit, or publish the file with `republish publish`"
        )
    if unpacked > _UNPACKED * limit:
        raise TooLarge(
            f"a {name} file may have {size(_UNPACKED * limit)} once it is unpacked, and this one has "
            f"{size(unpacked)}; start the desk with a higher --upload-limit, or publish the file with "
            "`republish publish`"
        )


def _format_of(path: Path) -> str:
    """The ending of its format, by what the file holds and not by what it is called."""
    with path.open("rb") as file:
        start = file.read(2**16)
        if start[:4] == b"PAR1":
            file.seek(-4, os.SEEK_END)
            if file.read(4) != b"PAR1" or path.stat().st_size < 12:
                raise WrongType("this starts like a Parquet file and does not end like one; upload it again")
            return "parquet"
    if not start.strip():
        raise DeskError(
            "the file is empty; a view is a CSV file with a line of column names, or a Parquet file"
        )
    what = format_of(path)
    if what != CSV:
        return FORMATS[what]
    found = next((what for magic, what in _OTHERS.items() if start.startswith(magic)), None)
    if found is None and b"\0" in start and marked_encoding(path) is None:
        found = "a binary file"
    if found is not None:
        raise WrongType(f"a view is a table, such as a CSV or Parquet file; this is {found}: save it as CSV")
    return "csv"


def _hold(folder: Path) -> int | None:
    """Hold a lock in the folder for as long as this process lives, so that nobody takes it for abandoned."""
    descriptor = os.open(folder / _HELD, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor


def _abandoned(above: Path) -> Iterator[Path]:
    """What desks left that were killed."""
    for folder in above.glob(f"{_PREFIX}*"):
        if folder.is_symlink() or not folder.is_dir() or folder.stat().st_uid != os.getuid():
            continue
        try:
            descriptor = os.open(folder / _HELD, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield folder
        except OSError:
            continue
        finally:
            os.close(descriptor)
