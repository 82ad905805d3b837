"""What a file is, by what it holds and not by what it is called; and what each format is read by."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from republish.errors import ViewError

CSV, PARQUET, EXCEL = "a CSV file", "a Parquet file", "an Excel workbook"
SPSS, STATA, SAS, XPORT = "an SPSS file", "a Stata file", "a SAS file", "a SAS transport file"
STATISTICAL = (SPSS, STATA, SAS, XPORT)
ENDINGS = (".csv", ".parquet", ".xlsx", ".xls", ".ods", ".sav", ".zsav", ".dta", ".sas7bdat", ".xpt")
_BEGINNINGS = {
    b"PAR1": PARQUET,
    b"PK\x03\x04": EXCEL,
    b"\xd0\xcf\x11\xe0": EXCEL,
    b"$FL2": SPSS,
    b"$FL3": SPSS,
    b"<stata_dta>": STATA,
    b"HEADER RECORD*******LIB": XPORT,
    bytes(12) + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\x00": SAS,
}
_OLD_STATA = frozenset({104, 105, 108, 110, 111, 113, 114, 115})
_LONGEST = max(map(len, _BEGINNINGS))


def format_of(path: Path) -> str:
    """The format of a file, by its first bytes; whatever is no other is CSV."""
    with path.open("rb") as file:
        head = file.read(_LONGEST)
    found = next((name for start, name in _BEGINNINGS.items() if head.startswith(start)), None)
    if found is None and len(head) > 2 and head[0] in _OLD_STATA and head[1] in (1, 2) and head[2] == 1:
        return STATA
    return found or CSV


@contextmanager
def legible_as(what: str, path: Path) -> Iterator[None]:
    """Words for a file that its library cannot read, those of the library may quote cells; or that has none.

    Raises:
        PermissionError: the file may not be read.
    """
    try:
        yield
    except (ViewError, PermissionError):
        raise
    except ImportError:
        raise ViewError(
            f"{path.name} is {what}; to read it install republish[files], or save it as CSV"
        ) from None
    except Exception:  # whatever a library of C or Rust raises
        raise ViewError(f"{path.name} starts like {what} and cannot be read as one; write it anew") from None
