"""How numbers, shares, days, sizes and settings are written in terminal, notebooks, report and desk."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

NONE = "-"
UNKNOWN = "not known"
_MEANS_SOMETHING = re.compile(r"[\\`*_\[\]<>|~&$@]|(?<=:)/(?=/)|(?<=www)\.", re.IGNORECASE)
MARKS = {
    "holds": "✓ holds",
    "look": "! look at this",
    "broken": "✗ not as it should be",
    "found": "✗ people are found",
    "unknown": "? not known",
    "lacking": "✗ none",
    "absent": "none",
    "nobody": "nobody found, no limit set",
}


def is_number(value: Any) -> bool:
    """Whether a cell is a number; yes and no are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def number(value: Any) -> str:
    """A cell of a table: counts with commas, decimals with four digits, yes or no, nothing for `None`."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) >= 1
        return f"{value:,.0f}" if whole or abs(value) >= 1000 else f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def figure(value: Any) -> str:
    """A measure: whole numbers as they are, others with three digits, a dash for none."""
    if value is None or not isinstance(value, (int, float)):
        return NONE
    if float(value).is_integer() and abs(value) >= 1:
        return f"{value:,.0f}"
    if 0 < abs(value) < 0.0005:
        return "< 0.001" if value > 0 else "> -0.001"
    return f"{value:.3f}" if abs(value) < 100 else f"{value:,.0f}"


def percent(share: float | None) -> str:
    """A share; what is not zero does not look like it."""
    if share is None:
        return NONE
    if 0 < share < 0.0005:
        return "< 0.1%"
    return f"{share:.1%}"


def points(difference: float) -> str:
    """The difference of two shares in percentage points, with its sign."""
    found = f"{100 * difference:+.1f}"
    return "0.0" if found in ("+0.0", "-0.0") else found


def of(part: int, whole: int) -> str:
    """A count, and its share of the whole where there is any."""
    return number(part) if not part or not whole else f"{number(part)} ({percent(part / whole)})"


def day(text: str) -> str:
    """The day of a moment."""
    return text[:10]


def moment(text: str) -> str:
    """The day of a moment, and the minute where it is not midnight."""
    return day(text) if text[10:19] in ("", "T00:00:00") else minute(text)


def minute(text: str) -> str:
    """Day, hour and minute of a moment, in UTC."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return text[:16].replace("T", " ")


def setting(value: Any) -> str:
    """A parameter as a policy writes it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def size(count: int) -> str:
    """A number of bytes."""
    for unit, amount in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if count >= amount:
            return f"{count / amount:g} {unit}"
    return f"{count} bytes"


def spaced_percent(share: float | None) -> str:
    """A share at the desk: a figure in running text, with a space that does not break."""
    if share is None:
        return UNKNOWN
    digits = 2 if 0 < abs(share) < 0.001 else 1
    return f"{100 * share:.{digits}f}".removesuffix(".0") + "\N{NO-BREAK SPACE}%"


def short_number(value: float | None) -> str:
    """A number at the desk: a count with commas, or another with few digits."""
    if value is None:
        return UNKNOWN
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def written_day(text: str) -> str:
    """The day of a moment at the desk: 5 Jan 2026."""
    return _written(text, "%-d %b %Y")


def written_moment(text: str) -> str:
    """Day and time of a moment at the desk, in UTC."""
    return _written(text, "%-d %b %Y, %H:%M UTC")


def _written(text: str, form: str) -> str:
    try:
        return datetime.fromisoformat(str(text)).strftime(form)
    except ValueError:
        return str(text)


def code(text: str) -> Any:
    """Text in which backquotes mark what is typed, for HTML."""
    from markupsafe import Markup

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text)))


class Markdown(str):
    """Text that is Markdown already and is not escaped again."""

    __slots__ = ()


def escaped(text: Any) -> Markdown:
    """Text that means itself in Markdown: whatever it holds, no cell, line, link, picture, code or HTML comes of it."""
    if isinstance(text, Markdown):
        return text
    return Markdown(_MEANS_SOMETHING.sub(r"\\\g<0>", _one_line(text)))


def span(text: Any) -> Markdown:
    """Text as a code span, in which nothing but its end means something."""
    return Markdown("`" + _one_line(text).replace("`", "'") + "`")


def typed(text: str) -> Markdown:
    """Text in which backquotes mark what is typed, for Markdown."""
    parts = re.split(r"`([^`]+)`", text)
    return Markdown("".join(span(part) if i % 2 else escaped(part) for i, part in enumerate(parts)))


def _one_line(text: Any) -> str:
    return re.sub(r"[\s\x00-\x1f\x7f]+", " ", str(text))


def upper_first(text: str) -> str:
    """A sentence with a capital letter."""
    return text[:1].upper() + text[1:]


def lower_first(text: str) -> str:
    """A sentence that goes on after a colon."""
    return text[:1].lower() + text[1:]


FILTERS: dict[str, Callable[..., Any]] = {
    "number": number,
    "figure": figure,
    "percent": percent,
    "of": of,
    "day": day,
    "moment": moment,
    "minute": minute,
    "setting": setting,
    "code": code,
    "span": span,
    "typed": typed,
    "upper_first": upper_first,
    "lower_first": lower_first,
}
"""For the templates of the report."""
DESK_FILTERS: dict[str, Callable[..., Any]] = {
    "percent": spaced_percent,
    "number": short_number,
    "day": written_day,
    "moment": written_moment,
    "sentence": upper_first,
    "points": points,
}
"""For the templates of the desk."""
