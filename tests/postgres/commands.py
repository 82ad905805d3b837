"""The command line in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

from republish.ledger import crash_points


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
    with start(*arguments) as process:
        said, complaint = process.communicate(timeout=120)
    assert process.returncode == 0, complaint
    return said


def fails(*arguments: object, code: int = 2) -> str:
    """What a command that is refused says."""
    with start(*arguments) as process:
        _, complaint = process.communicate(timeout=120)
    assert process.returncode == code, complaint
    assert "Traceback" not in complaint
    assert "unforeseen" not in complaint
    return complaint
