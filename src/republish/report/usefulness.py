"""How far an analyst is off, in sentences: counts, tables of two columns, a regression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from republish.report.facts import SeriesFacts
from republish.show.numbers import percent

_FAR = 10  # from here on a share of a coefficient that is hardly there says nothing
_KEPT = ((0.5, "mostly kept"), (0.95, "partly kept"))
NOT_MEASURED = (
    "How far an analyst is off was not measured when the last release was made: by an earlier version, an engine, or "
    "from a view of more than 100,000 rows. `republish measure {series} --truth VIEWS` measures it from the raw views."
)


def for_analysts(facts: SeriesFacts) -> dict[str, Any]:
    """Sentences on the last release, and a line for every table of a quasi-identifier with the sensitive column."""
    found = facts.last.usefulness if facts.last else None
    if found is None:
        return {"sentences": [NOT_MEASURED.format(series=facts.name)] if facts.last else [], "tables": []}
    tables = [one | {"kept": kept(one["error"], one["independent"])} for one in found["tables"]]
    said = [
        _counts(found, facts.sensitive),
        *_tables(tables, facts.sensitive),
        *_regression(found["regression"]),
    ]
    return {"sentences": said, "tables": tables}


def kept(error: float, independent: float) -> str:
    """How much of what two columns say of each other is still told, in words."""
    if independent < 0.01:
        return "nothing to tell: the columns are about independent"
    return next(
        (words for share, words in _KEPT if error < share * independent), "lost: no better than independence"
    )


def _counts(found: Mapping[str, Any], sensitive: str | None) -> str:
    said = (
        f"An analyst who counts people by two quasi-identifiers, about 5% of them, is off by "
        f"{percent(found['count_error'])} of the true number in the median"
    )
    with_value = found["value_count_error"]
    if with_value is None:
        return f"{said}."
    return f"{said}; one who asks for values of {sensitive} too, by {percent(with_value)}."


def _tables(tables: Sequence[Mapping[str, Any]], sensitive: str | None) -> list[str]:
    if not tables:
        return []
    worst, best = tables[0], tables[-1]
    wrong = f"{percent(worst['error'])} of the people stand in a wrong cell"
    said = f"In a table of {worst['column']} by {sensitive} {wrong}"
    if best is worst:
        return [f"{said}."]
    return [f"{said}, which is the worst; in one of {best['column']} {percent(best['error'])}, the best."]


def _regression(found: Mapping[str, Any] | None) -> list[str]:
    if found is None:
        return []
    signs = (
        f"the sign of {found['certain']} is certain, and right for {found['right']}"
        if found["certain"]
        else "the sign of none is certain"
    )
    size = f"by {percent(found['error'])} of" if found["error"] < _FAR else f"by more than {_FAR} times"
    return [
        f"A regression of {found['response']} on {', '.join(found['columns'])} has {found['coefficients']} "
        f"coefficients: the median one is off {size} its size in the raw view, intervals hold "
        f"{found['held']} of them, and {signs}."
    ]
