"""What members of a group can have at all, once the others must have the rest.

Where few can have a value, those must have it, and all else that is expected of them counts for nothing. Estimates of
posteriors find that out slowly; so it is settled first.
"""

from __future__ import annotations

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.inference.assignment import narrow
from republish.kernels import kernel

THIN = 1e-10
"""A chance below this part of a member's largest counts as none, if the values can be handed out without it."""


@kernel
def confine(
    expected: FloatArray,
    member_start: IntArray,
    value_start: IntArray,
    value_code: IntArray,
    value_count: IntArray,
) -> None:
    """Set to 0 what is expected of members but possible in no way to hand out the values of their group.

    Groups whose values cannot be handed out are left as they are.
    """
    for g in range(len(member_start) - 1):
        code = value_code[value_start[g] : value_start[g + 1]]
        count = value_count[value_start[g] : value_start[g + 1]].copy()
        first, end = member_start[g], member_start[g + 1]
        can = np.zeros((end - first, len(code)), np.bool_)
        whole = True
        for i in range(first, end):
            most = 0.0
            for s in range(len(code)):
                most = max(most, expected[i, code[s]])
            for s in range(len(code)):
                can[i - first, s] = count[s] > 0 and expected[i, code[s]] > THIN * most
                whole &= can[i - first, s]
        if whole or not narrow(can, count):
            continue
        for i in range(first, end):
            for s in range(len(code)):
                if not can[i - first, s]:
                    expected[i, code[s]] = 0.0
