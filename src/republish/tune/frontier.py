"""Which of the points that were tried are worth a look, and which one meets a limit at the least loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

LIMITS = {"max_gain": "gain", "max_determined": "share determined"}
"""The limits that a search may have, and the risk that each is about, in words."""


@dataclass(frozen=True)
class Point:
    """A publisher with parameters, what it cost and what an adversary found; both `None` where it cannot publish.

    `penalty` is the mean certainty penalty of a row, a suppressed one counting 1. In two tables it is the same for all
    publishers, and the loss is `value_error`: the median error of counts that ask for the sensitive value too, the mean
    over all rows; `None` in one table. `suppressed` and `counterfeits` are shares of the rows, `undecided` is the share
    of people of whom the linear attack could not tell. `why` says why a point is not feasible. `spread` is the largest
    I of any release, by how many bits beliefs about everyone in a view diverge, where the publisher thinks of beliefs.
    """

    publisher: str
    parameters: dict[str, Any] = field(default_factory=dict)
    require: str = ""
    penalty: float | None = None
    risk: float | None = None
    feasible: bool = False
    suppressed: float = 0.0
    counterfeits: float = 0.0
    undecided: float = 0.0
    protects_series: bool = True
    why: str = ""
    value_error: float | None = None
    spread: float | None = None

    @property
    def loss(self) -> float | None:
        """What is lost: the error of counts with values, where it was measured, else the penalty."""
        return self.penalty if self.value_error is None else self.value_error

    @property
    def figures(self) -> tuple[float, float]:
        """Loss and risk of a feasible point."""
        assert self.loss is not None and self.risk is not None
        return self.loss, self.risk

    @property
    def settings(self) -> str:
        parts = [f"{name}={_plain(value)}" for name, value in self.parameters.items()]
        return " ".join([*parts, *([f"require {self.require}"] if self.require else [])])

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Point:
        return cls(**{name: document[name] for name in cls.__dataclass_fields__ if name in document})


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def frontier(points: Sequence[Point]) -> list[int]:
    """The feasible points that no other beats in loss and risk, by growing loss; of equal ones the first."""
    order = sorted(
        (i for i, point in enumerate(points) if point.feasible), key=lambda i: (*points[i].figures, i)
    )
    kept: list[int] = []
    for i in order:
        if not kept or points[i].figures[1] < points[kept[-1]].figures[1]:
            kept.append(i)
    return kept


def choose(points: Sequence[Point], limit: float) -> int | None:
    """The feasible point within the limit with the least loss; `None` where there is none."""
    within = [i for i in frontier(points) if points[i].figures[1] <= limit]
    return within[0] if within else None


def nearest(points: Sequence[Point]) -> int | None:
    """The feasible point with the least risk; `None` where nothing is feasible."""
    front = frontier(points)
    return front[-1] if front else None


@dataclass(frozen=True)
class Tuned:
    """What a search found: every point that was tried, once; the one chosen; and the limit."""

    limits: dict[str, float]
    points: tuple[Point, ...]
    made_at: str
    study: str
    trials: int
    adversary: dict[str, Any] = field(default_factory=dict)

    @property
    def limit(self) -> float:
        return next(iter(self.limits.values()))

    @property
    def measure(self) -> str:
        """What the loss is, in words."""
        two_tables = any(point.value_error is not None for point in self.points)
        return "error of counts with values" if two_tables else "certainty penalty"

    @property
    def frontier(self) -> list[int]:
        return frontier(self.points)

    @property
    def chosen(self) -> int | None:
        return choose(self.points, self.limit)

    @property
    def best(self) -> Point | None:
        return None if self.chosen is None else self.points[self.chosen]

    @property
    def nearest(self) -> Point | None:
        place = nearest(self.points)
        return None if place is None else self.points[place]

    @property
    def infeasible(self) -> dict[str, tuple[int, str]]:
        """Publishers that could not publish the views with some parameters: with how many, and why the first time."""
        found: dict[str, tuple[int, str]] = {}
        for point in self.points:
            if not point.feasible:
                count, why = found.get(point.publisher, (0, point.why))
                found[point.publisher] = count + 1, why
        return found

    def as_dict(self) -> dict[str, Any]:
        front = set(self.frontier)
        return {
            "made_at": self.made_at,
            "study": self.study,
            "trials": self.trials,
            "limits": self.limits,
            "adversary": self.adversary,
            "points": [point.as_dict() | {"frontier": i in front} for i, point in enumerate(self.points)],
            "chosen": self.chosen,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Tuned:
        return cls(
            dict(document["limits"]),
            tuple(Point.from_dict(point) for point in document["points"]),
            str(document["made_at"]),
            str(document.get("study", "")),
            int(document.get("trials", len(document["points"]))),
            dict(document.get("adversary", {})),
        )

    def _repr_html_(self) -> str:
        from republish.tune.picture import tuned_html

        return tuned_html(self)
