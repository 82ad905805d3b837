"""Arrows point one way: which room may import which, checked on the source itself."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "republish"
MODULES = sorted(SOURCE.rglob("*.py"))

FORBIDDEN = {
    "schema": {
        "microdata",
        "grouping",
        "publishers",
        "release",
        "ledger",
        "series",
        "verify",
        "cli",
        "metrics",
    },
    "hierarchies": {
        "schema",
        "microdata",
        "publishers",
        "release",
        "ledger",
        "series",
        "verify",
        "cli",
        "metrics",
    },
    "kinds": {"microdata", "publishers", "release", "ledger", "series", "verify", "cli", "metrics"},
    "microdata": {"publishers", "release", "ledger", "series", "verify", "cli", "metrics", "memory"},
    "grouping": {"schema", "microdata", "publishers", "release", "ledger", "series", "verify", "cli"},
    "requirements": {
        "schema",
        "microdata",
        "publishers",
        "release",
        "ledger",
        "series",
        "verify",
        "cli",
        "metrics",
    },
    "memory": {"publishers", "release", "ledger", "series", "verify", "cli", "metrics"},
    "publishers": {"release", "ledger", "series", "verify", "cli", "metrics"},
    "release": {"publishers", "ledger", "series", "verify", "cli", "metrics", "memory"},
    "verify_series": {"publishers", "series", "cli", "metrics", "policy"},
    "verify_promises": {"publishers", "series", "cli", "metrics", "policy", "hc_safety"},
    "verify_memory": {"publishers", "series", "cli", "metrics", "policy"},
    "verify": {"publishers", "series", "cli", "metrics", "policy"},
    "ledger": {"publishers", "series", "verify", "cli", "metrics", "microdata", "schema", "policy"},
    "spatial": {"publishers", "release", "ledger", "series", "verify", "cli", "metrics", "memory", "policy"},
    "queries": {"publishers", "ledger", "series", "verify", "cli", "memory", "policy"},
    "metrics": {"publishers", "ledger", "series", "cli", "memory", "policy"},
    "datasets": {"publishers", "ledger", "series", "verify", "cli", "metrics", "memory"},
    "events": {"publishers", "ledger", "series", "verify", "cli", "metrics", "memory"},
    "attacks": {"publishers", "ledger", "cli", "memory", "policy"},
    "gate": {"publishers", "ledger", "series", "verify", "cli", "metrics", "memory", "policy"},
    "verdict": {"publishers", "series", "verify", "cli", "metrics", "memory", "policy"},
    "gatekeeper": {"publishers", "ledger", "cli", "metrics"},
    "hc_safety": {"publishers", "ledger", "series", "verify", "cli", "metrics", "memory", "schema"},
    "about": {"ledger", "series", "verify", "cli", "metrics", "memory", "secret"},
    "frozen": {"series", "verify", "cli", "metrics", "memory", "secret"},
    "creation": {"series", "verify", "cli", "metrics", "memory"},
    "knowledge": {
        "inference",
        "memory",
        "publishers",
        "release",
        "ledger",
        "series",
        "verify",
        "cli",
        "metrics",
        "policy",
    },
    "inference": {
        "publishers",
        "release",
        "ledger",
        "series",
        "verify",
        "cli",
        "metrics",
        "policy",
        "schema",
    },
    "orders": {
        "publishers",
        "requirements",
        "release",
        "ledger",
        "series",
        "verify",
        "cli",
        "metrics",
        "memory",
    },
    "databases": {
        "publishers",
        "ledger",
        "verify",
        "cli",
        "metrics",
        "memory",
        "policy",
        "attacks",
        "web",
        "tune",
        "report",
    },
    "compromised": {"publishers", "release", "ledger", "series", "verify", "cli", "metrics"},
    "verify_beliefs": {"publishers", "series", "cli", "metrics", "policy", "compromised"},
    "series": {"cli", "plots", "attacks", "report", "web", "tune", "papers"},
    "engines": {"cli", "plots", "report", "web", "tune", "papers", "gatekeeper", "upkeep"},
    "places": {"publishers", "release", "ledger", "series", "verify", "cli", "metrics", "memory", "policy"},
    "stores": {"publishers", "release", "ledger", "series", "verify", "cli", "metrics", "memory", "policy"},
    "upkeep": {"cli", "plots", "report", "web", "tune", "papers"},
    "assessments": {"cli", "report", "web", "tune", "papers"},
    "report": {"cli", "web", "tune", "papers"},
    "tune": {"cli", "web", "report", "papers"},
    "web": {"cli", "papers"},
    "papers": {"cli", "web", "report", "tune", "ledger"},
}


def imports(path: Path) -> set[str]:
    """The rooms of this package that a module imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = (
                [node.module] if node.module != "republish" else [f"republish.{a.name}" for a in node.names]
            )
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("republish.")}
    return found


def external(path: Path) -> set[str]:
    """The top-level packages that a module imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
    return found


@pytest.mark.parametrize("room", FORBIDDEN)
def test_a_room_imports_only_what_lies_before_it(room: str) -> None:
    files = (
        [SOURCE / f"{room}.py"] if (SOURCE / f"{room}.py").exists() else sorted((SOURCE / room).rglob("*.py"))
    )
    assert files
    for file in files:
        assert not imports(file) & FORBIDDEN[room], file.name


@pytest.mark.parametrize(
    "package, homes",
    [
        ("matplotlib", {"plots.py"}),
        ("sqlalchemy", {"ledger", "databases"}),
        ("psycopg", {"databases"}),
        ("pyspark", {"engines", "engines.py"}),
        ("fsspec", {"places.py", "stores.py"}),
        ("upath", {"places.py", "stores.py"}),
        ("typer", {"cli"}),
        ("jinja2", {"report", "web"}),
        ("fastapi", {"web"}),
        ("uvicorn", {"web"}),
        ("optuna", {"tune"}),
    ],
)
def test_a_heavy_library_is_imported_in_its_own_place_only(package: str, homes: set[str]) -> None:
    for module in MODULES:
        if package in external(module):
            assert homes & set(module.relative_to(SOURCE).parts), module.name


def test_pandas_and_arrow_are_never_needed_but_by_spark() -> None:
    for module in MODULES:
        needed = external(module) & {"pandas", "pyarrow"}
        assert not needed or (needed == {"pyarrow"} and module == SOURCE / "engines" / "spark.py")


def test_no_module_loops_over_rows() -> None:
    for module in MODULES:
        assert not re.search(r"iter_rows\(|iterrows\(|itertuples\(", module.read_text(encoding="utf-8")), (
            module.name
        )
