"""One system a file, each under its name in the literature.

A publisher is a small frozen dataclass with two pure methods: `publish(view, memory, rng)` returns a
`Grouping`, `remember(view, grouping, memory)` what to keep for the next release. `requirements` is what
every group of every release satisfies, `series_promises` what holds over all releases together. Publishers that
think as an adversary does also have `knowledge` and `reasoning`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import numpy as np

from republish.errors import PolicyError
from republish.grouping import Grouping
from republish.knowledge import Extracted, Knowledge
from republish.memory.memory import Memory
from republish.microdata import Microdata
from republish.publishers.banga import BangA
from republish.publishers.bayframe import BayFrame
from republish.publishers.cohorts import Cohorts
from republish.publishers.cor_split import CorSplit
from republish.publishers.js_reduce import JSReduce
from republish.publishers.m_invariance import MInvariance
from republish.publishers.mondrian import Mondrian
from republish.publishers.rplus_tree import RPlusTree
from republish.publishers.tau_safety import TauSafety
from republish.requirements import BTPrivacy, KAnonymity, Requirement

__all__ = [
    "PUBLISHERS",
    "BangA",
    "BayFrame",
    "Cohorts",
    "CorSplit",
    "JSReduce",
    "MInvariance",
    "Mondrian",
    "Publisher",
    "RPlusTree",
    "TauSafety",
    "make_publisher",
    "parameters_of",
]


class Publisher(Protocol):
    """What every publisher offers."""

    name: ClassVar[str]
    paper: ClassVar[str]
    summary: ClassVar[str]
    protects_series: ClassVar[bool]

    @property
    def require(self) -> tuple[Requirement, ...]:
        """What is asked of every group beside what the publisher is about."""
        ...

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """What every group satisfies."""
        ...

    @property
    def series_promises(self) -> tuple[str, ...]:
        """What holds over all releases together, as `verify` reads it; empty where each is protected alone."""
        ...

    def publish(self, view: Microdata, memory: Memory, rng: np.random.Generator) -> Grouping:
        """The groups of one view."""
        ...

    def remember(self, view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
        """The memory after that release."""
        ...


PUBLISHERS: dict[str, type[Any]] = {
    publisher.name: publisher
    for publisher in (
        Mondrian,
        BangA,
        RPlusTree,
        MInvariance,
        TauSafety,
        CorSplit,
        Cohorts,
        JSReduce,
        BayFrame,
    )
}
_NOT_TEXT = ("require", "knowledge")


def make_publisher(
    name: str,
    parameters: Mapping[str, Any],
    require: tuple[Requirement, ...] = (),
    knowledge: Knowledge | Extracted | None = None,
) -> Publisher:
    """The publisher of that name; parameters may be texts, as the command line gives them.

    `knowledge` is for publishers that think as an adversary does; without it they count it from the views.
    """
    if name not in PUBLISHERS:
        raise PolicyError(f"there is no publisher called {name}; there are {', '.join(sorted(PUBLISHERS))}")
    kind = PUBLISHERS[name]
    every = {field.name: field for field in dataclasses.fields(kind)}
    fields = {key: field for key, field in every.items() if key not in _NOT_TEXT}
    unknown = sorted(set(parameters) - set(fields))
    if unknown:
        raise PolicyError(f"{name} has no parameter {', '.join(unknown)}; it has {', '.join(fields)}")
    given = {key: _convert(name, fields[key], value) for key, value in parameters.items()}
    if knowledge is not None:
        if "knowledge" not in every:
            thinking = [n for n, k in sorted(PUBLISHERS.items()) if hasattr(k, "reasoning")]
            raise PolicyError(f"{name} makes no use of knowledge; {' and '.join(thinking)} do")
        given["knowledge"] = knowledge
    if "k" in fields and "k" not in given:
        # k is both a parameter and a requirement: `--require k=3` alone sets it, in place of the default.
        sizes = [requirement.k for requirement in require if isinstance(requirement, KAnonymity)]
        given.update([("k", size) for size in sizes])
        require = tuple(requirement for requirement in require if not isinstance(requirement, KAnonymity))
    made: Publisher = kind(**given, require=require)
    return made


def _convert(name: str, field: dataclasses.Field[Any], value: Any) -> Any:
    if not isinstance(value, str) or field.type == "str":
        return value
    if field.type == "bool":
        if value.lower() in ("true", "false"):
            return value.lower() == "true"
        raise PolicyError(f"{name}: {field.name} must be true or false")
    if field.type == "BTPrivacy | None":
        return BTPrivacy.of(value)
    try:
        if field.type == "int | str":
            return int(value) if value.lstrip("-").isdigit() else value
        return int(value) if field.type == "int" else float(value)
    except ValueError:
        raise PolicyError(f"{name}: {field.name} must be a number") from None


def parameters_of(publisher: Publisher) -> dict[str, Any]:
    """The parameters that `make_publisher` would need, requirements and what is not asked for aside."""
    fields = dataclasses.fields(publisher)  # type: ignore[arg-type]  # every publisher is a dataclass
    given = {field.name: getattr(publisher, field.name) for field in fields if field.name not in _NOT_TEXT}
    return {
        name: value.parameter if isinstance(value, BTPrivacy) else value
        for name, value in given.items()
        if value is not None
    }
