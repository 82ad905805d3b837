from __future__ import annotations

import hashlib
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from republish.errors import LedgerError
from republish.secret import VARIABLE, Secret, order_of, pseudonym_texts, write_secret

SECRET = Secret(bytes(range(32)))
TEXT = "a secret of many characters"


@pytest.fixture(autouse=True)
def no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def test_a_pseudonym_is_keyed_blake2b_of_the_text() -> None:
    expected = hashlib.blake2b(b"P1", key=SECRET.key, digest_size=16, person=b"republish-person").hexdigest()
    assert pseudonym_texts(SECRET.pseudonyms(["P1"])).to_list() == [expected]


def test_composed_and_decomposed_letters_are_one_person() -> None:
    composed, decomposed = SECRET.pseudonyms(["\u00e9", "e\u0301"])
    assert np.array_equal(composed, decomposed)


def test_a_series_of_texts_and_a_list_are_the_same() -> None:
    people = [f"P{i}" for i in range(70_000)]  # more than one block
    assert np.array_equal(SECRET.pseudonyms(pl.Series(people)), SECRET.pseudonyms(people))
    assert len(np.unique(SECRET.pseudonyms(people), axis=0)) == len(people)


def test_nobody_has_no_pseudonym() -> None:
    assert SECRET.pseudonyms([]).shape == (0, 2)
    assert pseudonym_texts(SECRET.pseudonyms([])).to_list() == []
    assert SECRET.text_words([]).shape == (0,)


def test_another_secret_gives_other_pseudonyms() -> None:
    assert not np.array_equal(Secret(b"x" * 32).pseudonyms(["P1"]), SECRET.pseudonyms(["P1"]))


def test_equal_texts_have_equal_words() -> None:
    words = SECRET.text_words(["a", "b", "a"])
    assert words[0] == words[2] != words[1]
    assert words[0] != Secret(b"x" * 32).text_words(["a"])[0]


def test_a_permutation_holds_every_place_once_and_depends_on_label_and_secret() -> None:
    order = SECRET.permutation(1000, 1, "rows")
    assert np.array_equal(np.sort(order), np.arange(1000))
    assert np.array_equal(order, SECRET.permutation(1000, 1, "rows"))
    assert not np.array_equal(order, SECRET.permutation(1000, 2, "rows"))
    assert not np.array_equal(order, Secret(b"x" * 32).permutation(1000, 1, "rows"))
    assert SECRET.permutation(0, "rows").size == 0


def test_a_generator_depends_on_label_and_secret() -> None:
    assert SECRET.generator(1).integers(2**60) == SECRET.generator(1).integers(2**60)
    assert SECRET.generator(1).integers(2**60) != SECRET.generator(2).integers(2**60)


def test_the_key_is_never_shown() -> None:
    secret = Secret.from_text(TEXT)
    assert TEXT not in repr(secret)
    assert str(secret.key) not in repr(secret)
    assert secret.key.hex() != secret.fingerprint()


def test_a_written_secret_is_the_owners_alone_and_comes_back(tmp_path: Path) -> None:
    secret = write_secret(tmp_path / "secret")
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
    assert Secret.load(tmp_path / "secret") == secret
    assert Secret.load(tmp_path / "secret").fingerprint() == secret.fingerprint()


def test_a_secret_is_never_overwritten(tmp_path: Path) -> None:
    secret = write_secret(tmp_path / "secret")
    with pytest.raises(LedgerError, match="remove what is there"):
        write_secret(tmp_path / "secret")
    assert Secret.load(tmp_path / "secret") == secret


def test_the_environment_comes_before_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_secret(tmp_path / "secret")
    monkeypatch.setenv(VARIABLE, TEXT)
    assert Secret.load(tmp_path / "secret") == Secret.from_text(TEXT)


def test_spaces_around_a_secret_do_not_matter() -> None:
    assert Secret.from_text(f" {TEXT}\n") == Secret.from_text(TEXT)


def test_a_short_secret_is_refused_and_not_shown() -> None:
    with pytest.raises(LedgerError, match="at least 16 characters") as caught:
        Secret.from_text("SECRETCELL")
    assert "SECRETCELL" not in str(caught.value)


def test_a_secret_that_others_may_read_is_refused(tmp_path: Path) -> None:
    write_secret(tmp_path / "secret")
    (tmp_path / "secret").chmod(0o640)
    with pytest.raises(LedgerError, match="chmod 600"):
        Secret.load(tmp_path / "secret")


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_lost_secret_says_what_is_lost(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "secret").write_bytes(content)
    with pytest.raises(LedgerError, match=re.escape("missing or damaged")):
        Secret.load(tmp_path / "secret")


def test_a_folder_is_no_secret(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be read"):
        Secret.load(tmp_path)


def test_fresh_secrets_differ() -> None:
    assert Secret.new() != Secret.new()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**64 - 1)), max_size=40), st.integers(0, 62))
def test_pseudonyms_are_sorted_whatever_bits_they_share(pairs: list[tuple[int, int]], shift: int) -> None:
    people = np.array([(high << shift, low) for high, low in pairs], dtype=np.uint64).reshape(-1, 2)
    order = order_of(people)
    assert sorted(order.tolist()) == list(range(len(pairs)))
    assert [tuple(map(int, people[i])) for i in order] == sorted(tuple(map(int, row)) for row in people)
