"""Where files lie: a folder of this machine, or any file system that fsspec opens; and tables in one file or in parts.

A place of this machine is a `pathlib.Path`, any other a `UPath`, which is used in the same way.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast
from urllib.parse import unquote

import polars as pl
from polars.io.plugins import register_io_source

from republish.errors import LedgerError
from republish.sources.panics import contained

_CHUNK = 1 << 20


def place_of(address: str | Path) -> Path:
    """The place that a path, or an address such as `s3://bucket/folder`, names.

    Raises:
        LedgerError: the address holds a password, or nothing that is installed opens it.
    """
    text = str(address)
    protocol, apart, rest = text.partition("://")
    if not apart:
        return Path(text).absolute()
    if protocol in ("file", "local"):
        return Path(unquote(rest)).absolute()
    if "::" in text or "?" in text or "@" in rest.partition("/")[0]:
        raise LedgerError(
            "the address of a store is kept in series.toml and must be plain, such as s3://bucket/folder; give users, "
            "passwords and servers to fsspec, in its environment variables or its files"
        )
    try:
        from republish.sources.object_stores import open_place  # only here: a plain path needs none of it
    except ImportError:
        raise LedgerError(
            f"a store such as {protocol}:// needs universal_pathlib; install it with republish[stores]"
        ) from None
    return cast(Path, open_place(text))


def is_local(place: object) -> bool:
    """Whether a place lies in the file system of this machine."""
    return isinstance(place, Path)


def exists(place: Path) -> bool:
    """Whether a file, or a folder of parts, lies here."""
    return place.is_file() or place.is_dir()


def read_parquet(place: Path | Sequence[Path], columns: Sequence[str] | None = None) -> pl.DataFrame:
    """The table in a file, or in all the parts of a folder or of a list, in their order.

    A part may lack a column that others have: a flag that is absent is false, anything else is null.
    """
    parts = _parts(place)
    if len(parts) == 1:
        return _read(parts[0], columns)
    frames = [_read(part, None if columns is None else _held(part, columns)) for part in parts]
    table = tables_together(frames)
    if columns is None:
        return table
    lacking = [name for name in columns if name not in table.columns]
    if lacking:
        raise LedgerError(f"no part of a table has {len(lacking)} of its columns; restore it from a backup")
    return table.select(columns)


@contextmanager
def nearby(place: Path) -> Iterator[Path]:
    """A table on this machine, to be read column by column; of one in another store a copy, for the block."""
    if is_local(place):
        yield place
        return
    with TemporaryDirectory(prefix="republish-") as folder:
        parts = _parts(place)
        for part in parts:
            with part.open("rb") as there, (Path(folder) / part.name).open("wb") as here:
                shutil.copyfileobj(there, here, _CHUNK)
        yield Path(folder) / place.name if parts == [place] else Path(folder)


def parquet_schema(place: Path | Sequence[Path]) -> Mapping[str, pl.DataType]:
    """The columns of a table in a file or in parts, and their types."""
    parts = _parts(place)
    if len(parts) == 1:
        return _schema(parts[0])
    return tables_together([pl.DataFrame(schema=_schema(part)) for part in parts]).schema


def parquet_rows(place: Path | Sequence[Path]) -> int:
    """The number of rows of a table in a file or in parts."""
    return sum(_rows(part) for part in _parts(place))


def write_parquet(frame: pl.DataFrame, place: Path, **options: Any) -> None:
    """Write a table as one Parquet file; the options are those of `polars.DataFrame.write_parquet`."""
    if is_local(place):
        frame.write_parquet(place, **options)
        return
    with place.open("wb") as file:
        frame.write_parquet(file, **options)


def write_parquet_in_blocks(
    blocks: Iterable[pl.DataFrame], schema: pl.Schema, place: Path, **options: Any
) -> None:
    """Write tables one below the other as one Parquet file, so that they are never all in memory.

    The options are those of `polars.LazyFrame.sink_parquet`.
    """
    table = register_io_source(lambda *_: iter(blocks), schema=schema)
    if is_local(place):
        table.sink_parquet(place, **options)
        return
    with place.open("wb") as file:
        table.sink_parquet(file, **options)


def read_csv(place: Path | Sequence[Path], **options: Any) -> pl.DataFrame:
    """The table in a CSV file, or in all the parts of a folder or list; the options are those of `polars.read_csv`."""
    parts = _parts(place, ".csv")
    tables = []
    for part in parts:
        with _whole(part):
            tables.append(pl.read_csv(_source(part), **options))
    return pl.concat(tables)


def write_csv(frame: pl.DataFrame, place: Path) -> None:
    """Write a table as a CSV file."""
    with place.open("wb") as file:
        frame.write_csv(file)


def tables_together(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """All rows, with the columns of any part; flags that a part lacks are false there."""
    flags = {name for frame in frames for name, kind in frame.schema.items() if kind == pl.Boolean}
    whole = [
        frame.with_columns(pl.lit(value=False).alias(name) for name in sorted(flags - set(frame.columns)))
        for frame in frames
    ]
    return pl.concat(whole, how="diagonal_relaxed")


def _parts(place: Path | Sequence[Path], suffix: str = ".parquet") -> list[Path]:
    """The files of a table, in the order of their rows."""
    if isinstance(place, Sequence):
        return list(place)
    if not place.is_dir():
        return [place]
    parts = sorted((part for part in place.iterdir() if part.suffix == suffix), key=lambda part: part.name)
    if not parts:
        raise FileNotFoundError(2, "a folder of parts holds none", str(place))
    return parts


def _held(part: Path, columns: Sequence[str]) -> list[str]:
    """Those of these columns that a part has, else any one: it tells how many rows the part has."""
    schema = list(_schema(part))
    return [name for name in columns if name in schema] or schema[:1]


def _read(part: Path, columns: Sequence[str] | None) -> pl.DataFrame:
    wanted = None if columns is None else list(columns)
    with _whole(part):
        return pl.read_parquet(_source(part), columns=wanted)


def _schema(part: Path) -> Mapping[str, pl.DataType]:
    with _whole(part):
        return pl.read_parquet_schema(_source(part))


def _rows(part: Path) -> int:
    with _whole(part):
        return int(pl.scan_parquet(_source(part), glob=False).select(pl.len()).collect().item())


def _source(part: Path) -> Path | io.BytesIO:
    return part if is_local(part) else io.BytesIO(part.read_bytes())


@contextmanager
def _whole(part: Path) -> Iterator[None]:
    """Words for a stored file that cannot be read, or lacks what it was written with."""
    damaged = f"{part} is damaged; restore it from a backup"
    try:
        with contained(LedgerError, damaged):
            yield
    except pl.exceptions.PolarsError:
        raise LedgerError(damaged) from None
