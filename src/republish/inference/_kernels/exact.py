"""`exact`: the Bayesian posterior, by dynamic programming over how many of each value are used.

A state says how many of each distinct value the first members took; its number is that of its digits in mixed
radix. Each state belongs to one member alone, the one whose turn it is, so two sweeps over the states see
every step once: O(values x product of (count + 1)). The rows were scaled (`scale`), therefore every number
here is a probability, and the total is far from underflow.
"""

from __future__ import annotations

from math import exp, lgamma, log

import numpy as np

from republish.arrays import FloatArray, Int64Array
from republish.kernels import kernel


@kernel
def states(count: FloatArray, limit: int) -> int:
    """The number of states of these counts, or `limit + 1` where there are more than `limit`."""
    product = 1
    for n in count:
        if n >= limit:
            return limit + 1
        product *= int(n) + 1
        if product > limit:
            return limit + 1
    return product


@kernel
def marginals(
    a: FloatArray, members: int, count: FloatArray, forward: FloatArray, backward: FloatArray, out: FloatArray
) -> bool:
    """Write the posterior of every member into `out`; whether any bijection has a positive weight.

    Rows of `a` beyond `members` stand for unknown people, all alike: what the members leave is dealt to them in
    every way at once, by the multinomial distribution. `forward` and `backward` have room for all states.
    """
    columns = len(count)
    order = _falling(count)
    top = np.empty(columns, np.int64)
    stride = np.empty(columns, np.int64)
    stride[0] = 1
    for s in range(columns):
        top[s] = int(count[order[s]])
        if s > 0:
            stride[s] = stride[s - 1] * (top[s - 1] + 1)
    size = stride[-1] * (top[-1] + 1)
    b = np.empty((len(a), columns))
    for i in range(len(a)):
        for s in range(columns):
            b[i, s] = a[i, order[s]]
    _sweep_forward(b, members, top, stride, size, forward)
    terminal = _dealt(b, members, top)
    taken = np.zeros((members, columns))
    total = _sweep_backward(b, members, top, stride, size, terminal, forward, backward, taken)
    if not total > 0.0:
        return False
    for i in range(members):
        row = 0.0
        for s in range(columns):
            row += taken[i, s]
        for s in range(columns):
            out[i, order[s]] = taken[i, s] / row
    return True


@kernel
def _falling(count: FloatArray) -> Int64Array:
    """The order of falling counts, so that the longest digit runs fastest."""
    order = np.empty(len(count), np.int64)
    for s in range(len(count)):
        at = s
        while at > 0 and count[order[at - 1]] < count[s]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = s
    return order


@kernel
def _sweep_forward(
    b: FloatArray, members: int, top: Int64Array, stride: Int64Array, size: int, forward: FloatArray
) -> None:
    """`forward[c]` is the probability that the first members take the values c.

    Indices are unsigned here and below: numba need not ask whether they count from the end.
    """
    columns = b.shape[1]
    flat = b.ravel()
    digit = np.zeros(columns, np.int64)
    active = np.empty(columns, np.uint64)
    back = np.empty(columns, np.uint64)
    run = top[0] + 1
    used = 0  # by all digits but the fastest
    for base in range(0, size, run):
        actives = 0
        for s in range(1, columns):
            if digit[s] > 0:
                active[actives] = s
                back[actives] = stride[s]
                actives += 1
        for c in range(min(run, members - used + 1)):
            state = np.uint64(base + c)
            if state == 0:
                forward[state] = 1.0
                continue
            row = np.uint64((used + c - 1) * columns)
            total = 0.0
            if c > 0:
                total = forward[np.uint64(base + c - 1)] * flat[row]
            for j in range(actives):
                total += forward[state - back[j]] * flat[row + active[j]]
            forward[state] = total
        for s in range(1, columns):
            if digit[s] < top[s]:
                digit[s] += 1
                used += 1
                break
            used -= digit[s]
            digit[s] = 0


@kernel
def _sweep_backward(
    b: FloatArray,
    members: int,
    top: Int64Array,
    stride: Int64Array,
    size: int,
    terminal: FloatArray,
    forward: FloatArray,
    backward: FloatArray,
    taken: FloatArray,
) -> float:
    """`backward[c]` is the probability that the members to come, and the unknown, take what c leaves.

    Adds up in `taken` what every member takes, and returns the probability of all of it. States that the members
    never reach stay without one.
    """
    columns = b.shape[1]
    flat = b.ravel()
    flat_taken = taken.ravel()
    digit = top.copy()
    active = np.empty(columns, np.uint64)
    ahead = np.empty(columns, np.uint64)
    run = top[0] + 1
    used = top[1:].sum()
    for base in range(size - run, -1, -run):
        actives = 0
        for s in range(1, columns):
            if digit[s] < top[s]:
                active[actives] = s
                ahead[actives] = stride[s]
                actives += 1
        for c in range(min(run - 1, members - used), -1, -1):
            state = np.uint64(base + c)
            here = forward[state]
            total = 0.0
            if used + c == members:
                total = terminal[0, top[0] - c]
                for s in range(1, columns):
                    total *= terminal[s, top[s] - digit[s]]
            elif here > 0.0:
                row = np.uint64((used + c) * columns)
                if c < top[0]:
                    total = backward[np.uint64(base + c + 1)] * flat[row]
                    flat_taken[row] += here * total
                for j in range(actives):
                    cell = row + active[j]
                    step = backward[state + ahead[j]] * flat[cell]
                    total += step
                    flat_taken[cell] += here * step
            backward[state] = total
        for s in range(1, columns):
            if digit[s] > 0:
                digit[s] -= 1
                used -= 1
                break
            digit[s] = top[s]
            used += top[s]
    return float(backward[0])


@kernel
def _dealt(b: FloatArray, members: int, top: Int64Array) -> FloatArray:
    """`[s, r]`: the factor of value s left r times; the product over s is multinomial up to a constant.

    Independent Poisson counts given their sum are multinomial, and their probabilities neither vanish nor explode.
    Where there are no unknown people, nothing may be left and the product is 1.
    """
    columns = len(top)
    unknown = top.sum() - members
    factor = np.zeros((columns, top[0] + 1))
    for s in range(columns):
        mean = unknown * b[members, s] if unknown else 0.0
        factor[s, 0] = exp(-mean)
        if mean > 0.0:
            for r in range(1, min(top[s], unknown) + 1):
                factor[s, r] = exp(r * log(mean) - mean - lgamma(r + 1.0))
    return factor
