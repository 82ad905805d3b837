"""The ledger of a series: what exists, where it lies, and the one way to add to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy as same
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any, cast

from republish.errors import LedgerError
from republish.ledger import crash_points
from republish.ledger.catalogue import Catalogue, overtaken
from republish.ledger.chain import KINDS, WITH_RELEASE, Entry, Head, Record, entry_of, faults_in, seal
from republish.ledger.check import Measured, Progress, check_series
from republish.ledger.draft import Draft
from republish.ledger.entries import LedgerEntries
from republish.ledger.files import Layout, holds_something, measure, remove, split_name, sync_folder, writing
from republish.ledger.lock import AT_ONCE, hold
from republish.ledger.recovery import resolve, roll_forward, sweep

_OURS = ("files", "staging")
_IN_MEMORY = 2**24  # bytes of a copy; larger ones are temporary files without a name


class Ledger:
    """The entries of one series and the files they name.

    Reading needs no lock and never writes. Writing is `lock`, `stage`, `commit`, in this order:

        with ledger.lock("publish"), ledger.stage(3) as draft:
            ...write into draft.folder and draft.private_file("memory")...
            ledger.commit(draft, "release", payload, expected)
    """

    def __init__(self, root: Path, url: str | None = None, store: str | None = None) -> None:
        self.root = root.absolute()
        self.layout = Layout(self.root, store)
        self.catalogue = Catalogue(self.layout.catalogue, url)
        self.patience = AT_ONCE
        self._held: LedgerEntries | None = None  # what is read again and again by one command

    @classmethod
    def create(
        cls, root: Path, payload: dict[str, Any], url: str | None = None, store: str | None = None
    ) -> Ledger:
        """A new ledger with its first entry; an error if the folder, the database or the store holds one."""
        ledger = cls(root, url, store)
        layout, catalogue = ledger.layout, ledger.catalogue
        _require_free_keys(payload, "erased")
        ledger._require_none()
        with writing("the series could not be created", "no series was created"):
            layout.mark_store()
            try:
                layout.make()
                crash_points.reach("created-folders")
                with hold(layout.lock, "init"):
                    ledger._require_none()
                    catalogue.create(seal("init", None, payload, None))
            except BaseException:
                layout.unmark_store()
                raise
            sync_folder(root)
        return ledger

    @classmethod
    def open(cls, root: Path, url: str | None = None, store: str | None = None) -> Ledger:
        """The ledger of an existing series; an error if there is none or only a newer version can read it."""
        ledger = cls(root, url, store)
        if not ledger.catalogue.exists:
            raise LedgerError(
                f"{root} must be the folder of a series, but has no ledger; if it had one, restore the series from a "
                "backup into a new folder; `republish init` makes a new series, in a new or an empty folder only"
            )
        ledger.catalogue.require_layout()
        return ledger

    def snapshot(self) -> Ledger:
        """The ledger as it stands now, to be read: what others commit later is not seen, and nothing is read twice."""
        if self._held is not None:
            return self
        fixed = same(self)
        fixed._held = self._read()
        return fixed

    def entries(self) -> LedgerEntries:
        """Everything that happened to the series, oldest first; while the lock is held, as of its last commit."""
        return self._read() if self._held is None else self._held

    def _read(self) -> LedgerEntries:
        records, _ = self.catalogue.records()
        if not records:
            raise LedgerError("the ledger holds no entry at all; restore the series from a backup")
        return LedgerEntries(entry_of(record) for record in records)

    @property
    def head(self) -> Entry:
        return self.entries()[-1]

    def releases(self) -> tuple[Entry, ...]:
        return self.entries().releases

    def folder(self, release: int) -> Path:
        return resolve(self.layout, self.entries(), release)

    def path(self, name: str) -> Path:
        release, inner = split_name(name)
        return self.layout.store / inner if release is None else self.folder(release) / inner

    def recorded(self, name: str) -> dict[str, Any]:
        """The digest and size that the ledger recorded of a file; an error where it names no such file."""
        found = self.entries().files.get(name)
        if found is None:
            raise _altered(name)
        return found

    def intact(self, name: str) -> Path:
        """Where a private file lies, after a look that it is what the ledger recorded; an error where it is not."""
        path, recorded = self.path(name), self.recorded(name)
        if not path.is_file() or measure(path) != recorded:
            raise _altered(name)
        return path

    def copy(self, name: str) -> IO[bytes]:
        """What a file holds, in a copy that nobody can change between the look that it is intact and its use.

        Raises:
            LedgerError: it is not what the ledger recorded.
        """
        path, recorded = self.path(name), self.recorded(name)
        copy = SpooledTemporaryFile(_IN_MEMORY, prefix="republish-")  # noqa: SIM115 - it is the caller's
        try:
            if not path.is_file() or measure(path, copy) != recorded:
                raise _altered(name)
            copy.seek(0)
        except FileNotFoundError:
            copy.close()
            raise _altered(name) from None
        except BaseException:
            copy.close()
            raise
        return cast(IO[bytes], copy)

    def require_present(self) -> None:
        """An error unless every file that the ledger names is there with its size."""
        live = self.entries().files
        if not self.layout.renames:
            sizes = self.layout.sizes()
            altered = [name for name, recorded in live.items() if sizes.get(name) != recorded["bytes"]]
            if altered:
                raise _altered(altered[0])
            return
        for name, recorded in live.items():
            path = self.path(name)
            if not path.is_file() or path.stat().st_size != recorded["bytes"]:
                raise _altered(name)

    def check(self, progress: Progress | None = None, measured: Measured | None = None) -> list[str]:
        """A sentence for everything that is wrong with the series on disk; empty if it is intact.

        `progress` is told the number of files checked so far and the number of all. `measured` are files whose
        digests were taken elsewhere.
        """
        return check_series(self.layout, self.catalogue, progress, measured)

    @contextmanager
    def lock(self, command: str) -> Iterator[Ledger]:
        """Be the only writer for the block, on a series that is whole, finished and free of leftovers."""
        patience = self.patience
        with hold(self.layout.lock, command, patience), self.catalogue.locked(command, patience):
            with writing("the series cannot be written"):
                self.layout.make()
            self.catalogue.migrate()
            records, head = self.catalogue.records()
            wrong = list(faults_in(records, head))
            if wrong:
                raise LedgerError(
                    f"the ledger is damaged ({len(wrong)} faults; {wrong[0]}); nothing was written: "
                    "restore the series from a backup"
                )
            roll_forward(self.layout, [entry_of(record) for record in records])
            crash_points.reach("rolled-forward")
            sweep(self.layout, self.catalogue)
            self._held = self._read()
            try:
                yield self
            finally:
                self._held = None

    def stage(self, release: int | None = None) -> Draft:
        """A draft to write the files of the next entry into; nobody sees them before `commit`."""
        return Draft(self.layout, release)

    def commit(
        self,
        draft: Draft | None,
        kind: str,
        payload: dict[str, Any],
        expected: Entry,
        release: int | None = None,
    ) -> Entry:
        """The new entry, safely on disk with all its files; or an error, and the series is as it was.

        `expected` is the entry the caller built upon: if another one has come since, nothing is committed.
        `payload["erased"]` names private files of earlier entries that cease to exist with this one.
        """
        number = release if release is not None or draft is None else draft.release
        entries = self._read()
        head = Head(expected.seq, expected.digest)
        if head != (entries[-1].seq, entries[-1].digest):
            raise overtaken(head)
        _require_free_keys(payload)
        _require_kind(kind, number, draft, entries)
        _require_erasable(payload.get("erased", []), entries)
        record = self._seal(draft, kind, number, payload, head)
        crash_points.reach("before-commit")
        self._append(record, head, draft)
        crash_points.reach("after-commit")
        entry = entry_of(record)
        if self._held is not None:
            self._held = LedgerEntries((*entries, entry))
        roll_forward(self.layout, [entry])
        if draft is not None:
            with writing("an empty staging folder could not be removed", f"entry {entry.seq} is committed"):
                remove(draft.folder)
        return entry

    def close(self) -> None:
        """Give back what the database driver holds; the ledger can be used again afterwards."""
        self.catalogue.close()

    def _seal(
        self, draft: Draft | None, kind: str, release: int | None, payload: dict[str, Any], head: Head
    ) -> Record:
        if draft is None:
            return seal(kind, release, payload, head)
        files = draft.seal()
        published = any(split_name(name)[0] is not None for name in files)
        if kind not in WITH_RELEASE:
            if published:
                raise LedgerError(
                    f'an entry of kind "{kind}" brings no release, but files of one were staged'
                )
            return seal(kind, release, {**payload, "files": files}, head)
        if not published:
            raise LedgerError(f"release {release} must hold at least one file, but none was staged")
        if self.layout.release(release or 0).exists():
            if self._read()[-1].seq != head.seq:
                raise overtaken(head)
            raise LedgerError(
                f"{self.layout.release(release or 0)} is taken by a folder that is not part of the series; "
                "nothing was committed: move that folder away and repeat the command"
            )
        return seal(kind, release, {**payload, "files": files, "staging": draft.token}, head)

    def _append(self, record: Record, expected: Head, draft: Draft | None) -> None:
        if draft is not None:
            draft.keep()  # before the transaction: an interrupt right after it must not remove what exists
        try:
            with self.catalogue.append(record, expected), writing("the release could not be committed"):
                if draft is not None:
                    draft.require_files(entry_of(record).payload["files"])
                crash_points.reach("inside-transaction")
        except LedgerError as error:
            # A database behind a network can commit and then fail to say so.
            if self._holds(record, error):
                return
            if draft is not None:
                draft.keep(False)
            raise

    def _holds(self, record: Record, error: LedgerError) -> bool:
        try:
            records, _ = self.catalogue.records()
        except LedgerError:
            raise LedgerError(
                f"it is not known whether entry {record.seq} was committed, because the catalogue cannot be "
                "read any more; make it reachable and look at `republish history` before you repeat it"
            ) from error
        return any(found.digest == record.digest for found in records)

    def _require_none(self) -> None:
        if self.catalogue.exists:
            raise LedgerError(
                f"{self.root} or the database of its ledger already holds a series; open that one, or choose "
                "another place"
            )
        layout = self.layout
        if any(holds_something(folder) for folder in (layout.releases, *layout.private_folders)):
            raise LedgerError(
                f"{layout.store} holds releases or memory but no ledger; restore the series from a backup, or "
                "choose another place"
            )

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _altered(name: str) -> LedgerError:
    return LedgerError(
        f"{name} is missing or was altered; nothing was written: restore the series from a backup"
    )


def _require_free_keys(payload: dict[str, Any], *more: str) -> None:
    taken = [key for key in (*_OURS, *more) if key in payload]
    if taken:
        raise ValueError(f"the ledger itself fills {', '.join(taken)} of a payload")


def _require_kind(kind: str, number: int | None, draft: Draft | None, entries: LedgerEntries) -> None:
    if kind not in KINDS or kind == "init":
        raise ValueError(f"an entry is of one of the kinds {', '.join(KINDS[1:])}, not {kind!r}")
    count = len(entries.releases)
    if kind in WITH_RELEASE:
        if draft is None or draft.release != number:
            raise ValueError("a release needs a draft that was staged under its own number")
        if number != count + 1:
            raise LedgerError(
                f"the next release must have number {count + 1}, not {number}; nothing was committed"
            )
    elif number is not None and not 1 <= number <= count:
        raise LedgerError(f"the series has no release {number}; nothing was committed")


def _require_erasable(names: Sequence[str], entries: LedgerEntries) -> None:
    wrong = [name for name in names if name not in entries.files or split_name(name)[0] is not None]
    if wrong:
        raise LedgerError(
            f"only private files that an entry names can be erased; {len(wrong)} of {len(names)} are not "
            "such; nothing was committed"
        )
