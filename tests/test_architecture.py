"""What the import contract of `make lint` cannot say of the source, and that the page about it is true."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "republish"
MODULES = sorted(SOURCE.rglob("*.py"))
DOORS = {"republish", "republish.__main__", "republish.gate", "republish.publishing"}
"""The root, and packages whose files lie in two layers: their `__init__` belongs to neither."""


@pytest.fixture(scope="module")
def made() -> ModuleType:
    """The command that draws the page."""
    spec = spec_from_file_location("make_architecture", ROOT / "docs" / "make_architecture.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def dotted(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def imported(path: Path) -> Iterator[str]:
    """Everything of this package that a module imports, with the names it takes from there."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("republish"):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("republish."))


def test_every_module_has_its_place_in_the_walk(made: ModuleType) -> None:
    rooms = [room for layer in made.layers() for room in layer]
    named = [module for room in rooms for module in room]
    for path in MODULES:
        lies_in = [one for one in named if f"{dotted(path)}.".startswith(f"{one}.")]
        assert len(lies_in) == (dotted(path) not in DOORS), dotted(path)


def test_the_root_holds_at_most_twelve_modules() -> None:
    assert len(list(SOURCE.glob("*.py"))) <= 12


def test_nobody_imports_a_private_module_of_another_package() -> None:
    for path in MODULES:
        for name in imported(path):
            parts = name.split(".")
            for i in (i for i, part in enumerate(parts) if re.match(r"_[a-z]", part)):
                where = SOURCE.parent.joinpath(*parts[: i + 1])
                if where.is_dir() or where.with_suffix(".py").exists():
                    owner = ".".join(parts[:i])
                    assert f"{dotted(path)}.".startswith(f"{owner}."), (dotted(path), name)


def test_what_a_room_above_answers_is_there() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in MODULES)
    named = re.findall(r'answer_of\("([a-z_.]+):([a-z_]+)"', text)
    named += [("republish.show.html", function) for function in re.findall(r'html_of\("([a-z_]+)"', text)]
    assert {"count", "release_html"} < {function for _, function in named}
    for module, function in named:
        assert callable(getattr(importlib.import_module(module), function))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_a_function_is_at_most_80_lines() -> None:
    lengths = {
        f"{path.relative_to(SOURCE)}:{one.name}": (one.end_lineno or one.lineno) - one.lineno + 1
        for path in MODULES
        for one in functions(path)
    }
    assert {name for name, lines in lengths.items() if lines > 80} == set()


def test_a_command_takes_a_handful_of_parameters() -> None:
    """What belongs together is a dataclass of options (`cli/options.py`)."""
    for path in (SOURCE / "cli").rglob("*.py"):
        for one in functions(path):
            assert len(one.args.args) + len(one.args.kwonlyargs) <= 7, f"{path.name}:{one.name}"


def test_a_class_name_exists_once() -> None:
    rooms: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                rooms.setdefault(node.name, []).append(path.relative_to(SOURCE).parts[0])
    several = {name: found for name, found in rooms.items() if len(found) > 1}
    assert several == {}


def test_no_module_loops_over_rows() -> None:
    for module in MODULES:
        assert not re.search(r"iter_rows\(|iterrows\(|itertuples\(", module.read_text(encoding="utf-8")), (
            module.name
        )


def test_the_drawing_is_that_of_the_source(made: ModuleType) -> None:
    page = made.PAGE.read_text(encoding="utf-8")
    assert page == made.drawn(page), "run python docs/make_architecture.py"


def test_the_walk_names_what_exists(made: ModuleType) -> None:
    steps = re.findall(r"`([a-z_/]+\.py):([A-Za-z_.]+)`", made.PAGE.read_text(encoding="utf-8"))
    assert len(steps) > 26
    for file, name in steps:
        tree: ast.AST = ast.parse((SOURCE / file).read_text(encoding="utf-8"))
        for part in name.split("."):
            found = [
                node
                for node in ast.iter_child_nodes(tree)
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == part
            ]
            assert found, f"{file}:{name}"
            tree = found[0]


def test_contributing_has_a_line_for_every_room() -> None:
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    rooms = {f"{name}/" for name in rooms} | {path.name for path in SOURCE.glob("[a-z]*.py")}
    assert rooms <= set(re.findall(r"`([a-z_]+(?:/|\.py))`", table))
