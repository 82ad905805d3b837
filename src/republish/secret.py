"""The secret of a series: pseudonyms of people, and the randomness nobody can replay without it.

Pseudonyms are keyed BLAKE2b (128 bits) of the identifier's text in UTF-8 NFC. Rows and group numbers
are permuted by sorting the output of SHAKE-256 keyed with the secret, so that who learns the seed
of a series still cannot undo the order of a release.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from republish.arrays import IntArray, WordArray
from republish.errors import LedgerError
from republish.kernels import kernel
from republish.kernels.blake2b import MANY, KeyedHash, Texts

VARIABLE = "REPUBLISH_SECRET"
_BYTES = 32
_DIGEST = 16
_SHORTEST = 16


@dataclass(frozen=True, repr=False)
class Secret:
    """A key of 32 bytes; its text never appears in a message or a `repr`."""

    key: bytes

    @classmethod
    def new(cls) -> Secret:
        """A fresh secret from the system's entropy."""
        return cls(secrets.token_bytes(_BYTES))

    @classmethod
    def from_text(cls, text: str) -> Secret:
        """The secret that a text of at least 16 characters stands for."""
        if len(text.strip()) < _SHORTEST:
            raise LedgerError(
                f"the secret must have at least {_SHORTEST} characters; make one with `openssl rand -hex 32`"
            )
        return cls(
            hashlib.blake2b(
                text.strip().encode(errors="surrogateescape"), digest_size=_BYTES, person=b"republish-key"
            ).digest()
        )

    @classmethod
    def load(cls, path: Path) -> Secret:
        """The secret of the environment variable, else of the file."""
        text = os.environ.get(VARIABLE)
        if text:
            return cls.from_text(text)
        try:
            mode = path.stat().st_mode
            text = path.read_text(encoding="ascii")
        except (FileNotFoundError, UnicodeDecodeError):
            raise LedgerError(
                f"the secret of this series is lost: {path} is missing or damaged and {VARIABLE} is not set. Restore "
                "the file from a backup; without it nobody can be recognised again, and nothing was written"
            ) from None
        except OSError:
            raise LedgerError(f"the secret {path} cannot be read by this user; nothing was written") from None
        if mode & 0o077:
            raise LedgerError(f"the secret {path} must be readable by its owner only; run chmod 600 on it")
        return cls.from_text(text)

    def fingerprint(self) -> str:
        """What the ledger keeps to tell a wrong secret from the right one."""
        return self.digest("fingerprint")

    def digest(self, *label: object) -> str:
        """A keyed digest of 64 hexadecimal digits: the same for the same label, and unrelated to all others."""
        return self._derive(*label).hexdigest()

    def pseudonyms(self, identifiers: Iterable[str]) -> WordArray:
        """Two 64-bit words a person, the same for the same identifier in every release."""
        texts = composed(pl.Series(identifiers, dtype=pl.String))
        return self._digests(_texts(texts), b"republish-person", _DIGEST).byteswap(inplace=True)

    def text_words(self, texts: Iterable[str]) -> WordArray:
        """One keyed 64-bit word a text."""
        return self._digests(_texts(pl.Series(texts, dtype=pl.String)), b"republish-text", 8).ravel()

    def row_words(self, people: WordArray, words: WordArray) -> WordArray:
        """One keyed 64-bit word for a pseudonym and a word each: nobody without the secret can tell of which word."""
        digests = self._digests(_rows(people, words), b"republish-row", 8)
        return digests.byteswap(inplace=True).ravel()

    def _digests(self, blocks: Iterable[Texts], purpose: bytes, size: int) -> WordArray:
        """Keyed BLAKE2b of every text in words of 64 bits, least byte first."""
        keyed = KeyedHash(self.key, size, purpose)
        return np.concatenate([keyed.digests(block) for block in blocks])

    def permutation(self, size: int, *label: object) -> IntArray:
        """A permutation that only the secret, and the label, determine."""
        stream = hashlib.shake_256(self._derive(*label).digest()).digest(8 * size)
        return _order_of_random(np.frombuffer(stream, dtype=np.uint64))

    def generator(self, *label: object) -> np.random.Generator:
        """A generator that only the secret, and the label, determine."""
        return np.random.default_rng(int.from_bytes(self._derive(*label).digest(), "little"))

    def _derive(self, *label: object) -> hashlib.blake2b:
        text = "\x1f".join(map(str, label)).encode()
        return hashlib.blake2b(text, key=self.key, digest_size=_BYTES, person=b"republish-label")


def _blocks(rows: int) -> Iterator[slice]:
    """Stretches of equal length that together are all rows, so that not all texts are held twice."""
    count = max(1, -(-rows // (2 * MANY)))
    return (slice(rows * part // count, rows * (part + 1) // count) for part in range(count))


def _texts(texts: pl.Series) -> Iterator[Texts]:
    """The texts in UTF-8, some at a time."""
    if texts.null_count():
        raise TypeError("texts that are hashed must not be null")
    for block in _blocks(len(texts)):
        some = texts[block]
        joined = some.str.join("").cast(pl.Binary).item()
        ends = some.str.len_bytes().cum_sum().cast(pl.Int64).to_numpy()
        yield Texts(np.frombuffer(joined, dtype=np.uint8), ends)


def _rows(people: WordArray, words: WordArray) -> Iterator[Texts]:
    """Each pseudonym with its word, most significant byte first, some at a time."""
    for block in _blocks(len(people)):
        joined = np.column_stack([people[block], words[block]]).byteswap(inplace=True)
        ends = np.arange(1, len(joined) + 1) * (_DIGEST + 8)
        yield Texts(joined.ravel().view(np.uint8), ends)


def composed(texts: pl.Series) -> pl.Series:
    """The texts in Unicode NFC; plain ASCII is that already."""
    plain = (texts.str.len_bytes() == texts.str.len_chars()).all()
    return texts if plain else texts.str.normalize("NFC")


def order_of(people: WordArray) -> IntArray:
    """The order that sorts pseudonyms."""
    order = _order_of_random(people[:, 0])
    _finish_order(people, order)
    return order


def _order_of_random(keys: WordArray) -> IntArray:
    """The order that sorts random keys by their first bits, as many as the row number leaves free.

    Sorting words that carry their row number is several times faster than an argsort.
    """
    bits = np.uint64(max(len(keys) - 1, 1).bit_length())
    packed = (keys >> bits << bits) | np.arange(len(keys), dtype=np.uint64)
    packed.sort()
    return (packed & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.int64)


@kernel
def _finish_order(people, order):  # type: ignore[no-untyped-def]
    """Insertion sort of an order in which only neighbours are out of place."""
    for i in range(1, len(order)):
        row, j = order[i], i - 1
        while j >= 0 and (
            people[order[j], 0] > people[row, 0]
            or (people[order[j], 0] == people[row, 0] and people[order[j], 1] > people[row, 1])
        ):
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = row


def write_secret(path: Path) -> Secret:
    """Make a fresh secret file, readable by its owner only."""
    text = secrets.token_hex(_BYTES)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        raise LedgerError(
            f"a fresh secret cannot be written to {path}; remove what is there, or choose a folder of "
            "your own"
        ) from None
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    return Secret.from_text(text)


def pseudonym_texts(words: WordArray) -> pl.Series:
    """Pseudonyms as 32 hexadecimal digits."""
    raw = words.astype(">u8").tobytes()
    return pl.Series(
        "person", [raw[i : i + _DIGEST] for i in range(0, len(raw), _DIGEST)], dtype=pl.Binary
    ).bin.encode("hex")
