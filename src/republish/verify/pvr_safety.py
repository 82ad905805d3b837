"""How often everyone is published in one life, and what Cor-Split's paper then says of a breach; imports no publisher.

- `lifespan=L`: nobody is published more than L times while the value stays the same, over absences too.
- `pvr-safety=h@p`: where everyone is compromised with probability p, the probability that all m - 1 false values of a
  life are excluded is below h for every life so far (Def. 9), with the m and n of the other promises (Lemma 3):

      (1 - (1 - p)^l (1 - (p - p/m)^n)^(l floor(m/n)))^(m - 1)  for a life that is published for the l-th time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.verify.check import Check

LIFESPAN, PVR_SAFETY = "lifespan", "pvr-safety"
_RETIRED = "{} people were published so often before, and are left out."


def within_lifespan(promise: str, says: str, group: IntArray, earlier: Sequence[IntArray]) -> Check:
    """Whether nobody is published too often; `earlier` are everyone's groups in the life she lives, 0 for none."""
    most = int(promise.partition("=")[2])
    before = _times(group, earlier)
    broken = (group > 0) & (before >= most)
    retired = int(np.count_nonzero((group == 0) & (before >= most)))
    return Check(
        f"{promise}: times published",
        not broken.any(),
        says,
        float(before[group > 0].max(initial=-1) + 1),
        len(np.unique(group[broken])),
        int(broken.sum()),
        note=_RETIRED,
        noted=retired,
    )


def pvr_safe(
    promise: str, says: str, others: Iterable[str], group: IntArray, earlier: Sequence[IntArray]
) -> Check:
    """Whether the probability of a breach is below h for everyone; m and n are those of the `others` promised."""
    bound = dict(other.partition("=")[::2] for other in others)
    if not {"weak-m-invariance", "hc-safety"} <= bound.keys():
        return Check(promise, False, "The policy no longer says by which m and n people are protected.")
    limit, share = map(float, promise.partition("=")[2].split("@"))
    times = _times(group, earlier)[group > 0] + 1
    reached = _breach(share, times, int(bound["weak-m-invariance"]), int(bound["hc-safety"]))
    broken = np.zeros(len(group), dtype=np.bool_)
    broken[group > 0] = reached >= limit
    return Check(
        f"{promise}: probability of a breach",
        not broken.any(),
        says,
        float(reached.max(initial=0.0)),
        len(np.unique(group[broken])),
        int(broken.sum()),
    )


def _times(group: IntArray, earlier: Sequence[IntArray]) -> IntArray:
    """How often everyone was published before in the life she lives."""
    times = np.zeros(len(group), dtype=np.int64)
    for groups in earlier:
        times += groups > 0
    return times


def _breach(p: float, times: IntArray, m: int, n: int) -> FloatArray:
    """The probability that all m - 1 false values of lives that were published so often are excluded."""
    spared = (1 - p) ** times * (1 - (p * (m - 1) / m) ** n) ** (times * (m // n))
    excluded: FloatArray = (1 - spared) ** (m - 1)
    return excluded
