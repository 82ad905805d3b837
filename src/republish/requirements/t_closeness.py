"""t-closeness: the values of a group are spread nearly as in the table (Li, Li, Venkatasubramanian 2007).

The distance is the earth mover's, for one of three distances between values:

- `equal`: every two values are 1 apart; the distance is then the total variation;
- `ordered`: neighbours in the order are 1/(m-1) apart, m being the values that occur in the table. So a
  publisher that knows values of earlier tables and a verifier that sees this table alone agree;
- `hierarchical`: two values are as far apart as their lowest common ancestor is high, over the height of the
  hierarchy. A level that merges nothing counts as height.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from republish.arrays import Int32Array
from republish.errors import PolicyError
from republish.kernels import kernel
from republish.requirements.base import KERNEL_TOLERANCE, Counts, Requirement, Rules, Values, Whole
from republish.requirements.parameters import plain, share

OP_T_EQUAL = 5
OP_T_ORDERED = 6
OP_T_HIERARCHICAL = 7

Distance = Literal["equal", "ordered", "hierarchical"]
_OPS = {"equal": OP_T_EQUAL, "ordered": OP_T_ORDERED, "hierarchical": OP_T_HIERARCHICAL}


@dataclass(frozen=True)
class TCloseness(Requirement):
    """The distribution of values in every group is at most `t` away from that of the whole table.

    Closed under union for all three distances: the union's distribution is a mixture of the two groups',
    and the earth mover's distance to a fixed distribution is convex.
    """

    t: float
    distance: Distance = "equal"

    name: ClassVar[str] = "t-closeness"

    def __post_init__(self) -> None:
        object.__setattr__(self, "t", share("t", self.t))
        if self.distance not in get_args(Distance):
            raise PolicyError(
                f"the distance of t-closeness must be one of {', '.join(get_args(Distance))}, "
                f"found {self.distance!r}"
            )

    @property
    def text(self) -> str:
        return f"t{'' if self.distance == 'equal' else f'-{self.distance}'}={plain(self.t)}"

    @property
    def bound(self) -> float:
        return self.t

    def describe(self) -> str:
        how = {
            "equal": "all values equally far apart",
            "ordered": "values as far apart as in their order",
            "hierarchical": "values as far apart as in their hierarchy",
        }[self.distance]
        return (
            "In every group the sensitive values are distributed as in the whole table, "
            f"up to a distance of {plain(self.t)} between 0 and 1 ({how})."
        )

    def check(self, whole: Whole) -> None:
        if self.distance == "ordered" and whole.order is None:
            raise PolicyError(
                "t-ordered needs sensitive values with an order, found none; give the sensitive column "
                "an order or kind number in the schema, or ask for t"
            )
        if self.distance == "hierarchical" and whole.nodes is None:
            raise PolicyError(
                "t-hierarchical needs a hierarchy of the sensitive values, found none; give the sensitive "
                "column a hierarchy in the schema, or ask for t"
            )

    def rule(self) -> tuple[int, float, float]:
        return _OPS[self.distance], self.t + KERNEL_TOLERANCE, 0.0

    def _reached(self, counts: Counts, sizes: Counts, whole: Whole) -> Values:
        excess = counts / sizes[:, None] - whole.overall
        if self.distance == "ordered" and whole.order is not None:
            occurring = np.flatnonzero(whole.overall[whole.order] > 0)[1:]
            carried = np.cumsum(excess[:, whole.order], axis=1)[:, occurring - 1]
            return np.asarray(np.abs(carried).sum(axis=1) / max(1, len(occurring)), dtype=np.float64)
        if self.distance == "hierarchical" and whole.nodes is not None:
            return _moved_up(excess, whole.nodes)
        return np.asarray(np.abs(excess).sum(axis=1) / 2, dtype=np.float64)


def _moved_up(excess: Values, nodes: Int32Array) -> Values:
    # Two leaves below a common ancestor of height h are 2h edges apart: with every edge 1/(2 height) long the
    # hierarchy is a tree metric, where each edge carries the excess of everything below it.
    height = nodes.shape[1] - 1
    moved = np.zeros(len(excess))
    for level in range(height):
        by_node = np.argsort(nodes[:, level], kind="stable")
        starts = np.unique(nodes[by_node, level], return_index=True)[1]
        moved += np.abs(np.add.reduceat(excess[:, by_node], starts, axis=1)).sum(axis=1)
    return np.asarray(moved / max(1, 2 * height), dtype=np.float64)


@kernel
def _t_equal(rules: Rules, i: int, counts: Counts, size: int) -> bool:
    moved = 0.0
    for code in range(len(counts)):
        moved += abs(counts[code] / size - rules.overall[code])
    return bool(moved / 2 <= rules.a[i])


@kernel
def _t_ordered(rules: Rules, i: int, counts: Counts, size: int) -> bool:
    carried = 0.0
    moved = 0.0
    occurring = 0
    for code in rules.order:
        if rules.overall[code] > 0:
            if occurring > 0:
                moved += abs(carried)
            occurring += 1
        carried += counts[code] / size - rules.overall[code]
    return bool(moved <= rules.a[i] * max(1, occurring - 1))


@kernel
def _t_hierarchical(rules: Rules, i: int, counts: Counts, size: int) -> bool:
    # `leaves` lists the codes so that every node's codes are neighbours: a running sum a level, no buffer.
    height = rules.nodes.shape[1] - 1
    moved = 0.0
    for level in range(height):
        below = 0.0
        node = -1
        for code in rules.leaves:
            if rules.nodes[code, level] != node:
                moved += abs(below)
                below = 0.0
                node = rules.nodes[code, level]
            below += counts[code] / size - rules.overall[code]
        moved += abs(below)
    return bool(moved <= rules.a[i] * max(1, 2 * height))
