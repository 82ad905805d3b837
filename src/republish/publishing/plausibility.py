"""Whether a view can be the next one of its series; one that hardly can is refused, unless it is said to be meant.

A file cut short, or identifiers spelled in another way, would make a release that keeps every promise to people whom
nobody recognises, and none to those who were published before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from republish.arrays import WordArray
from republish.errors import Implausible, NothingNew, PolicyError
from republish.expect.findings import Deviation, found_of
from republish.expect.limits import REFUSE, Expect
from republish.ledger.entries import LedgerEntries
from republish.memory.memory import Memory
from republish.microdata import Axis
from republish.publishing.view_digest import earlier_release, is_of_last
from republish.schema import NORMAL_FORMS, Schema
from republish.secret import Secret
from republish.sources.identifiers import normal_texts

NEW_PEOPLE, FEWER_ROWS, SAME_VIEW = "new-people", "fewer-rows", "same-view"
MEANT = (NEW_PEOPLE, FEWER_ROWS, SAME_VIEW)
CROWD = 20
"""Of fewer people a share says nothing."""
_TRIED = 4_000
_WIDEST = 16
_SOME, _FEW = 5, 0.02


@dataclass(frozen=True)
class Turnout:
    """How many rows a view has, how many of its people and people at all are remembered, rows of the last view.

    Of the newcomers that were `tried`, those who are `respelled` would be people whom the view lacks, if they were
    written as `spelling` says. `same` is whether it is the view of the last release, `earlier` the release before that
    which was made of it (none if it is), and `usual` the largest share of newcomers of any release after the first.
    """

    rows: int
    known: int
    remembered: int
    last: int
    tried: int = 0
    respelled: int = 0
    spelling: str = ""
    same: bool = False
    earlier: int | None = None
    usual: float | None = None

    @property
    def recognised(self) -> float | None:
        """The share of its people, or of all who are remembered if these are fewer, who are recognised."""
        there = min(self.rows, self.remembered)
        return self.known / there if there >= CROWD else None

    @property
    def unusual(self) -> float | None:
        """By how much its share of newcomers is above the usual one."""
        if self.usual is None or min(self.rows, self.remembered) < CROWD:
            return None
        return 1 - self.known / self.rows - self.usual

    @property
    def of_other_spelling(self) -> bool:
        """Whether more newcomers than chance would bring are people who are missing, spelled otherwise."""
        return self.respelled >= max(_SOME, _FEW * self.tried)

    @property
    def growth(self) -> float | None:
        """Its rows for one of the last view; nothing where that had few."""
        return self.rows / self.last if self.last >= CROWD else None

    def findings(self, expect: Expect) -> tuple[Deviation, ...]:
        """What is to be warned of or refused; an empty view and people spelled otherwise always are."""
        rows = f"the view has {self.rows:,} rows, the last release was made of {self.last:,}"
        people = (
            f"{self.known:,} of {self.rows:,} people are recognised, and {self.remembered:,} are remembered"
        )
        fewer = found_of(expect, "fewer_rows", self.growth, rows)
        overlap = found_of(expect, "overlap", self.recognised, people)
        if not self.rows:
            fewer = [Deviation("fewer_rows", None, 0.0, expect.fewer_rows.refuse or 0.0, REFUSE, rows)]
        if self.of_other_spelling:
            share = self.known / max(1, min(self.rows, self.remembered))
            overlap = [Deviation("overlap", None, share, expect.overlap.refuse or 0.0, REFUSE, people)]
        if self.usual is not None and not any(one.refuses for one in overlap):
            people += f"; of no release after the first more than {self.usual:.0%} of the people were new"
            overlap += found_of(expect, "newcomers", self.unusual, people)
        again = f"release {self.earlier} was made of this very view"
        returned = float(self.earlier is not None) if self.rows >= CROWD else None
        return (
            *fewer,
            *found_of(expect, "more_rows", self.growth, rows),
            *overlap,
            *found_of(expect, "earlier_view", returned, again),
        )


@dataclass(frozen=True)
class Expected:
    """What was said of a view that is published: what was `meant`, what was found, and why it is published `anyway`."""

    meant: tuple[str, ...] = ()
    findings: tuple[Deviation, ...] = ()
    anyway: str | None = None


def turnout(people: WordArray, memory: Memory, last: int) -> Turnout:
    """The turnout of these pseudonyms."""
    known = int(np.count_nonzero(memory.find(people) >= 0))
    return Turnout(len(people), known, memory.size, last)


def with_past(found: Turnout, digest: str, entries: LedgerEntries) -> Turnout:
    """The turnout with what the releases so far say of the view with this digest, and of newcomers."""
    shares = [
        record.payload["arrivals"]["new"] / record.payload["rows"]
        for record in entries.releases[1:]
        if record.payload["rows"] >= CROWD
    ]
    return replace(
        found,
        same=is_of_last(digest, entries),
        earlier=earlier_release(digest, entries),
        usual=max(shares, default=None),
    )


def with_spelling(
    found: Turnout, people: WordArray, identifiers: pl.Series, secret: Secret, memory: Memory
) -> Turnout:
    """The turnout with the spelling that makes most newcomers people whom the view lacks; some newcomers are tried."""
    if not memory.size or found.known == found.rows:
        return found
    entries = memory.find(people)
    missing = np.ones(memory.size, dtype=np.bool_)
    missing[entries[entries >= 0]] = False
    some = identifiers.gather_every(max(1, len(identifiers) // _TRIED))
    newcomers = some.filter(pl.Series(memory.find(secret.pseudonyms(some)) < 0))
    best, name = 0, ""
    for spelling, texts in _spellings(newcomers):
        there = memory.find(secret.pseudonyms(texts.fill_null("")))
        respelled = len(np.unique(there[(there >= 0) & missing[there]]))
        if respelled > best:
            best, name = respelled, spelling
    return replace(found, respelled=best, tried=len(newcomers), spelling=name)


def require_plausible(
    found: Turnout, findings: tuple[Deviation, ...], meant: Collection[str], anyway: str | None
) -> Expected:
    """What was found of the turnout and the columns, what of it had to be meant and was, and why it passed anyway.

    Raises:
        NothingNew: it is the view of the last release, and that is not said to be meant.
        Implausible: something is to be refused, and is neither said to be meant nor passed with a reason.
    """
    unknown = set(meant) - set(MEANT)
    if unknown:
        raise PolicyError(f"what is meant is one of {', '.join(MEANT)}; {len(unknown)} others were named")
    if found.same and SAME_VIEW not in meant:
        raise NothingNew(_same(found))
    if anyway is not None and not anyway.strip():
        raise PolicyError(
            "what is published although it was not expected needs a reason; give one, without names"
        )
    refused = [one for one in findings if one.refuses]
    odd = tuple(name for name in _CHECKS if any(one.check in _CHECKS[name] for one in refused))
    passed = tuple(name for name in odd if name in meant)
    left = tuple(one for one in findings if not any(one.check in _CHECKS[name] for name in passed))
    others = [one for one in left if one.refuses]
    if others and anyway is None:
        raise Implausible(". ".join(_refusals(found, others)) + ". Nothing was written")
    return Expected((*passed, SAME_VIEW) if found.same else passed, left, anyway if others else None)


def spelled_alike(axes: Iterable[Axis], values: pl.Series, schema: Schema) -> dict[str, int]:
    """How many values of each column are another one but for case and blanks around them; columns that have some."""
    labels = {axis.column.name: pl.Series(axis.labels, dtype=pl.String) for axis in axes if axis.labels}
    if schema.sensitive is not None and values.dtype == pl.String:
        labels[schema.sensitive.name] = values
    found = {
        name: texts.n_unique() - normal_texts(texts, ["strip", "lower-case"]).n_unique()
        for name, texts in labels.items()
    }
    return {name: alike for name, alike in found.items() if alike}


def _same(found: Turnout) -> str:
    return (
        f"nothing new: the last release was made of this very view, {found.rows:,} rows, and nothing was written. "
        f"If a release is to tell that nothing changed, say that it is meant: {_meant(SAME_VIEW)}"
    )


_CHECKS = {
    NEW_PEOPLE: ("overlap", "newcomers"),
    FEWER_ROWS: ("fewer_rows",),
    SAME_VIEW: ("earlier_view",),
}


def _refusals(found: Turnout, refused: list[Deviation]) -> list[str]:
    """What is wrong with a view and how it is published all the same."""
    own = {"fewer_rows": _fewer, "overlap": _strangers, "newcomers": _strangers, "earlier_view": _earlier}
    words = [own[name](found) for name in own if any(one.check == name for one in refused)]
    others = [one.sentence() for one in refused if one.check not in own]
    if others:
        words.append(
            f"a view must be like the last one as far as [expect] of series.toml says; {'; '.join(others)}. Check the "
            f"file and its source; if it is right, say why: {_ANYWAY}"
        )
    return words


_ANYWAY = '--expect-anyway REASON, in Python expect_anyway="REASON"'


def _fewer(found: Turnout) -> str:
    rows = f"has {found.rows:,} rows" if found.rows else "has no row"
    last = f" and the last release was made of {found.last:,}" if found.last else ""
    return (
        f"a view must hold everybody who belongs in the release; this one {rows}{last}. Check that the file is "
        f"complete; if it is, say that it is meant: {_meant(FEWER_ROWS)}"
    )


def _earlier(found: Turnout) -> str:
    return (
        f"a view must be the next one; release {found.earlier} was made of this very view, {found.rows:,} rows. Check "
        f"that it is the right file; if all is again as it was then, say that it is meant: {_meant(SAME_VIEW)}"
    )


def _strangers(found: Turnout) -> str:
    spelling = (
        f"Written {found.spelling}, {found.respelled:,} of {found.tried:,} newcomers would be people whom this view "
        "lacks. "
        if found.respelled
        else ""
    )
    usual = "" if found.usual is None else f" (at most {found.usual:.0%} so far)"
    return (
        f"a view must spell people as earlier views did; of {found.rows:,} people in this one {found.known:,} are "
        f"recognised, {found.rows - found.known:,} would be new{usual}, and the last release was made of {found.last:,}"
        f". {spelling}Check zeros in front, a .0 at the end, case, spaces, and that this is the right column of "
        f"identifiers; if they are other people, say that it is meant: {_meant(NEW_PEOPLE)}"
    )


def _meant(name: str) -> str:
    """How that is said at the command line, and in Python."""
    return f'--{name}, in Python meant=["{name}"]'


def _spellings(texts: pl.Series) -> Iterator[tuple[str, pl.Series]]:
    """The simplest ones first."""
    yield "without zeros in front", normal_texts(texts, ["drop-leading-zeros"])
    yield "without .0 at the end", normal_texts(texts, ["drop-point-zero"])
    yield "without spaces around them", normal_texts(texts, ["strip"])
    yield "in lower case", normal_texts(texts, ["lower-case"])
    yield "in upper case", texts.str.to_uppercase()
    longest = int(texts.str.len_chars().to_numpy().max(initial=0))
    for width in range(max(longest, 2), _WIDEST + 1):
        yield f"with zeros in front to {width} digits", texts.str.zfill(width)
    yield "without spaces, zeros in front and .0, in lower case", normal_texts(texts, NORMAL_FORMS)
