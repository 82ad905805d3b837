"""What a writer does first and last: finish what was committed, remove what was not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from republish import faults
from republish.errors import LedgerError
from republish.ledger.catalogue import Catalogue
from republish.ledger.chain import WITH_RELEASE, Entry, entry_of
from republish.ledger.files import Layout, remove, split_name, sync_folder, writing


def named_files(entries: Iterable[Entry]) -> tuple[dict[str, dict[str, object]], set[str]]:
    """The files that must exist, with digest and size, and the names of those that must not any more."""
    live: dict[str, dict[str, object]] = {}
    erased: set[str] = set()
    for entry in entries:
        live.update(entry.payload.get("files", {}))
        erased.update(entry.payload.get("erased", ()))
    return {name: found for name, found in live.items() if name not in erased}, erased


def resolve(layout: Layout, entries: Iterable[Entry], release: int) -> Path:
    """The folder of a release: its place under `releases/`, or where it was staged if not moved yet."""
    for entry in entries:
        if entry.kind in WITH_RELEASE and entry.release == release:
            target, staged = layout.release(release), layout.staged(entry.payload["staging"])
            # In this order, so that a move between the two looks is seen by the third.
            for folder in (target, staged, target):
                if folder.is_dir():
                    return folder
            raise LedgerError(f"the folder of release {release} is missing; restore the series from a backup")
    raise LedgerError(f"the series has no release {release}")


def roll_forward(layout: Layout, entries: Iterable[Entry]) -> None:
    """Move every committed release to its place and erase what was to be erased."""
    entries = tuple(entries)
    with writing("a committed entry could not be finished", "it stays committed, do not publish it again"):
        for entry in entries:
            if entry.kind in WITH_RELEASE and entry.release is not None:
                _move(layout, entry.release, layout.staged(entry.payload["staging"]))
        folders = set()
        for name in sorted(named_files(entries)[1]):
            if split_name(name)[0] is not None:
                raise LedgerError("an entry of the ledger erases a file of a release, which cannot be")
            path = layout.root / name
            if path.exists():
                path.unlink()
                folders.add(path.parent)
        for folder in folders:
            sync_folder(folder)
            faults.reach("erased")


def _move(layout: Layout, release: int, staged: Path) -> None:
    if not staged.is_dir():
        return
    target = layout.release(release)
    if target.exists():
        raise LedgerError(
            f"release {release} is committed, but {target} is taken by a folder that is not part of the "
            "series; move that folder away and repeat the command"
        )
    staged.rename(target)
    sync_folder(layout.releases)
    sync_folder(layout.staging)
    faults.reach("renamed")


def sweep(layout: Layout, catalogue: Catalogue) -> None:
    """Remove the files that no entry names, left behind by publishers that died before they committed."""
    # Inside a transaction that keeps others from committing: a publisher whose files go here, because the
    # lock did not reach it, finds them missing before its own commit ends.
    with writing("files left behind could not be removed"), catalogue.exclusive() as records:
        entries = [entry_of(record) for record in records]
        live, _ = named_files(entries)
        if not _belong_together(layout, entries, live):
            return
        kept = {layout.root / name for name in live}
        kept.update(
            layout.staged(entry.payload["staging"]) for entry in entries if entry.kind in WITH_RELEASE
        )
        for folder in (layout.staging, *layout.private_folders):
            for path in sorted(folder.iterdir()):
                if path not in kept:
                    remove(path)
    faults.reach("swept")


def _belong_together(layout: Layout, entries: Sequence[Entry], live: dict[str, dict[str, object]]) -> bool:
    """Whether catalogue and folder are of one series and one age.

    An older copy of the catalogue, or that of another series, names other files; taking the rest for orphans
    would destroy the memory.
    """
    known = {
        layout.release(entry.release).name
        for entry in entries
        if entry.kind in WITH_RELEASE and entry.release
    }
    unknown = {name for name in layout.released() - known if name.isdecimal()}
    return not unknown and all((layout.root / name).is_file() for name in live)
