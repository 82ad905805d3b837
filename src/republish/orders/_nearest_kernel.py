"""A k-d tree that loses the points it has found, and the walk from each point to the nearest one left.

Every node keeps the box of the points left in it and the lowest of their numbers, so the search enters only
nodes that may hold a nearer point, or an equally near one of a lower number. The box is a true bound of the
rounded distances too: both are the same operations in the same order, and rounding keeps order. When
half of the points are gone, the tree is built anew from the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from republish.arrays import FloatArray, Int64Array
from republish.kernels import kernel

_BUCKET = 8
_HALF = (_BUCKET + 1) // 2
_DEPTH = 70


class DistanceScale(NamedTuple):
    """How distances are measured: differences times `weight`, along no axis more than `unit`.

    A coordinate below `low` stands for a missing value.
    """

    weight: FloatArray
    low: FloatArray
    unit: float


class _Tree(NamedTuple):
    """Nodes in preorder: the left child of a node is the next one, `right` is 0 for a leaf.

    A leaf holds the points `begin` to `begin + held` of `x` and their `number`. The box of a node is
    `box[node, 0]` to `box[node, 1]`; `first` is the lowest number left, or the number of all points.
    """

    x: FloatArray
    number: Int64Array
    begin: Int64Array
    held: Int64Array
    right: Int64Array
    parent: Int64Array
    first: Int64Array
    box: FloatArray


class _Best(NamedTuple):
    """The nearest point so far: the square of its distance, its number, its position in the tree, its leaf."""

    distance: float
    number: int
    position: int
    leaf: int


@kernel
def walk(points: FloatArray, start: int, scale: DistanceScale) -> Int64Array:
    """Return the numbers of all `points[number, axis]`, each followed by the nearest of those left.

    The points are distinct; of equally near ones the lowest number comes first.
    """
    count, axes = points.shape
    order = np.empty(count, np.int64)
    order[0] = start
    here = points[start].copy()
    tree = _plant(points, start)
    stack, bounds = np.empty(_DEPTH + axes, np.int64), np.empty(_DEPTH + axes, np.float64)
    done = 1
    while done < count:
        left = count - done
        nodes = _build(tree, left, scale)
        leaf = 0
        while tree.right[leaf] != 0:
            leaf += 1
        for _ in range((left + 1) // 2):
            best = _search(tree, leaf, here, scale, stack, bounds)
            order[done] = best.number
            done += 1
            leaf = best.leaf
            here[:] = tree.x[best.position]
            _remove(tree, best.position, leaf)
        _gather(tree, nodes)
    return order


@kernel
def _plant(points: FloatArray, start: int) -> _Tree:
    """Return room for a tree of all points but the first of the walk."""
    count, axes = points.shape
    nodes = 2 * (count // _HALF) + 1
    tree = _Tree(
        np.empty((count, axes), np.float64),
        np.empty(count, np.int64),
        np.empty(nodes, np.int64),
        np.empty(nodes, np.int64),
        np.empty(nodes, np.int64),
        np.empty(nodes, np.int64),
        np.empty(nodes, np.int64),
        np.empty((nodes, 2, axes), np.float64),
    )
    for number in range(count):
        place = number if number < start else number - 1
        if number != start:
            tree.x[place] = points[number]
            tree.number[place] = number
    return tree


@kernel
def _build(tree: _Tree, size: int, scale: DistanceScale) -> int:
    """Build the nodes over the first `size` points and return how many there are.

    Only a lone root has fewer points than half a bucket.
    """
    stack = np.empty((_DEPTH + tree.x.shape[1], 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, size, 0
    top, node = 1, 0
    while top > 0:
        top -= 1
        begin, end, parent = stack[top, 0], stack[top, 1], stack[top, 2]
        tree.parent[node] = parent
        if node > parent + 1:
            tree.right[parent] = node
        tree.begin[node] = begin
        tree.held[node] = end - begin
        tree.right[node] = 0
        _enclose_points(tree, node)
        if end - begin > _BUCKET:
            middle = _split(tree, begin, end, node, scale)
            stack[top, 0], stack[top, 1], stack[top, 2] = middle, end, node
            stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = begin, middle, node
            top += 2
        node += 1
    tree.parent[0] = -1
    return node


@kernel
def _split(tree: _Tree, begin: int, end: int, node: int, scale: DistanceScale) -> int:
    """Part the points of a node along one axis; return where the right ones begin.

    Missing values are parted from the others where that leaves enough points on both sides; else the
    widest axis is halved.
    """
    best, widest = 0, -1.0
    for a in range(scale.weight.size):
        low = tree.box[node, 0, a]
        if low < scale.low[a]:
            missing = 0
            low = tree.box[node, 1, a]
            for i in range(begin, end):
                if tree.x[i, a] < scale.low[a]:
                    missing += 1
                else:
                    low = min(low, tree.x[i, a])
            if min(missing, end - begin - missing) >= _HALF:
                _select(tree, begin, end - 1, begin + missing, a)
                return begin + missing
        extent = (tree.box[node, 1, a] - low) * scale.weight[a]
        if extent > widest:
            best, widest = a, extent
    middle = (begin + end) // 2
    _select(tree, begin, end - 1, middle, best)
    return middle


@kernel
def _select(tree: _Tree, low: int, high: int, middle: int, axis: int) -> None:
    """Permute the points low to high: none before `middle` lies above it along the axis, none after below."""
    x = tree.x
    while low < high:
        a, b, c = x[low, axis], x[(low + high) // 2, axis], x[high, axis]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while x[i, axis] < pivot:
                i += 1
            while x[j, axis] > pivot:
                j -= 1
            if i <= j:
                _swap(tree, i, j)
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@kernel
def _swap(tree: _Tree, i: int, j: int) -> None:
    for a in range(tree.x.shape[1]):
        tree.x[i, a], tree.x[j, a] = tree.x[j, a], tree.x[i, a]
    tree.number[i], tree.number[j] = tree.number[j], tree.number[i]


@kernel
def _enclose_points(tree: _Tree, node: int) -> None:
    """Fit the box and the lowest number of a node to its points."""
    box = tree.box[node]
    box[0] = np.inf
    box[1] = -np.inf
    first = tree.x.shape[0]
    for i in range(tree.begin[node], tree.begin[node] + tree.held[node]):
        first = min(first, tree.number[i])
        for a in range(tree.x.shape[1]):
            box[0, a] = min(box[0, a], tree.x[i, a])
            box[1, a] = max(box[1, a], tree.x[i, a])
    tree.first[node] = first


@kernel
def _remove(tree: _Tree, position: int, leaf: int) -> None:
    """Take a point out of its leaf and shrink the boxes around it."""
    tree.held[leaf] -= 1
    _swap(tree, position, tree.begin[leaf] + tree.held[leaf])
    _enclose_points(tree, leaf)
    node = tree.parent[leaf]
    changed = True
    while changed and node >= 0:
        changed = False
        left, right = node + 1, tree.right[node]
        first = min(tree.first[left], tree.first[right])
        if first != tree.first[node]:
            tree.first[node] = first
            changed = True
        for a in range(tree.x.shape[1]):
            low = min(tree.box[left, 0, a], tree.box[right, 0, a])
            high = max(tree.box[left, 1, a], tree.box[right, 1, a])
            if low != tree.box[node, 0, a] or high != tree.box[node, 1, a]:
                tree.box[node, 0, a] = low
                tree.box[node, 1, a] = high
                changed = True
        node = tree.parent[node]


@kernel
def _gather(tree: _Tree, nodes: int) -> None:
    """Move the points that are left to the front."""
    left = 0
    for node in range(nodes):
        if tree.right[node] == 0:
            for i in range(tree.begin[node], tree.begin[node] + tree.held[node]):
                tree.x[left] = tree.x[i]
                tree.number[left] = tree.number[i]
                left += 1


@kernel
def _search(
    tree: _Tree, leaf: int, here: FloatArray, scale: DistanceScale, stack: Int64Array, bounds: FloatArray
) -> _Best:
    """Return the nearest point left; the search climbs from a leaf close by and enters what lies beside."""
    best = _Best(np.inf, tree.x.shape[0], -1, -1)
    best = _scan(tree, leaf, here, scale, best)
    node = leaf
    while tree.parent[node] >= 0:
        parent = tree.parent[node]
        beside = tree.right[parent] if node == parent + 1 else parent + 1
        stack[0] = beside
        bounds[0] = _bound(tree, beside, here, scale)
        top = 1
        while top > 0:
            top -= 1
            inner = stack[top]
            if not _promises(tree, inner, bounds[top], best):
                continue
            if tree.right[inner] == 0:
                best = _scan(tree, inner, here, scale, best)
                continue
            near, far = inner + 1, tree.right[inner]
            nearer, farther = _bound(tree, near, here, scale), _bound(tree, far, here, scale)
            if farther < nearer:
                near, far = far, near
                nearer, farther = farther, nearer
            if _promises(tree, far, farther, best):
                stack[top] = far
                bounds[top] = farther
                top += 1
            if _promises(tree, near, nearer, best):
                stack[top] = near
                bounds[top] = nearer
                top += 1
        node = parent
    return best


@kernel
def _promises(tree: _Tree, node: int, bound: float, best: _Best) -> bool:
    """Tell whether a node may hold a nearer point, or one as near with a lower number."""
    return tree.first[node] < best.number if bound == best.distance else bound < best.distance


@kernel
def _bound(tree: _Tree, node: int, here: FloatArray, scale: DistanceScale) -> float:
    """Return the square of the distance to the box of a node, infinite where it is empty."""
    if tree.first[node] == tree.x.shape[0]:
        return np.inf
    total = 0.0
    for a in range(here.size):
        gap = max(tree.box[node, 0, a] - here[a], here[a] - tree.box[node, 1, a], 0.0)
        gap = min(gap * scale.weight[a], scale.unit)
        total += gap * gap
    return total


@kernel
def _scan(tree: _Tree, leaf: int, here: FloatArray, scale: DistanceScale, best: _Best) -> _Best:
    """Return the better of the best so far and the points of a leaf."""
    distance, number, position, where = best
    for i in range(tree.begin[leaf], tree.begin[leaf] + tree.held[leaf]):
        total = 0.0
        for a in range(here.size):
            gap = min(abs(tree.x[i, a] - here[a]) * scale.weight[a], scale.unit)
            total += gap * gap
        if total < distance or (total == distance and tree.number[i] < number):
            distance, number, position, where = total, tree.number[i], i, leaf
    return _Best(distance, number, position, where)
