"""Completion in the shell: commands and options."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The command as it is installed: the shell calls it by its name."""
    path = tmp_path / "republish"
    path.write_text(f"#!{sys.executable}\nfrom republish.cli import main\nmain()\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("words", "offered"), [("republish w", ["withdraw", "warm"]), ("republish publish --dr", ["--dry-run"])]
)
def test_bash_is_offered_commands_and_options(script: Path, words: str, offered: list[str]) -> None:
    typing = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    asked = os.environ | typing | {"_REPUBLISH_COMPLETE": "complete_bash"}
    assert subprocess.check_output([script], text=True, env=asked).split() == offered


def test_the_script_of_a_shell_is_shown(script: Path) -> None:
    asked = os.environ | {"_REPUBLISH_COMPLETE": "source_bash"}
    shown = subprocess.check_output([script], text=True, env=asked)
    assert "complete -o default -F _republish_completion republish" in shown
