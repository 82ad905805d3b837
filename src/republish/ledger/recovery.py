"""What a writer does first and last: finish what was committed, remove what was not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from republish.errors import LedgerError
from republish.ledger import crash_points
from republish.ledger.catalogue import Catalogue
from republish.ledger.chain import WITH_RELEASE, Entry, entry_of
from republish.ledger.entries import LedgerEntries, named_files
from republish.ledger.files import PRIVATE_KINDS, Layout, children, remove, split_name, sync_folder, writing


def resolve(layout: Layout, entries: LedgerEntries, release: int) -> Path:
    """The folder of a release: its place under `releases/`, or where it was staged if not moved yet."""
    entry = entries.by_release.get(release)
    if entry is None:
        raise LedgerError(f"the series has no release {release}")
    target, staged = layout.release(release), layout.staged(entry.payload["staging"])
    # In this order, so that a move between the two looks is seen by the third.
    for folder in (target, staged, target):
        if _is_whole(layout, folder, entry):
            return folder
    if target.is_dir():  # damaged: the check of its files says how
        return target
    raise LedgerError(f"the folder of release {release} is missing; restore the series from a backup")


def roll_forward(layout: Layout, entries: Iterable[Entry]) -> None:
    """Move every committed release to its place and erase what was to be erased."""
    entries = tuple(entries)
    with writing("a committed entry could not be finished", "it stays committed, do not publish it again"):
        listed = None if layout.renames else _tops(layout)
        for entry in entries:
            if entry.kind in WITH_RELEASE and entry.release is not None:
                staged = layout.staged(entry.payload["staging"])
                if listed is None or f"private/staging/{staged.name}" in listed:
                    _move(layout, entry, staged)
        folders = set()
        for name in sorted(named_files(entries)[1]):
            if split_name(name)[0] is not None:
                raise LedgerError("an entry of the ledger erases a file of a release, which cannot be")
            path = layout.store / name
            if path.exists() if listed is None else name in listed:
                path.unlink(missing_ok=True)
                folders.add(path.parent)
        for folder in folders:
            sync_folder(folder)
            crash_points.reach("erased")


def _tops(layout: Layout) -> set[str]:
    """What lies right below the private folders of a store, by its name, from one listing."""
    ours = ("staging", *PRIVATE_KINDS)
    split = (name.split("/") for name in layout.sizes())
    return {
        "/".join(part[:3]) for part in split if part[0] == "private" and part[1] in ours and len(part) > 2
    }


def _is_whole(layout: Layout, folder: Path, entry: Entry) -> bool:
    """Whether a release lies here with all its files.

    Where files are copied one by one, the last is copied last, and is the first to go where they were.
    """
    if layout.renames:
        return folder.is_dir()
    last, recorded = _files_of(entry)[-1]
    try:
        size: int = (folder / last).stat().st_size
    except FileNotFoundError:
        return False
    return size == recorded["bytes"]


def _files_of(entry: Entry) -> list[tuple[str, dict[str, object]]]:
    """The files of the release that an entry brought, by their names in its folder, sorted."""
    split = ((split_name(name), recorded) for name, recorded in entry.payload["files"].items())
    return sorted(((inner, recorded) for (release, inner), recorded in split if release is not None))


def _move(layout: Layout, entry: Entry, staged: Path) -> None:
    if not staged.is_dir():
        return
    release = entry.release or 0
    target = layout.release(release)
    if not layout.renames:
        _copy(layout, entry, staged, target)
        return
    if target.exists():
        raise LedgerError(
            f"release {release} is committed, but {target} is taken by a folder that is not part of the "
            "series; move that folder away and repeat the command"
        )
    staged.rename(target)
    sync_folder(layout.releases)
    sync_folder(layout.staging)
    crash_points.reach("renamed")


def _copy(layout: Layout, entry: Entry, staged: Path, target: Path) -> None:
    """Bring a release to its place in a store that cannot rename; may be done again after any interruption."""
    names = [name for name, _ in _files_of(entry)]
    if not _is_whole(layout, target, entry):
        if not _is_whole(layout, staged, entry):
            raise LedgerError(
                f"files of release {entry.release} are missing; restore the series from a backup"
            )
        for name in names:
            (target / name).copy_from(staged / name)  # type: ignore[attr-defined]
            crash_points.reach("copied")
    remove(staged / names[-1])
    crash_points.reach("uncovered")
    remove(staged)
    crash_points.reach("renamed")


def sweep(layout: Layout, catalogue: Catalogue) -> None:
    """Remove the files that no entry names, left behind by publishers that died before they committed."""
    # Inside a transaction that keeps others from committing: a publisher whose files go here, because the
    # lock did not reach it, finds them missing before its own commit ends.
    with writing("files left behind could not be removed"), catalogue.exclusive() as records:
        entries = [entry_of(record) for record in records]
        live, _ = named_files(entries)
        if not _belong_together(layout, entries, live):
            return
        kept = set(live)
        kept.update(
            f"private/staging/{entry.payload['staging']}" for entry in entries if entry.kind in WITH_RELEASE
        )
        if not layout.renames:
            for name in sorted(_tops(layout) - kept):
                remove(layout.store / name)
        here = (layout.staging, *layout.private_folders) if layout.renames else ()
        for folder in dict.fromkeys((layout.scratch, *here)):
            for path in children(folder):
                if f"private/{folder.name}/{path.name}" not in kept:
                    remove(path)
    crash_points.reach("swept")


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
    if unknown:
        return False
    if layout.renames:
        return all((layout.store / name).is_file() for name in live)
    return live.keys() <= layout.sizes().keys()
