"""Files of a series: their names, their digests, and writes that survive a power cut."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from republish.errors import LedgerError
from republish.ledger import crash_points
from republish.sources.paths import is_local, place_of

CHUNK = 1 << 20
AS_IT_WAS = "nothing was committed; the series is as it was"

_RELEASE_FILE = re.compile(r"releases/([0-9]{4,})/((?!\.{1,2}(?:/|$))[^/\0]+(?:/(?!\.{1,2}(?:/|$))[^/\0]+)*)")
PRIVATE_KINDS = (
    "memory",
    "membership",
    "scales",
    "hierarchies",
    "counts",
    "compromised",
    "possible",
    "cuts",
    "margins",
    "recodes",
)
_PRIVATE_FILE = re.compile(
    rf"private/(?:{'|'.join(PRIVATE_KINDS)})/[0-9]{{4,}}-[0-9a-f]{{16}}[-.\w]*", re.ASCII
)
_TOKEN = re.compile(r"[0-9a-f]{16}")

STORE_MARK = "republish-store.txt"
_MARK = "Releases and private memory of a series lie here, as its ledger says: change nothing by hand.\n"

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)


class Layout:
    """Where the parts of a series lie: under its folder, releases and memory under its store if it has one."""

    def __init__(self, root: Path, store: str | None = None) -> None:
        self.root = root
        self.store = root if store is None else place_of(store)
        self.catalogue = root / "ledger.db"
        self.private = root / "private"
        self.lock = self.private / "lock"
        self.secret = self.private / "secret.key"
        self.scratch = self.private / "staging"
        self.releases = self.store / "releases"
        self.remembered = self.store / "private"
        self.private_folders = tuple(self.remembered / kind for kind in PRIVATE_KINDS)
        self.staging = self.remembered / "staging"

    @property
    def renames(self) -> bool:
        """Whether a staged folder gets to its place in one step; in other stores file after file is copied."""
        return is_local(self.store)

    def make(self) -> None:
        """Make the folders that are not there; what is private is closed to everyone but its owner."""
        if not self.root.is_dir():
            self.root.mkdir(parents=True)
            sync_folder(self.root.parent)
        if self.store != self.root and not (self.store / STORE_MARK).is_file():
            raise LedgerError(
                f"{self.store} must be the store of this series, but has no {STORE_MARK}; make that store reachable, "
                "correct `store` in series.toml, or restore the series from a backup"
            )
        self.releases.mkdir(exist_ok=True)
        for folder in dict.fromkeys(
            (self.private, self.scratch, self.remembered, *self.private_folders, self.staging)
        ):
            folder.mkdir(mode=0o700, exist_ok=True)
            folder.chmod(0o700)
        for file in (self.catalogue, self.secret):
            if file.exists():
                file.chmod(0o600)
        sync_folder(self.private)
        sync_folder(self.store)
        sync_folder(self.root)

    def own(self) -> tuple[Path, ...]:
        """What a ledger makes in the folder of the series, beside its catalogue."""
        return (
            self.root / "releases",
            self.lock,
            self.scratch,
            *(self.private / kind for kind in PRIVATE_KINDS),
        )

    def mark_store(self) -> None:
        """Take a store, which must be no series' yet and hold nothing of one; an error if it cannot be written."""
        if self.store == self.root:
            return
        if any(holds_something(folder) for folder in (self.releases, *self.private_folders)):
            raise LedgerError(
                f"{self.store} already holds releases or memory of a series; name another store"
            )
        self.store.mkdir(parents=True, exist_ok=True)
        mark = self.store / STORE_MARK
        try:
            if self.renames:
                write(mark, _MARK.encode(), 0o644)  # of two who take it at once, one is refused
                return
            if mark.exists():
                raise FileExistsError
            mark.write_text(_MARK, encoding="utf-8")
        except FileExistsError:
            raise LedgerError(
                f"{self.store} is the store of another series, as its {STORE_MARK} says; name another store, or remove "
                "that file where no series uses it: an `init` that was killed leaves one"
            ) from None

    def unmark_store(self) -> None:
        """Give a store back that was just taken; what else lies there stays."""
        if self.store != self.root:
            remove(self.store / STORE_MARK)

    def sizes(self) -> dict[str, int]:
        """The bytes of every file of the store by its name, in one listing."""
        listed: dict[str, int] = self.store.sizes()  # type: ignore[attr-defined]
        return listed

    def release(self, number: int) -> Path:
        """Where a release lies once it is committed and moved."""
        return self.releases / f"{number:04d}"

    def staged(self, token: str) -> Path:
        """Where a release lies before it is moved."""
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise LedgerError("an entry of the ledger names a staging folder that cannot be one")
        return self.staging / token

    def released(self) -> set[str]:
        """The names of whatever lies under `releases/`."""
        return {path.name for path in children(self.releases)}

    def open_to_others(self) -> list[Path]:
        """What must be closed to everyone but its owner, and is not."""
        here = [self.remembered] if self.renames else []
        closed = dict.fromkeys((self.private, *here, self.catalogue, self.secret))
        return [path for path in closed if path.exists() and path.stat().st_mode & 0o077]


def children(folder: Path) -> list[Path]:
    """What lies right below a folder, sorted; nothing if it is not there."""
    return sorted(folder.iterdir()) if folder.is_dir() else []


def holds_something(folder: Path) -> bool:
    """Whether anything lies below a folder."""
    return bool(children(folder))


def split_name(name: str) -> tuple[int | None, str]:
    """(release, path inside its folder) of a release's file, (None, name) of a private one; else an error.

    Names come from the catalogue, which may have been restored from anywhere: a name that leads out of the
    series must never be read or erased.
    """
    if match := _RELEASE_FILE.fullmatch(name):
        return int(match[1]), match[2]
    if _PRIVATE_FILE.fullmatch(name):
        return None, name
    raise LedgerError("an entry of the ledger names a file that lies outside the releases and the memory")


