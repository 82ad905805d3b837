"""How the command line speaks: tables that fit a terminal, JSON, progress, and errors in one shape."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from republish.cli.options import option
from republish.errors import NothingNew
from republish.show.numbers import is_number, number

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn

JSON_VERSION = 1
"""Of the form of all JSON documents, which `schemas/` describes; it grows when a field goes or changes its meaning."""


@dataclass
class _Speaking:
    """Which command speaks in this process just now, and whether it was told to be quiet."""

    command: str | None = None
    quiet: bool = False


_speaking = _Speaking()


def begin(command: str | None) -> None:
    """A command begins: what is said from now on is its words."""
    _speaking.command, _speaking.quiet = command, False


def _hush(quiet: bool) -> bool:
    _speaking.quiet = quiet
    return quiet


_CONTROLS = dict.fromkeys((7, 8, 11, 12, 13))  # what would ring a bell, or have a line written over
_JSON = "Print one line of JSON instead of text (docs/json.md)."
_QUIET = "Print errors only, and JSON where it is asked for."
Json = Annotated[bool, typer.Option("--json", help=_JSON)]
Quiet = Annotated[bool, typer.Option("--quiet", callback=_hush, help=_QUIET)]


@dataclass(frozen=True)
class SayingOptions:
    """How a command speaks."""

    as_json: bool = option(False, _JSON, "--json")
    quiet: bool = option(False, _QUIET, "--quiet", callback=_hush)


COMPILING = (
    "note: compiling for a table of this size, once on this machine; republish warm compiles all at once"
)


def console(error: bool = False) -> Console:
    """The terminal; its width is that of the window, or 100 where there is none."""
    from rich.console import Console

    stream = sys.stderr if error else sys.stdout
    return Console(stderr=error, highlight=False, width=None if stream.isatty() else 100)


def say_json(document: dict[str, Any]) -> None:
    """Print one JSON document on one line, with the command it is of and the version of its form.

    It is ASCII, so that every locale of a scheduler can print it; what is not a number is null.
    """
    whole = {"schema_version": JSON_VERSION, "command": _speaking.command, **document}
    plain = json.loads(json.dumps(whole, default=str), parse_constant=lambda _: None)
    typer.echo(json.dumps(plain, allow_nan=False))


def say_error(message: str, kind: str, code: int) -> None:
    """Print an error: a sentence, or the one JSON shape of errors where JSON was asked for."""
    if "--json" in sys.argv:
        say_json({"error": {"kind": kind, "message": message, "exit_code": code}})
    elif code == NothingNew.exit_code:
        say(message)
    else:
        from rich.markup import escape

        console(error=True).print(f"[bold red]error[/]: {escape(message)}", soft_wrap=True)


def say_aside(text: str) -> None:
    """Print a line for whoever watches, on standard error."""
    if not _speaking.quiet:
        typer.echo(text.translate(_CONTROLS), err=True)


def say(text: str, wrong: bool = False) -> None:
    """Print text in which square brackets mean themselves; what is `wrong` is said in quiet too."""
    if _speaking.quiet and not wrong:
        return
    typer.echo(text.translate(_CONTROLS))


def tell_of_compiling() -> None:
    """Say once where somebody watches that kernels are compiled, which no later command waits for."""
    if sys.stderr.isatty():
        import logging

        log = logging.getLogger("republish.kernels")

        def say_once(_record: logging.LogRecord) -> bool:
            log.setLevel(logging.WARNING)
            if not _speaking.quiet:
                console(error=True).print(COMPILING, soft_wrap=True)
            return False

        log.addFilter(say_once)
        log.setLevel(logging.INFO)


def say_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None = None) -> None:
    """Print a table; numbers stand to the right, a column without a single entry is left out."""
    if _speaking.quiet:
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    filled = [i for i in range(len(columns)) if not rows or any(row[i] not in (None, "") for row in rows)]
    columns, rows = [columns[i] for i in filled], [[row[i] for i in filled] for row in rows]
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1),
        collapse_padding=True,
    )
    numeric = [all(row[i] in (None, "") or is_number(row[i]) for row in rows) for i in range(len(columns))]
    for name, right in zip(columns, numeric, strict=True):
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(number(cell)) for cell in row))
    console().print(table)


@contextmanager
def steps(title: str, names: Sequence[str]) -> Iterator[Any]:
    """A progress bar over named steps; call the result with the name of the step that begins."""
    if not _watched():
        yield lambda _name: None
        return
    from rich.progress import TextColumn

    with _progress(TextColumn("{task.fields[step]}")) as bar:
        task = bar.add_task(title, total=len(names), step="")
        yield lambda name: bar.update(task, step=name, completed=names.index(name) if name in names else None)


@contextmanager
def counted(title: str) -> Iterator[Any]:
    """A progress bar for counted work; call the result with (done, all)."""
    if not _watched():
        yield lambda _done, _total: None
        return
    from rich.progress import MofNCompleteColumn

    with _progress(MofNCompleteColumn()) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _watched() -> bool:
    """Whether somebody watches, who is shown progress."""
    return not _speaking.quiet and sys.stderr.isatty()


def _progress(column: ProgressColumn) -> Progress:
    """A progress bar with a column of its own."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        column,
        TimeElapsedColumn(),
        console=console(error=True),
        transient=True,
    )
