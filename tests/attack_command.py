"""The attack command, run and read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from republish.cli import app


def said(*arguments: str | Path) -> str:
    """What the command prints; errors are raised."""
    done = CliRunner().invoke(app, ["attack", *map(str, arguments)])
    if done.exception is not None:
        raise done.exception
    return done.stdout


def document(*arguments: str | Path) -> dict[str, Any]:
    """What the command says in JSON."""
    found = json.loads(said(*arguments, "--json"))
    assert isinstance(found, dict)
    return found
