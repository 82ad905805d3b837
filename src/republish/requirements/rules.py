"""Requirements compiled for kernels: one question, asked of a histogram.

A group under construction is a histogram `counts` (int64[m]) and its `size`. Adding a row of code c is
`counts[c] += 1` and `size += 1`, removing one the reverse, both O(1); merging two groups adds counts and
sizes. `satisfied(rules, counts, size)` then answers in O(m) for each rule and allocates nothing (hierarchical
t-closeness takes O(m levels), recursive diversity O(m l)). Where `rules.plain` is true only the size matters,
and a kernel need not keep a histogram at all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from republish.arrays import Int32Array
from republish.kernels import kernel
from republish.requirements.base import Counts, Requirement, Rules, Whole
from republish.requirements.beta_likeness import OP_BETA, OP_BETA_ENHANCED, _beta, _beta_enhanced
from republish.requirements.delta_disclosure import OP_DELTA, _delta
from republish.requirements.k_anonymity import OP_ALPHA, OP_K, _alpha
from republish.requirements.l_diversity import (
    OP_DISTINCT,
    OP_ENTROPY,
    OP_PROBABILISTIC,
    OP_RECURSIVE,
    _distinct,
    _entropy,
    _probabilistic,
    _recursive,
)
from republish.requirements.m_uniqueness import OP_M_UNIQUE, OP_WEAK_M_UNIQUE, _m_unique, _weak_m_unique
from republish.requirements.parameters import MOST
from republish.requirements.t_closeness import (
    OP_T_EQUAL,
    OP_T_HIERARCHICAL,
    OP_T_ORDERED,
    _t_equal,
    _t_hierarchical,
    _t_ordered,
)


def compile_rules(requirements: Sequence[Requirement], whole: Whole) -> Rules:
    """Return what `satisfied` reads; raise PolicyError where the table lacks what a requirement needs."""
    for requirement in requirements:
        requirement.check(whole)
    rows = [row for row in (requirement.rule() for requirement in requirements) if row[0] != OP_K]
    nodes = np.zeros((0, 0), np.int32) if whole.nodes is None else np.array(whole.nodes, np.int32, order="C")
    return Rules(
        op=np.array([op for op, _, _ in rows], np.int64),
        a=np.array([a for _, a, _ in rows], np.float64),
        b=np.array([b for _, _, b in rows], np.float64),
        overall=np.array(whole.overall, np.float64, order="C"),
        order=np.zeros(0, np.int64) if whole.order is None else np.array(whole.order, np.int64, order="C"),
        nodes=nodes,
        # Sorted by the root first, then by ever lower levels.
        leaves=np.array(np.lexsort(nodes.T), np.int64) if nodes.size else np.zeros(0, np.int64),
        min_size=min(MOST, max((requirement.fewest_rows for requirement in requirements), default=1)),
        plain=not rows,
    )


@kernel
def satisfied(rules: Rules, counts: Counts, size: int) -> bool:
    """Return whether a group with this histogram satisfies every rule; an empty group never does.

    `size` must be the sum of `counts`; where `rules.plain` is true `counts` is not read. Bounds that may be
    reached are widened by 1e-12, strict ones narrowed by a relative 1e-9, so that whatever is admitted here
    also passes `Requirement.holds`.
    """
    if size < rules.min_size:
        return False
    for i in range(len(rules.op)):  # noqa: SIM110 - numba compiles the loop, not the generator
        if not _admits(rules, i, counts, size):
            return False
    return True


@kernel
def _admits(rules: Rules, i: int, counts: Counts, size: int) -> bool:
    op = rules.op[i]
    if op == OP_DISTINCT:
        return _distinct(rules, i, counts, size)
    if op == OP_PROBABILISTIC:
        return _probabilistic(rules, i, counts, size)
    if op == OP_ENTROPY:
        return _entropy(rules, i, counts, size)
    if op == OP_RECURSIVE:
        return _recursive(rules, i, counts, size)
    if op == OP_T_EQUAL:
        return _t_equal(rules, i, counts, size)
    if op == OP_T_ORDERED:
        return _t_ordered(rules, i, counts, size)
    if op == OP_T_HIERARCHICAL:
        return _t_hierarchical(rules, i, counts, size)
    if op == OP_BETA:
        return _beta(rules, i, counts, size)
    if op == OP_BETA_ENHANCED:
        return _beta_enhanced(rules, i, counts, size)
    if op == OP_DELTA:
        return _delta(rules, i, counts, size)
    if op == OP_M_UNIQUE:
        return _m_unique(rules, i, counts, size)
    if op == OP_WEAK_M_UNIQUE:
        return _weak_m_unique(rules, i, counts, size)
    return op == OP_ALPHA and _alpha(rules, i, counts, size)


@kernel
def rows_satisfy(rules: Rules, codes: Int32Array, counts: Counts) -> bool:
    """Return whether rows with these codes satisfy the rules; `counts` is zero before and after."""
    for code in codes:
        counts[code] += 1
    held = satisfied(rules, counts, codes.size)
    if codes.size < counts.size:
        for code in codes:
            counts[code] = 0
    else:
        counts[:] = 0
    return bool(held)
