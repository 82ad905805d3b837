"""Why claims do not hold on our data, or only in shape; the texts are in reasons.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files


@cache
def reasons() -> dict[tuple[str, str], str]:
    """What there is to say, by paper and figure."""
    texts = tomllib.loads(files("republish.papers").joinpath("reasons.toml").read_text(encoding="utf-8"))
    shared = texts.pop("shared")
    return {
        (paper, figure): " ".join(text.format(**shared).split())
        for paper, figures in texts.items()
        for figure, text in figures.items()
    }
