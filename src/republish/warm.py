"""Every kernel compiled at once, on all cores: what commands would compile one by one when tables grow large."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from republish import kernels
from republish.kernels.blake2b import KeyedHash, Texts
from republish.kernels.kept import cache_folder, is_kept

__all__ = ["Warmed", "warm"]

_ROWS, _VIEWS = 80, 2


class _WarmedSeries(NamedTuple):
    """A series that shows with which kinds of arrays its kernels are called."""

    publisher: str
    parameters: dict[str, Any]
    form: str = "one-table"
    attacked: bool = False


_SERIES = (
    _WarmedSeries("js-reduce", {}, attacked=True),
    _WarmedSeries("bayframe", {}),
    _WarmedSeries("tau-safety", {"m": 3}, "two-tables", attacked=True),
    _WarmedSeries("value-blind", {}, "two-tables", attacked=True),
    _WarmedSeries("penalty-tree", {"k": 4}),
    _WarmedSeries("cor-split", {"m": 3}),
    _WarmedSeries("cohorts", {}),
    _WarmedSeries("banga", {"k": 4}),
    _WarmedSeries("mondrian", {"k": 4}, attacked=True),
    _WarmedSeries("rplus-tree", {"k": 4}),
    _WarmedSeries("tau-safety", {"m": 3}),
    _WarmedSeries("m-invariance", {"m": 3}),
)


@dataclass(frozen=True)
class Warmed:
    """How many kernels are kept compiled now, of them newly compiled, where, and in how many bytes."""

    kept: int
    compiled: int
    folder: Path
    size: int


def warm(tell: Callable[[str, int, int], None] = lambda _what, _done, _all: None) -> Warmed:
    """Compile the kernels of all publishers, checks and attacks that this machine does not keep; `tell` hears of it."""
    with _workers() as pool:
        calls: dict[tuple[Any, Any], None] = {}
        for found in _each(pool, _called, _SERIES, "trying every publisher", tell):
            calls |= dict.fromkeys(found)
        missing = [(kernel, types) for kernel, types in calls if not is_kept(kernel.py_func)]
        for _ in _each(pool, _compile, missing, "compiling", tell):
            pass
    files = [path for path in cache_folder().rglob("*") if path.is_file()]
    kept = sum(is_kept(kernel.py_func) for kernel in {kernel for kernel, _ in calls})
    return Warmed(
        kept,
        len({kernel for kernel, _ in missing}),
        cache_folder(),
        sum(path.stat().st_size for path in files),
    )


def _workers() -> ProcessPoolExecutor:
    """As many processes as there are cores, each fresh: what is compiled in one is of no use to another."""
    return ProcessPoolExecutor(len(os.sched_getaffinity(0)), get_context("spawn"))


def _each(
    pool: ProcessPoolExecutor,
    work: Callable[[Any], Any],
    parts: Sequence[Any],
    what: str,
    tell: Callable[[str, int, int], None],
) -> Iterable[Any]:
    """What the work makes of each part, as it is done."""
    tell(what, 0, len(parts))
    for done, future in enumerate(as_completed([pool.submit(work, part) for part in parts]), 1):
        tell(what, done, len(parts))
        yield future.result()


def _called(trial: _WarmedSeries) -> list[tuple[kernels.Kernel, tuple[Any, ...]]]:
    """Which kernels a series calls from its first release to what adversaries make of it, and with what types."""
    from numba import typeof

    calls: dict[tuple[kernels.Kernel, tuple[Any, ...]], None] = {}

    def observe(kernel: kernels.Kernel, given: tuple[Any, ...]) -> None:
        calls[kernel, tuple(typeof(one) for one in given)] = None  # type: ignore[no-untyped-call]

    kernels.OBSERVER = observe
    try:
        with tempfile.TemporaryDirectory(prefix="republish-warm-") as folder:
            _live(trial, Path(folder))
    finally:
        kernels.OBSERVER = None
    return list(calls)


def _live(trial: _WarmedSeries, folder: Path) -> None:
    """Publish, verify, measure and attack a small series."""
    from republish.attacks import Adversary
    from republish.attacks.assessments import assess
    from republish.datasets import hospital
    from republish.errors import RepublishError
    from republish.knowledge import read_knowledge
    from republish.metrics import measure
    from republish.microdata import read_view
    from republish.publishers import PUBLISHERS, make_publisher, new_series_parameters
    from republish.schema import read_schema
    from republish.series import Series

    hospital(views=_VIEWS, rows=_ROWS, seed=7).write(folder / "data")
    schema = read_schema(folder / "data" / "schema.toml")
    knowledge = read_knowledge(folder / "data" / "knowledge", schema)
    two = trial.form == "two-tables"
    parameters = new_series_parameters(trial.publisher, trial.parameters, two_tables=two, open_list=False)
    thinks = PUBLISHERS[trial.publisher].uses_knowledge
    publisher = make_publisher(trial.publisher, parameters, (), knowledge if thinks else None)
    series = Series.create(
        folder / "series", schema, publisher, seed=7, one_table=not publisher.protects_series, form=trial.form
    )
    views = sorted((folder / "data" / "views").iterdir())
    for day, view in enumerate(views, 1):
        series.publish(view, as_of=f"2026-01-{day:02}")
    series.verify()
    measure(series.release(_VIEWS), read_view(views[-1], schema, series.scales(_VIEWS).values), queries=20)
    if trial.attacked:
        with suppress(RepublishError):
            assess(series, Adversary(knowledge=knowledge), views=views)
    series.ledger.close()
    KeyedHash(bytes(32), 16, b"warm").by_kernel(
        Texts(np.zeros(1, dtype=np.uint8), np.ones(1, dtype=np.int64))
    )


def _compile(call: tuple[kernels.Kernel, tuple[Any, ...]]) -> None:
    """Compile a kernel for some types, unless this machine keeps it."""
    kernel, types = call
    kernel.dispatcher.compile(types)
