"""Why claims do not hold on our data, or only in shape, and notes that are always shown; texts are in reasons.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

Texts = dict[tuple[str, str], str]


@cache
def reasons() -> Texts:
    """What there is to say where not all claims hold, by paper and figure; written of the full run with seed 7."""
    texts = _read()
    return _filled({paper: texts[paper] for paper in texts.keys() - {"shared", "notes"}}, texts["shared"])


@cache
def notes() -> Texts:
    """What there is to say of a figure whatever was found, by paper and figure."""
    texts = _read()
    return _filled(texts["notes"], texts["shared"])


def _read() -> dict[str, Any]:
    return tomllib.loads(files("republish.papers").joinpath("reasons.toml").read_text(encoding="utf-8"))


def _filled(texts: dict[str, dict[str, str]], shared: dict[str, str]) -> Texts:
    return {
        (paper, figure): " ".join(text.format(**shared).split())
        for paper, figures in texts.items()
        for figure, text in figures.items()
    }
