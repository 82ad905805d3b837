"""Revision of beliefs: what was believed of a person's last values becomes the prior of the next release.

A belief is a row of numbers a person; a row of zeros is a stranger, whose prior is that of the class. With P the
posteriors of the last d releases a person was in, there are three forms, one and the same for d = 1:

- `joint`: one distribution over the last d values, filtered from release to release. Nothing is lost, so this is
  full knowledge.
- `product`: the posteriors of the last d releases, taken as independent (JS-reduce, Alg. 3).
- `chained`: the posterior d releases ago, carried on by 1-step knowledge (BayFrame, eq. 4).

Each ends in one product of matrices for every class of people. Whoever is seen again did not have a terminal
value: its contexts weigh nothing. Who has event lists knows whether a value `changed` since the last one: of the
steps from one to the next those that contradict it weigh nothing either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from republish.arrays import Float32Array, FloatArray, Int8Array, IntArray
from republish.errors import PolicyError
from republish.inference._kernels.chains import STAYED, UNTOLD
from republish.knowledge import Knowledge

FORMS = ("joint", "product", "chained")
_BLOCK = 4096
States = Float32Array


@dataclass(frozen=True, eq=False)
class Revision:
    """How beliefs are revised by some knowledge, of which contexts that were never seen are filled first."""

    knowledge: Knowledge
    form: str = "joint"

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise PolicyError(
                f"beliefs are revised in one of the forms {', '.join(FORMS)}; found {self.form!r}"
            )
        object.__setattr__(self, "knowledge", self.knowledge.complete())

    @property
    def width(self) -> int:
        return width(self.form, self.knowledge.order, self.knowledge.size)

    @cached_property
    def _one_step(self) -> FloatArray:
        """The chances of the next value after the last one alone, [class, last, next]."""
        table = self.knowledge.steps(1).complete().sequential
        assert table is not None
        return table[:, 0]

    def prior(self, classes: IntArray, beliefs: States, changed: Int8Array | None = None) -> FloatArray:
        """The prior [person, value] of everyone, by class and belief."""
        prior: FloatArray = self.knowledge.prior[classes].copy()
        if self.knowledge.sequential is None:
            return prior
        for number, mark, rows in _blocks(classes, beliefs, changed):
            contexts = self._contexts(number, beliefs[rows])
            table = self._steps(number, mark)
            revised = contexts @ table.reshape(-1, table.shape[-1])
            if mark != UNTOLD:
                lost = ~revised.any(axis=1)
                revised[lost] = contexts[lost] @ np.tile(self._anew(number, mark), (len(table), 1))
            total = revised.sum(axis=1, keepdims=True)
            possible = total[:, 0] > 0  # where it is not, the class is all that is known
            prior[rows[possible]] = revised[possible] / total[possible]
        return prior

    def observed(
        self, classes: IntArray, beliefs: States, posterior: FloatArray, changed: Int8Array | None = None
    ) -> States:
        """The beliefs after a release of which everyone's posterior is this."""
        m, order = self.knowledge.size, self.knowledge.order
        after = np.zeros((len(beliefs), self.width), dtype=np.float32)
        if order == 0:
            return after
        if self.form != "joint" or order == 1:
            after[:, : (order - 1) * m] = beliefs[:, m:]
            after[:, (order - 1) * m :] = posterior
            return after
        after[:, -m:] = posterior  # a stranger: no value before this one
        for number, mark, rows in _blocks(classes, beliefs, changed):
            after[rows] = self._filtered(number, mark, beliefs[rows], posterior[rows])
        return after

    def caught_up(self, classes: IntArray, beliefs: States, releases: IntArray) -> States:
        """The beliefs after so many releases in which each person was not: of each the posterior is the prior."""
        after = beliefs.copy()
        for passed in range(int(releases.max(initial=0))):
            rows = np.flatnonzero((releases > passed) & after.any(axis=1))
            prior = self.prior(classes[rows], after[rows])
            after[rows] = self.observed(classes[rows], after[rows], prior)
        return after

    def _steps(self, number: int, mark: int) -> FloatArray:
        """The table [older, last, next] of a class, without the steps that contradict what is known of a change."""
        assert self.knowledge.sequential is not None
        table: FloatArray = self.knowledge.sequential[number]
        if mark != UNTOLD:
            table = table * _allowed(mark, self.knowledge.size)
        return table

    def _anew(self, number: int, mark: int) -> FloatArray:
        """The chances [last, next] where the knowledge has no step that does not contradict what is known."""
        allowed = _allowed(mark, self.knowledge.size)
        if mark != STAYED:
            allowed *= self.knowledge.prior[number]
        return allowed

    def _contexts(self, number: int, beliefs: States) -> FloatArray:
        """How likely each context is, [person, older values and last value]."""
        m, order = self.knowledge.size, self.knowledge.order
        if self.form == "joint" or order == 1:
            return beliefs.astype(np.float64)
        past = _with_none(beliefs.reshape(len(beliefs), order, m))
        contexts = past[:, 0]
        for step in range(1, order):
            longer = contexts.reshape(len(past), -1, m + 1, 1) * past[:, np.newaxis, np.newaxis, step]
            if self.form == "chained":  # only a person's oldest posterior counts
                longer[:, :, :m] = 0.0
                longer[:, :, :m, :m] = (
                    contexts.reshape(len(past), -1, m + 1, 1)[:, :, :m] * self._one_step[number]
                )
            contexts = longer.reshape(len(past), -1)
        return _without_none(contexts, m)

    def _filtered(self, number: int, mark: int, beliefs: States, posterior: FloatArray) -> FloatArray:
        """The joint distribution of the last values and the one just seen, whose distribution is the posterior.

        A release, and what is known of single people, speaks of the value just seen alone: it multiplies each joint
        probability by posterior / expected. A value that was not expected goes with the values before it as they were.
        """
        m, order = self.knowledge.size, self.knowledge.order
        rest = (m + 1) ** (order - 2)
        before = beliefs.astype(np.float64).reshape(-1, m + 1, rest * m)
        table = self._steps(number, mark).reshape(m + 1, rest * m, m)
        flow = np.einsum("noc,ocx->ncx", before, table, optimize=True)
        if mark != UNTOLD:
            lost = ~flow.any(axis=(1, 2))
            flow[lost] = before[lost].sum(axis=1)[:, :, np.newaxis] * np.tile(
                self._anew(number, mark), (rest, 1)
            )
        expected = flow.sum(axis=1)
        possible = expected > 0
        flow *= np.divide(posterior, expected, out=np.zeros_like(posterior), where=possible)[:, np.newaxis]
        surprise = np.where(possible, 0.0, posterior)
        if surprise.any():
            kept = before.sum(axis=1)
            kept /= np.maximum(kept.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
            flow += kept[:, :, np.newaxis] * surprise[:, np.newaxis]
        total = flow.sum(axis=(1, 2))
        flow /= np.where(total > 0, total, 1.0)[:, np.newaxis, np.newaxis]
        joint = np.zeros((len(beliefs), rest, m + 1, m))
        joint[:, :, :m] = flow.reshape(-1, rest, m, m)
        return joint.reshape(len(beliefs), -1)


def width(form: str, order: int, m: int) -> int:
    """How many numbers a belief has, over m values and with knowledge of that order."""
    if order == 0:
        return 0
    joint: int = (m + 1) ** (order - 1) * m
    return joint if form == "joint" else order * m


def regrown(beliefs: npt.NDArray[Any], sizes: IntArray, revision: Revision) -> States:
    """Beliefs that were formed over fewer values, `sizes[i]` for person i, over the values known now."""
    m, order, form = revision.knowledge.size, revision.knowledge.order, revision.form
    grown = np.zeros((len(beliefs), revision.width), dtype=np.float32)
    if order == 0:
        return grown
    for size in np.unique(sizes):
        rows = np.flatnonzero(sizes == size)
        known = beliefs[rows, : width(form, order, size)]
        if form == "joint":
            shape = [len(rows), *[m + 1] * (order - 1), m]
            places = [np.append(np.arange(size), m)] * (order - 1)
            old = known.reshape(len(rows), *[size + 1] * (order - 1), size)
        else:
            shape, places = [len(rows), order, m], [np.arange(order)]
            old = known.reshape(len(rows), order, size)
        wide = np.zeros(shape, dtype=np.float32)
        wide[np.ix_(np.arange(len(rows)), *places, np.arange(size))] = old
        grown[rows] = wide.reshape(len(rows), -1)
    return grown


def _allowed(mark: int, m: int) -> FloatArray:
    """1 for every step [last, next] that does not contradict what is known of a change, else 0."""
    same = np.eye(m)
    return same if mark == STAYED else 1.0 - same


def _blocks(
    classes: IntArray, beliefs: States, changed: Int8Array | None
) -> Iterator[tuple[int, int, IntArray]]:
    """Everyone of whom something is believed, by class and by what is known of a change, a few thousand at a time."""
    known = np.flatnonzero(beliefs.any(axis=1))
    mark = np.full(len(classes), UNTOLD) if changed is None else changed
    kind = 3 * classes + (mark - UNTOLD)
    known = known[np.argsort(kind[known], kind="stable")]
    starts = np.flatnonzero(np.diff(kind[known], prepend=-1))
    for start, end in pairwise([*starts.tolist(), len(known)]):
        one = known[start] if start < end else 0
        for first in range(start, end, _BLOCK):
            yield int(classes[one]), int(mark[one]), known[first : min(first + _BLOCK, end)]


def _with_none(past: npt.NDArray[Any]) -> FloatArray:
    """Distributions with one more place, "no value", which holds everything where there is none."""
    none = ~past.any(axis=2, keepdims=True)
    return np.concatenate([past, none], axis=2, dtype=np.float64)


def _without_none(contexts: FloatArray, m: int) -> FloatArray:
    """Contexts without those whose last value is "no value"."""
    kept: FloatArray = contexts.reshape(len(contexts), -1, m + 1)[:, :, :m].reshape(len(contexts), -1)
    return kept
