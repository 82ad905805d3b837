"""A command as it is typed, run in this process: its words, its exit code, its refusals."""

from __future__ import annotations

import sys
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from republish.cli import main

_UNSET = ("REPUBLISH_TRACEBACK", "COLUMNS")


@dataclass(frozen=True)
class Typed:
    """What a command said and how it ended."""

    stdout: str
    stderr: str
    returncode: int


def typed(*arguments: object, folder: Path | None = None, answers: str = "") -> Typed:
    """Run the whole command line, as `python -m republish` does, without the start of another process."""
    streams = CliRunner().isolation(answers, env=dict.fromkeys(_UNSET))
    with pytest.MonkeyPatch.context() as patch, chdir(folder or Path.cwd()), streams as (said, complaint, _):
        patch.setattr(sys, "argv", ["republish", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        code = end.value.code
        assert isinstance(code, int)
        return Typed(said.getvalue().decode(), complaint.getvalue().decode(), code)
