"""Resolutions and break points as a user gives them: a table, or a short text for the command line.

`age=5,zip=8` are bits of two columns, `age=18:40:65` the break points of one. As a text they can be compared, written
down in a policy and read again. A backslash stands before each of the marks `=`, `,` and `:` that belongs to a name or
a value, and before another backslash.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date

from republish.errors import PolicyError
from republish.spatial.cube import check_bits

ENOUGH = "enough"
NONE = "none"
_MARKS = re.compile(r"([=,:\\])")
_MARKED = re.compile(r"\\(.)")


def bits_text(given: object) -> int | str:
    """Return given bits in the one way they are written down: a number for all columns, or `name=bits,...`."""
    if isinstance(given, int) and not isinstance(given, bool):
        check_bits(given, 1)
        return given
    if isinstance(given, Mapping):
        given = _joined({name: [bits] for name, bits in given.items()}) or ENOUGH
    if not isinstance(given, str):
        raise PolicyError(
            f"bits must be a number, or one for each of some columns; found {type(given).__name__}"
        )
    bits_of(given)
    return given


def bits_of(text: int | str) -> int | dict[str, int] | None:
    """Return the bits of all columns or of each, None where there shall be enough."""
    if isinstance(text, int):
        return text
    if text == ENOUGH:
        return None
    found = {}
    for name, bits in _parts(text, "bits", "age=5,zip=8"):
        if not bits.isdecimal():
            raise PolicyError("the bits of a column must be a whole number, as in age=5,zip=8")
        check_bits(int(bits))
        found[name] = int(bits)
    return found


def scales_text(given: object) -> str:
    """Return given break points in the one way they are written down: `name=point:point,...`."""
    if isinstance(given, Mapping):
        given = _joined(given) or NONE
    if not isinstance(given, str):
        raise PolicyError(f"scales must be break points of columns; found {type(given).__name__}")
    scales_of(given)
    return given


def scales_of(text: str) -> dict[str, tuple[str, ...]]:
    """Return the break points of each column, as texts that `cube_of` reads."""
    if text == NONE:
        return {}
    parts = _parts(text, "scales", "age=18:40:65")
    return {name: tuple(_plain(point) for point in _split(points, ":")) for name, points in parts}


def _joined(given: Mapping[object, object]) -> str:
    parts = []
    for name, points in given.items():
        if isinstance(points, str) or not isinstance(points, Sequence):
            raise PolicyError("the break points of a column must be a list")
        words = [str(name), *map(_word, points)]
        if not all(words):
            raise PolicyError("columns and break points must have a text each; found an empty one")
        first, *rest = (_MARKS.sub(r"\\\1", word) for word in words)
        parts.append(f"{first}={':'.join(rest)}")
    return ",".join(parts)


def _word(point: object) -> str:
    return point.isoformat() if isinstance(point, date) else str(point)


def _split(text: str, mark: str) -> list[str]:
    """The parts of a text between the marks that have no backslash before them."""
    parts = [""]
    for word in re.findall(r"\\.|[^\\]|\\$", text, re.DOTALL):
        if word == mark:
            parts.append("")
        else:
            parts[-1] += word
    return parts


def _plain(text: str) -> str:
    return _MARKED.sub(r"\1", text)


def _parts(text: str, what: str, example: str) -> list[tuple[str, str]]:
    parts = [_split(part, "=") for part in _split(text, ",")]
    if not all(len(part) == 2 and part[0].strip() and part[1].strip() for part in parts):
        raise PolicyError(f"{what} must be written like {example}")
    names = [_plain(name.strip()) for name, _ in parts]
    if len(set(names)) < len(names):
        raise PolicyError(f"{what}: a column is given twice")
    return [(name, rest.strip()) for name, (_, rest) in zip(names, parts, strict=True)]
