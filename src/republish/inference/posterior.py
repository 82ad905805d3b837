"""What an adversary believes of every member of a group once she has seen the values of the group."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.errors import PolicyError
from republish.inference._kernels.batch import Notes, infer
from republish.inference.compromise import Compromised, beyond_prior, cascaded, shown_values, without
from republish.inference.groups import Groups
from republish.kernels import threads

METHODS = ("additive", "omega", "sinkhorn", "bp", "bayes", "exact")
LIMIT = 100_000
_CHUNK, _ROWS = 64, 512
"""So many groups, or rows, are worth a thread's while."""


@dataclass(frozen=True, eq=False)
class Posteriors:
    """The posterior `p` [row, value] of every member, and how it was found.

    `used` counts the rows by the method that served them; "certain" are people known for certain. `fallbacks` rows
    fell back to the shares of the values in their group, because the prior rules out what was published. In
    the groups of `unsettled` rows `sinkhorn` stopped before the columns matched the counts.
    """

    p: FloatArray
    used: dict[str, int] = field(default_factory=dict)
    fallbacks: int = 0
    unsettled: int = 0


def posterior(
    prior: FloatArray,
    values: Sequence[int] | IntArray,
    method: str = "exact",
    compromised: Compromised | None = None,
) -> FloatArray:
    """The posterior of the members of one group, `prior` [member, value], that shows the codes `values`.

    There may be more codes than members: the others belong to unknown people. See `group_posteriors`.
    """
    prior = np.asarray(prior, dtype=np.float64)
    return group_posteriors(prior, Groups.one(len(prior), values), method, compromised).p


def group_posteriors(
    prior: FloatArray,
    groups: Groups,
    method: str = "exact",
    compromised: Compromised | None = None,
    limit: int = LIMIT,
) -> Posteriors:
    """The posteriors of all members of all groups; row i of `prior` [row, value] is the prior of member i.

    - `additive`: a bijection of members and published rows weighs the sum of its priors (JS-reduce, Alg. 2).
    - `omega`: the Omega-estimate, columns scaled to their counts, then rows.
    - `sinkhorn`: both in turn until every column is within 1e-9 of its count, or 2,000 times.
    - `bp`: damped belief propagation until no belief moves by more than 1e-9; after 500 rounds `sinkhorn`.
    - `bayes`: BayFrame's estimator. Hardly differs from the shares of the values: never measure risk with it.
    - `exact`: a bijection weighs the product of its priors: the Bayesian posterior. By dynamic programming over
      `prod(count + 1)` states, counted by values or by equal priors, whichever is less. A group with more than
      `limit` states is left to `bp`. People and values between which every prior is 0 count as groups of their own.

    Values that outnumber the members of a group belong to unknown people, to whom every value is as likely.
    Where the prior rules out what was published, a group falls back to the shares of its values (`omega`: see there).

    A person compromised with confidence 1 leaves the group with the value. What is known with less enters the
    prior (`cascaded`), with `bayes` the posterior (posterior-based cascading). To let it enter the prior
    under `bayes`, pass `cascaded(prior, compromised)` and `compromised.certain()`.
    """
    prior = np.ascontiguousarray(prior, dtype=np.float64)
    if method not in METHODS:
        raise PolicyError(f"the posterior must be one of {', '.join(METHODS)}; found {method!r}")
    if prior.ndim != 2 or (prior.size and not (prior.min() >= 0.0 and prior.max() < np.inf)):
        raise PolicyError(
            "the prior must be a table of numbers of at least 0, a row a member, a column a value"
        )
    if limit < 1:
        raise PolicyError(f"limit must be at least 1 state; found {limit}")
    groups = groups.checked(*prior.shape)
    if compromised is None or len(compromised.row) == 0:
        return _batched(prior, groups, method, limit, _NOTHING)
    entries = compromised.checked(*prior.shape)
    known = _NOTHING
    if method == "bayes":
        rows = np.unique(entries.row)
        rows, c = beyond_prior(prior, entries, shown_values(groups, rows, prior.shape[1]))
        at = np.full(len(prior), -1)
        at[rows] = np.arange(len(rows))
        known = (at, c)
    else:
        prior = cascaded(prior, entries)
    certain = entries.certain()
    if len(certain.row) == 0:
        return _batched(prior, groups, method, limit, known)
    rest, keep = without(groups, certain, prior.shape[1])
    found = _batched(
        prior[keep], rest, method, limit, (known[0][keep] if len(known[0]) else known[0], known[1])
    )
    p = np.zeros(prior.shape)
    p[keep] = found.p
    p[certain.row, certain.code] = 1.0
    return Posteriors(p, found.used | {"certain": len(certain.row)}, found.fallbacks, found.unsettled)


_NOTHING: tuple[IntArray, FloatArray] = (np.zeros(0, dtype=np.int64), np.zeros((0, 0)))


def _batched(
    prior: FloatArray, groups: Groups, method: str, limit: int, known: tuple[IntArray, FloatArray]
) -> Posteriors:
    """All groups, in chunks, on as many threads as numba may use; the kernels hold no lock."""
    total, n = groups.total, len(prior)
    notes = Notes(np.zeros(n, np.int8), np.zeros(n, np.bool_), np.zeros(n, np.bool_))
    p = np.zeros(prior.shape)

    def work(chosen: IntArray) -> None:
        infer(prior, *groups, *known, chosen, METHODS.index(method), limit, notes, p)

    workers = threads()
    chunks = min(max(total // _CHUNK, n // _ROWS), total, 16 * workers)
    everything = np.arange(total)
    if chunks < 2 or workers < 2:
        work(everything)
    else:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(work, (everything[c::chunks].copy() for c in range(chunks))))
    rows = np.bincount(notes.used, minlength=len(METHODS))
    used = {name: int(n) for name, n in zip(METHODS, rows, strict=True) if n}
    return Posteriors(p, used, int(notes.fell.sum()), int(notes.unsettled.sum()))
