"""A publish that was cut off because the desk was stopped: whether it goes on somewhere, and what came of it."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from republish.errors import LedgerError
from republish.ledger.lock import hold
from republish.web import Busy

if TYPE_CHECKING:
    from republish.series import Series


def require_unlocked(series: Series) -> None:
    """Refuse where another process writes to the series just now; the lock's own words say who."""
    try:
        with hold(series.ledger.layout.lock, "serve"):
            pass
    except LedgerError as problem:
        raise Busy(str(problem)) from None


def is_going_on(series: Series, begun: Mapping[str, Any]) -> bool:
    """Whether a publish that a desk wrote down as begun is perhaps still under way, there or in its worker."""
    try:
        require_unlocked(series)
    except Busy:
        return True
    pid = begun.get("pid")
    if begun.get("host") != socket.gethostname() or not isinstance(pid, int) or pid in (0, os.getpid()):
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def words(begun: Mapping[str, Any], releases: int) -> str:
    """What came of it; the ledger, which holds so many releases now, is the truth."""
    before = int(begun.get("releases", 0))
    since = f"a publish that was begun at {begun.get('when')} was cut off when the desk was stopped"
    if releases > before:
        return f"{since}, but release {before + 1} was committed and is whole; there are {releases} releases"
    return f"{since}; nothing of it was published, and the series is as it was: {releases} releases. Publish it again"
