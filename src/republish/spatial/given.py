"""Resolutions and break points as a user gives them: a table, or a short text for the command line.

`age=5,zip=8` are bits of two columns, `age=18:40:65` the break points of one. As a text they can be compared, written
down in a policy and read again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from republish.errors import PolicyError
from republish.spatial.cube import check_bits

ENOUGH = "enough"
NONE = "none"
_MARKS = ("=", ",", ":")


def bits_text(given: object) -> int | str:
    """Return given bits in the one way they are written down: a number for all columns, or `name=bits,...`."""
    if isinstance(given, int) and not isinstance(given, bool):
        check_bits(given)
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
    return {name: tuple(points.split(":")) for name, points in _parts(text, "scales", "age=18:40:65")}


def _joined(given: Mapping[object, object]) -> str:
    parts = []
    for name, points in given.items():
        if isinstance(points, str) or not isinstance(points, Sequence):
            raise PolicyError("the break points of a column must be a list")
        words = [str(name), *map(_word, points)]
        if any(mark in word for word in words for mark in _MARKS) or not all(words):
            raise PolicyError(
                "columns and break points must be written without = , and : here; name a value by its position, "
                "from 0 on, or rename the column"
            )
        parts.append(f"{words[0]}={':'.join(words[1:])}")
    return ",".join(parts)


def _word(point: object) -> str:
    return point.isoformat() if isinstance(point, date) else str(point)


def _parts(text: str, what: str, example: str) -> list[tuple[str, str]]:
    parts = [part.partition("=") for part in text.split(",")]
    names = [name.strip() for name, _, _ in parts]
    if not all(name and rest.strip() for name, (_, _, rest) in zip(names, parts, strict=True)):
        raise PolicyError(f"{what} must be written like {example}")
    if len(set(names)) < len(names):
        raise PolicyError(f"{what}: a column is given twice")
    return [(name, rest.strip()) for name, (_, _, rest) in zip(names, parts, strict=True)]
