"""What the examples of the pages take for granted: files, series, names of Python. Small, and made once."""

from __future__ import annotations

import ast
import builtins
import re
import shutil
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import republish as rp
from republish.attacks import history_of
from republish.datasets import hospital
from republish.knowledge import read_knowledge

VIEWS, ROWS, RELEASED = 6, 240, 2
_FILE = re.compile(r"(?<![\w/*.-])[\w-]+\.(?:csv|parquet)\b")
_MADE = re.compile(r"(?:-o|--out|--output|--write|--ids|>) *([\w./-]+\.(?:csv|parquet))")

# What stands for a name of the reader's own.
PLACEHOLDERS = {
    "SERIES": "visits",
    "VIEW": "week.csv",
    "VIEWS": "views",
    "KNOWLEDGE": "knowledge",
    "TABLES": "tables",
    "OUT": "out",
}

# What a recipient of two tables has.
_RECEIVED = {"people.csv", "values.csv"}


class Prepared:
    """A hospital and a series of it, made once; every page gets a copy."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        hospital(views=VIEWS, rows=ROWS, seed=5).write(folder)
        self.views = sorted((folder / "views").iterdir())

    @cached_property
    def zipped(self) -> list[pl.DataFrame]:
        """Views with a zip in place of gender and weight, as the README has them."""
        return [
            frame.select(
                "patient", "age", (pl.col("patient").str.slice(-3) + "20").alias("zip"), "diagnosis"
            ).filter(pl.col("patient").str.slice(-1).is_in(["1", "3", "5", "7"]))
            for frame in map(pl.read_csv, self.views)
        ]

    @cached_property
    def series(self) -> Path:
        """A series under tau-safety in one table that has released the first views."""
        return self._released("series", None)

    @cached_property
    def two_tables(self) -> Path:
        """The same in two tables."""
        return self._released("two", rp.TwoTables(5))

    def _released(self, name: str, form: rp.TwoTables | None) -> Path:
        schema = rp.read_schema(self.folder / "schema.toml")
        made = rp.Series.create(self.folder / name, schema, rp.TauSafety(m=3), seed=1, form=form)
        for number, view in enumerate(self.views[:RELEASED], start=1):
            made.publish(view, as_of=f"2026-01-{7 * number:02}")
        made.ledger.close()
        return self.folder / name

    def published(self, number: int, path: Path) -> None:
        """A table as another tool would have made it of a view."""
        schema = rp.read_schema(self.folder / "schema.toml")
        table = rp.anonymize(self.views[number], schema, rp.Mondrian(k=5, require=[rp.LDiversity(3)]), seed=1)
        table.table().write_csv(path)


class Given:
    """What one page finds in its folder."""

    def __init__(self, prepared: Prepared, folder: Path, page: str) -> None:
        self.prepared, self.folder, self.page = prepared, folder, page
        self.next = RELEASED  # the view that the next file is; who makes a series begins with the first
        self.made: list[Path] = []
        self.truths: set[Path] = set()
        self.names: dict[str, Any] = {}
        left_out = shutil.ignore_patterns("views", "series", "two")
        shutil.copytree(prepared.folder, folder, ignore=left_out, dirs_exist_ok=True)

    def files_for(self, text: str) -> None:
        """Make the views that a block names and that are not there: the weeks in the order of the names."""
        made = set(_MADE.findall(text))
        missing = [
            name for name in sorted(set(_FILE.findall(text)) - made) if not (self.folder / name).exists()
        ]
        for name in missing:
            if name in _RECEIVED:
                shutil.copy(self.prepared.two_tables / "releases/0001" / name, self.folder)
                continue
            self._view(min(self.next, VIEWS - 1), self.folder / name)
            self.made.append(self.folder / name)
            self.next += 1
        if "releases/" in text and not (self.folder / "releases").exists():
            shutil.copytree(self.prepared.two_tables / "releases", self.folder / "releases")

    def _view(self, number: int, path: Path) -> None:
        zipped = self.page == "README.md"
        frame = self.prepared.zipped[number] if zipped else pl.read_csv(self.prepared.views[number])
        frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_csv(path)

    def series_for(self, words: list[str]) -> list[str]:
        """The words of a command with the reader's names filled in, and what they name made."""
        filled = [PLACEHOLDERS.get(word.rstrip("/"), word) for word in words]
        command, *rest = filled
        name = rest[0] if rest else ""
        if command in {"init", "restore"}:
            self.begin(name)
            if "--from" in filled and "--compare" not in filled:
                filled.append("--no-compare")  # takes seconds a page; tests/tune compares
        elif "visits" in filled and not (self.folder / "visits").exists():
            shutil.copytree(self.prepared.series, self.folder / "visits")
        if "--truth" in filled:
            self._truth(filled[filled.index("--truth") + 1], name)
        if "--corrects" in filled:
            filled[filled.index("--corrects") + 1] = str(
                len(list((self.folder / name / "releases").iterdir()))
            )
        if command == "adopt":
            self.prepared.published(self.next, self.folder / rest[1])
        if "tables" in filled:
            (self.folder / "tables").mkdir()
            for number in range(RELEASED):
                self.prepared.published(number, self.folder / f"tables/{number}.csv")
        self.files_for(" ".join(filled))
        return filled

    def begin(self, name: str) -> None:
        """Make room for a series: that of an example above goes, and files are the first weeks again."""
        shutil.rmtree(self.folder / name, ignore_errors=True)
        self.next = 0
        while self.made:
            self.made.pop().unlink(missing_ok=True)

    def _truth(self, name: str, series: str) -> None:
        """A folder with the raw views of all releases so far, unless the page made one."""
        folder, releases = self.folder / name, self.folder / series / "releases"
        if folder.exists() and folder not in self.truths:
            return
        self.truths.add(folder)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        published = len(list(releases.iterdir())) if releases.is_dir() else RELEASED
        for view in self.prepared.views[:published]:
            shutil.copy(view, folder)

    def names_for(self, text: str) -> None:
        """Put the names that a block of Python uses and does not make into `names`."""
        for name in re.findall(r"Series\.create\(\"(\w+)\"", text):
            self.begin(name)
        for name in sorted(_free(text) - set(self.names)):
            if name in rp.__all__:
                self.names[name] = getattr(rp, name)
            elif name in _NAMES:
                self.names[name] = _NAMES[name](self)

    def own(self, name: str) -> Any:
        if name not in self.names:
            self.names[name] = _NAMES[name](self)
        return self.names[name]


def _series(given: Given) -> rp.Series:
    given.series_for(["show", "visits"])
    return rp.Series.open(given.folder / "visits")


def _knowledge(given: Given) -> rp.Knowledge:
    return read_knowledge(given.folder / "knowledge", given.own("schema"))


def _known(given: Given) -> Any:
    flags = np.zeros(given.own("history").people, bool)
    flags[::25] = True
    return flags


_NAMES: dict[str, Callable[[Given], Any]] = {
    "schema": lambda given: rp.read_schema(given.folder / "schema.toml"),
    "series": _series,
    "release": lambda given: given.own("series").release(1),
    "folder": lambda given: given.folder / "new",
    "files": lambda given: given.prepared.views[:RELEASED],
    "views": lambda given: given.prepared.views[:RELEASED],
    "view": lambda given: given.prepared.views[RELEASED],
    "knowledge": _knowledge,
    "history": lambda given: history_of(given.own("series")),
    "known": _known,
}


def _free(text: str) -> set[str]:
    """Names that a block reads and does not make."""
    names = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
    made = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return {node.id for node in names if not hasattr(builtins, node.id)} - made
