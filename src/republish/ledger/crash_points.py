"""Named points at which a crash can be provoked, so that tests can kill a publisher at each of them."""

from __future__ import annotations

import os
import signal

VARIABLE = "REPUBLISH_FAULT"

LEDGER = (
    "created-folders",
    "built-aside",
    "folder-made",
    "staged",
    "release-synced",
    "private-synced",
    "before-commit",
    "inside-transaction",
    "after-commit",
    "renamed",
    "erased",
    "rolled-forward",
    "swept",
    "backup-written",
)
"""The points inside the ledger, in the order in which a series passes them."""

SERIES = ("view-read", "grouped", "release-written", "verified", "gated", "private-written")
"""The points of `publish` before the ledger takes over."""

STORES = ("copied", "uncovered")
"""The points between "after-commit" and "renamed" in a store that cannot rename: after every file that is copied, and
once the staged files no longer count."""

POINTS = (*SERIES, *LEDGER)
"""Every point there is."""

_passed: dict[str, int] = {}


def reach(name: str) -> None:
    """Do nothing, unless the environment asks for a crash here: then the process kills itself.

    `REPUBLISH_FAULT=after-commit` kills at the first passage of that point, `after-commit:3` at the third.
    """
    wanted = os.environ.get(VARIABLE)
    if not wanted:
        return
    point, _, count = wanted.partition(":")
    if point != name:
        return
    _passed[name] = _passed.get(name, 0) + 1
    if _passed[name] == int(count or 1):
        os.kill(os.getpid(), signal.SIGKILL)
