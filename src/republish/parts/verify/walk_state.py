"""What an auditor knows of each person after some releases, as a table that travels with her.

One line a person: her last sight (`s:`), where groups are compared all groups of her lives (`g:`), where beliefs
are promised something what an adversary believes of her (`b:`), and in two tables what is left of her cells (`c:`).
`laid_out` is what a `Walk` holds, `resume` the way back.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from republish.arrays import FloatArray
from republish.inference.reasoning import BELIEF, DOMAIN, PAST
from republish.memory.memory import KEY, Memory, keyed, memory_of
from republish.verify.kept_cuts import CellWalk, Labels, to_labels
from republish.verify.memory import SEEN
from republish.verify.walk import Walk

GROUP = "group"
_SIGHT, _BELIEF, _LOST = "s:", "b:", "lost"
_LOW, _HIGH, _EXTENDED = "c:low", "c:high", "c:extended"
_LIVES = {"g:release": "release", "g:life": "life", "g:group": GROUP}
_OF_SIGHT = [name for name in SEEN if name not in KEY]


def resume(walk: Walk, frame: pl.DataFrame, releases: int) -> None:
    """Let a walk go on with what is known of the people in a table after so many releases; strangers are null."""
    known = known_in(frame).unique(KEY, keep="first", maintain_order=True)
    if known.height:
        sight = [pl.col(f"{_SIGHT}{name}").alias(name) for name in _OF_SIGHT]
        walk.rebuilt.last = known.select(*KEY, *sight).cast(SEEN)  # type: ignore[arg-type]
    if walk.rebuilt.groups is not None:
        walk.rebuilt.groups = _by_release(known, releases)
    if _LOW in known.columns:
        _resume_cells(walk.cells, known)
    if walk.beliefs is not None and known.height:
        walk.beliefs.memory = beliefs_in(known)
        walk.beliefs.lost = memory_of(known.filter(pl.col(_LOST)).select(KEY), 0)


def _resume_cells(cells: CellWalk, known: pl.DataFrame) -> None:
    there = known.filter(pl.col(_LOW).is_not_null())
    cells.people = there.select(KEY)
    cells.low, cells.high = (ranges_in(there[name]) for name in (_LOW, _HIGH))
    cells.extended = there[_EXTENDED].to_numpy()


def ranges_in(column: pl.Series) -> FloatArray:
    """The numbers of every axis in a column of lists, a line each."""
    return (
        column.explode().to_numpy(writable=True).reshape(len(column), -1) if len(column) else np.empty((0, 0))
    )


def lists_of(ranges: FloatArray) -> pl.Series:
    """The numbers of every axis as a column of lists."""
    if not len(ranges):
        return pl.Series([], dtype=pl.List(pl.Float64))
    return pl.Series(ranges.ravel()).reshape(ranges.shape).arr.to_list()


def relabelled(state: pl.DataFrame, labels: Labels, common: Labels) -> pl.DataFrame:
    """What is known of people who are not in a release, their cells in the labels that it has in common."""
    there = state[_LOW].is_not_null() if _LOW in state.columns else pl.Series([False])
    if not there.any():
        return state
    known = state.filter(there)
    low, high = (ranges_in(known[name]) for name in (_LOW, _HIGH))
    to_labels(low, high, labels, common)
    known = known.with_columns(lists_of(low).alias(_LOW), lists_of(high).alias(_HIGH))
    return pl.concat([known, state.filter(~there)])


def beliefs_in(known: pl.DataFrame) -> Memory:
    """What is believed of the people in a table, of whom none is a stranger."""
    columns = {name: name.removeprefix(_BELIEF) for name in known.columns if name.startswith(_BELIEF)}
    return memory_of(known.select(*KEY, *columns).rename(columns), 0)


def known_in(frame: pl.DataFrame) -> pl.DataFrame:
    """The people in a table who are no strangers."""
    name = f"{_SIGHT}first"
    return frame.filter(pl.col(name).is_not_null()) if name in frame.columns else frame.clear()


def laid_out(walk: Walk, shift: int) -> pl.DataFrame:
    """What a walk knows of everyone whom the last release holds; its groups were numbered from 1 after `shift`."""
    number = pl.when(pl.col(GROUP) > 0).then(pl.col(GROUP) + shift).otherwise(pl.col(GROUP)).cast(pl.Int32)
    frame = walk.rebuilt.last.with_columns(number.alias(GROUP))
    frame = frame.rename({name: f"{_SIGHT}{name}" for name in _OF_SIGHT})
    if walk.rebuilt.groups is not None:
        *before, now = walk.rebuilt.groups
        lives = [
            one.with_columns(pl.lit(i, pl.Int32).alias("release"))
            for i, one in enumerate([*before, now.with_columns(number.alias(GROUP))], start=1)
        ]
        columns = [pl.col(name).alias(column) for column, name in _LIVES.items()]
        frame = frame.join(pl.concat(lives).group_by(KEY).agg(columns), on=list(KEY), how="left")
    if walk.cells.people.height:
        low, high = (lists_of(side) for side in (walk.cells.low, walk.cells.high))
        cells = walk.cells.people.with_columns(
            low.alias(_LOW), high.alias(_HIGH), pl.Series(_EXTENDED, walk.cells.extended)
        )
        frame = frame.join(cells, on=list(KEY), how="left")
    if walk.beliefs is not None:
        frame = frame.join(_believed(walk.beliefs.memory), on=list(KEY), how="left")
        lost = keyed(walk.beliefs.lost.people).with_columns(pl.lit(value=True).alias(_LOST))
        frame = frame.join(lost, on=list(KEY), how="left").with_columns(pl.col(_LOST).fill_null(value=False))
    return frame


def _by_release(known: pl.DataFrame, releases: int) -> list[pl.DataFrame]:
    """Everyone's life and group in each of the releases so far."""
    if "g:release" in known.columns:
        long = known.select(*KEY, *_LIVES).explode(*_LIVES).rename(_LIVES)
    else:
        long = pl.DataFrame(
            schema={**dict.fromkeys(KEY, pl.UInt64), **dict.fromkeys(_LIVES.values(), pl.Int32)}
        )
    return [long.filter(pl.col("release") == i).drop("release") for i in range(1, releases + 1)]


def _believed(memory: Memory) -> pl.DataFrame:
    columns = {
        name: column
        for name, column in memory.columns.items()
        if name in (BELIEF, DOMAIN) or name.startswith(PAST)
    }
    return Memory(memory.people, columns).frame().rename({name: f"{_BELIEF}{name}" for name in columns})
