"""Names of columns: what may be one, and how messages speak of them.

A stray quote or a missing header line puts cells where names should be, so that a name which does not look like
one is never shown.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from republish.errors import ViewError

LONGEST = 64  # characters
_FEW = 6  # names in a message
_LETTER = re.compile(r"[^\W\d_]")
_CELL = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ue000-\uf8ff]|\S@\S+\.\S|^[^\W\d_]{0,2}\d{5,}$|\d{4}-\d\d-\d\d|\d\d?[./]\d\d?[./]\d\d"
)


def is_name(text: str) -> bool:
    """Whether a text may be the name of a column: a short line with a letter in it, no address, date or code.

    An empty text passes: a column of row numbers often has no name, and nothing is shown of it.
    """
    return not text or (len(text) <= LONGEST and bool(_LETTER.search(text)) and not _CELL.search(text))


def require_names(found: Sequence[str], known: Collection[str] = ()) -> None:
    """Refuse columns whose names look like cells, without showing them; `known` names are what they say.

    Raises:
        ViewError: with the place of the first such column and their number.
    """
    strange = [place for place, name in enumerate(found, start=1) if name not in known and not is_name(name)]
    if strange:
        raise ViewError(
            f"a view starts with the names of its columns, each a line of at most {LONGEST} characters with a letter, "
            f"no address, date or code; {len(strange)} of {len(found)} are not such names, the first is column "
            f"{strange[0]}. Check the quotes of that line, add a header where there is none, or rename the columns"
        )


def listed(names: Iterable[str]) -> str:
    """A few of the names and the number of the others: what a message may say of columns."""
    every = list(names)
    shown = [name or '""' for name in every if is_name(name)][:_FEW]
    others = len(every) - len(shown)
    if not others:
        return ", ".join(shown)
    if not shown:
        return f"{others:,} that {'is' if others == 1 else 'are'} not shown"
    return f"{', '.join(shown)} and {others:,} other{'' if others == 1 else 's'}"
