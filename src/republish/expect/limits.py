"""How far a view may differ from the last one: `[expect]` of `series.toml`, each limit with a warning before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import isnan
from typing import Any

from republish.errors import PolicyError

WARN, REFUSE = "warn", "refuse"
SEVERITIES = (REFUSE, WARN)
AT_LEAST = ("fewer_rows", "overlap")
"""What must not fall below its limit; all else must not lie above."""


@dataclass(frozen=True)
class Limit:
    """From where on a figure is warned of, and from where on it is refused; `None` where it never is."""

    warn: float | None = None
    refuse: float | None = None

    def document(self) -> dict[str, float]:
        """What `series.toml` says of it."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Expect:
    """What the next view is expected to be.

    Attributes:
        fewer_rows: rows of the view for one of the last, at least.
        more_rows: the same, at most.
        overlap: the share of its people, or of all remembered if these are fewer, who are recognised, at least.
        newcomers: by how much the share of newcomers is above that of every release after the first, at most.
        earlier_view: 1 for a view that a release before the last was made of, else 0, at most.
        missing: by how much the share of missing cells of a column rises, at most.
        shift: how much of a column's distribution moved beyond chance (total variation; numbers in bins), at most.
        new_categories: the share of rows whose value of a column the last view did not have, at most.
        units: the factor by which all quartiles of a number grew or shrank, at most.
        extremes: the factor by which the lowest and the highest number of a column moved apart, at most.
        types: columns whose cells look like another type than in the last view, at most.
    """

    fewer_rows: Limit = Limit(warn=0.7, refuse=0.5)
    more_rows: Limit = Limit(warn=2.0)
    overlap: Limit = Limit(warn=0.3, refuse=0.1)
    newcomers: Limit = Limit(warn=0.2, refuse=0.5)
    earlier_view: Limit = Limit(refuse=0.0)
    missing: Limit = Limit(warn=0.1, refuse=0.5)
    shift: Limit = Limit(warn=0.25, refuse=0.6)
    new_categories: Limit = Limit(warn=0.2, refuse=0.5)
    units: Limit = Limit(warn=2.0, refuse=5.0)
    extremes: Limit = Limit(warn=3.0)
    types: Limit = Limit(warn=0.0)

    def broken(self, name: str, figure: float) -> tuple[str, float] | None:
        """Whether a figure is to be warned of or refused, with the limit that it breaks; nothing if neither."""
        limit: Limit = getattr(self, name)
        for severity in SEVERITIES:
            bound: float | None = getattr(limit, severity)
            if bound is not None and (figure < bound if name in AT_LEAST else figure > bound):
                return severity, bound
        return None

    def document(self) -> dict[str, Any]:
        """What `series.toml` says of it."""
        return {one.name: getattr(self, one.name).document() for one in fields(self)}


EARLIER = Expect(
    newcomers=Limit(warn=0.2),
    earlier_view=Limit(warn=0.0),
    missing=Limit(warn=0.1),
    shift=Limit(warn=0.25),
    new_categories=Limit(warn=0.2),
    units=Limit(warn=2.0),
)
"""What holds where `series.toml` has no `[expect]`: only what earlier versions refused is refused."""
NAMES = tuple(one.name for one in fields(Expect))


def expect_from_mapping(section: Any) -> Expect:
    """The limits that `[expect]` describes; those that it does not name are the usual ones.

    A number alone refuses, without a warning; `false` never does either.
    """
    if not isinstance(section, Mapping):
        raise PolicyError("[expect] is a table of limits, such as missing = { warn = 0.1, refuse = 0.5 }")
    unknown = sum(name not in NAMES for name in section)
    if unknown:
        raise PolicyError(f"[expect] has limits on {', '.join(NAMES)}; {unknown} others are named there")
    return Expect(**{name: _limit(name, value) for name, value in section.items()})


def _limit(name: str, value: Any) -> Limit:
    if value is False:
        return Limit()
    given = value if isinstance(value, Mapping) else {REFUSE: value}
    numbers = [one for one in given.values() if type(one) in (int, float) and one >= 0 and not isnan(one)]
    if set(given) - set(SEVERITIES) or len(numbers) < len(given):
        raise PolicyError(
            f"[expect]: {name} is a number from 0 on, which refuses, or {{ warn = ..., refuse = ... }} with one of "
            "both or both, or false"
        )
    return Limit(**{severity: float(number) for severity, number in given.items()})
