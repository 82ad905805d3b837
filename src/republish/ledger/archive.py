"""A whole series in one file, and back."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import lzma
import os
import secrets
import shutil
import tarfile
import tomllib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

import tomli_w

from republish.errors import LedgerError
from republish.ledger import crash_points
from republish.ledger.catalogue import Catalogue
from republish.ledger.files import (
    CHUNK,
    STORE_MARK,
    Layout,
    new_folder,
    regular_files,
    remove,
    sync_folder,
    sync_tree,
    take_back,
    write,
    writing,
)
from republish.ledger.ledger import Ledger
from republish.ledger.lock import AT_ONCE, Patience
from republish.sources.paths import is_local

MANIFEST = "republish-backup.json"
_FORMAT = 1
_MODES = {".tar": "w", ".tgz": "w:gz", ".gz": "w:gz"}
_UNREADABLE = (
    tarfile.TarError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    gzip.BadGzipFile,
    ValueError,
    OverflowError,
)


def backup(
    root: Path,
    target: Path,
    url: str | None = None,
    without_secret: bool = False,
    store: str | None = None,
    patience: Patience = AT_ONCE,
) -> None:
    """Write a whole, checked series into one new archive (`.tar`, `.tar.gz` or `.tgz`).

    The catalogue goes into it as an SQLite file, wherever it lives now, and so does what lies in a store. An archive
    without the secret can be continued only by those who keep the secret elsewhere.
    """
    mode = _MODES.get(target.suffix)
    if mode is None:
        raise LedgerError(f"{target.name} must end in .tar, .tar.gz or .tgz")
    if target.exists():
        raise LedgerError(f"{target} already exists, and a backup overwrites nothing; choose another name")
    if target.absolute().resolve().is_relative_to(root.absolute().resolve()):
        raise LedgerError("a backup must lie outside the folder of the series; choose another place")
    with Ledger.open(root, url, store) as ledger:
        ledger.patience = patience
        _back_up(ledger, target, mode, without_secret)


def _back_up(ledger: Ledger, target: Path, mode: str, without_secret: bool) -> None:
    with ledger.lock("backup"):
        wrong = ledger.check()
        if wrong:
            raise LedgerError(
                f"only an intact series is backed up, and this one has {len(wrong)} faults ({wrong[0]}); "
                "no backup was written: restore the series from an older backup"
            )
        part = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
        with writing("the backup could not be written", "no backup was written; the series is as it was"):
            try:
                _write_archive(ledger, part, mode, without_secret)
                crash_points.reach("backup-written")
                part.rename(target)
                sync_folder(target.parent)
            finally:
                part.unlink(missing_ok=True)


def _write_archive(ledger: Ledger, part: Path, mode: str, without_secret: bool) -> None:
    layout = ledger.layout
    folder = layout.scratch / secrets.token_hex(8)
    folder.mkdir()
    try:
        copy = folder / "ledger.db"
        copied = Catalogue(copy)
        copy.touch(0o600)
        ledger.catalogue.copy_to(copied)
        copied.close()
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            with tarfile.open(fileobj=file, mode=mode) as tar:  # type: ignore[call-overload]
                stored = {}
                for name, path in _members(layout, without_secret):
                    stored[name] = _add(tar, name, path)
                stored["ledger.db"] = _add(tar, "ledger.db", copy)
                held = layout.secret.relative_to(layout.root).as_posix() in stored
                manifest = json.dumps({"format": _FORMAT, "secret": held, "files": stored}).encode()
                info = tarfile.TarInfo(MANIFEST)
                info.size = len(manifest)
                tar.addfile(info, io.BytesIO(manifest))
            file.flush()
            os.fsync(file.fileno())
    finally:
        remove(folder)


def _members(layout: Layout, without_secret: bool) -> Iterator[tuple[str, Path]]:
    left_out = {layout.lock, *([layout.secret] if without_secret else [])}
    for path in regular_files(layout.root):
        catalogue = path.parent == layout.root and path.name.startswith("ledger.db")
        if not (catalogue or path in left_out or path.is_relative_to(layout.scratch)):
            yield path.relative_to(layout.root).as_posix(), path
    if layout.store != layout.root:
        for folder in (layout.releases, *layout.private_folders):
            for path in regular_files(folder):
                yield path.relative_to(layout.store).as_posix(), path


def _add(tar: tarfile.TarFile, name: str, path: Path) -> dict[str, Any]:
    info = tarfile.TarInfo(name)
    with path.open("rb") as file:
        status = os.fstat(file.fileno()) if is_local(path) else path.stat()
        info.size, info.mtime, info.mode = status.st_size, int(status.st_mtime), _mode(name)
        reader = _Reader(file)
        tar.addfile(info, reader)
    return {"digest": reader.digest.hexdigest(), "bytes": info.size}


class _Reader:
    """A file that is digested while it is read: the manifest then tells what the archive really holds."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.blake2b(digest_size=32)

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.digest.update(data)
        return data


def _mode(name: str) -> int:
    return 0o600 if name in ("ledger.db", "series.toml") or name.startswith("private/") else 0o644


