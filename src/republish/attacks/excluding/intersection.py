"""Intersection of candidate sets over a lifespan (Xiao and Tao, SIGMOD 2007; thesis 4.3.1).

While a record stays with an unchanged value, that value is in each of its groups. She keeps what all of them hold.
"""

from __future__ import annotations

from republish.attacks.excluding.candidates import intersected, lifespans
from republish.attacks.history import History
from republish.attacks.results import Findings


def intersection(history: History) -> Findings:
    """What remains of every lifespan of consecutive appearances."""
    unknowns = lifespans(history)
    return Findings.even(unknowns, intersected(unknowns))
