"""How large workbooks and files of statistical packages are once they are unpacked, by what they say of themselves."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Final

from republish.errors import ViewError
from republish.sources.files.formats import EXCEL, PARQUET, SAS, SPSS, STATA, STATISTICAL, XPORT

FORMATS: Final = {
    PARQUET: "parquet",
    EXCEL: "xlsx",
    SPSS: "sav",
    STATA: "dta",
    SAS: "sas7bdat",
    XPORT: "xpt",
}
"""What the desk calls formats: by their usual endings."""
_OLD = b"\xd0\xcf\x11\xe0"  # a workbook that is not packed
_LEAST = 16  # bytes of a cell of an unpacked sheet


def packed(path: Path, kind: str) -> tuple[int, int]:
    """The cells of a file, about as many, and its bytes once it is unpacked.

    Raises:
        ValueError: it is an archive of something else, or damaged.
    """
    if kind == FORMATS[EXCEL]:
        return _of_workbook(path)
    from republish.sources.files.statistical import names_and_rows

    what = next(one for one in STATISTICAL if FORMATS[one] == kind)
    try:
        names, rows = names_and_rows(path, what)
    except ViewError as problem:
        if "install" in str(problem):
            raise
        raise ValueError from None
    return len(names) * rows, path.stat().st_size


def _of_workbook(path: Path) -> tuple[int, int]:
    with path.open("rb") as file:
        if file.read(4) == _OLD:
            return 0, path.stat().st_size
    try:
        with zipfile.ZipFile(path) as archive:
            files = archive.infolist()
    except (zipfile.BadZipFile, OSError, NotImplementedError):
        raise ValueError from None
    if not any(one.filename in ("xl/workbook.xml", "content.xml", "xl/workbook.bin") for one in files):
        raise ValueError
    unpacked = sum(one.file_size for one in files)
    return unpacked // _LEAST, unpacked
