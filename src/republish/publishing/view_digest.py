"""Whether a view is the one that the last release was made of: a keyed digest of all it holds, in whatever order.

It is a sum of one keyed word a row, so that parts add up, sealed with the secret: who has the ledger and not the secret
learns from it whether two views were the same, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from republish.arrays import WordArray
from republish.microdata import Microdata
from republish.secret import Secret
from republish.sources.values import as_text

if TYPE_CHECKING:
    from republish.ledger.entries import LedgerEntries

KEY = "view_digest"
"""Where the ledger keeps it with a release; releases of earlier versions have none, nor do adopted ones."""


def row_contents(view: Microdata, digests: WordArray, secret: Secret) -> WordArray:
    """One keyed word a row, of everything that is published of it; `digests` are those of person and quasi-identifiers.

    It is of texts, not of codes, which depend on the views before.
    """
    assert view.people is not None
    words = digests ^ view.people[:, 1]  # of two words, so that chance would have to find 128 bits
    if view.schema.sensitive is not None:
        words = _mixed(words + _words(view.values, view.schema.sensitive.name, secret)[view.codes])
    for column in view.insensitive.get_columns():  # in the order of the schema
        words = _mixed(words + _words(column, column.name, secret))
    return words


def contents_sum(words: WordArray) -> tuple[int, int]:
    """What rows add up to, in two words."""
    low, high = (int(half.sum(dtype=np.uint64)) for half in (words, _mixed(words)))
    return low, high


def together(sums: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """What the rows of all parts add up to."""
    low, high = (sum(half) % 2**64 for half in zip(*sums, strict=True))
    return low, high


def digest_of(total: tuple[int, int], rows: int, secret: Secret) -> str:
    """The keyed digest of a view whose rows add up to that."""
    return secret.digest("view", rows, *total)


def is_of_last(digest: str, entries: LedgerEntries) -> bool:
    """Whether the last release was made of the view with this digest, and is in force."""
    last = entries.releases[-1] if entries.releases else None
    return last is not None and last.release not in entries.withdrawn and last.payload.get(KEY) == digest


def earlier_release(digest: str, entries: LedgerEntries) -> int | None:
    """The last release in force that was made of the view with this digest; none where the last release was."""
    if is_of_last(digest, entries):
        return None
    made = [one for one in entries.releases[:-1] if one.payload.get(KEY) == digest]
    return next((one.release for one in reversed(made) if one.release not in entries.withdrawn), None)


def _words(column: pl.Series, name: str, secret: Secret) -> WordArray:
    """A keyed word of every cell as text; nothing where it is missing."""
    texts = as_text(column).rename("text").to_frame()
    known = texts.unique().drop_nulls()
    words = secret.text_words(known.select(pl.lit(f"{name}=") + pl.col("text")).to_series())
    found = texts.join(
        known.with_columns(pl.Series("word", words)), on="text", how="left", maintain_order="left"
    )
    return found["word"].fill_null(0).to_numpy()


def _mixed(words: WordArray) -> WordArray:
    """Each word as another one (splitmix64), so that sums of several columns do not cancel."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
