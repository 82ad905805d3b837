"""When a release is as of: a date that people give, or now, and always later than the last."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from republish.errors import PolicyError


def moment_of(as_of: str | None, last: str | None, corrects: bool = False) -> str:
    """The date of a new release after one as of `last`; now where none is given.

    One that corrects the last is as of the same date, unless a later one is given.
    """
    if corrects and last is not None and (as_of is None or _instant(as_of) == _instant(last)):
        return last
    moment = datetime.now(UTC) if as_of is None else _instant(as_of)
    if as_of is not None and moment > datetime.now(UTC) + timedelta(days=1):
        raise PolicyError(
            "--as-of (in Python as_of) lies in the future, and every later release would have to lie behind it; "
            "correct it"
        )
    if last is not None and moment <= _instant(last):
        raise PolicyError(
            f"a release must be later than the last one, which is as of {last}; give a later --as-of (in Python as_of)"
        )
    return as_of or moment.isoformat(timespec="microseconds")


def _instant(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise PolicyError(
            "--as-of (in Python as_of) must be a date such as 2026-03-02, or a date and time"
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
