"""Making the folder of a new series: policy, secret and ledger, all of them or none."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import republish
from republish.errors import LedgerError
from republish.ledger import Ledger
from republish.microdata import NEWEST_ROWS
from republish.policy import Policy
from republish.secret import VARIABLE, Secret, write_secret

_BEGUN = {"private", "hierarchies", "knowledge", "releases", "series.toml"}


def create_folder(root: Path, policy: Policy) -> Ledger:
    """Make a series of this policy in a new or empty folder and return its ledger.

    Raises:
        LedgerError: the folder holds something, or cannot be written; then no series was made.
        PolicyError: the parameters of the publisher do not fit the columns of the schema.
    """
    require_fit = getattr(policy.publisher, "require_fit", None)
    if require_fit is not None:  # what a publisher knows of columns by name
        require_fit(policy.schema)
    if root.exists() and not _is_free(root):
        raise LedgerError(f"{root} must be a new or empty folder; choose another name")
    try:
        _clear(root)
        return _make(root, policy)
    except OSError as problem:
        shutil.rmtree(root, ignore_errors=True)
        raise LedgerError(
            f"the series could not be made at {root}: {problem.strerror}; no series was made"
        ) from None
    except LedgerError:
        shutil.rmtree(root, ignore_errors=True)
        raise


def _is_free(root: Path) -> bool:
    """Whether this is an empty folder, or one that holds only what an interrupted `init` left."""
    if not root.is_dir():
        return False
    names = {path.name for path in root.iterdir()}
    published = any((root / "releases").glob("*")) or any((root / "private" / "memory").glob("*"))
    settings = root / "series.toml"
    elsewhere = settings.is_file() and "ledger =" in settings.read_text(encoding="utf-8", errors="replace")
    return names <= _BEGUN and not published and not elsewhere


def _clear(root: Path) -> None:
    """Remove what an interrupted `init` left."""
    for name in _BEGUN:
        path = root / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _make(root: Path, policy: Policy) -> Ledger:
    """Write policy and secret, then the ledger, which makes the series exist."""
    private = root / "private"
    root.mkdir(parents=True, exist_ok=True)
    private.mkdir(mode=0o700)
    file = private / "secret.key"
    secret = Secret.load(file) if os.environ.get(VARIABLE) else write_secret(file)
    policy.write(root)
    first = {
        "seed": policy.seed,
        "secret": secret.fingerprint(),
        "policy": policy.digest(),
        "promises": policy.promises,
        "row_digests": NEWEST_ROWS,
        "tool": republish.__version__,
    }
    return Ledger.create(root, first, policy.ledger, policy.store)
