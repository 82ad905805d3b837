"""The pages of the site: which there are, which section each is in, and what it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def site_part(name: str) -> ModuleType:
    """A file of docs/site/, loaded without mkdocs."""
    return tool(f"site/{name}")


def tool(name: str) -> ModuleType:
    """A file of docs/ that makes a page."""
    spec = spec_from_file_location(name.replace("/", "_"), DOCS / f"{name}.py")
    assert spec and spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def configuration() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


def _entries(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    else:
        for one in part.values() if isinstance(part, dict) else part:
            yield from _entries(one)


def sections() -> dict[str, list[str]]:
    """The pages of every section, in the order of the site."""
    return {
        name: list(_entries(part)) for section in configuration()["nav"] for name, part in section.items()
    }


def words(page: Path) -> int:
    """How many words a reader reads: comments are not shown."""
    return len(re.sub(r"<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL).split())
