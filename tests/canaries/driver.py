"""Commands and requests in this process, with everything that they print or answer."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from republish.cli import main


@dataclass(frozen=True)
class Said:
    """What one command or request came to."""

    what: str
    code: int
    text: str

    @property
    def refused(self) -> bool:
        return self.code != 0


@contextmanager
def listening() -> Iterator[Any]:
    """All that is written to the terminal in the block, also by code that is not Python's."""
    sys.stdout.flush()
    sys.stderr.flush()
    with tempfile.TemporaryFile() as file:
        saved = os.dup(1), os.dup(2)
        streams = sys.stdout, sys.stderr
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        sys.stdout = open(1, "w", closefd=False, encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
        sys.stderr = open(2, "w", closefd=False, encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
        try:
            yield file
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            sys.stdout, sys.stderr = streams
            os.dup2(saved[0], 1)
            os.dup2(saved[1], 2)
            os.close(saved[0])
            os.close(saved[1])


def command(*arguments: object) -> Said:
    """One command line; what escapes it is in the text as a traceback."""
    words = [str(argument) for argument in arguments]
    before = sys.argv
    sys.argv = ["republish", *words]
    code, escaped = 0, ""
    with listening() as file:
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        except BaseException as problem:
            code, escaped = -1, f"\nTraceback: {type(problem).__name__}"
        finally:
            sys.argv = before
        sys.stdout.flush()
        sys.stderr.flush()
        file.seek(0)
        text = file.read().decode("utf-8", "replace")
    return Said(" ".join(words[:1] + [w for w in words if w.startswith("--")]), code, text + escaped)


def request(client: Any, method: str, path: str, **more: Any) -> tuple[Said, Any]:
    """One request to the desk, and its answer."""
    with listening() as file:
        answer = client.request(method, path, **more)
        file.seek(0)
        printed = file.read().decode("utf-8", "replace")
    code = 0 if answer.status_code < 400 else answer.status_code
    body = answer.content.decode("utf-8", "replace")
    return Said(f"{method} {path.partition('?')[0]}", code, body + printed), answer


def state(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file below a folder, with its size and the moment of its last change; the lock and logs aside."""
    aside = ("lock", "ledger.db-shm", "ledger.db-wal", "audit.jsonl", "audit.log")
    return {
        str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file() and path.name not in aside
    }
