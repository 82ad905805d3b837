"""Every attack by its name, where it lives and what it needs; an attack is loaded when it is made."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from republish.errors import PolicyError
from republish.publishers.contract import GATHERED, HALVED

EXCLUDES, BELIEVES, MATCHES, REPLAYS = "excludes", "believes", "matches", "replays"
"""Excludes values from groups; weighs them by knowledge; looks for the groups that fit; runs the publisher again."""
RETRACES = "retraces"
"""Weighs values by how the publisher is known to put people together."""
IDENTIFIES = "identifies"
"""Seeks no value first: which row is whose, and who is there at all."""
SWAPS = "swaps"
"""Exchanges the values of two people and publishes again."""


class Kind(NamedTuple):
    """The module of an attack, how it goes about it, and whether it makes use of compromised people.

    The function is called as the attack is. One that `gives_up` seeks a second value for everyone and counts those of
    whom it found neither that nor a proof. One that retraces does so where people are put together by the rule
    `retraced`.
    """

    module: str
    way: str
    uses_known: bool = True
    gives_up: bool = False
    retraced: str = ""


KINDS = {
    "intersection": Kind("excluding.intersection", EXCLUDES, uses_known=False),
    "tau": Kind("excluding.tau", EXCLUDES, uses_known=False),
    "compromised": Kind("excluding.compromised", EXCLUDES),
    "historical": Kind("excluding.historical", EXCLUDES),
    "differencing": Kind("excluding.differencing", EXCLUDES),
    "linear": Kind("linear", EXCLUDES, gives_up=True),
    "beliefs": Kind("believing.beliefs", BELIEVES),
    "joint": Kind("believing.joint", BELIEVES),
    "gathering": Kind("retracing.gathering", RETRACES, retraced=GATHERED),
    "halving": Kind("retracing.halving", RETRACES, retraced=HALVED),
    "matched": Kind("matching.qi_matching", MATCHES),
    "linkage": Kind("matching.linkage", IDENTIFIES, uses_known=False),
    "presence": Kind("matching.presence", IDENTIFIES, uses_known=False),
    "bcf": Kind("growing.bcf", IDENTIFIES, uses_known=False),
    "tracing": Kind("growing.tracing", IDENTIFIES, uses_known=False),
    "minimality": Kind("replaying.input_enumeration", REPLAYS),
    "suppression": Kind("replaying.input_enumeration", REPLAYS),
    "swap": Kind("replaying.swap", SWAPS, uses_known=False),
}
"""Every attack, from what it needs least to know to what it needs most."""


def names(*ways: str) -> list[str]:
    """The names of all attacks that go about it in one of these ways."""
    return [name for name, kind in KINDS.items() if kind.way in ways]


def kind_of(name: str) -> Kind:
    """The attack of this name."""
    if name not in KINDS:
        raise PolicyError(f"there is no attack called {name}; there are {', '.join(KINDS)}")
    return KINDS[name]


def function(name: str) -> Callable[..., Any]:
    """The attack itself."""
    found: Callable[..., Any] = getattr(import_module(f"republish.attacks.{kind_of(name).module}"), name)
    return found
