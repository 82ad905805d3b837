"""Write docs/cli.md and docs/cli-*.md from the help texts of the command line: `python docs/make_cli.py`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import typer

from republish.cli import app
from republish.errors import EXIT_CODES

PAGES = {
    "cli-begin.md": ("Begin", ("demo", "generate", "init")),
    "cli-publish.md": ("Publish", ("adopt", "publish", "export")),
    "cli-change.md": ("Change and keep", ("amend", "withdraw", "forget", "backup", "restore", "warm")),
    "cli-look.md": ("Look and count", ("status", "history", "show", "verify", "measure", "query", "read")),
    "cli-attack.md": ("Attack and tune", ("learn", "attack", "tune")),
    "cli-report.md": ("Report and desk", ("report", "reproduce", "serve")),
}

MADE = "Made from `republish COMMAND --help` by `docs/make_cli.py`."

HEADER = f"""# Command line

{MADE} Every reading command takes `--json` ([json.md](json.md)).
Exit codes: {{codes}}. What schedulers do with them: [schedules.md](schedules.md).
`republish --install-completion` turns on completion of commands and options in bash, zsh, fish and PowerShell;
`republish --show-completion` prints what it adds.

| page | command | does |
|---|---|---|
"""


def help_text(command: str) -> str:
    """What `--help` prints, in plain lines."""
    environment = os.environ | {"COLUMNS": "88", "TERM": "dumb", "NO_COLOR": "1"}
    text = subprocess.check_output(
        [sys.executable, "-m", "republish", command, "--help"], text=True, env=environment
    )
    text = text.replace("python -m republish", "republish")
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def first_sentence(command: str) -> str:
    """What the list of all commands says of one."""
    listed: dict[str, click.Command] = typer.main.get_command(app).commands
    return (listed[command].help or "").strip().split("\n\n")[0].replace("\n", " ")


def pages() -> dict[str, str]:
    """The text of every page by its name."""
    codes = ", ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items())
    found, rows = {}, []
    for page, (title, commands) in PAGES.items():
        sections = [f"\n## republish {name}\n\n```\n{help_text(name)}\n```\n" for name in commands]
        found[page] = f"# Commands: {title.lower()}\n\n{MADE} [All commands](cli.md).\n" + "".join(sections)
        rows += [
            f"| {title} | [`{name}`]({page}#republish-{name}) | {first_sentence(name)} |" for name in commands
        ]
    return {"cli.md": HEADER.format(codes=codes) + "\n".join(rows) + "\n"} | found


if __name__ == "__main__":
    for page, text in pages().items():
        Path(__file__).with_name(page).write_text(text, encoding="utf-8")
