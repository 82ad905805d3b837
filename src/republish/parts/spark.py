"""Blocks moved by Spark: tasks run in `mapInArrow` on the executors, a shuffle carries blocks between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from republish.errors import LedgerError, ViewError
from republish.parts.blocks import FACT, PROBLEM, Block, Chunk, Guarded, Task, facts_of, in_order
from republish.parts.engine import PART_ROWS, Engine
from republish.schema import Dialect, Schema
from republish.schema.dialect import UTF_8
from republish.sources.files.csv_files import SEPARATORS
from republish.sources.files.formats import ENDINGS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SCHEMA = "to int, kind string, data binary"
_ROWS_A_CHUNK = 1 << 19
_RAGGED = "_republish_ragged"


@dataclass(frozen=True)
class Spark(Engine):
    """The machines of a Spark session, for `Series.publish(view, engine=Spark(session))`.

    A view may be a Spark DataFrame, or the path of a CSV or Parquet file, or of a folder of Parquet files, that Spark
    can read. Executors need republish in the same version and must see the folder of the series, or its store, under
    the same path. `parts` is how many parts the view is cut into; without it each gets about `part_rows`.
    """

    session: SparkSession
    part_rows: int = PART_ROWS
    parts: int | None = None

    def mover(self) -> SparkMover:
        return SparkMover(self.session)

    def walking_mover(self) -> SparkMover:
        """What moves the blocks of work that goes from release to release.

        Adaptive plans describe what they read twice, their sources twice again, and so on: after eight releases the
        description of a plan fills the memory of the driver. So this has a session of its own without them.
        """
        session = self.session.newSession()
        session.conf.set("spark.sql.adaptive.enabled", "false")
        return SparkMover(session)


class SparkMover:
    """Moves blocks with Spark; each is one row of a DataFrame, with the task it goes to."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._kept: list[DataFrame] = []

    def columns(self, view: Any, schema: Schema) -> list[str]:
        return [name for name in self._frame(view, schema.files).columns if name != _RAGGED]

    def rows(self, view: Any, schema: Schema, columns: Sequence[str], chunk: Chunk) -> DataFrame:
        frame = self._frame(view, schema.files)
        wanted = [*columns, *([_RAGGED] if _RAGGED in frame.columns else [])]
        chosen = frame.select([f"`{name.replace('`', '``')}`" for name in wanted])
        return chosen.mapInArrow(_OnRows(Guarded(_Even(chunk))), _SCHEMA)

    def blocks(self, blocks: Sequence[Block]) -> DataFrame:
        made = self._session.createDataFrame([(b.to, b.kind, bytearray(b.data)) for b in blocks], _SCHEMA)
        return made.repartition(max(1, len(blocks))) if blocks else made

    def map(self, data: DataFrame, kinds: Sequence[str], task: Task) -> DataFrame:
        return _chosen(data, kinds).mapInArrow(_OnBlocks(Guarded(task), single=True), _SCHEMA)

    def exchange(self, data: Sequence[DataFrame], kinds: Sequence[str], tasks: int, task: Task) -> DataFrame:
        together = _chosen(data[0], kinds)
        for more in data[1:]:
            together = together.unionAll(_chosen(more, kinds))
        # Problems go anywhere; every block goes to the partition of its number.
        moved = together.selectExpr("greatest(to, 0) as at", "to", "kind", "data").repartitionById(
            tasks, "at"
        )
        return moved.drop("at").mapInArrow(_OnBlocks(Guarded(task), single=False), _SCHEMA)

    def keep(self, data: DataFrame) -> DataFrame:
        """The same blocks, on the disks of the executors, made again from their sources where a machine is lost."""
        from pyspark import StorageLevel

        self._kept.append(data.persist(StorageLevel.DISK_ONLY))
        return self._kept[-1]

    def forget(self, data: DataFrame) -> None:
        self._kept = [one for one in self._kept if one is not data]
        data.unpersist()

    def facts(self, data: DataFrame) -> list[Any]:
        """The facts among the blocks; this runs the work.

        Raises:
            LedgerError: Spark gave up.
        """
        try:
            rows = _chosen(data, [FACT]).collect()
        except Exception as problem:
            raise _gave_up(problem) from None
        return facts_of(Block(row["to"], row["kind"], bytes(row["data"])) for row in rows)

    def release(self) -> None:
        while self._kept:
            try:
                self._kept.pop().unpersist()
            except Exception:  # a session that is gone keeps nothing
                self._kept.clear()

    def _csv(self, path: str, files: Dialect) -> DataFrame:
        """A CSV file, all cells as text; records with too few or too many cells are marked, not thrown into a log."""
        first = self._session.read.text(path).head()
        options = {
            "header": True,
            "sep": _separator(str(first[0]) if first else "", files.separator),
            "multiLine": True,
            "escape": '"',
            "mode": "PERMISSIVE",
            "columnNameOfCorruptRecord": _RAGGED,
            "columnPruning": False,
        }
        names = [*self._session.read.options(**options).csv(path).columns, _RAGGED]
        schema = ", ".join(f"`{name.replace('`', '``')}` string" for name in names)
        return self._session.read.options(**options).schema(schema).csv(path)

    def _frame(self, view: Any, files: Dialect) -> DataFrame:
        from pyspark.sql import DataFrame

        if isinstance(view, DataFrame):
            return view
        path = str(view)
        if "://" in path and path.partition("://")[0].startswith("postgresql"):
            raise ViewError(
                "with --engine spark a view is a DataFrame or a file; publish from a database without an engine, or "
                "read the table with spark.read.jdbc and give the DataFrame to Series.publish"
            )
        _require_readable(path, files)
        try:
            if path.lower().rstrip("/").endswith((".csv", ".csv.gz", ".txt")):
                return self._csv(path, files)
            return self._session.read.parquet(path)
        except Exception as problem:
            raise ViewError(
                f"Spark cannot read the view ({type(problem).__name__}); it must be a Spark DataFrame, or the path of "
                "a CSV or Parquet file that all executors see. Nothing was written"
            ) from None


