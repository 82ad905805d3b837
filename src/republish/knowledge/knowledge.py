"""The distributions an adversary knows: of a person's first value, and of the next value after the last ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.errors import PolicyError
from republish.knowledge.classes import Classes
from republish.knowledge.contexts import average, completed, impossible, truncated
from republish.knowledge.words import GAPS, UNSEEN, require_known, said
from republish.knowledge.writer import write_files
from republish.sources.values import as_text

MOST_ENTRIES = 2**27
"""The largest table that is held, 1 GiB."""

APPEARANCES = 24
"""How long the sequences are by which `steps` weighs the values it forgets."""

_OFF = 1e-6  # a sum may be this far from 1
_ROUNDING = 1e-12  # and is left as it is when it is this close


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What is known of the sensitive value of people of each class.

    Attributes:
        values: The sensitive values; the position is the code. May hold one null, the missing value. Its name
            is that of the sensitive column.
        classes: From quasi-identifiers to class numbers.
        prior: `[class, value]`, the chances at first sight.
        sequential: `[class, older, last, next]`, the chances of the next value after the last `order` values;
            `older` numbers those before the last one, oldest first, to the base m + 1, m being "no value". A row
            over `next` sums to 1, or is zero: that context was never seen. `None` where nothing is known.
        order: How many last values `sequential` looks at, 0 without it.
        terminal: Codes after which a person does not come back.
        unseen: What is expected after a context that was never seen: what follows a `shorter` one, see `complete`,
            or nothing at all (`zero`): who is seen again was not in it (JS-reduce, Alg. 5).
        gaps: `skip` where a step of the sequential part leads to a person's next appearance, however many releases
            lie between, `count` where it leads to the next release, whether the person is in it or not.

    Arrays with a row for every class get one more, the average of the classes, for people whose class cannot
    be told. Contexts that cannot occur, "no value" after a value, are cleared. The arrays are read-only.
    """

    values: pl.Series
    classes: Classes
    prior: FloatArray
    sequential: FloatArray | None = None
    order: int = 0
    terminal: tuple[int, ...] = ()
    unseen: str = "shorter"
    gaps: str = "skip"

    def __post_init__(self) -> None:
        """Refuse what is no distribution or has the wrong shape; add the average class."""
        require_known("unseen", self.unseen, UNSEEN)
        require_known("gaps", self.gaps, GAPS)
        m, count = self.size, self.classes.count
        if m == 0 or self.values.n_unique() < m:
            raise PolicyError(
                f"knowledge names its sensitive values, at least one, each once; found {m} names"
            )
        if not all(0 <= code < m for code in self.terminal):
            raise PolicyError("terminal values must be among the sensitive values of the knowledge")
        if (self.sequential is None) != (self.order == 0) or self.order < 0:
            raise PolicyError(
                f"order is how many values sequential knowledge looks at, and 0 without it; found {self.order}"
            )
        object.__setattr__(self, "terminal", tuple(sorted(set(self.terminal))))
        prior = _checked("prior", self.prior, count, self.classes.rows, (m,))
        empty = int(np.count_nonzero(prior.sum(axis=-1) == 0))
        if empty:
            raise PolicyError(
                f"every class needs a prior that sums to 1; {empty} of {count} classes have none, give them one"
            )
        object.__setattr__(self, "prior", _frozen(prior, self.classes.rows))
        if self.sequential is not None:
            require_size(self.classes, m, self.order)
            shape = ((m + 1) ** (self.order - 1), m, m)
            table = _checked("sequential", self.sequential, count, self.classes.rows, shape)
            if self.order > 2:
                table[:, impossible(m, self.order)] = 0.0
            object.__setattr__(self, "sequential", _frozen(table, self.classes.rows))

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def terminal_mask(self) -> BoolArray:
        mask = np.zeros(self.size, dtype=np.bool_)
        mask[list(self.terminal)] = True
        return mask

    def complete(self) -> Knowledge:
        """This knowledge with every context filled that was never seen, unless `unseen` is zero.

        It takes the chances of the context without its oldest value: the row with "no value" in that place
        where there is one, else the average of the rows with any value there, each counting the same; then of
        the next shorter context, in the end the prior of the class. After a terminal value rows stay zero: who
        is seen again did not have it. Where a belief rests on terminal values alone, use the prior.
        """
        if self.sequential is None or self.unseen == "zero":
            return self
        count = self.classes.count
        table = completed(self.sequential[:count], self.prior[:count], self.terminal_mask)
        return replace(self, sequential=table)

    def steps(self, d: int, appearances: int = APPEARANCES) -> Knowledge:
        """What is left of this knowledge to an adversary who looks at the last `d` values only; 0 is a snapshot.

        Older values are averaged out with the weights that the knowledge itself gives them: how often each
        context is expected in a person's sequence of `appearances` values, starting from the prior.
        """
        if d < 0 or appearances < 2:
            raise PolicyError(f"steps must be 0 or more and appearances 2 or more, not {d} and {appearances}")
        if self.sequential is None or d >= self.order:
            return self
        if d == 0:
            return replace(self, sequential=None, order=0)
        count = self.classes.count
        full = self.complete().sequential
        assert full is not None
        table = truncated(self.sequential[:count], full[:count], self.prior[:count], d, appearances)
        return replace(self, sequential=table, order=d)

    def aligned(self, values: pl.Series) -> Knowledge:
        """This knowledge over another list of values, such as those that the codes of a view point into.

        Of a value that it does not mention nothing is known: in every distribution it has the share 1/M, M
        being the length of the new list, and the others are scaled down. Values that are not in the new list
        are left out and the rest is scaled up; a prior of which nothing is left becomes uniform, a context of
        which nothing is left counts as never seen.
        """
        here = self._places(values)
        M, count = len(values), self.classes.count
        if self.size == M and np.array_equal(here, np.arange(M)):
            return self
        require_size(self.classes, M, self.order)
        new = np.flatnonzero(here >= 0)
        old = here[new]
        prior = np.zeros((count, M))
        prior[:, new] = self.prior[:count, old]
        prior = self._shared_out(prior, here)
        prior[prior.sum(axis=-1) == 0] = 1 / M
        sequential = None
        if self.sequential is not None:
            m, older = self.size, self.order - 1
            table = self.sequential[:count].reshape(count, *[m + 1] * older, m, m)
            sequential = np.zeros((count, *[M + 1] * older, M, M))
            every = np.arange(count)
            sequential[np.ix_(every, *[np.append(new, M)] * older, new, new)] = table[
                np.ix_(every, *[np.append(old, m)] * older, old, old)
            ]
            sequential = self._shared_out(sequential, here).reshape(count, -1, M, M)
        terminal = tuple(np.flatnonzero(np.isin(here, self.terminal)).tolist())
        named = values.rename(self.values.name)
        return replace(self, values=named, prior=prior, sequential=sequential, terminal=terminal)

    def _places(self, values: pl.Series) -> IntArray:
        """The code of each value, -1 where it is not mentioned."""
        if values.dtype != self.values.dtype:
            raise PolicyError(
                f"the knowledge is about values of type {self.values.dtype}; the view has {values.dtype}. Read it with "
                "the schema of the view"
            )
        mine = self.values.to_frame("value").with_row_index("code")
        found = values.to_frame("value").join(
            mine, on="value", how="left", nulls_equal=True, maintain_order="left"
        )
        return found["code"].cast(pl.Int64).fill_null(-1).to_numpy()

    def _shared_out(self, table: FloatArray, here: IntArray) -> FloatArray:
        """Rows scaled to 1 where values were left out, then their share given to unmentioned values."""
        fresh = here < 0
        if len(here) - fresh.sum() < self.size:
            total = table.sum(axis=-1, keepdims=True)
            np.divide(table, total, out=table, where=total > 0)
        if fresh.any():
            seen = (table > 0).any(axis=-1)
            table *= 1 - fresh.mean()
            table[..., fresh] = np.where(seen, 1 / len(here), 0.0)[..., np.newaxis]
        return table

    def digest(self) -> str:
        """A digest of all that is known: equal digests mean equal knowledge."""
        about = {
            "values": as_text(self.values).to_list(),
            "type": str(self.values.dtype),
            "classes": self.classes.document(),
            "order": self.order,
            "terminal": list(self.terminal),
            **said(self.unseen, self.gaps),
        }
        return digest_of(about, self.prior, self.sequential)

    def write(self, folder: str | Path, sensitive: str | None = None) -> None:
        """Write `knowledge.toml`, `prior.csv` and `sequential.csv`, which `read_knowledge` reads.

        `sensitive` is the name of the sensitive column, where `values` does not bear it.
        """
        named = self if sensitive is None else replace(self, values=self.values.rename(sensitive))
        write_files(named, Path(folder))


