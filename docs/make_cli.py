"""Write docs/cli.md from the help texts of the command line: `python docs/make_cli.py`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from republish.cli import app
from republish.errors import EXIT_CODES

HEADER = """# Command line

Made from `republish COMMAND --help` by `docs/make_cli.py`. Every reading command takes `--json` ([json.md](json.md)).
Exit codes: {codes}. What schedulers do with them: [schedules.md](schedules.md).
`republish --install-completion` turns on completion of commands and options in bash, zsh, fish and PowerShell;
`republish --show-completion` prints what it adds.
"""


def help_text(command: str) -> str:
    """What `--help` prints, in plain lines."""
    environment = os.environ | {"COLUMNS": "88", "TERM": "dumb", "NO_COLOR": "1"}
    text = subprocess.check_output(
        [sys.executable, "-m", "republish", command, "--help"], text=True, env=environment
    )
    text = text.replace("python -m republish", "republish")
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


if __name__ == "__main__":
    codes = ", ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items())
    sections = [
        f"\n## republish {c.name}\n\n```\n{help_text(c.name or '')}\n```\n" for c in app.registered_commands
    ]
    Path(__file__).with_name("cli.md").write_text(
        HEADER.format(codes=codes) + "".join(sections), encoding="utf-8"
    )
