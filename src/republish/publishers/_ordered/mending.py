"""Groups changed after they were cut: joined with neighbours, or with people left out, under the same bounds."""

from __future__ import annotations

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.grouping import SUPPRESSED, Grouping
from republish.inference import Thoughts
from republish.microdata import Microdata, whole_of
from republish.publishers._ordered.cuts import entropies, unfit
from republish.requirements import Requirement, compile_rules

Bound = tuple[tuple[Requirement, ...], float]
"""Requirements, and how far what is believed of the members of a group may diverge."""
_ROUNDING = 1e-12


def lasting(view: Microdata, grouping: Grouping, requirements: tuple[Requirement, ...]) -> Grouping:
    """The groups that satisfy the requirements also against the table as it is published.

    Rows left out and counterfeits shift the shares of the whole table, by which closeness and likeness are
    measured. Groups that do not stand that are left out too, until all do. The rows of a part of a table do not tell
    how the table is published: whoever puts the parts together sees to it.
    """
    if view.at_large is not None:
        return grouping
    group, (fake_group, fake_code) = grouping.group, (grouping.counterfeit_group, grouping.counterfeit_code)
    while (group == SUPPRESSED).any() or len(fake_group):
        groups = int(group.max()) + 1
        row_group = np.concatenate([group, fake_group])
        order = np.argsort(row_group, kind="stable")
        start = np.searchsorted(row_group[order], np.arange(groups + 1))
        codes = np.concatenate([view.codes, fake_code])[order].astype(np.int64)
        whole = whole_of(view.schema.sensitive, codes[start[0] :], view.values)
        broken = np.asarray(unfit(compile_rules(requirements, whole), codes, start))
        if not broken.any():
            break
        number = np.append(np.where(broken, SUPPRESSED, np.cumsum(~broken) - 1), SUPPRESSED).astype(np.int32)
        group, kept = number[group], ~broken[fake_group]
        fake_group, fake_code = number[fake_group[kept]], fake_code[kept]
    return Grouping(group, fake_group, fake_code)


def joined(
    view: Microdata, thoughts: Thoughts, bound: Bound, grouping: Grouping, which: IntArray
) -> Grouping:
    """The groups with each of these joined with the smaller of its neighbours where the two may be one group.

    Groups are numbered along the order of the rows, and so are those returned.
    """
    group = grouping.group.copy()
    rules = compile_rules(bound[0], view.whole)
    for g in which:
        size = np.bincount(group[group != SUPPRESSED], minlength=g + 1)
        if not size[g]:  # joined already
            continue
        there = np.flatnonzero(size)
        place = int(np.searchsorted(there, g))
        around = [int(there[i]) for i in (place - 1, place + 1) if 0 <= i < len(there)]
        for other in sorted(around, key=lambda n: int(size[n])):
            both = np.flatnonzero((group == g) | (group == other))
            apart = divergences(thoughts.prior[both], np.zeros(len(both), np.int64), 1)[0]
            codes = view.codes[both].astype(np.int64)
            if apart <= bound[1] + _ROUNDING and not unfit(rules, codes, np.array([0, len(both)]))[0]:
                group[group == g] = other
                break
    return lasting(view, _numbered(group), bound[0])


def without_some(
    view: Microdata, thoughts: Thoughts, bound: Bound, grouping: Grouping, rows: IntArray
) -> Grouping:
    """The groups without these rows, and without groups that do not hold without them."""
    group = grouping.group.copy()
    group[rows] = SUPPRESSED
    shown = group != SUPPRESSED
    apart = divergences(thoughts.prior[shown], group[shown], grouping.groups) > bound[1] + _ROUNDING
    group[np.append(apart, False)[group]] = SUPPRESSED
    return lasting(view, _numbered(group), bound[0])


def divergences(prior: FloatArray, group: IntArray, groups: int) -> FloatArray:
    """The Jensen-Shannon divergence of the priors of the members of every group, in bits."""
    size = np.maximum(np.bincount(group, minlength=groups), 1)
    mean = np.zeros((groups, prior.shape[1]))
    np.add.at(mean, group, prior)
    within = np.bincount(group, entropies(prior), groups) / size
    found: FloatArray = entropies(mean / size[:, None]) - within
    return found


def _numbered(group: IntArray) -> Grouping:
    """Groups numbered without gaps, in the same order."""
    numbers = np.append(SUPPRESSED, np.unique(group[group != SUPPRESSED]))
    return Grouping((np.searchsorted(numbers, group) - 1).astype(np.int32))
