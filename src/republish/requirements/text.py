"""Requirements as people write them: `k=5,l=3,t-ordered=0.4`, or a table of the same names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from republish.errors import PolicyError
from republish.requirements.base import Requirement
from republish.requirements.beta_likeness import BetaLikeness
from republish.requirements.delta_disclosure import DeltaDisclosure
from republish.requirements.k_anonymity import AlphaKAnonymity, KAnonymity
from republish.requirements.l_diversity import (
    EntropyLDiversity,
    LDiversity,
    ProbabilisticLDiversity,
    RecursiveDiversity,
)
from republish.requirements.m_uniqueness import MUniqueness, WeakMUniqueness
from republish.requirements.t_closeness import TCloseness

_Number = int | float

_ONE: dict[str, Callable[..., Requirement]] = {
    "k": KAnonymity,
    "l": LDiversity,
    "probabilistic-l": ProbabilisticLDiversity,
    "entropy-l": EntropyLDiversity,
    "t": TCloseness,
    "t-ordered": lambda t: TCloseness(t, "ordered"),
    "t-hierarchical": lambda t: TCloseness(t, "hierarchical"),
    "beta": BetaLikeness,
    "beta-enhanced": lambda beta: BetaLikeness(beta, enhanced=True),
    "delta": DeltaDisclosure,
    "m-unique": MUniqueness,
    "weak-m-unique": WeakMUniqueness,
}
_TWO: dict[str, tuple[str, Callable[..., Requirement]]] = {
    "recursive": ("c/l", RecursiveDiversity),
    "alpha-k": ("alpha/k", AlphaKAnonymity),
}
KNOWN = (*_ONE, *_TWO)
"""Every name that a requirement can be written under."""

_WHOLE = re.compile(r"[+-]?\d{1,19}")
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")


def parse_requirements(written: str | Mapping[str, object]) -> tuple[Requirement, ...]:
    """Return the requirements in the order written; raise PolicyError for whatever is not one.

    Args:
        written: text such as `k=5,recursive=2/3`, or a mapping such as `{"k": 5, "recursive": "2/3"}`.
    """
    pairs = _split(written) if isinstance(written, str) else list(written.items())
    _refuse_repeats(name for name, _ in pairs)
    return tuple(_requirement(name, value) for name, value in pairs)


def requirements_text(requirements: Iterable[Requirement]) -> str:
    """Return the text that `parse_requirements` reads back; raise PolicyError where a name occurs twice."""
    texts = [requirement.text for requirement in requirements]
    _refuse_repeats(text.partition("=")[0] for text in texts)
    return ",".join(texts)


def _split(written: str) -> list[tuple[str, object]]:
    if not written.strip():
        return []
    pairs: list[tuple[str, object]] = []
    for item in written.split(","):
        name, equals, value = item.partition("=")
        if not equals:
            raise PolicyError(
                f"a requirement must be written name=value, found {item.strip()!r}; "
                "separate several with commas, as in k=5,l=3"
            )
        pairs.append((name.strip(), value))
    return pairs


def _refuse_repeats(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise PolicyError(f"each requirement must be given once, found {name} twice; keep the stricter")
        seen.add(name)


def _requirement(name: str, value: object) -> Requirement:
    if name in _ONE:
        return _ONE[name](_number(name, value))
    if name in _TWO:
        form, build = _TWO[name]
        halves = value.split("/") if isinstance(value, str) else []
        if len(halves) != 2:
            raise PolicyError(f"{name} must be two numbers written {form}, found {value!r}")
        return build(*(_number(name, half) for half in halves))
    raise PolicyError(f"unknown requirement {name!r}; known are: {', '.join(KNOWN)}")


def _number(name: str, value: object) -> _Number:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    written = value.strip() if isinstance(value, str) else ""
    if _WHOLE.fullmatch(written):
        return int(written)
    if _DECIMAL.fullmatch(written):
        return float(written)
    raise PolicyError(f"{name} must be given a number, found {value!r}")
