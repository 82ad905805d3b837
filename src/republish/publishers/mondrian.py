"""Mondrian: groups by repeated cuts at the median (LeFevre, DeWitt and Ramakrishnan, ICDE 2006).

A group is cut in the quasi-identifier that would be published most coarsely, at its median, as long as both
sides satisfy every requirement; where that fails the next quasi-identifier is tried. The extent of a group
in a quasi-identifier is its share of the domain: of the width for numbers, dates and ordered values, of the
leaves for categories (those below the lowest common ancestor where there is a hierarchy).

- Missing values are first cut from the rest; where that is not allowed they stand below all values. A group
  that holds missing and other values counts as the whole domain, for it is published as `*`.
- A hierarchy is cut between children of the lowest common ancestor, beside the child with the median.
- Strict: equal values stay together, so that the groups are disjoint boxes (up to the whole range of a
  missing value). A cut goes just above or just below the median, the more balanced one first.
- Relaxed: rows equal to the median may go to both sides, the first rows of the view to the lower one, so
  that the halves are balanced. Such a cut is tried first for numbers, dates, ordered values and flat
  categories, and the strict ones where it is not allowed. In a hierarchy the strict cuts come first and
  halves, in the order of the leaves, are the last resort; missing values are cut off first there too. Rows
  that agree in every quasi-identifier are halved as well. With nothing but k to satisfy, every group then
  holds k to 2k-1 rows.
- `bt` asks for (B,t)-privacy besides: a cut is made where both sides satisfy it too. It is not closed under
  union, so a group that fails may have satisfying parts, which are never reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from republish.arrays import IntArray
from republish.errors import CannotPublish, PolicyError
from republish.grouping import Grouping
from republish.knowledge import kernel_prior
from republish.microdata import Microdata
from republish.publishers._kernels.mondrian import Space, partition
from republish.publishers.contract import Partitioner
from republish.requirements import BTPrivacy, Requirement, Whole, compile_rules, satisfied
from republish.requirements.bt_privacy import NO_BELIEFS, Beliefs, beliefs_of, rows_within
from republish.spatial.extents import axis_arrays


@dataclass(frozen=True)
class Mondrian(Partitioner):
    """Groups of at least `k` rows that satisfy `require` and `bt`, small in every quasi-identifier."""

    strict: bool = True
    bt: BTPrivacy | None = None

    name: ClassVar[str] = "mondrian"
    paper: ClassVar[str] = (
        "K. LeFevre, D. J. DeWitt, R. Ramakrishnan: Mondrian multidimensional k-anonymity, ICDE 2006"
    )
    summary: ClassVar[str] = "Cuts the table at medians, again and again, into groups of similar rows."

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "bt", None if self.bt is None else BTPrivacy.of(self.bt))
        if not isinstance(self.strict, bool):
            raise PolicyError(f"strict must be true or false, found a {type(self.strict).__name__}")

    @property
    def undivided(self) -> str | None:
        """(B,t)-privacy keeps a release in one piece."""
        return None if self.bt is None else "(B,t)-privacy estimates what is known from all rows"

    def publish(self, view: Microdata, memory: object, rng: np.random.Generator) -> Grouping:
        """Return a partition of all rows; memory and chance play no part in it.

        Raises:
            CannotPublish: the whole view taken as one group does not satisfy the requirements.
        """
        beliefs = NO_BELIEFS if self.bt is None else foreseen(view, self.bt)
        space, asked = prepare(view), self.requirements
        return Grouping(group=divide(space, view.codes, view.whole, asked, self.strict, beliefs))


def prepare(view: Microdata) -> Space:
    """Return the quasi-identifiers of a view as the kernel reads them."""
    return Space(view.points, **axis_arrays(view.axes, view.widths))


def foreseen(view: Microdata, bt: BTPrivacy) -> Beliefs:
    """Return what an adversary who knows the spread of values in this view believes of everyone in it."""
    if view.schema.sensitive is None:
        raise PolicyError(f"{bt.text} needs a sensitive column; label one in the schema")
    tuples, place = np.unique(view.points, axis=1, return_inverse=True)
    return beliefs_of(bt, kernel_prior(view, tuples, bt.b), place.ravel(), view.whole)


def divide(
    space: Space,
    codes: IntArray,
    whole: Whole,
    requirements: tuple[Requirement, ...],
    strict: bool,
    beliefs: Beliefs = NO_BELIEFS,
) -> IntArray:
    """Return the group of each row, all of which satisfy the requirements; none for no rows."""
    rows = space.points.shape[1]
    if rows == 0:
        return np.empty(0, dtype=np.int32)
    rules = compile_rules(requirements, whole)
    counts = np.bincount(codes, minlength=whole.m).astype(np.int64)
    if not satisfied(rules, counts, rows):
        failing = [r.text for r in requirements if not satisfied(compile_rules((r,), whole), counts, rows)]
        raise CannotPublish(
            f"the whole view, taken as one group, must satisfy {', '.join(failing)}; its {rows} rows do not; "
            "lower the requirement or wait for more rows"
        )
    if beliefs.asked and not rows_within(beliefs, np.arange(rows, dtype=np.int32), codes.astype(np.int32)):
        raise CannotPublish(
            f"the whole view, taken as one group, must satisfy (B,t)-privacy; its {rows} rows do not; "
            "allow a larger t, or grant the adversary less by a larger B"
        )
    # The kernel works in place: on copies, which also have one type whether or not the view may be written.
    group: IntArray = partition(
        space._replace(points=space.points.copy()),
        rules,
        beliefs,
        np.zeros(rows, np.int32) if rules.plain and not beliefs.asked else codes.astype(np.int32),
        strict,
    )
    return group
