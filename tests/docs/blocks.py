"""The blocks of code of a page: which there are, where, which are not run and why, and which run with less."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

LANGUAGES = {"python": "python", "py": "python", "sh": "sh", "shell": "sh", "bash": "sh", "console": "sh"}
_FENCE = re.compile(r"^( *)```+ *(\w*)[^`]*$")
_NOT_RUN = re.compile(r"^ *<!-- not run: (.+?) *-->$")
_RUN_WITH = re.compile(r"^ *<!-- run with: (.+?) *-->$")
_COMMAND = re.compile(r"^ {4}(?:\$ )?(?:republish|export) ")
_SCHEDULED = re.compile(r"^ {4}(?:[\d*/,-]+ +){5}(republish .*)")


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
        reason = _told(lines, at, _NOT_RUN)
        if fence := _FENCE.match(lines[at]):
            end = next(
                (i for i in range(at + 1, len(lines)) if lines[i].strip().startswith("```")), len(lines)
            )
            command = not fence[2] and lines[at + 1].strip().startswith("republish ")
            if language := "sh" if command else LANGUAGES.get(fence[2]):
                text = "\n".join(line.removeprefix(fence[1]) for line in lines[at + 1 : end])
                text = _with_less(text, _told(lines, at, _RUN_WITH))
                found.append(Block(page, at + 2, language, text, reason))
            at = end
        elif _COMMAND.match(lines[at]) and not (at and lines[at - 1].strip()):
            end = next((i for i in range(at, len(lines)) if not lines[i].startswith("    ")), len(lines))
            said = [re.split(r" {2,}", line[4:])[0] for line in lines[at:end]]  # what follows a gap explains
            if said[0].startswith("$ "):
                said = [line for line in said if line.startswith("$ ")]  # what follows a prompt is printed
            text = _with_less("\n".join(said), _told(lines, at, _RUN_WITH))
            found.append(Block(page, at + 1, "sh", text, reason))
            at = end
        elif scheduled := _SCHEDULED.match(lines[at]):
            found.append(Block(page, at + 1, "sh", scheduled[1], "cron runs it"))
        at += 1
    return found


def _told(lines: list[str], at: int, comment: re.Pattern[str]) -> str:
    """What a comment above says, with or without an empty line between."""
    before = [line for line in lines[max(0, at - 2) : at] if line.strip()]
    told = comment.match(before[-1]) if before else None
    return told[1] if told else ""


def _with_less(text: str, told: str) -> str:
    """A block with smaller numbers, as `OLD -> NEW; OLD -> NEW` says: pages show what takes minutes."""
    for pair in filter(None, told.split("; ")):
        old, new = pair.split(" -> ")
        assert old in text, f"there is no {old} in the block below"
        text = text.replace(old, new)
    return text