def _require_readable(path: str, files: Dialect) -> None:
    """Refuse what Spark cannot read, or would read with other letters."""
    if path.lower().endswith(ENDINGS[2:]):
        raise ViewError(
            "with --engine spark a view is a DataFrame, a CSV or a Parquet file; write the workbook or the file of a "
            "statistical package as one of these, or publish it without an engine"
        )
    if files.encoding != UTF_8 and path.lower().endswith((".csv", ".csv.gz", ".txt")):
        raise ViewError(
            f"with --engine spark a CSV file must be in UTF-8; [files] of the schema says {files.encoding}. Convert "
            "it, for example with iconv, and remove encoding from [files], or publish it without an engine"
        )


def _separator(line: str, said: str | None) -> str:
    """The separator that the schema says, where a header has it, else the commonest."""
    return said if said and said in line else max(SEPARATORS, key=line.count)


def _chosen(data: DataFrame, kinds: Iterable[str]) -> DataFrame:
    """The blocks of these kinds, and the problems."""
    from pyspark.sql.functions import col

    return data.filter(col("kind").isin([*kinds, PROBLEM]))


@dataclass(frozen=True)
class _Even:
    """A chunk whose records have all the cells of the header, or a refusal with their number."""

    chunk: Chunk

    def __call__(self, frame: pl.DataFrame) -> Iterable[Block]:
        if _RAGGED not in frame.columns:
            return self.chunk(frame)
        ragged = frame.height - frame[_RAGGED].null_count()
        if ragged:
            raise ViewError(
                f"every record of a CSV view must have as many cells as the header; {ragged} of {frame.height} records "
                "do not. Quote cells that hold the separator or a line break. Nothing was written"
            )
        return self.chunk(frame.drop(_RAGGED))


@dataclass(frozen=True)
class _OnRows:
    """Chunks of raw rows, as many as arrive up to a limit, to blocks."""

    chunk: Guarded

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        waiting: list[Any] = []
        held = 0
        for batch in batches:
            waiting.append(batch)
            held += batch.num_rows
            if held >= _ROWS_A_CHUNK:
                yield from self._made(waiting)
                waiting, held = [], 0
        if waiting:
            yield from self._made(waiting)

    def _made(self, waiting: list[Any]) -> Iterator[Any]:
        import pyarrow as pa

        frame = pl.from_arrow(pa.Table.from_batches(waiting))
        assert isinstance(frame, pl.DataFrame)
        for block in self.chunk(frame):
            yield _batch(block)


@dataclass(frozen=True)
class _OnBlocks:
    """Blocks to blocks: each for itself, or all of one task together. Problems pass through."""

    task: Guarded
    single: bool

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        waiting: dict[int, list[Block]] = defaultdict(list)
        for batch in batches:
            for to, kind, data in zip(*(batch.column(i) for i in range(3)), strict=True):
                block = Block(to.as_py(), kind.as_py(), data.as_py())
                if block.kind == PROBLEM:
                    yield _batch(block)
                elif self.single:
                    for made in self.task([block]):
                        yield _batch(made)
                else:
                    waiting[block.to].append(block)
        for to in sorted(waiting):
            for made in self.task(in_order(waiting.pop(to))):
                yield _batch(made)


def _batch(block: Block) -> Any:
    import pyarrow as pa

    return pa.record_batch(
        [pa.array([block.to], pa.int32()), pa.array([block.kind]), pa.array([block.data], pa.binary())],
        names=["to", "kind", "data"],
    )


def _gave_up(problem: Exception) -> LedgerError:
    """What to say when Spark fails: the class of the failure, and no more, for its text may quote cells."""
    return LedgerError(
        f"Spark gave up ({type(problem).__name__}); nothing was committed, the series is as it was. See the log of the "
        "executors: a machine that cannot read or write the files of the series, or too little memory (smaller parts "
        "need less), are the usual causes"
    )
