"""`adopt`: releases that another tool made before the series began."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from republish.cli.options import Folder, gathered, option
from republish.cli.output import say, say_json, say_table, steps
from republish.cli.publish import MeantOptions, WritingOptions, say_size, telling
from republish.show.adopted import assumed

if TYPE_CHECKING:
    from republish.publishing.result import Published
    from republish.series import Series


@dataclass(frozen=True)
class AdoptingOptions:
    """When an adopted release is as of, where its view says who was in which group, and whether it is a trial."""

    as_of: str | None = option(None, "Date of the release, later than that of the last one. Without it: now.")
    groups: str | None = option(
        None,
        "Column of the view with each person's group, or batch where there are two tables. Without it each person is "
        "put where she fits.",
    )
    dry_run: bool = option(False, "Do everything but commit.", "--dry-run")


@gathered
def adopt(
    series: Folder,
    table: Annotated[
        Path,
        typer.Argument(
            help="The table that was published (CSV or Parquet); where there are two, the table of people."
        ),
    ],
    values: Annotated[
        Path | None,
        typer.Argument(help="Where there are two tables: the table of values (batch, value, count)."),
    ] = None,
    *,
    view: Annotated[
        str,
        typer.Option(
            help="The raw view that it was made of, with identifiers: a CSV or Parquet file, or postgresql://..."
        ),
    ],
    options: AdoptingOptions,
    meant: MeantOptions,
    how: WritingOptions,
) -> None:
    """Add a release that another tool made before; attacks, gate and promises then count with it."""
    from republish.publishing.adopt.run import STEPS

    opened = how.open(series)
    tables = (table,) if values is None else (table, values)
    with steps(f"adopting {table.name}", STEPS) as step, telling(opened):
        done = opened.adopt(
            *tables,
            view=view,
            as_of=options.as_of,
            groups=options.groups,
            dry_run=options.dry_run,
            progress=step,
            meant=meant.names(),
            expect_anyway=meant.expect_anyway,
        )
    if how.as_json:
        say_json(done.as_dict())
        return
    _say_done(done, opened, options.dry_run)


def _say_done(done: Published, series: Series, dry_run: bool) -> None:
    """What was adopted, what was assumed, how far it keeps promises, and what can be found out."""
    found = done.adopted
    assert found is not None
    say(
        f"release {done.number} as of {done.as_of}, adopted"
        + (" (dry run, nothing was written)" if dry_run else "")
    )
    say_size(done)
    for sentence in assumed(found.as_dict()):
        say(f"  {sentence}")
    if found.elsewhere or (found.left_out and not found.stated):
        say("  note: where a column of the view says who was in which group, name it with --groups")
    say_adopted(found.as_dict())
    for sentence in found.gate:
        say(f"  note: the gate would refuse every release that follows: {sentence}")
    if not series.policy.publisher.series_promises:
        say(
            f"  note: {series.policy.publisher.name} protects each release alone and does not count with this one"
        )
    if done.folder:
        say(f"  files: {done.folder}")


def say_adopted(found: dict[str, Any]) -> None:
    """How far an adopted release keeps what the series promises, and what attacks found when it was adopted."""
    say_table(
        ("promised of own releases", "kept", "groups against it", "rows against it"),
        [(one["promise"], one["holds"], one["groups"], one["rows"]) for one in found["promises"]],
    )
    say_table(
        ("attack on all releases so far", "people", "determined", "mean confidence"),
        [
            (name, one["people"], one["determined"], one["mean_confidence"])
            for name, one in found["attacks"].items()
        ],
    )
