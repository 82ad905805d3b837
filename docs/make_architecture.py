"""Draw the rooms and their imports into docs/architecture.md, from the source: `python docs/make_architecture.py`."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

import grimp

HERE = Path(__file__).parent
PAGE = HERE / "architecture.md"
SOURCE = HERE.parent / "src" / "republish"
BEGIN, END = "<!-- drawn by docs/make_architecture.py -->\n", "<!-- end of the drawing -->"
HOOK = re.compile(r'answer_of\(f?"(republish\.[a-z_.]+):|(html_of)\("')


def layers() -> list[list[tuple[str, ...]]]:
    """The layers of the import contract from above, each as rooms, each room as the modules it stands for."""
    said = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    contract = said["tool"]["importlinter"]["contracts"][0]
    return [
        [tuple(module.strip() for module in room.split(":")) for room in layer.split("|")]
        for layer in contract["layers"]
    ]


def name_of(room: tuple[str, ...]) -> str:
    """A room as people call it: a module, or the package of which it holds some."""
    return room[0].removeprefix("republish.") if len(room) == 1 else room[0].split(".")[1]


def room_of(module: str, rooms: list[tuple[str, ...]]) -> str | None:
    """The room that a module lies in; the root and the door of a package in two rooms have none."""
    found = [room for room in rooms for one in room if f"{module}.".startswith(f"{one}.")]
    return name_of(found[0]) if found else None


def imports(rooms: list[tuple[str, ...]]) -> dict[str, set[str]]:
    """Which rooms each room imports when it runs."""
    graph = grimp.build_graph("republish", exclude_type_checking_imports=True, cache_dir=None)
    found: dict[str, set[str]] = {name_of(room): set() for room in rooms}
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            here, there = room_of(module, rooms), room_of(imported, rooms)
            if here and there and here != there:
                found[here].add(there)
    return found


def reduced(arrows: dict[str, set[str]]) -> dict[str, set[str]]:
    """The arrows that no longer way replaces."""

    @cache
    def below(room: str) -> set[str]:
        return arrows[room].union(*(below(one) for one in arrows[room]))

    return {
        room: there - set().union(*(below(one) for one in there)) if there else set()
        for room, there in arrows.items()
    }


def hooks(rooms: list[tuple[str, ...]]) -> set[tuple[str, str]]:
    """Rooms that have a method answered by a room above, by name; see `hooks.py`."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        module = ".".join(("republish", *path.relative_to(SOURCE).with_suffix("").parts))
        here = room_of(module.removesuffix(".__init__"), rooms)
        for above, html in HOOK.findall(path.read_text(encoding="utf-8")):
            if here and here != "hooks":
                found.add((here, "show" if html else room_of(above, rooms) or ""))
    return found


def drawing() -> str:
    """The rooms as a Mermaid flowchart: an arrow is an import, a dotted one a method answered from above."""
    held = layers()
    rooms = [room for layer in held for room in layer]
    lines = ["flowchart TD"]
    lines += [f"    {_node(name_of(room))}" for room in rooms]
    arrows = reduced(imports(rooms))
    lines += [f"    {_id(a)} --> {_id(b)}" for a in map(name_of, rooms) for b in sorted(arrows[a])]
    lines += [f"    {_id(a)} -.-> {_id(b)}" for a, b in sorted(hooks(rooms))]
    return "```mermaid\n" + "\n".join(lines) + "\n```\n"


def _id(name: str) -> str:
    return name.replace(".", "_")


def _node(name: str) -> str:
    return f'{_id(name)}["{name}"]'


def drawn(page: str) -> str:
    """The page with the drawing of today."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + drawing() + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
