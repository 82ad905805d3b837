"""One system a file, each under its name in the literature.

What a publisher must offer is in `contract`. A new one is a file here and a line in `PUBLISHERS`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from republish.errors import PolicyError
from republish.knowledge import Extracted, Knowledge
from republish.publishers.banga import BangA
from republish.publishers.bayframe import BayFrame
from republish.publishers.cohorts import Cohorts
from republish.publishers.contract import Publisher, parameters_of, stored_parameters
from republish.publishers.cor_split import CorSplit
from republish.publishers.js_reduce import JSReduce
from republish.publishers.m_invariance import MInvariance
from republish.publishers.mondrian import Mondrian
from republish.publishers.penalty_tree import PenaltyTree
from republish.publishers.rplus_tree import RPlusTree
from republish.publishers.tau_safety import TauSafety
from republish.publishers.value_blind import ValueBlind
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
    "PenaltyTree",
    "Publisher",
    "RPlusTree",
    "TauSafety",
    "ValueBlind",
    "knowing_publishers",
    "make_publisher",
    "new_series_parameters",
    "parameters_of",
    "said_parameters",
    "stored_parameters",
    "two_table_parameters",
]


PUBLISHERS: dict[str, type[Publisher]] = {
    publisher.name: publisher
    for publisher in (
        Mondrian,
        PenaltyTree,
        BangA,
        RPlusTree,
        MInvariance,
        TauSafety,
        CorSplit,
        Cohorts,
        ValueBlind,
        JSReduce,
        BayFrame,
    )
}


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
    fields = kind.parameters()
    unknown = sorted(set(parameters) - set(fields))
    if unknown:
        raise PolicyError(f"{name} has no parameter {', '.join(unknown)}; it has {', '.join(fields)}")
    given: dict[str, Any] = {key: _convert(name, fields[key], value) for key, value in parameters.items()}
    if knowledge is not None:
        if not kind.uses_knowledge:
            raise PolicyError(f"{name} makes no use of knowledge; {knowing_publishers()} do")
        given["knowledge"] = knowledge
    if "k" in fields and "k" not in given:
        # k is both a parameter and a requirement: `--require k=3` alone sets it, in place of the default.
        sizes = [requirement.k for requirement in require if isinstance(requirement, KAnonymity)]
        given.update([("k", size) for size in sizes])
        require = tuple(requirement for requirement in require if not isinstance(requirement, KAnonymity))
    return kind(**given | {"require": require})


def publisher_of(given: Any) -> Publisher:
    """The publisher itself, or the one of this name with its usual parameters."""
    if isinstance(given, Publisher):
        return given
    if isinstance(given, str):
        return make_publisher(given, {})
    raise PolicyError(
        f"a publisher is needed: its name, or a publisher such as TauSafety(m=4); not a {type(given).__name__}"
    )


def said_parameters(name: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a publisher as a stored policy has them, with what it means without a word."""
    return {**(PUBLISHERS[name].unsaid if name in PUBLISHERS else {}), **stored}


def two_table_parameters(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a publisher of that name in two tables: those given, and what serves two tables better."""
    usual = PUBLISHERS[name].two_table_defaults if name in PUBLISHERS else {}
    return {**usual, **parameters}


def new_series_parameters(
    name: str, parameters: Mapping[str, Any], *, two_tables: bool, open_list: bool
) -> dict[str, Any]:
    """The parameters of a publisher in a new series: those given, and what serves its form and its values better.

    `open_list` says that new sensitive values may appear, because the schema does not list them.
    """
    given = two_table_parameters(name, parameters) if two_tables else dict(parameters)
    if not open_list or name not in PUBLISHERS:
        return given
    kind = PUBLISHERS[name]
    fields = kind.parameters()
    usual = {key: given.get(like, fields[like].default) for key, like in kind.open_list_defaults.items()}
    return {**usual, **given}


def knowing_publishers() -> str:
    """Which publishers make use of knowledge, in words."""
    return " and ".join(name for name, kind in sorted(PUBLISHERS.items()) if kind.uses_knowledge)


def _convert(name: str, field: dataclasses.Field[Any], value: Any) -> Any:
    if not isinstance(value, str) or field.type == "str":
        return value
    if field.type in ("bool", "bool | None"):
        if value.lower() in ("true", "false"):
            return value.lower() == "true"
        raise PolicyError(f"{name}: {field.name} must be true or false")
    if field.type == "BTPrivacy | None":
        return BTPrivacy.of(value)
    try:
        if field.type == "int | str":
            return int(value) if value.lstrip("-").isdigit() else value
        return int(value) if field.type in ("int", "int | None") else float(value)
    except ValueError:
        raise PolicyError(f"{name}: {field.name} must be a number") from None
