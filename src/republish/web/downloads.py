"""Files of a release that may leave the house: which they are, whether they are as published, and how one is sent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from republish.errors import LedgerError
from republish.ledger.files import CHUNK
from republish.sources.paths import is_local
from republish.web import NotFound, Withdrawn

if TYPE_CHECKING:
    from republish.series import Series

FILES = (
    "table.csv",
    "table.parquet",
    "people.csv",
    "people.parquet",
    "values.csv",
    "values.parquet",
    "counterfeits.csv",
    "batches.csv",
    "about.json",
    "read_release.R",
    "datapackage.json",
    "codebook.xml",
    "dcat.jsonld",
)
_TABLES = ("table.parquet", "people.parquet", "values.parquet")
PARTS = {
    **dict.fromkeys(_TABLES, r"part-[0-9]{5,}\.parquet"),
    "counterfeits.csv": r"part-[0-9]{5,}\.csv",
}
WITHDRAWN = {"Republish-Withdrawn": "yes"}
"""What is said with every file of a withdrawn release."""


@dataclass(frozen=True)
class Download:
    """A file of a release in a copy that was measured against the ledger, and that nobody can change any more."""

    content: IO[bytes]
    bytes: int
    withdrawn: bool


def may_leave(file: str) -> bool:
    """Whether this is a file of a release, or a part of its table or of its counts of counterfeits."""
    whole, _, part = file.partition("/")
    return file in FILES or (whole in PARTS and re.fullmatch(PARTS[whole], part) is not None)


def taken(series: Series, number: int, file: str, withdrawn: bool) -> Download:
    """A file of a release as it was published.

    Raises:
        NotFound: the release has no such file, a link lies in its place, or another tool made it.
        Withdrawn: the release was withdrawn, and it was not said that it is wanted all the same.
        LedgerError: the file is not what the ledger recorded.
    """
    name = f"releases/{number:04d}/{file}"
    recorded = series.record(number).payload["files"].get(name)
    path = series.ledger.folder(number) / file
    if not may_leave(file) or recorded is None or (is_local(path) and path.resolve() != path):
        raise NotFound(f"release {number} has no such file; files of releases are {', '.join(FILES)}")
    if series.record(number).adopted:
        raise NotFound(
            f"release {number} was made by another tool and adopted; hand out what that tool wrote, for here it also "
            "says which values are nobody's"
        )
    gone = number in series.withdrawn()
    if gone and not withdrawn:
        raise Withdrawn(
            f"release {number} was withdrawn and should not be handed out; if you need it all the same, ask for it "
            "with ?withdrawn=yes"
        )
    try:
        return Download(series.ledger.copy(name), recorded["bytes"], gone)
    except LedgerError:
        raise LedgerError(altered_words(number, file) + "; restore the series from a backup") from None


def altered_words(number: int, file: str) -> str:
    """What is said of a file that is not as it was published."""
    return (
        f"{file} of release {number} is missing or was altered since it was published, and is not handed out"
    )


def sent(found: Download, filename: str, media_type: str | None = None) -> Response:
    """The file as a download."""
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(filename)}",
        "Content-Length": str(found.bytes),
        **(WITHDRAWN if found.withdrawn else {}),
    }
    kind = media_type or "application/octet-stream"
    return StreamingResponse(_chunks(found.content), media_type=kind, headers=headers)


def _chunks(content: IO[bytes]) -> Iterator[bytes]:
    with content:
        while chunk := content.read(CHUNK):
            yield chunk
