"""One colour for each attack and one for how a figure stands to its limit, the same in plots, report and desk."""

from __future__ import annotations

import re
from typing import NamedTuple
from zlib import crc32

from republish.attacks.registry import KINDS

# Okabe and Ito's colours, which the colour-blind tell apart; styles and markers help in print.
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MANY_COLOURS = (*COLOURS, "#000000", "#7F7F7F")
STYLES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "x", "P")

GOOD, WARN, BAD, NEUTRAL = "good", "warn", "bad", ""
"""Inside its limit; to be looked at; beyond its limit, or people are found; no limit, so nothing to be green about."""


class Look(NamedTuple):
    """How an attack is drawn; `slot` counts the colours from 1, for who has other shades of them in the dark."""

    slot: int
    colour: str
    style: str
    marker: str


def look_of(attack: str) -> Look:
    """The look of an attack by its name, or by a label that begins with it; one of its own for any other text."""
    name = re.match(r"[a-z-]*", attack.lower())
    place = _PLACES.get(name[0] if name else "", crc32(attack.encode()))
    slot = place % len(MANY_COLOURS)
    turn = place // len(MANY_COLOURS)
    return Look(
        slot + 1,
        MANY_COLOURS[slot],
        STYLES[(place + turn) % len(STYLES)],
        MARKERS[(place + turn) % len(MARKERS)],
    )


_PLACES = {name: place for place, name in enumerate(KINDS)}


def status_of(figure: float | None, limit: float | None, found: bool = False) -> str:
    """The colour of a figure: red where an attack `found` people, else green or red by its limit, none without one."""
    if found:
        return BAD
    if figure is None or limit is None:
        return NEUTRAL
    return GOOD if figure <= limit + 1e-9 else BAD
