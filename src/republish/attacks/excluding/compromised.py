"""Compromised people: what she knows of some narrows the values of others (Cor-Split Def. 2, ct-pvr).

A value of a group all of whose rows are held by people she knows is nobody else's. A counterfeit row of that value
stands in her way: she cannot tell it from a person's. The paper stops there. An adversary who cascades goes on:
whoever is determined is known in turn, and where groups are mixed afresh in each release that may be nearly all.
"""

from __future__ import annotations

import numpy as np

from republish.arrays import BoolArray, WordArray
from republish.attacks.excluding.candidates import Unknowns, intersected, lives, only
from republish.attacks.excluding.signature_rule import exclude_kept
from republish.attacks.excluding.value_restriction import UNUSABLE, restrict
from republish.attacks.history import History
from republish.attacks.results import Findings


def compromised(history: History, known: BoolArray, cascade: bool = True) -> Findings:
    """What remains of every life to an adversary who knows all values of the `known` people."""
    unknowns = lives(history)
    sets = starting_sets(unknowns, known)
    restrict(unknowns, sets, known, cascade, np.full(history.groups, UNUSABLE))
    return Findings.even(unknowns, sets)


def starting_sets(unknowns: Unknowns, known: BoolArray) -> WordArray:
    """The intersected candidates, and the true value alone for every published life of a known person."""
    sets = intersected(unknowns)
    exclude_kept(unknowns, sets)
    theirs = np.flatnonzero(known[unknowns.person] & (unknowns.truth >= 0))
    only(sets, theirs, unknowns.truth[theirs])
    return sets
