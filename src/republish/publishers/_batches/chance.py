"""Holds that happen for no reason, so that none says for certain that values were the reason."""

from __future__ import annotations

import numpy as np

from republish.arrays import BoolArray
from republish.publishers._batches.past import BatchPast

ENDS, BEGINS = 0, 1
"""The lines of an array of holds: of lives that end, and of lives that begin."""
_OTHERWISE = 0.5  # of the holds of a batch that was not held last time concern one side only


def drawn_holds(past: BatchPast, rng: np.random.Generator, idle: float) -> BoolArray:
    """In which batches, 0 for none, nothing may end and in which nothing begin: `idle` of them, each kind possible.

    Who is held once is likely to be held again, and in the same way, so that many holds in a row tell little more than
    one.
    """
    overdue = np.append(0, past.record.overdue)
    held = rng.random(len(overdue)) < np.where(overdue > 0, (overdue / (overdue + 1)) ** 2, idle)
    stays, last = past.record.stays, past.release - 1
    holds = np.ones((2, len(overdue)), dtype=np.bool_)
    holds[ENDS, stays.cohort[stays.until == last - 1]] = False
    holds[BEGINS, stays.cohort[stays.since == last]] = False
    holds[:, (overdue == 0) | ~holds.any(axis=0)] = True
    kind = holds[ENDS] + 2 * holds[BEGINS] - 1
    drawn, rare = rng.random(len(overdue)), _OTHERWISE / (overdue + 1) ** 2
    kind = (kind + (drawn < rare) + (drawn < rare / 2)) % 3 + 1
    return np.stack([kind & 1 > 0, kind & 2 > 0]) & held
