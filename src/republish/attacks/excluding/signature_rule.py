"""What an adversary concludes who knows how a publisher gives signatures to people whose value changed.

tau-safety lets whoever comes back keep the old signature if the new value is one of it. So who has another one has a
value outside the old signature. That excludes nothing where the two have no value in common, and gives people
away where they have.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from republish.arrays import IntArray, WordArray
from republish.kernels import kernel

if TYPE_CHECKING:
    from republish.attacks.excluding.candidates import Unknowns


class SignatureRule(NamedTuple):
    """Who keeps the old signature with a changed value, wherever it is one of it; published, so no secret.

    Those are people who come back, with `updates` also those who never left, if at least `m` of the `values[i]` values
    that are known in release i lie outside the old signature. Another tool, which knew of no rule, made the `adopted`
    releases before all others; of theirs only signatures of m values are kept.
    """

    m: int
    values: IntArray
    updates: bool = False
    adopted: int = 0


def rule_of(promises: Iterable[str], values: IntArray, adopted: int = 0) -> SignatureRule | None:
    """The rule behind promises over a series; `None` where a changed value makes a newcomer."""
    bounds = dict(promise.partition("=")[::2] for promise in promises)
    if "tau-safety" not in bounds:
        return None
    return SignatureRule(int(bounds["tau-safety"]), values, "disjoint-updates" in bounds, adopted)


def exclude_kept(unknowns: Unknowns, sets: WordArray) -> None:
    """Exclude, in place, the values of the old signature from whoever would have kept it with one of them.

    Of a group with people who were forgotten since the signature is not known: values that only they had are missing.
    """
    history = unknowns.history
    rule = history.rule
    if rule is None or history.events is None:
        return
    order = np.lexsort((history.release, history.person))
    before, after = order[:-1], order[1:]
    old, new = history.group[before], history.group[after]
    person, release = history.person[after], history.release[after]
    different = np.diff(history.value_start)[old]
    outside = rule.values[release] - different
    returned = release - history.release[before] > 1
    bound = (history.person[before] == person) & (outside >= rule.m) & (returned | rule.updates)
    bound &= release >= rule.adopted
    bound &= (history.release[before] >= rule.adopted) | (different >= rule.m)
    if history.forgotten is not None:
        bound &= ~np.isin(old, history.forgotten) & ~np.isin(new, history.forgotten)
    bound &= unknowns.of_appearance[before] != unknowns.of_appearance[after]  # a new life
    _exclude(
        sets,
        unknowns.of_appearance[after[bound]],
        old[bound],
        new[bound],
        history.value_start,
        history.value_code,
    )


@kernel
def _exclude(sets, unknown, old, new, value_start, value_code):  # type: ignore[no-untyped-def]
    for i in range(len(unknown)):
        before = value_code[value_start[old[i]] : value_start[old[i] + 1]]
        after = value_code[value_start[new[i]] : value_start[new[i] + 1]]
        if len(before) == len(after) and (before == after).all():
            continue
        for code in before:
            sets[unknown[i], code >> 6] &= ~(np.uint64(1) << np.uint64(code & 63))
