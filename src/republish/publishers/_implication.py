"""Which requirements groups of m different values satisfy by themselves."""

from __future__ import annotations

from collections.abc import Iterable

from republish.errors import PolicyError
from republish.requirements import (
    EntropyLDiversity,
    KAnonymity,
    LDiversity,
    MUniqueness,
    ProbabilisticLDiversity,
    Requirement,
    WeakMUniqueness,
    only_requirements,
)

_BOUNDED_BY_M = (
    KAnonymity,
    LDiversity,
    ProbabilisticLDiversity,
    EntropyLDiversity,
    MUniqueness,
    WeakMUniqueness,
)


def m_and_requirements(
    name: str, m: int, require: Iterable[Requirement]
) -> tuple[int, tuple[Requirement, ...]]:
    """Return both once valid: m of at least 2, and only requirements that groups of m values always satisfy.

    Groups with the same number of rows of each of m values have m rows, m values and no value with more than
    one row in m. More cannot be asked of publishers that keep signatures: they do not choose their groups.
    """
    m = MUniqueness(m).m
    asked = only_requirements(require)
    for requirement in asked:
        if not isinstance(requirement, _BOUNDED_BY_M) or requirement.bound > m:
            raise PolicyError(
                f"{name} can only promise what groups of m={m} different values imply (k, l, probabilistic-l and "
                f"entropy-l up to {m}), not {requirement.text}; choose a larger m or another publisher"
            )
    return m, asked
