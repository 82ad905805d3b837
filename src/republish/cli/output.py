"""How the command line speaks: tables that fit a terminal, JSON, progress, and errors in one shape."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from republish.show.numbers import is_number, number

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn

COMPILING = (
    "note: compiling for a table of this size, once on this machine; republish warm compiles all at once"
)
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def console(error: bool = False) -> Console:
    """The terminal; its width is that of the window, or 100 where there is none."""
    from rich.console import Console

    stream = sys.stderr if error else sys.stdout
    return Console(stderr=error, highlight=False, width=None if stream.isatty() else 100)


def say_json(document: Any) -> None:
    """Print one JSON document."""
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False, default=str))


def say_error(message: str, kind: str) -> None:
    """Print an error: a sentence, or the one JSON shape of errors where JSON was asked for."""
    if "--json" in sys.argv:
        typer.echo(json.dumps({"error": {"kind": kind, "message": message}}, ensure_ascii=False))
    else:
        from rich.markup import escape

        console(error=True).print(f"[bold red]error[/]: {escape(message)}", soft_wrap=True)


def say(text: str) -> None:
    """Print text in which square brackets mean themselves."""
    console().print(text, markup=False, soft_wrap=True)


def tell_of_compiling() -> None:
    """Say once where somebody watches that kernels are compiled, which no later command waits for."""
    if sys.stderr.isatty():
        import logging

        log = logging.getLogger("republish.kernels")

        def say_once(_record: logging.LogRecord) -> bool:
            log.setLevel(logging.WARNING)
            console(error=True).print(COMPILING, soft_wrap=True)
            return False

        log.addFilter(say_once)
        log.setLevel(logging.INFO)


def say_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None = None) -> None:
    """Print a table; numbers stand to the right, a column without a single entry is left out."""
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
    from rich.progress import TextColumn

    with _progress(TextColumn("{task.fields[step]}")) as bar:
        task = bar.add_task(title, total=len(names), step="")
        yield lambda name: bar.update(task, step=name, completed=names.index(name) if name in names else None)


@contextmanager
def counted(title: str) -> Iterator[Any]:
    """A progress bar for counted work; call the result with (done, all)."""
    from rich.progress import MofNCompleteColumn

    with _progress(MofNCompleteColumn()) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _progress(column: ProgressColumn) -> Progress:
    """A progress bar with a column of its own; nothing where nobody watches."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        column,
        TimeElapsedColumn(),
        console=console(error=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
