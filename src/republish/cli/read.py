"""`read`: a release as whoever received it reads it, from its folder alone."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from republish.cli.output import Json, say, say_json, say_table
from republish.show.numbers import number

if TYPE_CHECKING:
    import polars as pl

    from republish.release.received import ReceivedRelease

_SHOWN = 30  # values in the terminal


def read(
    folder: Annotated[
        Path, typer.Argument(help="Folder of a release, such as releases/0001; no series is needed.")
    ],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write the table to this file, .csv or .parquet.")
    ] = None,
    midpoints: Annotated[
        bool,
        typer.Option("--midpoints", help="Add the midpoint and width of every cell of numbers and dates."),
    ] = False,
    weights: Annotated[
        bool,
        typer.Option(
            "--weights", help="Add values and weights that leave out counterfeits, one line for each value."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Read a release that you received: what is in it, or its table for any other program."""
    from republish.errors import PolicyError
    from republish.release.received import read_received

    if out is None and (midpoints or weights):
        raise PolicyError(
            "--midpoints and --weights are columns of the table that is written; name a file with -o"
        )
    if out is not None:
        _require_file(out, folder)
    received = read_received(folder, midpoints)
    if out is None:
        _say(received, as_json)
        return
    table = received.joined() if weights else received.people
    _write(table, out)
    if as_json:
        say_json({"file": str(out), "rows": table.height, "columns": table.columns})
    else:
        say(f"{out}: {number(table.height)} lines, columns {', '.join(table.columns)}")


def _say(received: ReceivedRelease, as_json: bool) -> None:
    about, margin = received.about, received.margin()
    form = "two tables" if received.two_tables else "one table"
    people = received.people.height if received.two_tables else received.weights[received.weight].sum()
    said: dict[str, Any] = {
        "release": about["release"],
        "as_of": about["as_of"],
        "form": form,
        "people": round(people),
        "counterfeits": int(received.counterfeits["count"].sum()),
        "columns": about["columns"],
    }
    if as_json:
        say_json(said | {"values": margin.to_dicts() if received.sensitive else []})
        return
    say(f"release {said['release']} as of {said['as_of']}: {number(said['people'])} people in {form}")
    for column in about["columns"]:
        what = f"{column['role']}, {column['kind']}" if "kind" in column else column["role"]
        say(f"  {column['name']}: {what}{'; ' + column['label'] if 'label' in column else ''}")
    if received.sensitive is not None:
        rows = [(value, round(count)) for value, count in margin.rows()[:_SHOWN]]
        say_table((received.sensitive, "people, about, counterfeits left out"), rows)
        if margin.height > _SHOWN:
            say(f"and {number(margin.height - _SHOWN)} more values; --json has them all")


def _require_file(out: Path, folder: Path) -> None:
    """Refuse a file that no table is written to, and one among those of the release."""
    from republish.errors import PolicyError

    if out.suffix.lower() not in (".csv", ".parquet"):
        raise PolicyError(f"-o names a file that ends in .csv or .parquet; found {out.name}")
    if out.resolve().is_relative_to(folder.resolve()):
        raise PolicyError(
            "the folder of a release holds what was published and nothing else; write elsewhere"
        )


def _write(table: pl.DataFrame, path: Path) -> None:
    """The file as a whole or not at all."""
    from republish.release.received import as_text

    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        if path.suffix.lower() == ".parquet":
            table.write_parquet(part)
        else:
            as_text(table).write_csv(part)
        os.replace(part, path)  # noqa: PTH105 - says what happens to a file that is there
    finally:
        part.unlink(missing_ok=True)
