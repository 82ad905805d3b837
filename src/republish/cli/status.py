"""`status`: whether a series is as its schedule wants it, in one line, for monitoring."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from republish.cli.options import Folder
from republish.cli.output import Json, Quiet, say, say_json

if TYPE_CHECKING:
    from republish.publishing.status import Status

_SPAN = re.compile(
    r"P?(?:(?P<weeks>\d{1,6})W)?(?:(?P<days>\d{1,6})D)?T?(?:(?P<hours>\d{1,6})H)?(?:(?P<minutes>\d{1,6})M)?(?:(?P<seconds>\d{1,6})S)?",
    re.IGNORECASE,
)


def status(
    series: Folder,
    max_age: Annotated[
        str | None,
        typer.Option(
            help="How old the last release may be: 8d, 36h, 2w, 1d12h, or ISO 8601 as P8D and PT36H."
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """One line on the last release; exit 1 where it is too old or withdrawn, or files, chain or policy were altered."""
    from republish.publishing.status import status_of
    from republish.series import Series

    allowed = None if max_age is None else span_of(max_age)
    found = status_of(Series.open(series), allowed)
    if as_json:
        say_json({"series": str(series), **found.as_dict()})
    else:
        say(_line(series.resolve().name, found), wrong=not found.fine)
    raise typer.Exit(0 if found.fine else 1)


def span_of(text: str) -> timedelta:
    """The span of time that a text such as 8d or PT36H stands for."""
    from republish.errors import PolicyError

    found = _SPAN.fullmatch(text.strip())
    given = {name: int(count) for name, count in found.groupdict().items() if count} if found else {}
    span = timedelta(**given)
    if not span:
        raise PolicyError("--max-age must be a span of time above zero, such as 8d, 36h, 2w, 1d12h or P8D")
    return span


def _line(name: str, found: Status) -> str:
    """What a monitor shows: how it stands first, then what is wrong, then the last release."""
    from republish.publishing.status import in_words

    if found.release is None:
        last = "no release yet"
    else:
        gate = "" if found.gate is None else ", gate passed"
        age = in_words(timedelta(seconds=found.age or 0))
        last = f"release {found.release} as of {found.as_of}, published {age} ago{gate}"
    if found.fine:
        return f"OK: {name}: {last}; chain, policy and files intact"
    first, more = found.problems[0], len(found.problems) - 1
    return f"PROBLEM: {name}: {first}{f' (and {more} more problems, see --json)' if more else ''}; {last}"
