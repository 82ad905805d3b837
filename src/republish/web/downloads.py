"""Files of a release that may leave the house: which they are, and how one is sent."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

from starlette.responses import FileResponse, Response

from republish.places import is_local

FILES = ("table.csv", "table.parquet", "counterfeits.csv", "about.json")
PARTS = {"table.parquet": r"part-[0-9]{5,}\.parquet", "counterfeits.csv": r"part-[0-9]{5,}\.csv"}


def may_leave(file: str) -> bool:
    """Whether this is a file of a release, or a part of its table or of its counts of counterfeits."""
    whole, _, part = file.partition("/")
    return file in FILES or (whole in PARTS and re.fullmatch(PARTS[whole], part) is not None)


def sent(place: Path, filename: str, media_type: str | None = None) -> Response:
    """The file as a download, from this machine or from the store of the series."""
    if is_local(place):
        return FileResponse(place, media_type=media_type, filename=filename)
    kept = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(filename)}"}
    return Response(place.read_bytes(), media_type=media_type or "application/octet-stream", headers=kept)
