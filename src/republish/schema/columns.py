"""The kinds of columns whose values matter, and how those values compare: number, ordered, category, date."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from republish.errors import SchemaError
from republish.hierarchies import ROOT, Hierarchy, Rule, read_hierarchy

KINDS = ("number", "ordered", "category", "date")
DISTANCES = ("equal", "ordered", "hierarchical")
PUBLISH = "publish"  # what `direct` says

HierarchySource = Hierarchy | Rule | str | Path | None


@dataclass(frozen=True)
class Column:
    """One column whose values matter: a quasi-identifier or the sensitive one.

    `direct="publish"` says that its values may be published although they look as if they named people. `weight` is
    how much a quasi-identifier counts in the certainty penalty beside the others.
    """

    name: str
    kind: ClassVar[str] = ""

    hierarchy: Hierarchy | Rule | None = None
    distance: str | None = None
    direct: str | None = field(default=None, kw_only=True)
    weight: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        """Read the hierarchy where a path is given; refuse an unknown distance."""
        given: HierarchySource = self.hierarchy
        if isinstance(given, str | Path):
            object.__setattr__(self, "hierarchy", read_hierarchy(Path(given)))
        kinds = getattr(self.hierarchy, "kinds", KINDS)
        if self.kind and self.kind not in kinds:
            rule = type(self.hierarchy).__name__
            raise SchemaError(f"column {self.name}: {rule} is for kind {', '.join(kinds)}; found {self.kind}")
        if self.direct not in (None, PUBLISH):
            raise SchemaError(f'column {self.name}: direct may be "{PUBLISH}" only, or left out')
        weight: object = self.weight
        if type(weight) not in (int, float) or not 0 < self.weight < math.inf:
            raise SchemaError(f"column {self.name}: weight is a number above 0; leave it out for 1")
        object.__setattr__(self, "weight", float(self.weight))
        if self.distance is not None and self.distance not in DISTANCES:
            raise SchemaError(f"column {self.name}: distance must be one of {', '.join(DISTANCES)}")
        if self.distance == "ordered" and self.kind == "category":
            raise SchemaError(f"column {self.name}: an ordered distance needs kind ordered, number or date")
        if self.distance == "hierarchical" and self.hierarchy is None:
            raise SchemaError(f"column {self.name}: a hierarchical distance needs a hierarchy")

    @property
    def closed(self) -> tuple[str, ...] | None:
        """The only values that may occur, where the schema lists them."""
        return None

    def _refuse_unknown_leaves(self) -> None:
        if isinstance(self.hierarchy, Hierarchy) and self.closed is not None:
            unknown = len(set(self.closed) - set(self.hierarchy.leaves))
            if unknown:
                raise SchemaError(
                    f"column {self.name}: {unknown} values of its list are not in its hierarchy; add them"
                )


@dataclass(frozen=True)
class Number(Column):
    """Whole or decimal numbers; `domain=(low, high)` fixes the width that losses are measured by."""

    kind: ClassVar[str] = "number"
    domain: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.domain is not None:
            if len(self.domain) != 2 or not -math.inf < self.domain[0] <= self.domain[1] < math.inf:
                raise SchemaError(
                    f"column {self.name}: the domain of a number is [low, high] with low <= high"
                )
            object.__setattr__(self, "domain", (float(self.domain[0]), float(self.domain[1])))


@dataclass(frozen=True)
class Ordered(Column):
    """Named values with an order, lowest first: `Ordered("degree", order=("school", "college"))`."""

    kind: ClassVar[str] = "ordered"
    order: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "order", tuple(self.order))
        if not self.order or len(set(self.order)) < len(self.order):
            raise SchemaError(
                f"column {self.name}: an ordered column needs `order`, its values lowest first, each once"
            )
        if ROOT in self.order:
            raise SchemaError(
                f"column {self.name}: {ROOT} stands for any value in a release; rename that value"
            )
        self._refuse_unknown_leaves()

    @property
    def closed(self) -> tuple[str, ...]:
        return self.order


@dataclass(frozen=True)
class Category(Column):
    """Named values without an order; `domain` closes the list of values that may occur."""

    kind: ClassVar[str] = "category"
    domain: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.domain is not None:
            object.__setattr__(self, "domain", tuple(self.domain))
            if len(set(self.domain)) < len(self.domain):
                raise SchemaError(f"column {self.name}: a domain names each value once")
        self._refuse_unknown_leaves()

    @property
    def closed(self) -> tuple[str, ...] | None:
        return self.domain


@dataclass(frozen=True)
class Date(Column):
    """Calendar days, written YYYY-MM-DD."""

    kind: ClassVar[str] = "date"
