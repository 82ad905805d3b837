"""What was done to a series through the desk: one JSON line each in `private/audit.log`, never a value."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from republish.ledger.files import writing

FILE = "audit.log"
_TAIL = 2**18
_ENDS = ("done", "refused", "failed", "interrupted")


def note(root: Path, action: str, outcome: str, **facts: Any) -> None:
    """Append a line to the log of a series, safely on disk.

    `facts` are counts, names of columns or files, digests and parameters; `None` is left out.

    Raises:
        LedgerError: it cannot be written; then what was to be done should not be.
    """
    line = {"when": datetime.now(UTC).isoformat(timespec="seconds"), "action": action, "outcome": outcome}
    line |= {name: fact for name, fact in facts.items() if fact is not None}
    with writing("the audit log could not be written"):
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(root / "private" / FILE, flags, 0o600)
        try:
            os.write(descriptor, (json.dumps(line, ensure_ascii=False) + "\n").encode("utf-8", "replace"))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def lines(root: Path, most: int = 200) -> list[dict[str, Any]]:
    """The last lines of a log, oldest first; what is no line of it is passed over."""
    try:
        with (root / "private" / FILE).open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL))
            texts = file.read().splitlines()
    except OSError:
        return []
    found = []
    for text in texts:
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict) and "action" in line and "outcome" in line:
            found.append(line)
    return found[-most:]


def unfinished(root: Path) -> dict[str, Any] | None:
    """The line of the last publish that was begun and of which no end is written, where there is one."""
    open_ones: dict[str, dict[str, Any]] = {}
    for line in lines(root, most=10_000):
        if line["action"] != "publish":
            continue
        if line["outcome"] == "started":
            open_ones[str(line.get("job"))] = line
        elif line["outcome"] in _ENDS:
            open_ones.pop(str(line.get("job")), None)
    return list(open_ones.values())[-1] if open_ones else None
