"""Reading what a command line can only give as text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from republish.errors import PolicyError, ViewError


def assignments(texts: Sequence[str], option: str) -> dict[str, str]:
    """`NAME=VALUE` texts as a dictionary."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not name or not value:
            raise PolicyError(f"{option} is written NAME=VALUE")
        if name in pairs:
            raise PolicyError(f"{option}: {name} is given twice")
        pairs[name] = value
    return pairs


def truth_views(folder: Path, releases: int) -> list[Path]:
    """The raw views of a folder: file i in the order of names belongs to release i."""
    if not folder.is_dir():
        raise ViewError(f"--truth must be a folder of raw views; there is none at {folder}")
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    if len(files) != releases:
        raise ViewError(
            f"--truth needs one raw view a release: {releases} releases, {len(files)} files. Files are taken in the "
            "order of their names, the first for release 1; "
            + (
                "move or remove those that belong to no release"
                if len(files) > releases
                else "add the views that are missing"
            )
        )
    return files
