"""Promises over a series, recomputed from all releases and the private membership; imports no publisher.

- `m-invariance=m`, `weak-m-invariance=m`: whoever is in two consecutive releases with the same sensitive
  value has groups with the same signature in both. A changed value is a new life, and so is a return.
- `tau-safety=m`: the same, and also between a person's last release and a return with the same value.
- `hc-safety=n`: no group shares more than |Q| - n, and less than all, of its members with one earlier group
  (Cor-Split, Fig. 6), so that no historical correlation relates fewer than n people.

When a release is made it is checked against the memory; `republish verify` goes through the whole series.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from republish.errors import LedgerError, PolicyError, SchemaError, ViewError
from republish.hc_safety import hc_unsafe
from republish.memory import KEY, Memory
from republish.microdata import sensitive_codes
from republish.release import COUNTERFEITS, TABLE_PARQUET
from republish.requirements import parse_requirements
from republish.schema import Schema
from republish.types import IntArray
from republish.verify import Check, Verification, verify_release

if TYPE_CHECKING:
    from republish.ledger import Entry, Ledger

_CONSECUTIVE = ("m-invariance", "weak-m-invariance")
_MEANING = {
    "m-invariance": "While a value stays the same from release to release, so does the set of values it hides in.",
    "tau-safety": "While a value stays the same, even over absences, so does the set of values it hides in.",
    "hc-safety": "No comparison of two groups of different releases relates fewer than n people.",
}


def meaning_of(promise: str) -> str:
    """A promise over the series as one sentence."""
    name, _, bound = promise.partition("=")
    return _MEANING[name.removeprefix("weak-")].replace("fewer than n people", f"fewer than {bound} people")


@dataclass(frozen=True)
class Appearances:
    """Everyone in one release: pseudonym words, published group, sensitive code, and each group's signature."""

    number: int
    people: np.ndarray[Any, np.dtype[np.uint64]]
    group: IntArray
    code: IntArray
    signature: pl.Series  # by group, position 0 for group 1: the sorted codes as text

    def signatures(self) -> pl.Series:
        """The signature of every person's group; null where the person was left out."""
        place = pl.Series(np.where(self.group > 0, self.group - 1, 0))
        there = pl.Series(self.group > 0)
        spelled = (
            self.signature.gather(place)
            if len(self.signature)
            else pl.Series([None] * len(place), dtype=pl.String)
        )
        return pl.select(pl.when(there).then(spelled)).to_series()


def signatures_of(folder: Path, schema: Schema, values: pl.Series) -> pl.Series:
    """The signature of every group of a stored release, as text, from the published table alone."""
    assert schema.sensitive is not None
    frame = pl.read_parquet(folder / TABLE_PARQUET, columns=["group", schema.sensitive.name])
    codes, _ = sensitive_codes(frame[schema.sensitive.name], schema.sensitive, values)
    pairs = pl.DataFrame({"group": frame["group"], "code": codes}).unique().sort("group", "code")
    spelled = pairs.group_by("group", maintain_order=True).agg(pl.col("code").cast(pl.String)).sort("group")
    return spelled["code"].list.join(",")


def kept_signatures(promise: str, now: Appearances, before: pl.DataFrame) -> tuple[Check, int]:
    """Whether everyone who must keep a signature does, and how many have a new life.

    `before` has one row a person of `now`, in that order: code, signature and release of the last sight, null
    for a stranger.
    """
    name = promise.partition("=")[0]
    known = before["release"].is_not_null().to_numpy()
    same_value = known & (before["code"].fill_null(-1).to_numpy() == now.code)
    must = same_value & (now.group > 0) & before["signature"].is_not_null().to_numpy()
    if name in _CONSECUTIVE:
        must &= before["release"].fill_null(0).to_numpy() == now.number - 1
    broken = must & now.signatures().ne_missing(before["signature"]).to_numpy()
    check = Check(
        f"{promise}: constant signatures",
        not broken.any(),
        meaning_of(promise),
        None,
        len(np.unique(now.group[broken])),
        int(broken.sum()),
    )
    return check, int((known & ~same_value).sum())


