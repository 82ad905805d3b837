"""`query`: how many people of a release match a condition; it reads and never writes."""

from __future__ import annotations

from typing import Annotated

import typer

from republish.cli.options import Folder
from republish.cli.output import Json, say, say_json
from republish.show.numbers import number


def query(
    series: Folder,
    release: Annotated[int, typer.Argument(help="Number of a release.")],
    condition: Annotated[
        str,
        typer.Argument(help='What to count: "age between 40 and 50 and gender = \'F\'"; "" for everybody.'),
    ],
    as_json: Json = False,
) -> None:
    """Estimate how many people of a release match a condition, with bounds that hold for certain."""
    from republish.series import Series

    opened = Series.open(series).snapshot()
    record = opened.record(release)
    found = opened.release(release).count(condition, record.payload["suppressed"])
    withdrawn = release in opened.withdrawn()
    if as_json:
        say_json({"release": release, "withdrawn": withdrawn, "condition": condition, **found.as_dict()})
        return
    about = f"{found.expected:,.1f}".removesuffix(".0")
    say(f"about {about} of {number(found.people)} people in release {release}")
    say(f"at least {number(found.lower)}, at most {number(found.upper)}: bounds that hold for certain")
    if found.suppressed:
        say(
            f"{number(found.suppressed)} rows of the view were left out of the release and may match too: "
            f"at most {number(found.upper_in_view)} of the view"
        )
    if found.counterfeits:
        say(f"{number(found.counterfeits)} counterfeit rows are not counted as people")
    for note in found.notes:
        say(f"note: {note}")
    if withdrawn:
        say(f"release {release} was withdrawn")
