"""Runs the cells of a study on all cores and keeps each as soon as it is finished, so that a killed run goes on."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path

import polars as pl

import republish
from republish import __version__
from republish.papers.study import Cell, Row, Scale

Progress = Callable[[int, int], None]


def run_cells(
    cells: Sequence[Cell], scale: Scale, folder: Path, workers: int, progress: Progress
) -> dict[str, pl.DataFrame]:
    """The rows of every study, computed or taken from what an earlier run has finished in `folder`.

    Timed cells run alone, one after the other, however many `workers` there are. `progress` is told how many cells are
    finished, of how many.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = files_of(cells, scale, folder)
    left = [i for i, file in enumerate(files) if not file.exists()]
    code()  # read now, lest files that change during a long run be taken for those that computed
    done = len(cells) - len(left)
    progress(done, len(cells))
    for i, rows, seconds in _computed([(i, cells[i]) for i in left], scale, workers):
        _keep(files[i], cells[i], rows, seconds)
        done += 1
        progress(done, len(cells))
    return _studies(cells, files)


def files_of(cells: Sequence[Cell], scale: Scale, folder: Path) -> list[Path]:
    """Where each cell is kept."""
    return [folder / f"{cell.study}-{digest(cell, scale)}.json" for cell in cells]


def digest(cell: Cell, scale: Scale) -> str:
    """A name that changes with the settings of a cell, the scale, and the version of the tool."""
    said = [__version__, cell.run.__module__, cell.run.__name__, dict(cell.settings), scale.quick, scale.seed]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


def seconds_of(files: Sequence[Path]) -> float:
    """How long these kept cells took together."""
    return float(sum(json.loads(file.read_text())["seconds"] for file in set(files)))


def code_of(files: Sequence[Path]) -> str:
    """Which code computed these kept cells, in words."""
    found = {json.loads(file.read_text()).get("code") for file in set(files)}
    if len(found) != 1:
        return "code of several versions"
    return f"code {next(iter(found)) or 'not recorded'}"


@cache
def code() -> str:
    """Twelve hexadecimal digits of all source files of the package: they change with any of them."""
    root, found = Path(republish.__file__).parent, hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        found.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()[:12]


def _computed(
    todo: Sequence[tuple[int, Cell]], scale: Scale, workers: int
) -> Iterator[tuple[int, list[Row], float]]:
    together = [(i, cell) for i, cell in todo if not cell.timed]
    if workers > 1 and len(together) > 1:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(workers, len(together)), mp_context=context) as pool:
            running = {pool.submit(_run, cell, scale): i for i, cell in together}
            try:
                for finished in as_completed(running):
                    yield running[finished], *finished.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        together = []
    for i, cell in together + [(i, cell) for i, cell in todo if cell.timed]:
        yield i, *_run(cell, scale)


def _run(cell: Cell, scale: Scale) -> tuple[list[Row], float]:
    start = time.perf_counter()
    rows = cell.run(scale, **cell.settings)
    return rows, time.perf_counter() - start


def _keep(file: Path, cell: Cell, rows: list[Row], seconds: float) -> None:
    """Write a finished cell at once or not at all."""
    part = file.with_suffix(".part")
    found = {"settings": dict(cell.settings), "rows": rows, "seconds": seconds, "code": code()}
    part.write_text(json.dumps(found, default=float))
    part.replace(file)


def _studies(cells: Sequence[Cell], files: Sequence[Path]) -> dict[str, pl.DataFrame]:
    rows: dict[str, list[Row]] = {}
    for cell, file in zip(cells, files, strict=True):
        found = json.loads(file.read_text())["rows"]
        rows.setdefault(cell.study, []).extend({**cell.settings, **row} for row in found)
    return {
        study: pl.DataFrame(found, infer_schema_length=None, strict=False) for study, found in rows.items()
    }
