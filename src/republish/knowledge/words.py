"""What is said of knowledge beside its tables, in one word each; the first of each is meant without a word."""

from __future__ import annotations

from collections.abc import Sequence

from republish.errors import PolicyError

UNSEEN = ("shorter", "zero")
"""What is expected after a context that was never seen: what follows a shorter one, or nothing."""
GAPS = ("skip", "count")
"""Whether a step leads to a person's next appearance, or to the next release."""


def require_known(what: str, found: str, known: Sequence[str]) -> None:
    """Refuse a word that is none of those known."""
    if found not in known:
        raise PolicyError(f"{what} must be one of {', '.join(known)}; found {found!r}")


def said(unseen: str, gaps: str) -> dict[str, str]:
    """The words that must be said, by name."""
    words = {"unseen": (unseen, UNSEEN[0]), "gaps": (gaps, GAPS[0])}
    return {name: word for name, (word, silent) in words.items() if word != silent}
