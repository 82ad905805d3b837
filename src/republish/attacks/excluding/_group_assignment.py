"""What the published values of one group leave to each of its members (see `republish.inference.assignment`)."""

from __future__ import annotations

import numpy as np

from republish.attacks.excluding.candidates import _has
from republish.inference.assignment import narrow
from republish.kernels import kernel


@kernel
def _possible(sets, member, code, count):  # type: ignore[no-untyped-def]
    """What members may hold, bit by bit over `code`; all 0 where no assignment exists."""
    can = np.zeros((len(member), len(code)), dtype=np.bool_)
    for i in range(len(member)):
        for s in range(len(code)):
            can[i, s] = _has(sets[member[i]], code[s])
    if not narrow(can, count.astype(np.int64)):
        can[:] = False
    return can
