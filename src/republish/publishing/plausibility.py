"""Whether a view can be the next one of its series; one that hardly can is refused, unless it is said to be meant.

A file cut short, or identifiers spelled in another way, would make a release that keeps every promise to people whom
nobody recognises, and none to those who were published before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from republish.errors import Implausible, PolicyError
from republish.memory.memory import Memory
from republish.schema.schema import NORMAL_FORMS
from republish.secret import Secret
from republish.sources.identifiers import normal_texts

NEW_PEOPLE, FEWER_ROWS = "new-people", "fewer-rows"
MEANT = (NEW_PEOPLE, FEWER_ROWS)
CROWD = 20
"""Of fewer people a share says nothing."""
RECOGNISED = 0.1
PART = 0.5
_TRIED = 20_000
_WIDEST = 16


@dataclass(frozen=True)
class Turnout:
    """How many rows a view has, how many of its people and people at all are remembered, rows of the last view."""

    rows: int
    known: int
    remembered: int
    last: int

    @property
    def of_strangers(self) -> bool:
        """Whether almost nobody in it is recognised."""
        there = min(self.rows, self.remembered)
        return there >= CROWD and self.known < RECOGNISED * there

    @property
    def is_part(self) -> bool:
        """Whether it is empty, or has fewer than half of the rows of the last view."""
        return not self.rows or (self.last >= CROWD and self.rows < PART * self.last)


def turnout(people: np.ndarray, memory: Memory, last: int) -> Turnout:
    """The turnout of these pseudonyms."""
    known = int(np.count_nonzero(memory.find(people) >= 0))
    return Turnout(len(people), known, memory.size, last)


def require_plausible(
    found: Turnout, meant: Collection[str], spelling: Callable[[], str] = lambda: ""
) -> tuple[str, ...]:
    """What had to be meant, and was; `spelling` is what is known of other spellings of the identifiers.

    Raises:
        Implausible: the view is empty, a part of the last one, or full of strangers, and that is not said to be meant.
    """
    unknown = set(meant) - set(MEANT)
    if unknown:
        raise PolicyError(f"what is meant is one of {', '.join(MEANT)}; {len(unknown)} others were named")
    odd = {FEWER_ROWS: found.is_part, NEW_PEOPLE: found.of_strangers}
    words = []
    if odd[FEWER_ROWS] and FEWER_ROWS not in meant:
        words.append(_fewer(found))
    if odd[NEW_PEOPLE] and NEW_PEOPLE not in meant:
        words.append(_strangers(found, spelling()))
    if words:
        raise Implausible(". ".join(words) + ". Nothing was written")
    return tuple(name for name in MEANT if odd[name])


def _fewer(found: Turnout) -> str:
    rows = f"has {found.rows:,} rows" if found.rows else "has no row"
    last = f" and the last release was made of {found.last:,}" if found.last else ""
    return (
        f"a view must hold everybody who belongs in the release; this one {rows}{last}. Check that the file is "
        f"complete; if it is, say that it is meant: --{FEWER_ROWS}"
    )


def _strangers(found: Turnout, spelling: str) -> str:
    return (
        f"a view must spell people as earlier views did; of {found.rows:,} people in this one {found.known:,} are "
        f"recognised, {found.rows - found.known:,} would be new, and the last release was made of {found.last:,}. "
        f"{spelling}Check zeros in front, a .0 at the end, case, spaces, and that this is the right column of "
        f"identifiers; if they are other people, say that it is meant: --{NEW_PEOPLE}"
    )


def other_spelling(identifiers: pl.Series, secret: Secret, memory: Memory) -> str:
    """The spelling of these identifiers by which most people would be recognised, with their number; else nothing."""
    some = identifiers.head(_TRIED)
    best, words = _recognised(some, secret, memory), ""
    for name, texts in _spellings(some):
        found = _recognised(texts, secret, memory)
        if found > best:
            best, words = found, f"Written {name}, {found:,} of {len(some):,} would be recognised. "
    return words


def _recognised(texts: pl.Series, secret: Secret, memory: Memory) -> int:
    return int(np.count_nonzero(memory.find(secret.pseudonyms(texts.fill_null(""))) >= 0))


def _spellings(texts: pl.Series) -> Iterator[tuple[str, pl.Series]]:
    """The simplest ones first."""
    yield "without zeros in front", normal_texts(texts, ["drop-leading-zeros"])
    yield "without .0 at the end", normal_texts(texts, ["drop-point-zero"])
    yield "without spaces around them", normal_texts(texts, ["strip"])
    yield "in lower case", normal_texts(texts, ["lower-case"])
    yield "in upper case", texts.str.to_uppercase()
    longest = int(texts.str.len_chars().to_numpy().max(initial=0))
    for width in range(max(longest, 2), _WIDEST + 1):
        yield f"with zeros in front to {width} digits", texts.str.zfill(width)
    yield "without spaces, zeros in front and .0, in lower case", normal_texts(texts, NORMAL_FORMS)
