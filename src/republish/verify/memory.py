"""The memory of a series as its memberships say it must be, and whether the one that is stored is that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from republish.arrays import IntArray
from republish.memory.memory import KEY, Memory, keyed
from republish.verify.promises import AuditedRelease

_COLUMNS = ("first", "last", "row", "code", "group")
_PEOPLE, _LOST, _STRANGE, _GROUPS = "people", "lost", "strange", "earlier groups"
SEEN: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(KEY, pl.UInt64),
    "first": pl.Int32,
    "last": pl.Int32,
    "row": pl.UInt64,
    "code": pl.Int32,
    "group": pl.Int32,
    "signature": pl.String,
    "life": pl.Int32,
}
"""The columns of everyone's last sight."""


class Rebuilt:
    """What must be remembered after each release: everyone's last sight, and where asked for all groups of her life.

    A person's lives are numbered from 0: a changed value begins a new one, a return with the same does not.
    """

    def __init__(self, with_groups: bool) -> None:
        self.last = pl.DataFrame(schema=SEEN)
        self.groups: list[pl.DataFrame] | None = [] if with_groups else None

    def known(self, now: AuditedRelease) -> pl.DataFrame:
        return keyed(now.members.people).join(self.last, on=list(KEY), how="left", maintain_order="left")

    def present(self, number: int) -> int:
        """How many people whose last release is this one."""
        return int((self.last["last"] == number).sum())

    def groups_of(self, known: pl.DataFrame, code: IntArray) -> Sequence[IntArray]:
        """For each earlier release the group of everyone in this one, in the life she lives now; 0 for none."""
        lives = known.select(*KEY, life=_life(known, code))
        return [_groups(lives, earlier) for earlier in self.groups or ()]

    def add(self, now: AuditedRelease, known: pl.DataFrame) -> None:
        """Take in a release; `known` is what was known of its people before it."""
        number = pl.lit(now.number, dtype=pl.Int32)
        seen = known.select(
            *KEY,
            first=pl.coalesce("first", number),
            last=number,
            row=pl.Series(now.members.row, dtype=pl.UInt64),
            code=pl.Series(now.members.code, dtype=pl.Int32),
            group=pl.Series(now.members.group, dtype=pl.Int32),
            signature=_kept(now, known["signature"]),
            life=_life(known, now.members.code),
        )
        seen = seen.filter(pl.Series(now.members.someone)).unique(KEY, keep="first")
        self.last = pl.concat([self.last.join(seen, on=list(KEY), how="anti"), seen])
        if self.groups is not None:
            self.groups.append(seen.select(*KEY, "life", "group"))

    def differences(self, memory: Memory, with_signatures: bool) -> list[str]:
        """What a stored memory has wrong, in numbers of people."""
        return sentences(self.compared(memory, with_signatures))

    def compared(self, memory: Memory, with_signatures: bool) -> Counter[str]:
        """Of how many people a stored memory has what wrong; `sentences` says it in words."""
        stored = keyed(memory.people).with_columns(
            *(pl.Series(name, memory.columns[name], dtype=SEEN[name]) for name in _COLUMNS),
            signature=spelled_signatures(memory),
        )
        key = list(KEY)
        found = Counter(
            {
                _PEOPLE: self.last.height,
                _LOST: self.last.join(stored, on=key, how="anti").height,
                _STRANGE: stored.join(self.last, on=key, how="anti").height,
                _GROUPS: self._wrong_groups(memory),
            }
        )
        both = self.last.join(stored, on=key, how="inner", suffix="_stored")
        for name in (*_COLUMNS, *(["signature"] if with_signatures else [])):
            found[name] = int(both[name].ne_missing(both[f"{name}_stored"]).sum())
        return found

    def _wrong_groups(self, memory: Memory) -> int:
        """Of how many people the groups of earlier releases are not those of the life they live."""
        wrong = np.zeros(memory.size, dtype=np.bool_)
        keys = keyed(memory.people)
        lives = keys.join(self.last.select(*KEY, "life"), on=list(KEY), how="left", maintain_order="left")
        for release, groups in enumerate(self.groups or (), start=1):
            stored = memory.columns.get(f"group@{release}", np.zeros(memory.size, dtype=np.int32))
            wrong |= stored != _groups(lives, groups)
        return int(np.count_nonzero(wrong))


def _kept(now: AuditedRelease, before: pl.Series) -> pl.Series:
    """Everyone's signature after a release: who is left out keeps the one she had.

    Where another tool made the release she keeps it only while her value is in it.
    """
    pair = pl.DataFrame({"now": now.borne, "before": before.cast(pl.String)})
    signature = pl.coalesce("now", "before")
    if now.adopted:
        code = pl.Series(now.members.code).cast(pl.String)
        signature = pl.when(signature.str.split(",").list.contains(code)).then(signature)
    return pair.select(signature).to_series()


def sentences(wrong: Mapping[str, int]) -> list[str]:
    """What a stored memory has wrong, in words; counts of several parts of it may be added up before."""
    found = []
    if wrong.get(_LOST):
        found.append(f"the memory lacks {wrong[_LOST]} of {wrong[_PEOPLE]} people who are in the memberships")
    if wrong.get(_STRANGE):
        found.append(f"the memory holds {wrong[_STRANGE]} people who are in no membership")
    for name in (*_COLUMNS, "signature"):
        if wrong.get(name):
            found.append(f"the memory has another {name} of {wrong[name]} people than the memberships")
    if wrong.get(_GROUPS):
        found.append(f"the memory has other earlier groups of {wrong[_GROUPS]} people than the memberships")
    return found


def spelled_signatures(memory: Memory) -> pl.Series:
    """Everyone's signature in a memory as text, null where there is none."""
    spelled = pl.Series([",".join(map(str, s)) for s in memory.signatures] + [None], dtype=pl.String)
    column = memory.signature_column()
    return spelled.gather(np.where(column >= 0, column, len(memory.signatures)))


def _life(known: pl.DataFrame, code: IntArray) -> pl.Series:
    """The number of everyone's life now: another value than before begins the next one."""
    changed = known["code"].ne(pl.Series(code, dtype=pl.Int32)).fill_null(False)
    return known["life"].fill_null(0) + changed.cast(pl.Int32)


def _groups(lives: pl.DataFrame, earlier: pl.DataFrame) -> IntArray:
    joined = lives.join(earlier, on=[*KEY, "life"], how="left", maintain_order="left")
    return joined["group"].fill_null(0).to_numpy()
