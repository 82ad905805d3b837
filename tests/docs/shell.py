"""Blocks of shell, run in this process: one start of Python for all, and nothing is installed."""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import click
import typer

from docs.pages import ROOT
from republish.cli import app
from typed import typed

_OPERATORS = {"&&", "||", "|", ";", "&", ">", ">>", "<", "(", ")"}
_PLAIN = {"cat", "cp", "echo", "head", "ls", "mkdir", "mv", "rm", "tail", "wc"}


class CannotRunError(Exception):
    """A line that these tests do not understand: write it otherwise, or say above the block why it is not run."""


def lines_of(text: str) -> list[list[str]]:
    """The words of every command, comments left out; commands after `&&` are lines of their own."""
    found: list[list[str]] = []
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.shlex(line.strip().removeprefix("$ "), posix=True, punctuation_chars="|&;<>()")
        words.whitespace_split = True
        words.commenters = "#"
        command: list[str] = []
        for word in words:
            if word == "&&":
                found.append(command)
                command = []
            else:
                command.append(word)
        found.append(command)
    return [command for command in found if command]


def commands_of(text: str) -> list[list[str]]:
    """The commands of republish in a block, as far as an operator of the shell."""
    found = []
    for words in lines_of(text):
        if words[0] == "republish":
            end = next((i for i, word in enumerate(words) if word in _OPERATORS), len(words))
            found.append(words[1:end])
    return found


def check_options(words: list[str]) -> None:
    """That a command exists, and every option that is given to it."""
    commands: dict[str, click.Command] = typer.main.get_command(app).commands
    if words[0].startswith("-"):
        return
    assert words[0] in commands, f"there is no command {words[0]}"
    known = {
        name
        for parameter in commands[words[0]].params
        for name in (*parameter.opts, *parameter.secondary_opts)
    }
    known |= {"--help", "-h"}
    given = [word.partition("=")[0] for word in words[1:] if re.match(r"--?[a-z]", word)]
    assert [name for name in given if name not in known] == [], f"options of {words[0]}"


def run(words: list[str], folder: Path) -> None:
    """Run one command in a folder that is the working directory already; installing and serving are only checked."""
    output: Path | None = None
    if words[0] == "export":
        _exported(words[1:])
        return
    if ">" in words:
        words, (target,) = words[: words.index(">")], words[words.index(">") + 1 :]
        output = folder / target
    piped: list[str] = []
    if "|" in words:
        words, piped = words[: words.index("|")], words[words.index("|") + 1 :]
        if piped[0] != "jq":
            raise CannotRunError(f"| {piped[0]}")
    if _OPERATORS & set(words) or any("$" in word or "`" in word for word in words):
        raise CannotRunError(" ".join(words))
    words = [one for word in words for one in _globbed(word, folder)]
    said = _program(words, folder)
    if output:
        output.write_text(said, encoding="utf-8")
    if piped:
        _filtered(said, [word for word in piped[1:] if not word.startswith("-")])


def _globbed(word: str, folder: Path) -> list[str]:
    if "*" not in word or " " in word or "=" in word:
        return [word]
    return sorted(path.relative_to(folder).as_posix() for path in folder.glob(word)) or [word]


def _program(words: list[str], folder: Path) -> str:
    match words:
        case ["republish", "serve", *_]:
            check_options(words[1:])
        case ["republish", *arguments]:
            done = typed(*arguments, answers="\n" * 99)  # Enter takes what is proposed
            assert done.returncode == 0, f"exit {done.returncode}: {done.stdout[-600:]}{done.stderr[-600:]}"
            return done.stdout
        case ["pip" | ".venv/bin/pip", "install", *packages]:
            _check_extras(packages)
        case ["make", *targets]:
            _check_targets(targets)
        case ["python3" | "python", "-m", "venv", *_] | ["." | "source", _]:
            pass
        case ["jupyter", _, file]:
            assert (ROOT / file).is_file(), f"there is no {file}"
        case [program, *_] if program in _PLAIN:
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
            return done.stdout
        case _:
            raise CannotRunError(" ".join(words))
    return ""


def _exported(words: list[str]) -> None:
    """Set a variable to random digits: `export NAME=$(openssl rand -hex 32)`."""
    name = words[0].removesuffix("=$")
    if words != [f"{name}=$", "(", "openssl", "rand", "-hex", words[-2], ")"]:
        raise CannotRunError(f"export {name}")
    os.environ[name] = secrets.token_hex(int(words[-2]))


def _check_extras(packages: list[str]) -> None:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for package in packages:
        if told := re.fullmatch(r"(?:republish|\.)\[(.+)\]", package):
            for extra in told[1].split(","):
                assert extra in project["optional-dependencies"], f"there is no extra {extra}"


def _check_targets(targets: list[str]) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in targets:
        if "=" not in target:
            assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE), (
                f"there is no target {target}"
            )


def _filtered(said: str, path: list[str]) -> None:
    """A path of jq such as `.signing.by`, which must lead somewhere."""
    (steps,) = path
    if not re.fullmatch(r"\.[\w.]*", steps):
        raise CannotRunError(f"jq {steps}")
    found = json.loads(said)
    for step in steps.strip(".").split("."):
        found = found[step] if step else found
