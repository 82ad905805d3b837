"""Tables that libraries give up on: published or refused in words, whatever their types and however damaged."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from republish import Category, Date, Number, PenaltyTree, Schema, Series, ViewError
from republish.errors import LedgerError, RepublishError
from republish.sources.panics import contained
from republish.sources.paths import parquet_rows, parquet_schema, read_parquet
from republish.sources.tables import header, read_table

ROWS = 24
CANARY = "CANARY"
PANIC = "pl.Series([2**31 - 1], dtype=pl.Int32).cast(pl.Date).cast(pl.String)"
FAR = 2**62


def numbers(first: int, kind: pl.DataType | type[pl.DataType], step: int = 1) -> pl.Series:
    return pl.Series([first + step * i for i in range(ROWS)], dtype=kind)


COLUMNS: dict[str, pl.Series] = {
    "duration": numbers(0, pl.Int64).cast(pl.Duration("us")),
    "time": pl.Series([time(1, i) for i in range(ROWS)]),
    "decimal": pl.Series([Decimal(i) / 4 for i in range(ROWS)]),
    "large decimal": pl.Series([Decimal(10) ** 30 + i for i in range(ROWS)]),
    "nanoseconds": numbers(FAR, pl.Int64).cast(pl.Datetime("ns")),
    "microseconds": numbers(FAR, pl.Int64).cast(pl.Datetime("us")),
    "milliseconds": numbers(FAR, pl.Int64).cast(pl.Datetime("ms")),
    "long ago": numbers(-FAR, pl.Int64).cast(pl.Datetime("ms")),
    "time zone": pl.Series(
        [datetime(9999, 12, 31, 23) - timedelta(hours=i) for i in range(ROWS)]
    ).dt.replace_time_zone("Asia/Tokyo"),
    "last day": pl.Series([date(9999, 12, 31)] * ROWS),
    "first day": pl.Series([date(1, 1, 1)] * ROWS),
    "late date": numbers(2**31 - 1, pl.Int32, -1).cast(pl.Date),
    "early date": numbers(-(2**31), pl.Int32).cast(pl.Date),
    "128 bits": numbers(2**100, pl.Int128),
    "64 bits": numbers(2**64 - 1, pl.UInt64, -1),
    "single": pl.Series([i / 3 for i in range(ROWS)], dtype=pl.Float32),
    "infinite": pl.Series([float("inf")] * ROWS),
    "no number": pl.Series([float("nan")] * ROWS),
    "huge": pl.Series([1e300 + i for i in range(ROWS)]),
    "nothing": pl.Series([None] * ROWS),
    "bytes": pl.Series([CANARY.encode()] * ROWS),
    "categories": pl.Series([f"{CANARY}{i % 5}" for i in range(ROWS)], dtype=pl.Categorical),
    "enumeration": pl.Series([CANARY] * ROWS, dtype=pl.Enum([CANARY])),
    "records": pl.Series([{CANARY: i} for i in range(ROWS)]),
    "lists": pl.Series([[CANARY]] * ROWS, dtype=pl.List(pl.Enum([CANARY]))),
    "arrays": pl.Series([[i, i] for i in range(ROWS)], dtype=pl.Array(pl.Int64, 2)),
    "objects": pl.Series([object()] * ROWS, dtype=pl.Object),
    "truth": pl.Series([i % 2 == 0 for i in range(ROWS)]),
}
REFUSED = {
    "duration": "Duration",
    "bytes": "Binary",
    "records": "Struct",
    "lists": "List",
    "arrays": "Array",
    "late date": "years 1 to 9999",
    "early date": "years 1 to 9999",
    "milliseconds": "years 1 to 9999",
    "microseconds": "years 1 to 9999",
    "long ago": "years 1 to 9999",
}
ROLES: dict[str, Callable[[], Schema]] = {
    "identifier": lambda: Schema("x", [Number("age")], "dx"),
    "number": lambda: Schema("id", [Number("x")], "dx"),
    "category": lambda: Schema("id", [Number("age"), Category("x")], "dx"),
    "date": lambda: Schema("id", [Number("age"), Date("x")], "dx"),
    "sensitive": lambda: Schema("id", [Number("age")], Category("x")),
    "insensitive": lambda: Schema("id", [Number("age")], "dx", ["x"]),
    "dropped": lambda: Schema("id", [Number("age")], "dx", dropped=["x"]),
}


def table(x: pl.Series, schema: Schema) -> pl.DataFrame:
    frame = pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(ROWS)],
            "age": list(range(ROWS)),
            "dx": ["a", "b", "c", "d"] * (ROWS // 4),
        }
    ).with_columns(x.alias("x"))
    return frame.select(c for c in frame.columns if c in (*schema.columns, *schema.dropped))


def published(folder: Path, x: pl.Series, schema: Schema) -> str:
    """What became of it, in words."""
    series = Series.create(folder, schema, PenaltyTree(2), seed=1, one_table=True)
    try:
        series.publish(table(x, schema))
        return "published"
    except RepublishError as problem:
        assert not series.records
        return str(problem)
    finally:
        series.ledger.close()


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_every_type_are_published_or_refused_without_a_cell(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    said = {role: published(tmp_path / role, COLUMNS[kind], schema()) for role, schema in ROLES.items()}
    assert CANARY not in " ".join(said.values())
    assert "panicked" not in capfd.readouterr().err
    if kind in REFUSED:
        for role in ("identifier", "number", "category", "date", "sensitive", "insensitive"):
            assert REFUSED[kind] in said[role]
    if kind != "objects":
        assert said["dropped"] == "published"


def mutated(raw: bytes, chance: random.Random) -> bytes:
    data = bytearray(raw)
    if chance.random() < 0.2:
        return bytes(data[: chance.randrange(12, len(data))]) + chance.choice([b"", b"PAR1"])
    start = chance.choice([4, len(data) - 1200])
    for _ in range(chance.choice([1, 2, 8])):
        data[chance.randrange(start, len(data))] = chance.randrange(256)
    return bytes(data)


def test_damaged_files_are_read_or_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(1)
    frame = pl.DataFrame(
        {
            "id": [f"{CANARY}{i}" for i in range(300)],
            "age": [None if i % 7 == 0 else i for i in range(300)],
            "day": numbers(0, pl.Int32).cast(pl.Date).sample(300, with_replacement=True, seed=1),
        }
    )
    frame.write_parquet(tmp_path / "whole", compression="uncompressed")
    raw = (tmp_path / "whole").read_bytes()
    path, outcomes = tmp_path / "damaged", {ViewError: 0, LedgerError: 0}
    readers: list[tuple[Callable[[Path], Any], type[RepublishError]]] = [
        (read_table, ViewError),
        (header, ViewError),
        (read_parquet, LedgerError),
        (parquet_schema, LedgerError),
        (parquet_rows, LedgerError),
    ]
    for _ in range(150):
        path.write_bytes(mutated(raw, chance))
        for read, kind in readers if path.read_bytes()[:4] == b"PAR1" else []:
            try:
                read(path)
            except RepublishError as problem:
                assert type(problem) is kind
                assert CANARY not in str(problem)
                outcomes[kind] += 1
    assert all(count > 50 for count in outcomes.values())
    heard = capfd.readouterr().err
    assert "panicked" not in heard and CANARY not in heard


def test_a_damaged_private_file_is_an_error_of_the_ledger(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "s", ROLES["insensitive"](), PenaltyTree(2), seed=1)
    series.publish(table(COLUMNS["truth"], series.schema))
    path = series.ledger.path(series.membership_files(1)[0])
    raw = bytearray(path.read_bytes())
    raw[-40:-8] = b"\xff" * 32
    path.write_bytes(bytes(raw))
    with pytest.raises(LedgerError, match="damaged; restore it from a backup"):
        series.membership(1)


def script(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)


def test_a_panic_is_words_and_nothing_is_heard_of_it() -> None:
    done = script(
        "import polars as pl\n"
        "from republish.errors import ViewError\n"
        "from republish.sources.panics import contained\n"
        "try:\n"
        "    with contained(ViewError, 'in words'):\n"
        f"        {PANIC}\n"
        "except ViewError as problem:\n"
        "    print(problem)\n"
    )
    assert (done.stdout, done.stderr) == ("in words\n", "")


def test_the_command_ends_with_2_and_a_sentence_whatever_gives_up() -> None:
    done = script(
        "import polars as pl\n"
        "from republish import cli\n"
        f"def give_up(standalone_mode): {PANIC}\n"
        "give_up.registered_commands = []\n"
        "cli.app = give_up\n"
        "cli.main()\n"
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: an unforeseen PanicException at ")
    assert "panicked" not in done.stderr and done.stderr.count("\n") == 1


def test_what_is_not_of_a_panic_is_heard_afterwards(capfd: pytest.CaptureFixture[str]) -> None:
    import os

    with contained(ViewError, "in words"):
        os.write(2, b"of another thread\n")
        assert capfd.readouterr().err == ""
    assert capfd.readouterr().err == "of another thread\n"


def test_an_interrupt_is_no_panic() -> None:
    with pytest.raises(KeyboardInterrupt), contained(ViewError, "in words"):
        raise KeyboardInterrupt


def test_nobody_is_told_that_what_was_not_checked_is_intact() -> None:
    done = script(
        "from republish import cli\n"
        "def fail(standalone_mode): raise ValueError('CANARY')\n"
        "cli.app = fail\n"
        "cli.main()\n"
    )
    assert done.returncode == 2
    assert "CANARY" not in done.stderr and "is intact" in done.stderr
    assert "`republish verify` tells whether what was published before is intact" in done.stderr
