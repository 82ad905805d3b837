"""The value of a given rank in linear time, for kernels that cut at medians."""

from __future__ import annotations

from republish.arrays import FloatArray
from republish.kernels import kernel

_INSERTION = 12


@kernel
def quickselect(values: FloatArray, rank: int) -> float:
    """Return the value of the given rank, moving it to its place between lesser and greater ones."""
    low, high = 0, values.size - 1
    state = 12345
    while high - low > _INSERTION:
        # Pivots from scattered places: neither sorted nor patterned columns are slow.
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        one = values[low + state % (high - low + 1)]
        two, three = values[(low + high) // 2], values[high]
        pivot = max(min(one, two), min(max(one, two), three))
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            return float(values[rank])
    for i in range(low + 1, high + 1):
        value = values[i]
        j = i - 1
        while j >= low and values[j] > value:
            values[j + 1] = values[j]
            j -= 1
        values[j + 1] = value
    return float(values[rank])
