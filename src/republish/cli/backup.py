"""`backup` and `restore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from republish.cli.options import Folder, gathered
from republish.cli.output import Quiet, say, say_json
from republish.cli.publish import WritingOptions, telling


@gathered
def backup(
    series: Folder,
    archive: Annotated[Path, typer.Argument(help="File to write, .tar or .tar.gz.")],
    without_secret: Annotated[bool, typer.Option("--without-secret", help="Leave the secret out.")] = False,
    *,
    how: WritingOptions,
) -> None:
    """Write the whole series, checked first, into one archive."""
    from republish import ledger

    opened = how.open(series)
    opened.require_policy()
    with telling(opened), opened.writing("backup"):  # an archive of an earlier form would keep what it tells
        pass
    policy, patience = opened.policy, opened.ledger.patience
    ledger.backup(series, archive, policy.ledger, without_secret, policy.store, patience)
    inside = not without_secret and opened.ledger.layout.secret.is_file()
    if how.as_json:
        say_json({"archive": str(archive), "secret": inside})
        return
    if inside:
        say(f"{archive} holds the series and its secret: guard it")
    else:
        say(f"{archive} holds the series without its secret: keep a copy of the secret elsewhere")


def restore(
    archive: Annotated[Path, typer.Argument(help="An archive that `backup` wrote.")],
    series: Annotated[Path, typer.Argument(help="New or empty folder.")],
    to_ledger: Annotated[
        str | None,
        typer.Option("--ledger", help="URL of an empty database for the catalogue; else a local file."),
    ] = None,
    to_store: Annotated[
        str | None,
        typer.Option("--store", help="Folder or address for releases and memory; else the folder itself."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Unpack an archive into a new folder and check it."""
    from republish import ledger

    ledger.restore(archive, series, to_ledger, to_store)
    say(f"{series} restored and checked; next: republish verify {series}")
