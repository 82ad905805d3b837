"""What a `knowledge.toml` says, checked before any table is read."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from republish.errors import PolicyError
from republish.knowledge.classes import Classes, classes_from_mapping
from republish.knowledge.words import GAPS, UNSEEN
from republish.knowledge.writer import FILE
from republish.schema import Column, Schema

VIEWS = "views"
ORDERS = (1, 2, 3)
_KEYS = {
    "sensitive",
    "order",
    "prior",
    "sequential",
    "terminal",
    "missing",
    "smoothing",
    "unseen",
    "gaps",
    "classes",
}


@dataclass(frozen=True)
class KnowledgeSettings:
    """What `knowledge.toml` says, checked."""

    file: str
    declared: Column
    prior: str
    sequential: str | None
    order: int
    terminal: tuple[str, ...]
    missing: str | None
    smoothing: float
    unseen: str
    gaps: str
    classes: Classes


def read_settings(path: Path, schema: Schema) -> KnowledgeSettings:
    """The settings in a `knowledge.toml`, checked against the schema."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PolicyError(f"there is no file {path}; knowledge is a folder with a {FILE} in it") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError):
        raise PolicyError(f"{path} is not valid TOML in UTF-8; correct it") from None
    unknown = sorted(set(document) - _KEYS)
    if unknown:
        raise PolicyError(
            f"{path.name} has no setting {', '.join(unknown)}; it may have {', '.join(sorted(_KEYS))}"
        )
    declared = schema.sensitive
    if declared is None or document.get("sensitive") != declared.name:
        raise PolicyError(
            f"{path.name}: sensitive must name the sensitive column of the schema"
            + (f", {declared.name}" if declared else ", and the schema has none; label one")
        )
    prior, sequential = document.get("prior"), document.get("sequential")
    if not isinstance(prior, str) or not (sequential is None or isinstance(sequential, str)):
        raise PolicyError(
            f'{path.name}: prior must be the name of a file or "{VIEWS}"; sequential likewise, or absent'
        )
    classes = document.get("classes", {})
    if not isinstance(classes, Mapping):
        raise PolicyError(f"{path.name}: classes are tables such as [classes.age]")
    found = classes_from_mapping(classes)
    found.require_fit(schema)
    missing = document.get("missing")
    if not (missing is None or (isinstance(missing, str) and missing)):
        raise PolicyError(f"{path.name}: missing is the text that stands for the missing sensitive value")
    return KnowledgeSettings(
        path.name,
        declared,
        prior,
        sequential,
        _order(document, path.name),
        _terminal_texts(document, path.name),
        missing,
        _smoothing(document, path.name),
        _word(document, path.name, "unseen", UNSEEN),
        _word(document, path.name, "gaps", GAPS),
        found,
    )


def _order(document: Mapping[str, Any], file: str) -> int:
    order = document.get("order", 0)
    if document.get("sequential") is None:
        if order:
            raise PolicyError(
                f"{file}: order is for sequential knowledge, and none is named; remove it, or name it"
            )
        return 0
    if type(order) is not int or order not in ORDERS:
        raise PolicyError(f"{file}: order, the number of last values a context has, must be 1, 2 or 3")
    return order


def _terminal_texts(document: Mapping[str, Any], file: str) -> tuple[str, ...]:
    terminal = document.get("terminal", [])
    if not isinstance(terminal, list) or not all(isinstance(one, str) for one in terminal):
        raise PolicyError(f"{file}: terminal is a list of sensitive values, as texts")
    return tuple(terminal)


def _word(document: Mapping[str, Any], file: str, name: str, known: tuple[str, ...]) -> str:
    """One of the known words, the first where none is given."""
    word = document.get(name, known[0])
    if word not in known:
        raise PolicyError(f"{file}: {name} must be one of {', '.join(known)}")
    return str(word)


def _smoothing(document: Mapping[str, Any], file: str) -> float:
    smoothing = document.get("smoothing", 0.0)
    if type(smoothing) not in (int, float) or not 0 <= smoothing < float("inf"):
        raise PolicyError(f"{file}: smoothing must be a number from 0")
    if smoothing and VIEWS not in (document.get("prior"), document.get("sequential")):
        raise PolicyError(f'{file}: smoothing is for what is counted from "{VIEWS}"; remove it')
    return float(smoothing)
