"""A tree over blocks from above: sets of blocks cut in two where the certainty penalty falls most.

The sizes that groups are wanted at are gone through from the largest to the smallest. At each, sets are cut as long as
both parts reach that size; a cut after which fewer groups of that size fit costs more in proportion. Blocks lie in a
dimension in the order of their centres.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import FloatArray, IntArray
from republish.kernels import kernel
from republish.requirements.base import Rules
from republish.requirements.rules import satisfied
from republish.spatial._key_bits import longer
from republish.spatial.dendrogram._boxes import BlockBoxes, share

# Larger sets choose their dimension by a sample; where many groups fit, also the place of the cut.
_SAMPLE = 64
_MANY = 64
# Dimensions narrower than half the widest are not tried: they cost time and are hardly ever cut.
_NARROW = 0.5
# What losing one of the groups that fit adds to the penalty, times its share of them: chosen by measuring.
_LOST = 0.2


class DivisionTree(NamedTuple):
    """The blocks in the order of the sets under construction, and the tree as far as it is made."""

    order: IntArray
    spare: IntArray
    child: IntArray


class Task(NamedTuple):
    """What a tree is made from and what every set must satisfy; histograms are empty where only sizes matter.

    Block b holds `code[j]` `times[j]` times, j from `start[b]` to `start[b + 1]`.
    """

    boxes: BlockBoxes
    tree: DivisionTree
    rules: Rules
    start: IntArray
    code: IntArray
    times: IntArray


class _SetBounds(NamedTuple):
    """What each set needs for a moment: centres of its blocks, the penalty behind each, bounds, shares and so on."""

    centre: FloatArray
    behind: FloatArray
    box: FloatArray
    share: FloatArray
    sample: IntArray
    counts: IntArray


@kernel
def divide(task: Task, wanted: IntArray, sets: IntArray, grain: int) -> IntArray:
    """Cut the given sets down to single blocks; return those of at most `grain` blocks uncut.

    A set is a line of begin and end in the order, its number among the merges (those of its parts lie just below
    it), and the place of the size that is tried first. `wanted` falls. What is too small for all of it is halved as
    it lies.
    """
    tree = task.tree
    blocks, dimensions = task.boxes.low.shape
    most = 0
    for s in range(len(sets)):
        most = max(most, sets[s, 1] - sets[s, 0])
    work = _SetBounds(
        np.empty(most),
        np.empty(most),
        np.empty((2, dimensions)),
        np.empty(dimensions),
        np.empty(2 * _SAMPLE, np.int64),
        np.zeros((2, task.rules.overall.size), np.int64),
    )
    # The smaller part is handled first, so that the stack never holds more than log2(n) parts of a set.
    depth = len(sets)
    stack = np.empty((depth + 64, 4), np.int64)
    for line in range(depth):
        for part in range(4):
            stack[line, part] = sets[line, part]
    left: IntArray = np.empty((16, 4), np.int64)
    kept = 0
    while depth > 0:
        depth -= 1
        begin, end, number, stage = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
        if end - begin <= grain:
            if kept == len(left):
                left = longer(left)
            left[kept, 0], left[kept, 1], left[kept, 2], left[kept, 3] = begin, end, number, stage
            kept += 1
            continue
        middle = begin
        while middle == begin and stage < wanted.size:
            middle = _cut(task, work, begin, end, wanted[stage])
            if middle == begin:
                stage += 1
        if middle == begin:
            middle = (begin + end) // 2
        numbers = (number - (end - middle), number - 1)
        ends = ((begin, middle), (middle, end))
        larger = 0 if middle - begin >= end - middle else 1
        for turn in range(2):
            side = larger if turn == 0 else 1 - larger
            first, last = ends[side]
            if last - first == 1:
                tree.child[number, side] = tree.order[first]
                continue
            tree.child[number, side] = blocks + numbers[side]
            stack[depth, 0], stack[depth, 1] = first, last
            stack[depth, 2], stack[depth, 3] = numbers[side], stage
            depth += 1
    return left[:kept]


@kernel
def _cut(task: Task, work: _SetBounds, begin: int, end: int, size: int) -> int:
    """Cut a set where the penalty is least, both parts of at least `size` points; return where, or `begin`."""
    boxes = task.boxes
    here, spare = task.tree.order[begin:end], task.tree.spare[begin:end]
    total = _measure(boxes, here, work)
    if total < 2 * size:
        return begin
    if here.size > 2 * _SAMPLE:
        step = here.size // _SAMPLE
        sample = work.sample[: here.size // step]
        for i in range(sample.size):
            sample[i] = here[i * step]
        part = 0
        for block in sample:
            part += boxes.size[block]
        q, threshold = _best_of_sample(task, sample, work, part, max(1, size * part // total))
        if q >= 0:
            if total // size >= _MANY:
                middle = _part(boxes, here, spare, q, threshold)
                if _enough(task, work, here[:middle], size) and _enough(task, work, here[middle:], size):
                    return begin + middle
            _sort(boxes, here, work, q)
            _, middle = _scan(task, here, work, total, size, not task.rules.plain)
            if middle > 0:
                return begin + middle
    middle, least = 0, np.inf
    widest = work.share.max()
    for q in range(boxes.width.size):
        if work.share[q] < _NARROW * widest:
            continue
        _sort(boxes, here, work, q)
        cost, at = _scan(task, here, work, total, size, not task.rules.plain)
        if at > 0 and cost < least:
            middle, least = at, cost
            for i in range(here.size):
                spare[i] = here[i]
    if middle > 0:
        for i in range(here.size):
            here[i] = spare[i]
    return begin + middle


@kernel
def _measure(boxes: BlockBoxes, here: IntArray, work: _SetBounds) -> int:
    """Write the share of the box around some blocks in each dimension; return their points."""
    low, high = work.box[0], work.box[1]
    _empty(low, high)
    total = 0
    for block in here:
        total += boxes.size[block]
        for q in range(boxes.width.size):
            low[q] = min(low[q], boxes.low[block, q])
            high[q] = max(high[q], boxes.high[block, q])
    for q in range(boxes.width.size):
        work.share[q] = share(boxes, q, low[q], high[q])
    return total


@kernel
def _best_of_sample(
    task: Task, sample: IntArray, work: _SetBounds, total: int, size: int
) -> tuple[int, float]:
    """Return the dimension in which a sample is cut best, and the centre at which; -1 where nowhere."""
    boxes = task.boxes
    best, threshold, least = -1, 0.0, np.inf
    widest = work.share.max()
    for q in range(boxes.width.size):
        if work.share[q] < _NARROW * widest:
            continue
        _sort(boxes, sample, work, q)
        cost, at = _scan(task, sample, work, total, size, False)
        if at > 0 and cost < least:
            best, least, threshold = q, cost, work.centre[at]
    return best, threshold


@kernel
def _part(boxes: BlockBoxes, here: IntArray, spare: IntArray, q: int, threshold: float) -> int:
    """Bring the blocks whose centre is below a threshold before the others; return how many they are."""
    below = above = 0
    for block in here:
        if _centre(boxes, block, q) < threshold:
            here[below] = block
            below += 1
        else:
            spare[above] = block
            above += 1
    for i in range(above):
        here[below + i] = spare[i]
    return below


@kernel
def _centre(boxes: BlockBoxes, block: int, q: int) -> float:
    """Return twice the centre of a block in a dimension; missing values stand below all others."""
    return float(boxes.low[block, q] + boxes.high[block, q])


@kernel
def _sort(boxes: BlockBoxes, here: IntArray, work: _SetBounds, q: int) -> None:
    """Bring blocks in the order of their centres in a dimension."""
    centre = work.centre[: here.size]
    for i in range(here.size):
        centre[i] = _centre(boxes, here[i], q)
    gap = 1
    while 3 * gap < here.size:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, here.size):
            value, block = centre[i], here[i]
            j = i - gap
            while j >= 0 and centre[j] > value:
                centre[j + gap], here[j + gap] = centre[j], here[j]
                j -= gap
            centre[j + gap], here[j + gap] = value, block
        gap //= 3


@kernel
def _scan(
    task: Task, here: IntArray, work: _SetBounds, total: int, size: int, ruled: bool
) -> tuple[float, int]:
    """Return the least penalty after a cut of sorted blocks and how many blocks lie before it; 0 where none is."""
    boxes, behind, counts = task.boxes, work.behind, work.counts
    low, high = work.box[0], work.box[1]
    _empty(low, high)
    above = 0
    for i in range(here.size - 1, 0, -1):
        above += boxes.size[here[i]]
        behind[i] = above * _widened(boxes, here[i], low, high)
    if ruled:
        for code in range(counts.shape[1]):
            counts[0, code] = counts[1, code] = 0
        for block in here:
            _count(task, block, counts[1], 1)
    _empty(low, high)
    fit = total // size
    best, least = 0, np.inf
    below = 0
    for i in range(1, here.size):
        block = here[i - 1]
        below += boxes.size[block]
        extent = _widened(boxes, block, low, high)
        if ruled:
            _count(task, block, counts[0], 1)
            _count(task, block, counts[1], -1)
        if below < size:
            continue
        if total - below < size:
            break
        cost = below * extent + behind[i]
        if below // size + (total - below) // size < fit:
            cost *= 1.0 + _LOST / fit
        if cost >= least:
            continue
        if ruled and not (
            satisfied(task.rules, counts[0], below) and satisfied(task.rules, counts[1], total - below)
        ):
            continue
        best, least = i, cost
    return least, best


@kernel
def _empty(low: FloatArray, high: FloatArray) -> None:
    """Make a box that holds nothing."""
    for q in range(low.size):
        low[q], high[q] = np.inf, -np.inf


@kernel
def _widened(boxes: BlockBoxes, block: int, low: FloatArray, high: FloatArray) -> float:
    """Widen a box by a block and return its summed share."""
    extent = 0.0
    for q in range(boxes.width.size):
        low[q] = min(low[q], boxes.low[block, q])
        high[q] = max(high[q], boxes.high[block, q])
        extent += share(boxes, q, low[q], high[q])
    return extent


@kernel
def _count(task: Task, block: int, counts: IntArray, sign: int) -> None:
    """Add a block's histogram to the counts, or take it away."""
    for j in range(task.start[block], task.start[block + 1]):
        counts[task.code[j]] += sign * task.times[j]


@kernel
def _enough(task: Task, work: _SetBounds, here: IntArray, size: int) -> bool:
    """Return whether some blocks together have enough points and satisfy the rules."""
    counts = work.counts[0]
    if not task.rules.plain:
        for code in range(counts.size):
            counts[code] = 0
        for block in here:
            _count(task, block, counts, 1)
    total = 0
    for block in here:
        total += task.boxes.size[block]
    return bool(total >= size and satisfied(task.rules, counts, total))
