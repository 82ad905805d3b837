"""Methods of a lower room that an upper one answers: named as text, loaded when they are called.

A release can be asked for counts and shows itself in a notebook. What answers lies further along the walk and imports
releases itself; imports point one way, so the method names its function here instead of importing it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def answer_of(name: str) -> Callable[..., Any]:
    """The function that answers, such as `republish.queries:count`."""
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


def html_of(function: str) -> Callable[[Any], str]:
    """A method `_repr_html_` that a function of `republish.show.html` answers."""

    def shown(thing: Any) -> str:
        return str(answer_of(f"republish.show.html:{function}")(thing))

    return shown
