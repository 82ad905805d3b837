"""What an adversary knows of single people, and how it spreads to the others (BayFrame, section 4.4)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.errors import PolicyError
from republish.inference.groups import Groups

_ROUNDING = 1e-9


class Compromised(NamedTuple):
    """Entries CR: with confidence `p[j]` the person of row `row[j]` has the value `code[j]`.

    Of what has no entry nothing is known; an entry of 0 says that the person does not have the value.
    """

    row: IntArray
    code: IntArray
    p: FloatArray

    def certain(self) -> Compromised:
        sure = self.p == 1.0
        return Compromised(self.row[sure], self.code[sure], self.p[sure])

    def checked(self, rows: int, values: int) -> Compromised:
        """These entries as arrays; raises unless they are confidences about `rows` people and `values` values."""
        row, code = np.asarray(self.row, dtype=np.int64), np.asarray(self.code, dtype=np.int64)
        p = np.asarray(self.p, dtype=np.float64)
        if not row.shape == code.shape == p.shape:
            raise PolicyError("every entry about a compromised record needs a row, a code and a confidence")
        if len(row) == 0:
            return Compromised(row, code, p)
        if not (row.min() >= 0 and row.max() < rows and code.min() >= 0 and code.max() < values):
            raise PolicyError(
                f"entries about compromised records must name rows below {rows} and codes below {values}"
            )
        if not (p.min() >= 0.0 and p.max() <= 1.0):
            raise PolicyError("the confidence in a compromised record must lie between 0 and 1")
        if len(np.unique(row * values + code)) < len(row):
            raise PolicyError(
                "a person and a value may have one entry about a compromised record, not several"
            )
        sums = np.bincount(np.unique(row, return_inverse=True)[1], weights=p)
        if sums.max() > 1.0 + _ROUNDING:
            raise PolicyError(
                f"the confidences about one person may not sum above 1; {int((sums > 1 + _ROUNDING).sum())} do"
            )
        return Compromised(row, code, p)


def cascaded(prior: FloatArray, compromised: Compromised) -> FloatArray:
    """The prior of an adversary who takes what she knows of single people into it (prior-based cascading).

    By total probability (eq. 5): with confidence CR the value is the known one, else the prior holds. So one entry
    becomes CR + (1 - CR) prior and the other values keep their proportions. An entry below the prior is first
    turned into knowledge about the other values, see `beyond_prior`.
    """
    entries = compromised.checked(*prior.shape)
    rows, known = beyond_prior(prior, entries)
    revised = prior.copy()
    rest = np.maximum(0.0, 1.0 - known.sum(axis=1, keepdims=True))
    revised[rows] = known + rest * prior[rows]
    total = revised[rows].sum(axis=1, keepdims=True)
    revised[rows] /= np.where(total > 0.0, total, 1.0)
    return revised


def beyond_prior(
    prior: FloatArray, entries: Compromised, shown: BoolArray | None = None
) -> tuple[IntArray, FloatArray]:
    """The rows that have entries, and for each the confidences that exceed its prior, 0 elsewhere.

    An entry equal to the prior says nothing. One below the prior speaks for the values without an entry: they share
    what the entries leave of 1, in proportion to their priors (evenly where these are 0). `shown` [row, value]
    restricts this to the values that the person's group shows.
    """
    rows, at = np.unique(entries.row, return_inverse=True)
    mine = prior[rows]
    told = np.zeros(mine.shape, dtype=bool)
    told[at, entries.code] = True
    known = np.zeros(mine.shape)
    known[at, entries.code] = entries.p
    if shown is not None:
        told &= shown
        known = np.where(shown, known, 0.0)
    low = (told & (known < mine)).any(axis=1, keepdims=True)
    open_ = ~told if shown is None else shown & ~told
    share = np.where(open_, mine, 0.0)
    share = np.where(share.sum(axis=1, keepdims=True) > 0.0, share, open_)
    share /= np.maximum(share.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    left = np.maximum(0.0, 1.0 - known.sum(axis=1, keepdims=True))
    known = np.where(low & open_, left * share, known)
    return rows, np.where(known > mine, known, 0.0)


def shown_values(groups: Groups, rows: IntArray, values: int) -> BoolArray:
    """Which values the group of each of these rows shows."""
    group = groups_of(groups, rows)
    start = groups.value_start[group]
    length = groups.value_start[group + 1] - start
    who = np.repeat(np.arange(len(rows)), length)
    at = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length) + np.repeat(start, length)
    shown = np.zeros((len(rows), values), dtype=bool)
    shown[who, groups.value_code[at]] = groups.value_count[at] > 0
    return shown


def groups_of(groups: Groups, rows: IntArray) -> IntArray:
    """The group of each of these rows."""
    return np.searchsorted(groups.member_start, rows, side="right") - 1


def without(groups: Groups, certain: Compromised, values: int) -> tuple[Groups, BoolArray]:
    """The groups without the people known for certain and without their values; and which rows are left."""
    group = groups_of(groups, certain.row)
    keys = np.repeat(np.arange(groups.total), np.diff(groups.value_start)) * values + groups.value_code
    order = np.argsort(keys, kind="stable")
    wanted = group * values + certain.code
    at = np.searchsorted(keys, wanted, sorter=order)
    found = order[np.minimum(at, len(order) - 1)]
    count = groups.value_count.copy()
    np.subtract.at(count, found, 1)
    wrong = int((keys[found] != wanted).sum()) + int(-count[count < 0].sum())
    if wrong:
        raise PolicyError(
            "a value known for certain must be among those that the person's group shows; "
            f"{wrong} of {len(wanted)} are not: check the entries of confidence 1 against this release"
        )
    keep = np.ones(int(groups.member_start[-1]), dtype=bool)
    keep[certain.row] = False
    start = np.concatenate([[0], np.cumsum(keep)])[groups.member_start]
    return groups._replace(member_start=start, value_count=count), keep
