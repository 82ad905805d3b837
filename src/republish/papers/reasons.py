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
_ELSE = ("shared", "notes", "before")


@dataclass(frozen=True)
class Reason:
    """Why not all claims of a figure hold, and of whom the reason is, one of `OF`."""

    of: str
    text: str

    def __str__(self) -> str:
        return f"({OF[self.of]}): {self.text}"


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


@cache
def before() -> dict[str, list[int]]:
    """How many claims of a paper had each verdict, in the order of `Outcome`, in the full run before this one."""
    counts: dict[str, dict[str, int]] = _read()["before"]
    return {paper: [found.get(verdict.value, 0) for verdict in Outcome] for paper, found in counts.items()}


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
