"""Parameters of requirements: checked when given, written the way people write them."""

from __future__ import annotations

import math
from numbers import Integral, Real

from republish.errors import PolicyError

MOST = 10**18
"""No whole parameter is larger: compiled code counts in 64 bits."""


def whole_number(parameter: str, value: object) -> int:
    """Return `value` as an int between 1 and `MOST`, or raise."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise PolicyError(f"{parameter} must be a whole number of at least 1, found {value!r}")
    if int(value) > MOST:
        raise PolicyError(f"{parameter} must be at most {MOST:.0e}; no table has that many rows")
    return int(value)


def number_at_least(parameter: str, value: object, least: float) -> float:
    """Return `value` as a finite float of at least `least`, or raise."""
    found = _finite(parameter, value)
    if found < least:
        raise PolicyError(f"{parameter} must be at least {least:g}, found {value!r}")
    return found


def positive_number(parameter: str, value: object) -> float:
    """Return `value` as a finite float above 0, or raise."""
    found = _finite(parameter, value)
    if found <= 0:
        raise PolicyError(f"{parameter} must be above 0, found {value!r}")
    return found


def share(parameter: str, value: object) -> float:
    """Return `value` as a float between 0 and 1, or raise."""
    found = _finite(parameter, value)
    if not 0 <= found <= 1:
        raise PolicyError(f"{parameter} must lie between 0 and 1, found {value!r}")
    return found


def plain(value: float) -> str:
    """Return the shortest text that reads back as the same number: `3` rather than `3.0`."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(value)


def _finite(parameter: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise PolicyError(f"{parameter} must be a finite number, found {value!r}")
    return float(value)
