"""From raw rows to people: pseudonyms, coordinates and codes, and what is remembered of each.

People are spread over buckets by pseudonym; in her bucket everyone meets what the memory holds of her.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import IntArray, WordArray
from republish.errors import ViewError
from republish.memory.memory import CORE, KEY, Arrivals, Memory, compare, memory_of, people_of
from republish.microdata import Microdata, read_view
from republish.parts.blocks import Block, fact, spread, table_block, tables_of
from republish.parts.files import read_intact
from republish.parts.survey import Domains, plain
from republish.publishing.view_digest import contents_sum, row_contents, together
from republish.secret import Secret, order_of
from republish.sources.identifiers import require_whole

VIEW, MEMORY = "view", "memory"
REMEMBERED = "remembered"
"""What publishers remember of everyone, in the view or not, on its way to one task."""
CHANGED = (
    "the view must be the same each time it is read; it holds values now that it did not hold before. Nothing was "
    "written: publish a table that nobody changes meanwhile"
)
ROW, CODE, CONTENTS = "row", "code", "contents"
_POINT, _PLAIN, _PAST, _AGE = "p:", "i:", "m:", "age"


def bucket_of(high: WordArray, buckets: int) -> IntArray:
    """The bucket of everyone with this first word of a pseudonym."""
    return ((high >> np.uint64(32)) * np.uint64(buckets) >> np.uint64(32)).astype(np.int64)


def tally_of(people: WordArray, digests: WordArray, codes: IntArray) -> int:
    """A sum over rows that tells whether the same rows come out as went in, each once, in whatever order."""
    mixed = (people[:, 0] ^ (people[:, 1] * np.uint64(0x9E3779B97F4A7C15))) + digests
    mixed += (codes.astype(np.uint64) + np.uint64(1)) * np.uint64(0x94D049BB133111EB)
    mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    return int((mixed ^ (mixed >> np.uint64(29))).sum(dtype=np.uint64))


def pseudonymize(
    domains: Domains, secret: Secret, buckets: int, row_digests: int, release: int, frame: pl.DataFrame
) -> Iterator[Block]:
    """The task that turns raw rows into people: coordinates and codes of the whole view, no identifier."""
    read = read_view(plain(frame), domains.schema, domains.values)
    assert read.identifiers is not None
    if release == 1:  # later the people who are recognised tell how identifiers are spelled
        require_whole(read.identifiers, domains.schema)
    people = secret.pseudonyms(read.identifiers)
    view = domains.view(read.points, read.codes, read.insensitive, people)
    if len(read.values) > len(domains.values) or not domains.hold(read.points):
        raise ViewError(CHANGED)
    digests = view.row_digests(secret, row_digests)
    contents = pl.Series(CONTENTS, row_contents(view, digests, secret))
    made = frame_of(view, digests).with_columns(contents)
    yield from spread(made, bucket_of(people[:, 0], buckets), VIEW)
    yield fact({"rows": view.rows})


def frame_of(view: Microdata, digests: WordArray) -> pl.DataFrame:
    """People as a table."""
    assert view.people is not None
    return pl.DataFrame(
        [
            *(pl.Series(key, np.ascontiguousarray(view.people[:, i])) for i, key in enumerate(KEY)),
            pl.Series(ROW, digests),
            pl.Series(CODE, view.codes, dtype=pl.Int32),
            *(pl.Series(f"{_POINT}{q}", points) for q, points in enumerate(view.points)),
            *(column.rename(f"{_PLAIN}{column.name}") for column in view.insensitive.get_columns()),
        ]
    )


def points_of(frame: pl.DataFrame, axes: int) -> Any:
    """The coordinates in a table of people: `points[q, row]`."""
    return np.array([frame[f"{_POINT}{q}"].to_numpy() for q in range(axes)]).reshape(axes, frame.height)


def view_of(frame: pl.DataFrame, domains: Domains) -> Microdata:
    """The people of a table as a view; they must be sorted by pseudonym."""
    insensitive = [frame[f"{_PLAIN}{name}"].rename(name) for name in domains.schema.insensitive]
    return domains.view(
        points_of(frame, len(domains.axes)),
        frame[CODE].to_numpy(),
        pl.DataFrame(insensitive),
        people_of(frame),
    )


def memory_in(frame: pl.DataFrame, release: int, counts: pl.DataFrame | None = None) -> Memory:
    """What is remembered of the people in a table."""
    columns = [name for name in frame.columns if name.startswith(_PAST)]
    known = frame.filter(pl.col(f"{_PAST}first").is_not_null()) if columns else frame.clear()
    names = {name: name.removeprefix(_PAST) for name in columns}
    return memory_of(known.select(*KEY, *columns).rename(names), release, counts)


def own_columns(columns: Iterable[str]) -> list[str]:
    """The columns of a memory that a publisher added to it."""
    return sorted(set(columns) - {*KEY, *CORE})


def recall(
    files: tuple[tuple[Path, dict[str, Any]], ...], buckets: int, blocks: Sequence[Block]
) -> Iterator[Block]:
    """The task that reads files of the memory, each with the digest and size that the ledger recorded; oldest first.

    What is remembered, a block for each bucket; a block names the place of a file in the list.
    """
    for block in blocks:
        age = int(block.data)
        stored = read_intact(*files[age]).with_columns(pl.lit(age, pl.Int32).alias(_AGE))
        yield from spread(stored, bucket_of(stored[KEY[0]].to_numpy(), buckets), MEMORY)


def newest(memory: pl.DataFrame) -> pl.DataFrame:
    """The latest line of everyone."""
    if not memory.height:
        return memory
    return memory.sort(_AGE, maintain_order=True).unique(KEY, keep="last", maintain_order=True).drop(_AGE)


def meet_memory(release: int, identifier: str, together: bool, blocks: Sequence[Block]) -> Iterator[Block]:
    """The task of one bucket: everyone in the view with what is remembered of her.

    The people of the bucket, sorted by pseudonym; and how they differ from the last release. Where one task decides for
    all people `together`, it is told what publishers remember of everyone.
    """
    view, remembered = tables_of(blocks, VIEW), newest(tables_of(blocks, MEMORY))
    memory = memory_of(remembered, release - 1)
    people = people_of(view) if view.height else np.empty((0, 2), dtype=np.uint64)
    order = order_of(people)
    people = people[order]
    repeated = int(np.count_nonzero((people[1:] == people[:-1]).all(axis=1)))
    if repeated:
        raise ViewError(
            f"column {identifier}: at most one row a person a view; {repeated} rows of one part repeat an "
            "identifier. Keep one row a person, for example the latest"
        )
    seen = Memory(
        people,
        {ROW: np.empty(0, np.uint64), CODE: np.empty(0, np.int32)}
        if not view.height
        else {ROW: view[ROW].to_numpy()[order], CODE: view[CODE].to_numpy()[order]},
    )
    tally = tally_of(people, seen.columns[ROW], seen.columns[CODE])
    total = contents_sum(view[CONTENTS].to_numpy()) if view.height else (0, 0)
    yield fact(Met(view.height, compare(seen, release, memory), memory.size, tally, total))
    if together and remembered.height:
        yield table_block(remembered.select(*KEY, *own_columns(remembered.columns)), 0, REMEMBERED)
    if not view.height:
        return
    view = view.drop(CONTENTS)[order]
    if remembered.height:
        names = {name: f"{_PAST}{name}" for name in remembered.columns if name not in KEY}
        view = view.join(remembered.rename(names), on=list(KEY), how="left", maintain_order="left")
    yield table_block(view, blocks[0].to, VIEW)


@dataclass(frozen=True)
class Met:
    """What a bucket tells: its rows, how they differ from the last release, how many are remembered, and the tally.

    `total` is what the contents of its rows add up to.
    """

    rows: int
    arrivals: Arrivals
    remembered: int
    tally: int
    total: tuple[int, int] = (0, 0)


def met(facts: Sequence[Met]) -> Met:
    """All buckets together."""
    names = Arrivals.__dataclass_fields__
    return Met(
        sum(f.rows for f in facts),
        Arrivals(**{name: sum(getattr(f.arrivals, name) for f in facts) for name in names}),
        sum(f.remembered for f in facts),
        sum(f.tally for f in facts) % 2**64,
        together([(0, 0), *(f.total for f in facts)]),
    )