def hc_safe(promise: str, now: Appearances, history: IntArray, sizes: IntArray) -> Check:
    """Whether every group is hc-safe.

    `history[p, r]` is the group of the p-th person of `now` in release r + 1, 0 where she was in none.
    """
    degree = int(promise.partition("=")[2])
    members = np.flatnonzero(now.group > 0)
    order = members[np.argsort(now.group[members], kind="stable")]
    offsets = np.searchsorted(now.group[order], np.arange(1, len(sizes) + 2))
    unsafe = hc_unsafe(offsets, order, history, sizes, degree)
    return Check(
        f"{promise}: historical correlations",
        not unsafe.any(),
        meaning_of(promise),
        None,
        int(unsafe.sum()),
        int(sizes[unsafe].sum()),
    )


def check_against_memory(
    promises: Iterable[str], now: Appearances, sizes: IntArray, memory: Memory
) -> tuple[Check, ...]:
    """The promises over the series for a new release, from what the memory holds of everyone in it."""
    entries = memory.find(now.people)
    place = pl.Series(np.where(entries >= 0, entries, 0))
    known = pl.Series(entries >= 0)

    def last(column: pl.Series) -> pl.Series:
        found = column.gather(place) if memory.size else pl.Series([None] * len(place), dtype=column.dtype)
        return pl.select(pl.when(known).then(found)).to_series()

    spelled = pl.Series([",".join(map(str, s)) for s in memory.signatures] + [None], dtype=pl.String)
    column = memory.signature_column()
    borne = spelled.gather(np.where(column >= 0, column, len(memory.signatures)))
    before = pl.DataFrame(
        {
            "code": last(pl.Series(memory.columns["code"])),
            "release": last(pl.Series(memory.columns["last"])),
            "signature": last(borne),
        }
    )
    checks = []
    for promise in promises:
        if promise.startswith("hc-safety"):
            columns = [
                memory.columns.get(f"group@{r}", np.zeros(memory.size, np.int32))
                for r in range(1, now.number)
            ]
            history = np.zeros((len(entries), len(columns)), dtype=np.int32)
            for r, groups in enumerate(columns):
                history[entries >= 0, r] = groups[entries[entries >= 0]]
            checks.append(hc_safe(promise, now, history, sizes))
        else:
            checks.append(kept_signatures(promise, now, before)[0])
    return tuple(checks)


@dataclass(frozen=True)
class SeriesVerification:
    """What is wrong with the ledger and its files, the checks of every release, and how many new lives began."""

    problems: tuple[str, ...]
    releases: dict[int, Verification]
    new_lives: int = 0

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems and all(verification.holds for verification in self.releases.values())

    def as_dict(self) -> dict[str, Any]:
        """A JSON document."""
        return {
            "holds": self.holds,
            "problems": list(self.problems),
            "new_lives": self.new_lives,
            "releases": {str(number): found.as_dict() for number, found in self.releases.items()},
        }


class Stored(Protocol):
    """What a series shows of itself to be verified."""

    @property
    def ledger(self) -> Ledger:
        """Its ledger."""
        ...

    @property
    def schema(self) -> Schema:
        """Its schema with all amendments."""
        ...

    def membership_file(self, number: int) -> str:
        """The name of the membership file of a release."""
        ...

    def known_values(self) -> pl.Series:
        """The sensitive domain that the codes of all releases point into."""
        ...


def verify_series(series: Stored, progress: Callable[[int, int], None] | None = None) -> SeriesVerification:
    """Check the chain and all files, then every promise of every release, from what is stored."""
    problems = tuple(series.ledger.check())
    records, schema = series.ledger.releases(), series.schema
    walk = _Walk()
    releases: dict[int, Verification] = {}
    for done, entry in enumerate(records, start=1):
        number = entry.release or done
        try:
            releases[number] = _verify_stored(series, entry, schema, walk)
        except (OSError, pl.exceptions.PolarsError, SchemaError, ViewError, LedgerError, PolicyError):
            problems = (*problems, f"release {number} cannot be read any more")
        if progress:
            progress(done, len(records))
    return SeriesVerification(problems, releases, walk.new_lives)


