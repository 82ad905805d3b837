from __future__ import annotations

import hashlib

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from republish.kernels import blake2b
from republish.kernels.blake2b import KeyedHash, Texts
from republish.secret import Secret

KEYED = KeyedHash(bytes(range(32)), 16, b"republish-person")
SECRET = Secret(bytes(range(32)))
PEOPLE = [
    "",
    "P1",
    "Zo\u00eb",
    "e\u0301",
    "\U0001f642" * 40,
    "x" * 127,
    "x" * 128,
    "x" * 129,
    "x" * 256,
    "x" * 257,
]


def joined(texts: list[bytes]) -> Texts:
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return Texts(np.frombuffer(b"".join(texts), dtype=np.uint8), ends)


def naive(keyed: KeyedHash, texts: list[bytes]) -> list[bytes]:
    return [
        hashlib.blake2b(text, key=keyed.key, digest_size=keyed.size, person=keyed.person).digest()
        for text in texts
    ]


@given(
    st.lists(
        st.binary(max_size=300) | st.sampled_from([b"x" * size for size in (127, 128, 129, 256)]), max_size=6
    ),
    st.binary(min_size=1, max_size=64),
    st.sampled_from([8, 16, 32, 64]),
    st.binary(max_size=16),
)
def test_the_kernel_gives_what_hashlib_gives(
    texts: list[bytes], key: bytes, size: int, person: bytes
) -> None:
    keyed = KeyedHash(key, size, person)
    expected = naive(keyed, texts)
    assert [row.astype("<u8").tobytes() for row in keyed.by_kernel(joined(texts))] == expected
    assert [row.astype("<u8").tobytes() for row in keyed.one_by_one(joined(texts))] == expected


def test_no_text_has_no_digest() -> None:
    assert KEYED.by_kernel(joined([])).shape == KEYED.one_by_one(joined([])).shape == (0, 2)


def test_pseudonyms_and_words_are_the_same_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    few = SECRET.pseudonyms(PEOPLE), SECRET.text_words(PEOPLE)
    rows = SECRET.row_words(few[0], few[1])
    monkeypatch.setattr(blake2b, "MANY", 1)
    assert np.array_equal(SECRET.pseudonyms(PEOPLE), few[0])
    assert np.array_equal(SECRET.text_words(PEOPLE), few[1])
    assert np.array_equal(SECRET.row_words(*few), rows)


def test_many_pseudonyms_are_those_of_each() -> None:
    people = pl.Series([f"P{i}" for i in range(2 * blake2b.MANY + 3)])  # two blocks, both by the kernel
    found = SECRET.pseudonyms(people)
    some = [0, 1, blake2b.MANY, blake2b.MANY + 1, blake2b.MANY + 2, len(people) - 1]
    assert np.array_equal(found[some], SECRET.pseudonyms(people.gather(some)))
    assert len(np.unique(found, axis=0)) == len(people)


def test_a_row_is_hashed_with_the_most_significant_byte_first() -> None:
    people, words = np.array([[1, 2]], dtype=np.uint64), np.array([3], dtype=np.uint64)
    text = b"".join(number.to_bytes(8, "big") for number in (1, 2, 3))
    expected = hashlib.blake2b(text, key=SECRET.key, digest_size=8, person=b"republish-row").digest()
    assert SECRET.row_words(people, words).tolist() == [int.from_bytes(expected, "big")]


def test_who_has_no_identifier_has_no_pseudonym() -> None:
    with pytest.raises(TypeError, match="must not be null"):
        SECRET.pseudonyms(pl.Series(["P1", None]))
