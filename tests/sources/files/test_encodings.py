from __future__ import annotations

from pathlib import Path

import pytest

from republish.errors import ViewError
from republish.schema import Dialect
from republish.sources.files.encodings import detected_encoding
from republish.sources.tables import header, read_table

TEXT = "Straße,Größe\nMüllerweg,groß\n"
ROWS = [("Müllerweg", "groß")]


@pytest.fixture
def view(tmp_path: Path) -> Path:
    return tmp_path / "view.csv"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_what_a_file_shows_of_its_encoding_needs_no_word(view: Path, encoding: str) -> None:
    view.write_bytes(TEXT.encode(encoding))
    assert read_table(view).rows() == ROWS
    assert header(view) == ["Straße", "Größe"]


@pytest.mark.parametrize("encoding", ["windows-1252", "latin-1", "cp850", "mac-roman", "iso-8859-15"])
def test_any_other_encoding_is_said(view: Path, encoding: str) -> None:
    view.write_bytes(TEXT.encode(encoding))
    assert read_table(view, files=Dialect(encoding=encoding)).rows() == ROWS
    assert header(view, Dialect(encoding=encoding)) == ["Straße", "Größe"]


def test_a_later_file_in_utf8_is_read_as_that_whatever_was_said(view: Path) -> None:
    view.write_bytes(TEXT.encode())
    assert read_table(view, files=Dialect(encoding="windows-1252")).rows() == ROWS


def test_a_file_that_is_not_in_utf8_is_refused_with_what_to_write(view: Path) -> None:
    view.write_bytes(TEXT.encode("cp1252"))
    with pytest.raises(
        ViewError, match=r'must be in UTF-8 .* write encoding = "windows-1252" into'
    ) as caught:
        read_table(view)
    assert "Müller" not in str(caught.value)


def test_a_file_that_is_not_in_its_encoding_is_refused(view: Path) -> None:
    view.write_bytes(b"a,b\n\x81\x8d,\x90\n")
    with pytest.raises(ViewError, match="must be in windows-1252, as the schema says"):
        read_table(view, files=Dialect(encoding="windows-1252"))


@pytest.mark.parametrize(
    ("encoding", "found"),
    [
        ("utf-8", "utf-8"),
        ("ascii", "utf-8"),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16-le"),
        ("cp1252", "windows-1252"),
        ("latin-1", "windows-1252"),
    ],
)
def test_encodings_are_detected(view: Path, encoding: str, found: str) -> None:
    view.write_bytes((TEXT if encoding != "ascii" else "a,b\n1,2\n").encode(encoding))
    assert detected_encoding(view) == found


@pytest.mark.parametrize("encoding", ["cp850", "mac-roman", "cp437"])
def test_letters_of_dos_and_macintosh_are_not_guessed(view: Path, encoding: str) -> None:
    view.write_bytes("Straße,Größe\nMüller,Änderung für Übermut\n".encode(encoding))
    with pytest.raises(ViewError, match="neither in UTF-8 nor in Windows-1252; say its encoding"):
        detected_encoding(view)


def test_seven_bit_encodings_are_taken_at_their_word(view: Path) -> None:
    view.write_bytes("名,x\n東,1\n".encode("iso2022_jp"))
    assert read_table(view, files=Dialect(encoding="iso2022_jp")).rows() == [("東", "1")]