def require_size(classes: Classes, m: int, order: int) -> None:
    """Refuse sequential knowledge whose table would not fit in memory."""
    entries = classes.rows * (m + 1) ** (order - 1) * m * m if order else 0
    if entries > MOST_ENTRIES:
        raise PolicyError(
            f"sequential knowledge of order {order} over {m} values and {classes.rows} classes has {entries:,} "
            f"entries; at most {MOST_ENTRIES:,} are held: lower the order, or merge values or classes"
        )


def codes_of(values: pl.Series, wanted: Sequence[Any]) -> tuple[int, ...]:
    """The codes of the wanted values; those that do not occur have none."""
    return tuple(code for code, value in enumerate(values.to_list()) if value in wanted)


def digest_of(about: Mapping[str, Any], *arrays: FloatArray | None) -> str:
    """A digest of a description and some arrays."""
    text = json.dumps(about, sort_keys=True, ensure_ascii=False, default=str)
    digest = hashlib.blake2b(text.encode(), digest_size=32)
    for array in arrays:
        digest.update(b"-" if array is None else np.ascontiguousarray(array + 0.0, dtype="<f8").tobytes())
    return digest.hexdigest()


def _checked(name: str, given: FloatArray, count: int, rows: int, shape: tuple[int, ...]) -> FloatArray:
    """A copy with one row a class, its distributions scaled to sum to 1."""
    table = np.array(given, dtype=np.float64)
    if table.ndim != len(shape) + 1 or table.shape[1:] != shape or table.shape[0] not in (count, rows):
        raise PolicyError(f"{name} must have the shape {(count, *shape)}; found {table.shape}")
    table = table[:count]
    wrong = table.size - int(np.count_nonzero(table >= 0))  # counts what is no number too
    if wrong:
        raise PolicyError(f"{name}: chances must be 0 or more; {wrong} of {table.size} are not")
    total = table.sum(axis=-1)
    off = np.abs(total - 1)
    wrong = int(np.count_nonzero((off > _OFF) & (total > 0)))
    if wrong:
        raise PolicyError(
            f"{name}: the chances of a distribution must sum to 1; {wrong} of {total.size} distributions do not"
        )
    np.divide(
        table, total[..., np.newaxis], out=table, where=((off > _ROUNDING) & (total > 0))[..., np.newaxis]
    )
    return table


def _frozen(table: FloatArray, rows: int) -> FloatArray:
    """The table with the average of the classes as one more row where there is one, read-only."""
    if rows > len(table):
        table = np.concatenate([table, average(table)[np.newaxis]])
    table.flags.writeable = False
    return table
