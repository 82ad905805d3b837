"""What may be tried: every publisher with the parameters that trade risk against usefulness, and their ranges.

Parameters that are left out here keep their defaults. Nothing is drawn that promises smaller groups than the policy
that the search starts from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, Protocol

from republish.errors import PolicyError
from republish.knowledge import Extracted, Knowledge
from republish.policy import Policy
from republish.publishers import (
    PUBLISHERS,
    Publisher,
    make_publisher,
    parameters_of,
    two_table_parameters,
)
from republish.requirements import (
    KAnonymity,
    ProbabilisticLDiversity,
    Requirement,
    parse_requirements,
    requirements_text,
)

_LARGEST_K = 120
_LARGEST_M = 12
_BATCH = 20, 600


class Trial(Protocol):
    """What draws a number; optuna's trials do."""

    def suggest_int(self, name: str, low: int, high: int, *, log: bool = False) -> int: ...
    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float: ...
    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any: ...


@dataclass(frozen=True)
class Extent:
    """What bounds the ranges: the least group size, the values of the sensitive column, who is compromised.

    `least_m` is the least number of different values in a group, `rows` are those of the smallest view.
    """

    least_k: int
    least_m: int
    values: int
    rows: int
    compromised: float

    @property
    def most_k(self) -> int:
        """The largest group size that may be asked for: two groups should be left of the smallest view."""
        return max(self.least_k, min(_LARGEST_K, self.rows // 2))

    @property
    def most_m(self) -> int:
        """The most different values that a group may be asked for."""
        return max(self.least_m, min(_LARGEST_M, self.values))


@dataclass(frozen=True)
class Candidate:
    """A publisher with parameters, and requirements beside those of the policy that the search starts from."""

    publisher: str
    parameters: dict[str, Any] = field(default_factory=dict)
    require: str = ""

    def made(self, start: Policy, knowledge: Knowledge | Extracted | None) -> Publisher:
        """The publisher; PolicyError where it cannot promise what is asked."""
        asked = (*start.publisher.require, *parse_requirements(self.require))
        known = knowledge if PUBLISHERS[self.publisher].uses_knowledge else None
        return make_publisher(self.publisher, self.parameters, _strictest(asked), known)

    @property
    def plain(self) -> Candidate:
        """The same with all parameters that are searched, and no others that have their defaults."""
        usual, searched = parameters_of(make_publisher(self.publisher, {})), _SEARCHED.get(self.publisher, ())
        shown = {name: usual[name] for name in searched} | self.parameters
        kept = {name: value for name, value in shown.items() if name in searched or value != usual.get(name)}
        return replace(self, parameters=kept)


def _strictest(asked: Sequence[Requirement]) -> tuple[Requirement, ...]:
    """The requirements, where one of a kind is asked for twice the one that was drawn last."""
    return tuple({type(requirement): requirement for requirement in asked}.values())


def extent_of(start: Policy, values: int, rows: int, compromised: float) -> Extent:
    """The ranges that a policy leaves open, with so many sensitive values and rows in the views."""
    sizes = [requirement.k for requirement in start.requirements if isinstance(requirement, KAnonymity)]
    least = max(sizes, default=2)
    shares = [r.l for r in start.requirements if isinstance(r, ProbabilisticLDiversity)]
    different = (
        [ceil(share) for share in shares] if start.form is not None else []
    )  # whole buckets promise shares
    return Extent(max(2, least), max(2, least, *different), values, rows, compromised)


def suitable(names: Sequence[str] | None, two_tables: bool = False) -> tuple[str, ...]:
    """The publishers to try: those named, or all that protect a series in that form.

    Raises:
        PolicyError: there is no such publisher, or one is named twice or none at all.
    """
    if names is None:
        return tuple(
            name
            for name, kind in PUBLISHERS.items()
            if kind.protects_series and (two_tables or not kind.keeps_counts)
        )
    chosen = [name.strip() for name in names]
    wrong = [name for name in chosen if name not in PUBLISHERS]
    if wrong or not chosen:
        raise PolicyError(
            f"publishers to try must be among {', '.join(PUBLISHERS)}; {len(wrong)} of {len(chosen)} named are not"
        )
    if len(set(chosen)) < len(chosen):
        raise PolicyError("a publisher to try is named twice; name each once")
    return tuple(chosen)


def references(publishers: Sequence[str], start: Policy, extent: Extent, named: bool) -> list[Candidate]:
    """What is tried first: the policy that the search starts from, and the defaults of every publisher."""
    begun = start.publisher
    first = [] if named and begun.name not in publishers else [Candidate(begun.name, parameters_of(begun))]
    for name in publishers:
        usual = parameters_of(make_publisher(name, {}))
        given = {"k": max(usual["k"], extent.least_k)} if "k" in usual else {}
        if "m" in usual and "k" not in usual:
            given["m"] = min(max(usual["m"], extent.least_m), extent.most_m)
        if name == "cor-split":
            given["n"] = min(usual["n"], given["m"])
        if name in _BOUNDED:
            given |= _cohort_bounds(extent)
        first.append(Candidate(name, given if start.form is None else two_table_parameters(name, given)))
    return first


def draw(
    trial: Trial, publishers: Sequence[str], extent: Extent, require: tuple[Requirement, ...]
) -> Candidate:
    """A publisher and its parameters; `require` is what is asked of every group anyway."""
    name = trial.suggest_categorical("publisher", list(publishers))
    space = _SPACES.get(name)  # of a publisher without ranges only the defaults are tried
    found = space(_Drawn(trial, name, extent)) if space else {}
    if "require" in found:
        asked = found.pop("require")
        stays = any(type(one) in map(type, parse_requirements(asked)) for one in require)
        return Candidate(name, found, "" if stays else requirements_text(parse_requirements(asked)))
    return Candidate(name, found)


@dataclass(frozen=True)
class _Drawn:
    """Numbers of one publisher, under names of their own."""

    trial: Trial
    publisher: str
    extent: Extent

    def k(self) -> int:
        return self.whole("k", self.extent.least_k, self.extent.most_k, log=True)

    def m(self) -> int:
        return self.whole("m", self.extent.least_m, self.extent.most_m)

    def whole(self, name: str, low: int, high: int, log: bool = False) -> int:
        return self.trial.suggest_int(f"{self.publisher}.{name}", low, high, log=log)

    def real(self, name: str, low: float, high: float, log: bool = False) -> float:
        found = self.trial.suggest_float(f"{self.publisher}.{name}", low, high, log=log)
        return float(f"{found:.3g}")  # what a person would write down

    def one_of(self, name: str, *choices: Any) -> Any:
        return self.trial.suggest_categorical(f"{self.publisher}.{name}", list(choices))


def _one_table(drawn: _Drawn) -> dict[str, Any]:
    close = drawn.real("t", 0.05, 1.0) if drawn.extent.values else 1.0
    return {"k": drawn.k()} | ({"require": f"t={close:g}"} if close < 1 else {})


def _cor_split(drawn: _Drawn) -> dict[str, Any]:
    m = drawn.m()
    return {"m": m, "n": min(m, drawn.whole("n", 1, _LARGEST_M)), "pad": drawn.one_of("pad", False, True)}


def _cohorts(drawn: _Drawn) -> dict[str, Any]:
    m = drawn.m()
    values = m + drawn.whole("more_values", 0, _LARGEST_M)
    return {
        "m": m,
        "size": values * drawn.whole("rows_a_value", 1, 16, log=True),
        "values": values,
        "together": drawn.whole("together", 1, 4),
        "max_determined": drawn.real("max_determined", 0.001, 0.1, log=True),
    } | _cohort_bounds(drawn.extent)


def _cohort_bounds(extent: Extent) -> dict[str, Any]:
    """Cohorts are told whom the adversary knows; they must be told of somebody."""
    return {"compromised": extent.compromised} if 0 < extent.compromised < 1 else {}


def _value_blind(drawn: _Drawn) -> dict[str, Any]:
    least, most = _BATCH
    return {
        "batches": drawn.one_of("batches", "open", "closed"),
        "size": drawn.whole("size", least, min(max(least, drawn.extent.rows // 2), most), log=True),
        "n": drawn.whole("n", 3, least // 2),
        "m": drawn.m(),
    } | _cohort_bounds(drawn.extent)


def _crowds(drawn: _Drawn) -> dict[str, Any]:
    return {
        "k": drawn.k(),
        "j": drawn.real("j", 0.2, 1.0),
        "crowd": drawn.real("crowd", 2.0, 120.0, log=True),
        "keep": drawn.real("keep", 0.0, 4.0),
    }


_SPACES: dict[str, Callable[[_Drawn], dict[str, Any]]] = {
    "mondrian": lambda drawn: _one_table(drawn) | {"strict": drawn.one_of("strict", True, False)},
    "penalty-tree": _one_table,
    "banga": _one_table,
    "rplus-tree": _one_table,
    "m-invariance": lambda drawn: {"m": drawn.m()},
    "tau-safety": lambda drawn: {
        "m": drawn.m(),
        "signatures": drawn.one_of("signatures", "any", "equal-or-disjoint"),
    },
    "cor-split": _cor_split,
    "cohorts": _cohorts,
    "value-blind": _value_blind,
    "js-reduce": lambda drawn: _crowds(drawn) | {"t": drawn.real("t", 0.2, 1.0)},
    "bayframe": lambda drawn: _crowds(drawn) | {"beta": drawn.real("beta", 0.5, 20.0, log=True)},
}


_BOUNDED = ("cohorts", "value-blind")
"""Publishers that bound what somebody finds out who knows a share of the people."""
_CROWDS = ("k", "j", "crowd", "keep")
_SEARCHED: dict[str, tuple[str, ...]] = {
    "mondrian": ("k", "strict"),
    "penalty-tree": ("k",),
    "banga": ("k",),
    "rplus-tree": ("k",),
    "m-invariance": ("m",),
    "tau-safety": ("m", "signatures"),
    "cor-split": ("m", "n", "pad"),
    "cohorts": ("m", "size", "values", "together", "max_determined", "compromised"),
    "value-blind": ("batches", "size", "n", "m", "compromised"),
    "js-reduce": (*_CROWDS, "t"),
    "bayframe": (*_CROWDS, "beta"),
}


def policy_of(candidate: Candidate, start: Policy, knowledge: Knowledge | Extracted | None) -> Policy:
    """The policy of the start with another publisher; the catalogue is a file of its own."""
    made = candidate.made(start, knowledge)
    return replace(start, publisher=made, one_table=start.one_table or not made.series_promises, ledger=None)
