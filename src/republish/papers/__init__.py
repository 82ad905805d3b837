"""Every experiment of the source papers as runnable studies, with plots and verdicts.

from republish.papers import paper_named, reproduce

made = reproduce(paper_named("js-reduce"), Path("out"), Scale(quick=True))
"""

from __future__ import annotations

from importlib import import_module

from republish.errors import PolicyError
from republish.papers.run import Reproduction, reproduce
from republish.papers.study import Cell, Claim, Figure, Finding, Lines, Outcome, Paper, Scale

__all__ = [
    "NAMES",
    "Cell",
    "Claim",
    "Figure",
    "Finding",
    "Lines",
    "Outcome",
    "Paper",
    "Reproduction",
    "Scale",
    "paper_named",
    "reproduce",
]

NAMES = (
    "js-reduce",
    "js-reduce-fitted",
    "bayframe",
    "bayframe-fitted",
    "cor-split",
    "tau-safety",
    "banga",
    "everything",
)
"""What can be reproduced; `everything` is a study of our own, and `fitted` ones are of data fitted to a paper."""


def paper_named(name: str) -> Paper:
    """The studies of a paper; PolicyError for a name that is none."""
    if name not in NAMES:
        raise PolicyError(f"there are studies of {', '.join(NAMES)}; found another name")
    paper: Paper = import_module(f"republish.papers.{name.replace('-', '_')}").PAPER
    return paper
