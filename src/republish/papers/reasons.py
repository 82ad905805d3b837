"""Why claims do not hold on our data, or only in shape, and notes that are always shown; texts are in reasons.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from republish.papers.study import Outcome

Place = tuple[str, str]
OF = {"paper": "the paper", "data": "the data", "ours": "our own work"}
"""Whom a reason is of: what the paper says or leaves open, data that are not the paper's, or what we made of it."""
BEFORE = "2026-11-16, full"
"""The run that `before` counts."""
OWN = ", our own"
"""What follows the name of a figure where a reason is of our own claims about it, and not of the paper's."""
_ELSE = ("shared", "notes", "before")


@dataclass(frozen=True)
class Reason:
    """Why not all claims of a figure hold, and of whom the reason is, one of `OF`."""

    of: str
    text: str

    def __str__(self) -> str:
        return f"({OF[self.of]}): {self.text}"


@dataclass(frozen=True)
class Earlier:
    """How many claims had each verdict before, in the order of `Outcome`, and of which version where it was another."""

    counts: list[int]
    version: str


@cache
def reasons() -> dict[Place, Reason]:
    """What there is to say where not all claims hold, by paper and figure; written of the full run with seed 7."""
    texts = _read()
    found = _filled({paper: texts[paper] for paper in texts.keys() - set(_ELSE)}, texts["shared"])
    return {place: _reason(text) for place, text in found.items()}


@cache
def notes() -> dict[Place, str]:
    """What there is to say of a figure whatever was found, by paper and figure."""
    texts = _read()
    return _filled(texts["notes"], texts["shared"])


def reason_of(paper: str, figure: str, own: bool) -> Reason | None:
    """Why claims about a figure do not hold, the paper's or our own."""
    apart = reasons().get((paper, f"{figure}{OWN}")) if own else None
    return apart or reasons().get((paper, figure))


@cache
def before() -> dict[tuple[str, bool], Earlier]:
    """What the full run before this one found of each paper's claims, and (True) of our own."""
    texts = _read()["before"]
    found = {}
    for paper, kinds in texts.items():
        for own, kind in ((False, "paper"), (True, "own")):
            if kind in kinds:
                counts = [int(kinds[kind].get(verdict.value, 0)) for verdict in Outcome]
                found[paper, own] = Earlier(counts, str(kinds[kind].get("version", "")))
    return found


def _reason(text: str) -> Reason:
    of, _, said = text.partition(": ")
    if of not in OF:
        raise ValueError(f"a reason begins with one of {', '.join(OF)} and a colon")
    return Reason(of, said)


def _read() -> dict[str, Any]:
    return tomllib.loads(files("republish.papers").joinpath("reasons.toml").read_text(encoding="utf-8"))


def _filled(texts: dict[str, dict[str, str]], shared: dict[str, str]) -> dict[Place, str]:
    return {
        (paper, figure): " ".join(text.format(**shared).split())
        for paper, figures in texts.items()
        for figure, text in figures.items()
    }
