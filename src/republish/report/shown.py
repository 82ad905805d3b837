"""How the report writes numbers, days and settings."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

NONE = "-"
MARKS = {
    "holds": "✓ holds",
    "look": "! look at this",
    "broken": "✗ not as it should be",
    "unknown": "? not known",
    "lacking": "✗ none",
    "absent": "none",
}


def number(value: Any) -> str:
    """A count with commas."""
    return f"{value:,}"


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


def code(text: str) -> Any:
    """Text in which backquotes mark what is typed, for HTML."""
    from markupsafe import Markup

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text)))


def cell(text: Any) -> str:
    """Text for a cell of a Markdown table."""
    return re.sub(r"([\\|`*_<>\[\]])", r"\\\1", str(text)).replace("\n", " ")


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
    "cell": cell,
    "upper_first": upper_first,
    "lower_first": lower_first,
}
