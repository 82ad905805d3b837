"""Larger groups that would pass the gate, found by publishing a draft of a new series with each; nothing of it is kept.

They come from the publisher's own parameters alone, so that what is offered tells no more than that a gate refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from time import process_time

from republish.errors import RepublishError
from republish.policy import Policy
from republish.publishers import Publisher, make_publisher, parameters_of
from republish.publishing.init_command import init_command
from republish.publishing.result import Published

_LARGER = ("size", "k", "m")
"""The parameter that says how large groups are: the first of these that a publisher has."""
_STEPS = (2, 4, 8)
_SECONDS = 30.0  # of processor time, after which no further draft is begun
_CASES = "theta"  # pairs of cells, which no message shows


def larger(publisher: Publisher, steps: tuple[int, ...] = _STEPS) -> Iterator[tuple[str, Publisher]]:
    """The publisher with larger groups, smallest first, and how its parameter is written."""
    parameters = parameters_of(publisher)
    name = next((one for one in _LARGER if one in parameters), None)
    if name is None or parameters.get(_CASES, "all") != "all":
        return
    for step in steps:
        value = parameters[name] * step
        try:
            made = make_publisher(
                publisher.name, {**parameters, name: value}, publisher.require, publisher.knowledge
            )
        except RepublishError:
            return
        yield f"{name}={value}", made


def larger_offered(
    policy: Policy, series: Path, releases: int, tried: Callable[[Publisher], Published]
) -> str:
    """A sentence on the smallest larger groups with which the view would pass; nothing where none of those tried does.

    Before the first release a few are tried, later one: then it means a new series, without what was published.
    """
    began = process_time()
    for said, publisher in larger(policy.publisher, _STEPS[:1] if releases else _STEPS):
        if process_time() - began > _SECONDS:
            break
        try:
            done = tried(publisher)
        except RepublishError:
            continue
        if done.gate is None or not done.gate.passed:
            continue
        begun = replace(policy, publisher=publisher)
        command = f"`{init_command(begun, Path(f'{series}-2'), series, series / 'knowledge')}`"
        if not releases:
            return f"Tried: with {said} the view would pass; nothing is published yet, so begin anew with {command}"
        return (
            f"Tried: as the first release of a new series with {said} the view would pass; {command} makes one. It "
            "does not count the releases of this one: adopt them there, or give them to nobody who gets the new ones"
        )
    return ""
