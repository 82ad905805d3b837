"""The blocks of code of a page: which there are, where, and which are not run and why."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

LANGUAGES = {"python": "python", "py": "python", "sh": "sh", "shell": "sh", "bash": "sh", "console": "sh"}
_FENCE = re.compile(r"^( *)```+ *(\w*)[^`]*$")
_NOT_RUN = re.compile(r"^ *<!-- not run: (.+?) *-->$")
_COMMAND = re.compile(r"^ {4}republish ")


@dataclass(frozen=True)
class Block:
    """A block of Python or of shell; `reason` says why it is not run, and is empty where it is."""

    page: Path
    line: int
    language: str
    text: str
    reason: str = ""

    @property
    def place(self) -> str:
        return f"{self.page.name}, line {self.line}"


def blocks(page: Path) -> list[Block]:
    """Fenced blocks of Python and shell, and others that begin with a command of republish."""
    lines = page.read_text(encoding="utf-8").splitlines()
    found: list[Block] = []
    at = 0
    while at < len(lines):
        reason = _reason(lines, at)
        if fence := _FENCE.match(lines[at]):
            end = next(
                (i for i in range(at + 1, len(lines)) if lines[i].strip().startswith("```")), len(lines)
            )
            command = not fence[2] and lines[at + 1].strip().startswith("republish ")
            if language := "sh" if command else LANGUAGES.get(fence[2]):
                text = "\n".join(line.removeprefix(fence[1]) for line in lines[at + 1 : end])
                found.append(Block(page, at + 2, language, text, reason))
            at = end
        elif _COMMAND.match(lines[at]) and not (at and lines[at - 1].strip()):
            end = next((i for i in range(at, len(lines)) if not lines[i].startswith("    ")), len(lines))
            said = [re.split(r" {2,}", line[4:])[0] for line in lines[at:end]]  # what follows a gap explains
            found.append(Block(page, at + 1, "sh", "\n".join(said), reason))
            at = end
        at += 1
    return found


def _reason(lines: list[str], at: int) -> str:
    """What the comment above says, with or without an empty line between."""
    before = [line for line in lines[max(0, at - 2) : at] if line.strip()]
    told = _NOT_RUN.match(before[-1]) if before else None
    return told[1] if told else ""