class _Walk:
    """What an auditor carries from release to release: everyone's last sight and all earlier groups."""

    def __init__(self) -> None:
        self.last = pl.DataFrame(
            schema={
                **dict.fromkeys(KEY, pl.UInt64),
                "code": pl.Int32,
                "signature": pl.String,
                "release": pl.Int32,
            }
        )
        self.groups: list[pl.DataFrame] = []
        self.new_lives = 0

    def check(self, promises: Iterable[str], now: Appearances, sizes: IntArray) -> list[Check]:
        """The promises over the series for one release, then remember it."""
        people = pl.DataFrame({key: now.people[:, i] for i, key in enumerate(KEY)})
        before = people.join(self.last, on=list(KEY), how="left", maintain_order="left")
        checks: list[Check] = []
        for promise in promises:
            if promise.startswith("hc-safety"):
                parts = [
                    people.join(g, on=list(KEY), how="left", maintain_order="left")["group"]
                    for g in self.groups
                ]
                history = np.zeros((people.height, len(parts)), dtype=np.int32)
                for r, part in enumerate(parts):
                    history[:, r] = part.fill_null(0).to_numpy()
                checks.append(hc_safe(promise, now, history, sizes))
            else:
                check, lives = kept_signatures(promise, now, before)
                checks.append(check)
                self.new_lives += lives
        someone = (now.people != 0).any(axis=1)  # a forgotten person is nobody
        seen = people.with_columns(
            code=pl.Series(now.code, dtype=pl.Int32),
            signature=now.signatures(),
            release=pl.lit(now.number, dtype=pl.Int32),
        ).filter(pl.Series(someone))
        self.last = pl.concat([self.last.join(seen, on=list(KEY), how="anti"), seen])
        self.groups.append(
            people.with_columns(group=pl.Series(now.group, dtype=pl.Int32)).filter(pl.Series(someone))
        )
        return checks


def _verify_stored(series: Stored, entry: Entry, schema: Schema, walk: _Walk) -> Verification:
    number = entry.release or 0
    promises = entry.payload["promises"]
    folder = series.ledger.folder(number)
    found = verify_release(folder, schema, parse_requirements(promises["one_table"]))
    members = pl.read_parquet(series.ledger.path(series.membership_file(number)))
    sizes, counterfeits = group_sizes(folder)
    checks = [_members_fit(folder, schema, members, series.known_values(), sizes, counterfeits)]
    if promises["series"] and schema.sensitive is not None:
        now = Appearances(
            number,
            np.column_stack([members[key].to_numpy() for key in KEY]),
            members["group"].to_numpy(),
            members["code"].to_numpy(),
            signatures_of(folder, schema, series.known_values()),
        )
        checks += walk.check(promises["series"], now, sizes)
    return found.with_checks(*checks)


def group_sizes(folder: Path) -> tuple[IntArray, IntArray]:
    """Rows and declared counterfeits of every group of a stored release."""
    group = pl.read_parquet(folder / TABLE_PARQUET, columns=["group"])["group"].to_numpy()
    sizes = np.bincount(group, minlength=1)[1:]
    counterfeits = np.zeros(len(sizes), dtype=np.int64)
    if (folder / COUNTERFEITS).exists():
        held = pl.read_csv(folder / COUNTERFEITS)
        counterfeits[held["group"].to_numpy() - 1] = held["count"].to_numpy()
    return sizes, counterfeits


def _members_fit(
    folder: Path,
    schema: Schema,
    members: pl.DataFrame,
    values: pl.Series,
    sizes: IntArray,
    counterfeits: IntArray,
) -> Check:
    """The private membership must account for every row and value of every group, counterfeits aside."""
    stray = int((members["group"] > len(sizes)).sum())
    inside = members.filter(pl.col("group").is_between(1, len(sizes)))
    owned = np.bincount(inside["group"].to_numpy(), minlength=len(sizes) + 1)[1:]
    differs = sizes - counterfeits != owned
    if schema.sensitive is not None:
        frame = pl.read_parquet(folder / TABLE_PARQUET, columns=["group", schema.sensitive.name])
        codes, _ = sensitive_codes(frame[schema.sensitive.name], schema.sensitive, values)
        published = pl.DataFrame({"group": frame["group"], "code": codes}).group_by("group", "code").len()
        remembered = inside.group_by("group", "code").len()
        missing = remembered.join(published, on=["group", "code"], how="left", suffix="_published").filter(
            pl.col("len_published").is_null() | (pl.col("len") > pl.col("len_published"))
        )
        differs[missing["group"].unique().to_numpy() - 1] = True
    return Check(
        "membership",
        not differs.any() and not stray,
        "Every published row belongs to one remembered person with that value, counterfeits aside.",
        None,
        int(differs.sum()),
        stray,
    )
