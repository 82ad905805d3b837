"""Options that belong together as dataclasses: declared once, used by several commands, handed on as one object."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import field, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

Folder = Annotated[Path, typer.Argument(help="Folder of the series.")]
T = TypeVar("T")


def option(default: T, says: str, *names: str, **more: Any) -> T:
    """A field of a dataclass as an option: what it is unless given, its help, and its names where they are others."""
    return field(default=default, metadata={"option": typer.Option(*names, help=says, **more)})


def gathered(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer reads it: a parameter that is a dataclass stands for the options that are its fields."""
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {
        name: one.annotation for name, one in signature.parameters.items() if is_dataclass(one.annotation)
    }
    options = [
        option
        for name, one in signature.parameters.items()
        for option in (
            _options(groups[name]) if name in groups else [one.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
        )
    ]

    @wraps(command)
    def called(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{one.name: given.pop(one.name) for one in fields(kind)})
        command(**given)

    called.__annotations__ = {option.name: option.annotation for option in options}
    vars(called)["__signature__"] = signature.replace(parameters=options)
    return called


def _options(kind: Any) -> list[inspect.Parameter]:
    hints, keyword = get_type_hints(kind), inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(
            one.name,
            keyword,
            default=one.default,
            annotation=Annotated[hints[one.name], one.metadata["option"]],
        )
        for one in fields(kind)
    ]