def restore(archive: Path, root: Path, url: str | None = None, store: str | None = None) -> None:
    """Unpack a backup into a new or empty folder, checked; on any failure nothing of it stays.

    It is unpacked aside and gets its name in one step: a kill leaves no part of it, or all of it. With `url` the
    catalogue goes from there into that database, which must not hold a series yet; with `store` releases and memory
    go there, which must not hold any yet. What the series was backed up from is never written to.
    """
    with (
        writing(f"{archive.name} could not be restored", "nothing was restored"),
        new_folder(root) as aside,
    ):
        _unpack(archive, aside)
        _accept(aside)
        _name_places(aside, None, None)
    made = [root, *root.rglob("*"), *Layout(root).own()]
    layout = Layout(root.absolute(), store)
    try:
        with writing(f"{archive.name} could not be restored", "nothing was restored"), _stored(layout):
            if url is not None:
                _hand_over(layout, url)
    except BaseException:
        take_back(made)
        raise


def _unpack(archive: Path, root: Path) -> None:
    manifest: Any = None
    stored: dict[str, dict[str, Any]] = {}
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                name = _safe_name(member)
                source = tar.extractfile(member)
                if source is None or name in stored or manifest is not None:
                    raise _unsafe("holds something twice or in the wrong place")
                if name == MANIFEST:
                    manifest = json.loads(source.read())
                else:
                    stored[name] = _extract(source, root / name, _mode(name))
    except _UNREADABLE as error:
        raise LedgerError(
            f"{archive.name} cannot be read as a backup ({type(error).__name__}): it is incomplete, damaged "
            "or something else; nothing was restored: take another backup"
        ) from error
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT or manifest.get("files") != stored:
        raise LedgerError(
            f"{archive.name} is incomplete or was altered: what it holds is not what its list of files says; "
            "nothing was restored: take another backup"
        )


def _safe_name(member: tarfile.TarInfo) -> str:
    name = member.name
    parts = PurePosixPath(name).parts
    if not member.isreg() or member.issparse():
        raise _unsafe("holds links, devices or other things that are not plain files")
    if name.startswith("/") or ".." in parts or "\0" in name or "/".join(parts) != name:
        raise _unsafe("holds a file whose name leads out of the series")
    if name.startswith(("ledger.db-", "private/staging/")) or name == "private/lock":
        raise _unsafe("holds working files of a ledger, which no backup does")
    return name


def _unsafe(what: str) -> LedgerError:
    return LedgerError(f"this archive was not made by `republish backup`: it {what}; nothing was restored")


def _extract(source: IO[bytes], path: Path, mode: int) -> dict[str, Any]:
    path.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.blake2b(digest_size=32), 0
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
        while chunk := source.read(CHUNK):
            file.write(chunk)
            digest.update(chunk)
            size += len(chunk)
    return {"digest": digest.hexdigest(), "bytes": size}


def _accept(root: Path) -> None:
    Layout(root).make()
    with Ledger.open(root) as ledger:
        wrong = ledger.check()
        if wrong:
            raise LedgerError(
                f"the series in the archive is damaged ({len(wrong)} faults; {wrong[0]}); "
                "nothing was restored: take another backup"
            )


def _hand_over(layout: Layout, url: str) -> None:
    """Bring the catalogue into a database, which then has it alone."""
    here, elsewhere = Catalogue(layout.catalogue), Catalogue(layout.catalogue, url)
    here.copy_to(elsewhere)
    here.close()
    elsewhere.close()
    _name_places(layout.root, None if layout.store == layout.root else str(layout.store), url)
    layout.catalogue.unlink()
    sync_folder(layout.root)


@contextmanager
def _stored(layout: Layout) -> Iterator[None]:
    """Bring releases and memory to the store, if there is one; if the block fails, nothing of them stays there."""
    if layout.store == layout.root:
        yield
        return
    folders = (layout.releases, *layout.private_folders)
    here = [layout.root / folder.relative_to(layout.store).as_posix() for folder in folders]
    layout.mark_store()
    brought: list[Path] = []
    try:
        layout.make()
        for source, target in zip(here, folders, strict=True):
            _bring(source, target, brought)
        _name_places(layout.root, str(layout.store), None)
        yield
    except BaseException:
        for path in (*brought, layout.store / STORE_MARK):
            remove(path)
        raise
    for source in here:
        remove(source)


def _name_places(root: Path, store: str | None, ledger: str | None) -> None:
    """Have series.toml name this store and this ledger: never those of the series that was backed up."""
    settings = root / "series.toml"
    if not settings.is_file():
        return
    document = tomllib.loads(settings.read_text(encoding="utf-8"))
    places = {key: value for key, value in (("ledger", ledger), ("store", store)) if value is not None}
    if places == {key: document[key] for key in ("ledger", "store") if key in document}:
        return
    kept = {key: value for key, value in document.items() if key not in ("ledger", "store")}
    aside = settings.with_name(f"{settings.name}.{secrets.token_hex(8)}")
    write(aside, tomli_w.dumps({**places, **kept}).encode())
    aside.rename(settings)
    sync_folder(root)


def _bring(source: Path, target: Path, brought: list[Path]) -> None:
    """Copy every file below a folder, and note each."""
    target.mkdir(parents=True, exist_ok=True)
    for path in regular_files(source):
        place = target / path.relative_to(source).as_posix()
        place.parent.mkdir(parents=True, exist_ok=True)
        brought.append(place)
        with path.open("rb") as file, place.open("wb") as copy:
            shutil.copyfileobj(file, copy, CHUNK)
        place.chmod(path.stat().st_mode & 0o777)
    sync_tree(target)