def measure(path: Path, copy: IO[bytes] | None = None) -> dict[str, Any]:
    """Digest (BLAKE2b-256) and size of a file, read in chunks; what was measured can be kept in a copy."""
    digest, size = hashlib.blake2b(digest_size=32), 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)
            if copy is not None:
                copy.write(chunk)
    return {"digest": digest.hexdigest(), "bytes": size}


def regular_files(folder: Path) -> Iterator[Path]:
    """Every file below a folder, sorted by name; anything but files and folders is an error."""
    if not is_local(folder):
        yield from folder.rglob("*")  # a store holds files and nothing else
        return
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise LedgerError(
                f"{path} must be a plain file: links and devices cannot be part of a series; replace it"
            )
        if path.is_file():
            yield path


def write(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a new file and see it safely on disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_file(path: Path) -> None:
    """See a file that is already written safely on disk; other stores see to that themselves."""
    if not is_local(path):
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """See the names in a folder safely on disk; other stores see to that themselves."""
    if not is_local(path):
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (
            errno.EINVAL,
            errno.ENOTSUP,
        ):  # some network file systems sync names by themselves
            raise
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """See a folder, and everything below it, safely on disk; other stores see to that themselves."""
    if not is_local(folder):
        return
    for path in regular_files(folder):
        sync_file(path)
    for path in sorted(folder.rglob("*")):
        if path.is_dir():
            sync_folder(path)
    sync_folder(folder)


@contextmanager
def new_folder(root: Path) -> Iterator[Path]:
    """A folder aside to build in, which becomes `root` in one step when the block ends; or nothing of it stays.

    Raises:
        LedgerError: `root` is neither absent nor an empty folder, now or when the block ends; it stays as it is.
    """
    root = Path(os.path.realpath(root))
    require_new(root)
    root.parent.mkdir(parents=True, exist_ok=True)
    aside = root.with_name(f".{root.name}.{secrets.token_hex(8)}.new")
    aside.mkdir()
    like = (root if root.exists() else aside).stat()
    aside.chmod(0o700)
    try:
        yield aside
        sync_tree(aside)
        crash_points.reach("built-aside")
        aside.chmod(like.st_mode & 0o7777)
        with suppress(PermissionError):
            os.chown(aside, like.st_uid, like.st_gid)
        _rename(aside, root)
    except BaseException:
        remove(aside)
        raise
    sync_folder(root.parent)
    crash_points.reach("folder-made")


def require_new(root: Path) -> None:
    """Refuse a folder that holds something, or that this process stands in."""
    root = Path(os.path.realpath(root))
    _require_free(root)
    _require_outside(root)


def _require_free(root: Path) -> None:
    if not root.exists():
        return
    if not root.is_dir() or any(root.iterdir()):
        lost = (
            " It has the settings of a series but no ledger: if that was lost, restore the series from a backup;"
            " if an `init` was killed here, remove the folder."
            if (root / "series.toml").is_file() and not (root / "ledger.db").is_file()
            else ""
        )
        raise LedgerError(
            f"{root} must be a new or an empty folder; choose another name. Nothing in it was touched.{lost}"
        )


def _require_outside(root: Path) -> None:
    """Refuse a folder that this process stands in: it is replaced, and the process would stand nowhere."""
    here = Path.cwd()
    if root.exists() and (here == root or root in here.parents):
        raise LedgerError(
            f"a new folder takes the place of {root}, and this command was started in it; start it from "
            f"{root.parent}, or name a folder below, such as {root / 'series'}"
        )


def _rename(aside: Path, root: Path) -> None:
    try:
        aside.rename(root)  # takes the place of an empty folder, and of nothing else
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise LedgerError(
                f"another process has made {root} meanwhile; what it made was not touched, and nothing else was made: "
                "use that one, or choose another name"
            ) from None
        if error.errno in (errno.EBUSY, errno.EXDEV):
            raise LedgerError(
                f"{root} is where a disk is mounted, which cannot be replaced; choose a folder below it, such as "
                f"{root / 'series'}"
            ) from None
        raise


def take_back(made: Iterable[Path]) -> None:
    """Remove these files, and those of these folders that are then empty; what others put there stays."""
    for path in sorted(made, reverse=True):
        with suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
            else:
                path.unlink()


def remove(path: Path) -> None:
    """Remove a file or a whole folder; nothing if it is not there."""
    if not is_local(path):
        path.erase()  # type: ignore[attr-defined]
    elif path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def refusal(doing: str, error: OSError, outcome: str = AS_IT_WAS) -> LedgerError:
    """What to raise when the operating system refuses: what failed, how the series is now, what to do."""
    where = f" ({error.filename})" if error.filename else ""
    if error.errno in _NO_SPACE:
        remedy = "free space on the disk that holds the series and repeat the command"
    elif error.errno in _NOT_ALLOWED:
        remedy = "let this user write there and repeat the command"
    else:
        remedy = "see to the cause and repeat the command"
    return LedgerError(
        f"{doing}: {error.strerror or type(error).__name__}{where}; {outcome}. Remedy: {remedy}"
    )


def is_refusal(error: BaseException) -> bool:
    """Whether the operating system refused a write (no space, not allowed, broken medium)."""
    return isinstance(error, OSError) and error.errno in (*_NO_SPACE, *_NOT_ALLOWED, errno.EIO)


@contextmanager
def writing(doing: str, outcome: str = AS_IT_WAS) -> Iterator[None]:
    """Turn what the operating system refuses into a LedgerError that says where that leaves the series."""
    try:
        yield
    except OSError as error:
        raise refusal(doing, error, outcome) from error
