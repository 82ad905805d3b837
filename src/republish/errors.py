"""The one family of exceptions.

A message says what must hold, what was found and what to do. It names columns, counts and
parameters, never the value of a cell or the identifier of a person: logs of a privacy tool must
not leak.
"""

from __future__ import annotations

import traceback
from pathlib import Path


class RepublishError(Exception):
    """Whatever this tool refuses to do; `exit_code` is what the command line returns for it (`EXIT_CODES`)."""

    exit_code = 2


class SchemaError(RepublishError):
    """The roles, kinds or hierarchies of the columns are incomplete or contradict each other."""


class ViewError(RepublishError):
    """A raw view cannot be read as the schema says."""


class Implausible(ViewError):  # noqa: N818
    """A raw view can hardly be the next one of its series, and nobody said that it is meant."""

    exit_code = 1


class NothingNew(Implausible):
    """A raw view is that of the last release, and nobody said that it is meant; nothing was written."""

    exit_code = 99


class PolicyError(RepublishError):
    """A parameter of a publisher, a requirement or a series is out of range or may not change."""


class CannotPublish(RepublishError):  # noqa: N818 - reads as the sentence it is
    """No release of this view keeps what the policy promises."""

    exit_code = 1


class BrokenPromise(RepublishError):  # noqa: N818
    """A release does not keep what the policy promises; nothing was committed."""

    exit_code = 1


class LimitBroken(RepublishError):  # noqa: N818
    """A release would let an adversary find out more than the gate allows; nothing was committed."""

    exit_code = 1


class LedgerError(RepublishError):
    """The series on disk is missing, damaged, locked or was changed by another publisher."""


class SeriesBusy(LedgerError):  # noqa: N818
    """Another process writes to the series; nothing was written, and the same command may succeed later."""

    exit_code = 75

    def __init__(self, message: str, holder: str = "another process") -> None:
        super().__init__(message)
        self.holder = holder


EXIT_CODES = {
    0: "done",
    1: "a promise or limit does not hold",
    2: "wrong use or bad input",
    75: "busy, try again later",
    99: "nothing new",
    130: "stopped by hand",
}
"""What the command line returns; 75 is EX_TEMPFAIL of sysexits.h, 99 what schedulers take for a step to skip."""


REPORT_IT = (
    "Please report it with this line; `republish verify` tells whether what was published before is intact"
)


def fault_of(problem: BaseException) -> str:
    """What kind of error nobody foresaw, and where; never its own words, which may hold cells."""
    where = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{type(problem).__name__} at {Path(where.filename).name}:{where.lineno}"
