"""`export`: a committed release as a table of a database."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from republish.cli.options import Folder, gathered
from republish.cli.output import SayingOptions, say, say_json
from republish.errors import RepublishError
from republish.show.numbers import number

if TYPE_CHECKING:
    from republish.publishing.export_postgres import Exported
    from republish.series import Series


@gathered
def export(
    series: Folder,
    release: Annotated[int, typer.Argument(help="Number of the release.")],
    url: Annotated[str, typer.Argument(help="The database, postgresql://host/db, or a table of it.")],
    table: Annotated[
        str | None, typer.Option(help="TABLE or SCHEMA.TABLE; else named like series and release.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the table if it holds a release.")
    ] = False,
    withdrawn: Annotated[
        bool, typer.Option("--withdrawn", help="Write the release although it was withdrawn.")
    ] = False,
    *,
    how: SayingOptions,
) -> None:
    """Write a release into PostgreSQL as a table, with what it promises in its comments."""
    from republish.publishing.export_postgres import export as write
    from republish.series import Series

    done = write(Series.open(series), release, url, table, replace, withdrawn)
    if how.as_json:
        say_json(done.as_dict())
        return
    say(f"release {release} is the table {done.table}, {number(done.rows)} rows")
    if done.values:
        say(f"its sensitive values are counted by batch in {done.values}")
    if done.counterfeits:
        say(f"its counterfeit rows are counted in {done.counterfeits}")


def require_target(url: str) -> None:
    """Refuse an address that no release can be written to."""
    from republish.publishing.export_postgres import target_of

    target_of(url)


def export_published(opened: Series, release: int, url: str) -> tuple[Exported | None, RepublishError | None]:
    """What was written of a release that is committed already, or an error that says so and how to repeat it."""
    from republish.publishing.export_postgres import export as write

    try:
        return write(opened, release, url), None
    except RepublishError as problem:
        again = shlex.join(["republish", "export", str(opened.root), str(release), url])
        said = f"release {release} is committed, but is not in the database yet: {problem}. Repeat: {again}"
        return None, type(problem)(said)
