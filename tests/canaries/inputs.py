"""Mutated inputs in which every cell and every identifier is a canary, and so is a header that is data.

A mutation takes a generator of random numbers and the folder to write to, and is one of a family: a view, a schema, a
hierarchy, knowledge, an archive, a list of people. All of them are functions of the seed alone.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl

WORD, DIGITS, YEAR = "zqcanary", "9182736", "1871-"
CANARIES = (WORD, DIGITS, YEAR)
ROWS = 48
COLUMNS = ("patient", "age", "zip", "degree", "seen", "diagnosis", "ward")
SCHEMA = f"""\
missing = ["?"]

[columns.patient]
role = "identifier"

[columns.age]
role = "quasi-identifier"
kind = "number"

[columns.zip]
role = "quasi-identifier"
kind = "category"
hierarchy = "zip.csv"

[columns.degree]
role = "quasi-identifier"
kind = "ordered"
order = ["{WORD} school", "{WORD} college", "{WORD} doctor"]

[columns.seen]
role = "quasi-identifier"
kind = "date"

[columns.diagnosis]
role = "sensitive"
kind = "category"

[columns.ward]
role = "insensitive"
"""
HIERARCHY = "".join(f"{WORD}zip{z};{WORD}zip{z // 3}x;*\n" for z in range(9))
KNOWLEDGE = {
    "knowledge.toml": 'prior = "prior.csv"\nsequential = "sequential.csv"\n',
    "prior.csv": "value,p\n" + "".join(f"{WORD} illness {i},0.2\n" for i in range(5)),
    "sequential.csv": "last1,next,p\n"
    + "".join(f"{WORD} illness {i},{WORD} illness {j},0.2\n" for i in range(5) for j in range(5)),
}

Random = np.random.Generator


def people(rng: Random, rows: int = ROWS, first: int = 0) -> dict[str, list[str]]:
    """The cells of a view, by column."""
    return {
        "patient": [f"{WORD}-p{first + i}" for i in range(rows)],
        "age": [f"{DIGITS}{n:02d}" for n in rng.integers(20, 90, rows)],
        "zip": [f"{WORD}zip{n}" for n in rng.integers(0, 9, rows)],
        "degree": [f"{WORD} {word}" for word in rng.choice(["school", "college", "doctor"], rows)],
        "seen": [
            f"{YEAR}{m:02d}-{d:02d}"
            for m, d in zip(rng.integers(1, 13, rows), rng.integers(1, 29, rows), strict=True)
        ],
        "diagnosis": [f"{WORD} illness {n}" for n in rng.integers(0, 5, rows)],
        "ward": [f"{WORD} ward {n}" for n in rng.integers(0, 3, rows)],
    }


def csv(cells: dict[str, list[str]], separator: str = ",") -> str:
    """The view as text."""
    rows = zip(*cells.values(), strict=True)
    return "".join(separator.join(row) + "\n" for row in (list(cells), *rows))


def base_view(rng: Random | None = None) -> bytes:
    """A view that can be published."""
    return csv(people(rng or np.random.default_rng(1))).encode()


# Views as CSV -------------------------------------------------------------------------------------

CELLS = (
    "",
    "?",
    "*",
    f"{WORD}",
    f'"{WORD}',
    f'{WORD}"',
    f'"{WORD}"x',
    f"{WORD},{WORD}",
    f'"{WORD}\n{WORD}"',
    f"{WORD}\r",
    f"{DIGITS}e400",
    f"-{DIGITS}",
    f"{DIGITS}.{DIGITS}",
    f"{DIGITS * 30}",
    "nan",
    "-inf",
    f"{YEAR}13-45",
    f"{YEAR}02-30",
    "0000-00-00",
    "99999-01-01",
    f"={WORD}()",
    f"<script>{WORD}</script>",
    f"{WORD}@{WORD}.de",
    f"+49 30 {DIGITS}",
    f"{WORD}\u202e\u0301\ud7ff",
    f"{WORD}\x00",
    f"[red]{WORD}[/red]",
    f"{{{WORD}|{WORD}}}",
    f"%s %d {{0}} {WORD}",
    f"{WORD}" * 2000,
)


def _cells(rng: Random) -> bytes:
    """Odd cells in one column."""
    cells = people(rng)
    name = str(rng.choice(COLUMNS))
    for row in rng.integers(0, ROWS, int(rng.integers(1, 6))):
        cells[name][row] = CELLS[rng.integers(len(CELLS))]
    return csv(cells).encode("utf-8", "surrogatepass")


def _whole_column(rng: Random) -> bytes:
    """One odd cell all the way down."""
    cells = people(rng)
    cells[str(rng.choice(COLUMNS))] = [CELLS[rng.integers(len(CELLS))]] * ROWS
    return csv(cells).encode()


def _bytes(rng: Random) -> bytes:
    """Some bytes are others."""
    data = bytearray(base_view(rng))
    for place in rng.integers(0, len(data), int(rng.integers(1, 20))):
        data[place] = rng.choice([0, 10, 13, 34, 44, 59, 255, int(rng.integers(256))])
    return bytes(data)


def _header_quote(rng: Random) -> bytes:
    """A stray quote in the header, which makes the rest of the file a name."""
    head, _, rest = base_view(rng).decode().partition("\n")
    place = int(rng.integers(0, len(head) + 1))
    return f'{head[:place]}"{head[place:]}\n{rest}'.encode()


def _header(rng: Random) -> bytes:
    """A header that is data, or hardly one."""
    head, _, rest = base_view(rng).decode().partition("\n")
    names = head.split(",")
    which = int(rng.integers(0, 9))
    if which == 0:
        return rest.encode()
    if which == 1:
        return f"\n{head}\n{rest}".encode()
    if which == 2:
        return f"{WORD} of all these people,,,,,,\n{head}\n{rest}".encode()
    place = int(rng.integers(len(names)))
    names[place] = {
        3: f"{WORD} " * 40,
        4: f'"{WORD}\n{WORD}"',
        5: f"{WORD}-p{place} {YEAR}03-04",
        6: f"{DIGITS}{place}",
        7: f"{YEAR}02-03",
        8: names[place - 1],
    }[which]
    return f"{','.join(names)}\n{rest}".encode()


def _columns(rng: Random) -> bytes:
    """Columns that are missing, too many, or in another order."""
    cells = people(rng)
    which = int(rng.integers(0, 4))
    name = str(rng.choice(COLUMNS))
    if which == 0:
        del cells[name]
    elif which == 1:
        cells[f"more{rng.integers(9)}"] = cells[name]
    elif which == 2:
        cells = {key: cells[key] for key in rng.permutation(list(cells))}
    else:
        cells |= {f"{WORD} {number} {'x' * 60}": cells["age"] for number in range(int(rng.integers(1, 400)))}
    return csv(cells).encode()


def _records(rng: Random) -> bytes:
    """Records that are ragged, blank, doubled or gone."""
    lines = base_view(rng).decode().splitlines()
    which, place = int(rng.integers(0, 7)), int(rng.integers(1, len(lines)))
    if which == 0:
        lines[place] += f",{WORD}"
    elif which == 1:
        lines[place] = lines[place].rpartition(",")[0]
    elif which == 2:
        lines.insert(place, "")
    elif which == 3:
        lines.insert(place, lines[place])
    elif which == 4:
        lines = lines[:1]
    elif which == 5:
        lines = lines[: 1 + int(rng.integers(0, 8))]
    else:
        lines[place] = WORD
    return ("\n".join(lines) + "\n").encode()


def _encoding(rng: Random) -> bytes:
    """Other encodings, separators and line ends."""
    text = base_view(rng).decode().replace(f"{WORD} ward", f"{WORD} wärd")
    which = int(rng.integers(0, 8))
    if which == 0:
        return text.encode("latin-1")
    if which == 1:
        return text.encode("utf-16")
    if which == 2:
        return text.encode("utf-8-sig")
    if which == 3:
        return text.replace("\n", "\r").encode()
    if which == 4:
        return text.replace("\n", "\r\n").encode()
    if which == 5:
        return text.replace(",", str(rng.choice([";", "\t", "|", " ", ":"]))).encode()
    if which == 6:
        return text.encode()[: int(rng.integers(0, len(text)))]
    return text.encode() + bytes(rng.integers(0, 256, 40, dtype=np.uint8))


def _identifiers(rng: Random) -> bytes:
    """Identifiers of another spelling, missing, or of other people."""
    cells = people(rng)
    which = int(rng.integers(0, 7))
    old = cells["patient"]
    cells["patient"] = {
        0: [name.upper() for name in old],
        1: [f" {name} " for name in old],
        2: [f"{DIGITS}{i}.0" for i in range(ROWS)],
        3: [f"{DIGITS}{i}" for i in range(ROWS)],
        4: ["" if i % 7 == 0 else name for i, name in enumerate(old)],
        5: [old[i // 2] for i in range(ROWS)],
        6: [f"0{name}" for name in old],
    }[which]
    return csv(cells).encode()


# Views as Parquet ---------------------------------------------------------------------------------

_TYPES: tuple[Callable[[Random], pl.Series], ...] = (
    lambda rng: pl.Series([timedelta(days=int(n)) for n in rng.integers(0, 99999, ROWS)]),
    lambda rng: pl.Series([time(int(n)) for n in rng.integers(0, 24, ROWS)]),
    lambda rng: pl.Series([Decimal(f"{DIGITS}.{n}") for n in rng.integers(0, 9, ROWS)]),
    lambda rng: pl.Series([datetime(1871, 3, int(n)) for n in rng.integers(1, 28, ROWS)]),
    lambda rng: pl.Series([date(1871, 3, int(n)) for n in rng.integers(1, 28, ROWS)]),
    lambda rng: pl.Series(rng.integers(-(2**31), 2**31 - 1, ROWS), dtype=pl.Int32).cast(pl.Date),
    lambda rng: pl.Series(rng.integers(-(2**62), 2**62, ROWS), dtype=pl.Int64).cast(pl.Datetime("us")),
    lambda rng: pl.Series(rng.integers(0, 2**62, ROWS), dtype=pl.Int64).cast(pl.UInt64) + 2**62,
    lambda rng: pl.Series(np.where(rng.random(ROWS) < 0.5, np.inf, 1e308)),
    lambda rng: pl.Series([float("nan")] * ROWS),
    lambda rng: pl.Series([None] * ROWS),
    lambda rng: pl.Series([None] * ROWS, dtype=pl.String),
    lambda rng: pl.Series([WORD.encode()] * ROWS),
    lambda rng: pl.Series([f"{WORD}{n}" for n in rng.integers(0, 3, ROWS)], dtype=pl.Categorical),
    lambda rng: pl.Series([WORD] * ROWS, dtype=pl.Enum([WORD])),
    lambda rng: pl.Series([{"name": WORD}] * ROWS),
    lambda rng: pl.Series([[WORD]] * ROWS),
    lambda rng: pl.Series(rng.random(ROWS) < 0.5),
    lambda rng: pl.Series([f"{WORD}{n}" for n in rng.integers(0, 3, ROWS)]),
    lambda rng: pl.Series(rng.integers(0, 9, ROWS)).cast(pl.Int8),
)


def _frame(rng: Random) -> pl.DataFrame:
    cells = pl.DataFrame(people(rng))
    return cells.with_columns(cells["age"].cast(pl.Int64), cells["seen"].str.to_date())


def _parquet(frame: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.write_parquet(file)
    return file.getvalue()


def _types(rng: Random) -> bytes:
    """A column of another type."""
    column = _TYPES[rng.integers(len(_TYPES))](rng)
    return _parquet(_frame(rng).with_columns(column.alias(str(rng.choice(COLUMNS)))))


def _damaged_parquet(rng: Random) -> bytes:
    """Some bytes of the file are others, or its end is missing."""
    data = bytearray(_parquet(_frame(rng)))
    if rng.random() < 0.3:
        return bytes(data[: int(rng.integers(4, len(data)))])
    for place in rng.integers(4, len(data), int(rng.integers(1, 12))):
        data[place] = rng.integers(256)
    return bytes(data)


VIEWS: tuple[Callable[[Random], bytes], ...] = (
    _cells,
    _whole_column,
    _bytes,
    _header_quote,
    _header,
    _columns,
    _records,
    _encoding,
    _identifiers,
    _types,
    _damaged_parquet,
)


# Everything else ----------------------------------------------------------------------------------


def altered(text: str, rng: Random) -> bytes:
    """A text file with lines that are gone, doubled, swapped or damaged."""
    lines = text.splitlines()
    for _ in range(int(rng.integers(1, 4))):
        if not lines:
            break
        which, place = int(rng.integers(0, 7)), int(rng.integers(len(lines)))
        if which == 0:
            del lines[place]
        elif which == 1:
            lines.insert(place, lines[int(rng.integers(len(lines)))])
        elif which == 2:
            lines[place] = CELLS[rng.integers(len(CELLS))].replace("\x00", "")
        elif which == 3:
            cut = int(rng.integers(len(lines[place]) + 1))
            lines[place] = lines[place][:cut] + f" {WORD} " + lines[place][cut:]
        elif which == 4:
            lines[place] = lines[place].replace('"', "")
        elif which == 5:
            lines[place] = lines[place].replace("=", "").replace(";", ";;").replace(",", ",,")
        else:
            lines[place] = lines[place][: int(rng.integers(len(lines[place]) + 1))]
    data = ("\n".join(lines) + "\n").encode("utf-8", "replace")
    return data if rng.random() < 0.9 else data + bytes(rng.integers(0, 256, 8, dtype=np.uint8))


@dataclass(frozen=True)
class Inputs:
    """What a folder of inputs holds."""

    folder: Path

    @property
    def view(self) -> Path:
        return self.folder / "view.dat"

    @property
    def schema(self) -> Path:
        return self.folder / "schema.toml"

    @property
    def hierarchy(self) -> Path:
        return self.folder / "zip.csv"

    @property
    def knowledge(self) -> Path:
        return self.folder / "knowledge"

    @property
    def archive(self) -> Path:
        return self.folder / "series.tgz"

    @property
    def list_of_people(self) -> Path:
        return self.folder / "people.csv"

    def write(self, rng: Random | None = None, family: str = "", archive: bytes = b"") -> None:
        """Write all of them, those of the family mutated."""
        self.knowledge.mkdir(parents=True, exist_ok=True)
        wild = rng or np.random.default_rng(1)
        self.view.write_bytes(VIEWS[wild.integers(len(VIEWS))](wild) if family == "view" else base_view(wild))
        self.schema.write_bytes(altered(SCHEMA, wild) if family == "schema" else SCHEMA.encode())
        self.hierarchy.write_bytes(altered(HIERARCHY, wild) if family == "hierarchy" else HIERARCHY.encode())
        chosen = str(wild.choice(list(KNOWLEDGE)))
        for name, text in KNOWLEDGE.items():
            hit = family == "knowledge" and name == chosen
            (self.knowledge / name).write_bytes(altered(text, wild) if hit else text.encode())
        listed = "patient,diagnosis,p\n" + "".join(
            f"{WORD}-p{i},{WORD} illness {i % 5},0.5\n" for i in range(5)
        )
        self.list_of_people.write_bytes(altered(listed, wild) if family == "people" else listed.encode())
        self.archive.write_bytes(altered_archive(archive, wild) if family == "archive" else archive)


def altered_archive(data: bytes, rng: Random) -> bytes:
    """An archive with damaged bytes, members that are gone, renamed or changed, or its end missing."""
    which = int(rng.integers(0, 4))
    if which == 0:
        return data[: int(rng.integers(0, len(data)))]
    if which == 1:
        damaged = bytearray(data)
        for place in rng.integers(0, len(data), 5):
            damaged[place] = rng.integers(256)
        return bytes(damaged)
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        members = {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]
    name = str(rng.choice(list(members)))
    if which == 2:
        del members[name]
    else:
        members[f"{name}{WORD}" if rng.random() < 0.3 else name] = altered(
            members[name].decode("utf-8", "replace"), rng
        )
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for each, held in members.items():
            info = tarfile.TarInfo(each)
            info.size = len(held)
            tar.addfile(info, io.BytesIO(held))
    return file.getvalue()
