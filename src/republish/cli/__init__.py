"""The command line: what people type, in the order of the work."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from republish import __version__
from republish.cli import (
    adopt,
    amend,
    attack,
    backup,
    export,
    init,
    inspection,
    publish,
    query,
    read,
    report,
    reproduce,
    serve,
    setup,
    status,
    tune,
    verify,
    warm,
)
from republish.cli.output import begin, say_error, tell_of_compiling
from republish.errors import EXIT_CODES, REPORT_IT, RepublishError, fault_of
from republish.sources.panics import is_panic, unheard

app = typer.Typer(
    name="republish",
    help="Publish a changing table of personal data again and again without giving anyone away.",
    epilog=f"Exit codes: {', '.join(f'{code} {meaning}' for code, meaning in EXIT_CODES.items())}.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

_DEVELOPING = "REPUBLISH_TRACEBACK"  # for developers: what is shown then may show cells
_FIRST, _EVERY, _LOOK, _KEEP = "Begin", "Every week", "Look", "Keep"

app.command("demo", rich_help_panel=_FIRST)(setup.demo)
app.command("generate", rich_help_panel=_FIRST)(setup.generate)
app.command("init", rich_help_panel=_FIRST)(init.init)
app.command("learn", rich_help_panel=_FIRST)(setup.learn)
app.command("adopt", rich_help_panel=_FIRST)(adopt.adopt)
app.command("publish", rich_help_panel=_EVERY)(publish.publish)
app.command("export", rich_help_panel=_EVERY)(export.export)
app.command("amend", rich_help_panel=_EVERY)(amend.amend)
app.command("withdraw", rich_help_panel=_EVERY)(publish.withdraw)
app.command("forget", rich_help_panel=_EVERY)(publish.forget)
app.command("status", rich_help_panel=_LOOK)(status.status)
app.command("history", rich_help_panel=_LOOK)(inspection.history)
app.command("show", rich_help_panel=_LOOK)(inspection.show)
app.command("verify", rich_help_panel=_LOOK)(verify.verify)
app.command("measure", rich_help_panel=_LOOK)(inspection.measure)
app.command("query", rich_help_panel=_LOOK)(query.query)
app.command("read", rich_help_panel=_LOOK)(read.read)
app.command("attack", rich_help_panel=_LOOK)(attack.attack)
app.command("tune", rich_help_panel=_LOOK)(tune.tune)
app.command("report", rich_help_panel=_LOOK)(report.report)
app.command("reproduce", rich_help_panel=_LOOK)(reproduce.reproduce)
app.command("serve", rich_help_panel=_LOOK)(serve.serve)
app.command("backup", rich_help_panel=_KEEP)(backup.backup)
app.command("restore", rich_help_panel=_KEEP)(backup.restore)
app.command("warm", rich_help_panel=_KEEP)(warm.warm)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"republish {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    begin(context.invoked_subcommand)


def main() -> None:
    """Run one command; errors become one sentence and an exit code, never a traceback."""
    if os.environ.get(_DEVELOPING):
        sys.exit(_run())
    with unheard():
        code = _run()
    sys.exit(code)


@contextmanager
def _only(names: list[str]) -> Iterator[None]:
    """Spare typer the commands that are not called, if one of these is."""
    every = app.registered_commands
    app.registered_commands = [one for one in every if one.name in names] or every
    try:
        yield
    finally:
        app.registered_commands = every


def _run() -> int:
    begin(None)
    tell_of_compiling()
    try:
        with _only(sys.argv[1:2]):
            code = app(standalone_mode=False)
    except RepublishError as problem:
        code = problem.exit_code
        say_error(str(problem), type(problem).__name__, code)
    except (typer.Abort, KeyboardInterrupt):
        code = 130
        say_error("stopped; nothing more was written", "Stopped", code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as problem:
        code = 2
        say_error(
            f"the system refused {problem.filename or 'a file'}: {problem.strerror}; check path and rights",
            "System",
            code,
        )
    except BaseException as problem:
        if not isinstance(problem, Exception) and not is_panic(problem):
            raise
        code = 2
        if hasattr(problem, "format_message"):  # wrong use, as the parser of the command line says it
            told = f"{problem.format_message()} See republish --help, or --help after a command"
            say_error(told, "Usage", code)
            return code
        if os.environ.get(_DEVELOPING):
            raise
        say_error(f"an unforeseen {fault_of(problem)}. {REPORT_IT}", "Unforeseen", code)
    return code if isinstance(code, int) else 0
