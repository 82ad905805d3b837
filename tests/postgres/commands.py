"""The command line, in this process or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys

from republish.ledger import crash_points
from typed import typed


def start(*arguments: object, fault: str = "") -> subprocess.Popen[str]:
    environment = {key: value for key, value in os.environ.items() if key != "REPUBLISH_TRACEBACK"}
    if fault:
        environment[crash_points.VARIABLE] = fault
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "republish", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def ok(*arguments: object) -> str:
    """What a command that succeeds says."""
    done = typed(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def fails(*arguments: object, code: int = 2) -> str:
    """What a command that is refused says."""
    done = typed(*arguments)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "unforeseen" not in done.stderr
    return done.stderr
