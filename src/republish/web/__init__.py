"""The web desk: pages and an API over series on this machine (extra `web`), for whoever has the token.

`desk` holds the actions, `api` and `pages` show them, `security` guards them; `jobs` runs what takes long in processes
of their own, `uploads` keeps raw views for as long as they are needed, `audit` writes down what was done.
"""

from __future__ import annotations

from republish.errors import RepublishError


class DeskError(RepublishError):
    """Something that the desk refuses; `status` is how HTTP says it."""

    status = 400


class NotFound(DeskError):  # noqa: N818 - reads as the sentence it is
    """There is no such series, release, file, upload or job."""

    status = 404


class Busy(DeskError):  # noqa: N818
    """Something else is being done to the series, or too much at once."""

    status = 409


class Changed(Busy):
    """The series is not as it was when someone looked at it."""


class Withdrawn(Busy):
    """A release was withdrawn, and nobody said that it is wanted all the same."""


class Invalid(DeskError):  # noqa: N818
    """A request has a value that it may not have."""

    status = 422


class TooLarge(DeskError):  # noqa: N818
    """An upload is larger than allowed."""

    status = 413


class WrongType(DeskError):  # noqa: N818
    """An upload is neither CSV nor Parquet."""

    status = 415
