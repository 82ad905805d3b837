"""Texts in any encoding as UTF-8; what a file shows of its encoding without doubt counts more than what is said.

A byte order mark is no accident, nor are zero bytes, nor is a file of many letters that is valid UTF-8. Any other
encoding must be said: single bytes mean other letters in each.
"""

from __future__ import annotations

import codecs
from pathlib import Path

from republish.errors import ViewError
from republish.schema.dialect import UTF_8

WESTERN = "windows-1252"
_HEAD = 4
_PIECE = 1 << 20
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_SEVEN_BITS = ("iso2022", "utf-7", "hz")  # their files are plain ASCII to the eye
_USUAL = range(0xA0, 0x100)  # letters and signs of Western texts
_SIGNS = (
    "\u20ac\u2013\u2014\u2018\u2019\u201a\u201c\u201d\u201e\u2022\u2026\u2122"  # the euro, dashes, quotes
)


def as_utf8(path: Path, encoding: str = UTF_8) -> bytes | None:
    """The bytes of a text file in UTF-8, or nothing where they are so on disk already.

    Raises:
        ViewError: the file is not in that encoding.
    """
    marked = marked_encoding(path)
    if marked is None and encoding == UTF_8:
        return None
    data = path.read_bytes()
    if marked is None and not codecs.lookup(encoding).name.startswith(_SEVEN_BITS) and _is_utf8(data):
        return None
    try:
        text = data.decode(marked or encoding)
    except UnicodeDecodeError:
        raise ViewError(
            f"{path.name} must be in {marked or encoding}{'' if marked else ', as the schema says'}, and holds other "
            "bytes; save it so, or let encoding in [files] of the schema ([schema.files] in series.toml) say what it is"
        ) from None
    return text.removeprefix("\ufeff").encode()


def marked_encoding(path: Path) -> str | None:
    """UTF-16 or UTF-32, where a mark or zero bytes at the beginning show it."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    found = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
    if found is None and len(head) == _HEAD:
        zeros = "".join("0" if byte == 0 else "x" for byte in head)
        found = {"x0x0": "utf-16-le", "0x0x": "utf-16-be"}.get(zeros)
    return found


def detected_encoding(path: Path) -> str:
    """The encoding of a text file: by its mark, UTF-8 where it is valid, else Windows-1252 where that makes words.

    Raises:
        ViewError: it is in none of these.
    """
    marked = marked_encoding(path)
    if marked is not None:
        return marked
    decoder = codecs.getincrementaldecoder(UTF_8)()
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                decoder.decode(piece)
        decoder.decode(b"", final=True)
        return UTF_8
    except UnicodeDecodeError:
        pass
    if not looks_western(path.read_bytes()):
        raise ViewError(
            f"{path.name} is neither in UTF-8 nor in Windows-1252; say its encoding, for example "
            "--read encoding=cp850 or mac-roman, or save it in UTF-8"
        )
    return WESTERN


def looks_western(data: bytes) -> bool:
    """Whether bytes read as Windows-1252 are letters and usual signs for the most part.

    DOS and Macintosh wrote other letters with the same bytes, most of them where Windows has none.
    """
    beyond = data.translate(None, bytes(range(128)))
    try:
        text = beyond.decode(WESTERN)
    except UnicodeDecodeError:
        return False
    usual = sum(text.count(sign) for sign in set(text) if sign in _SIGNS or ord(sign) in _USUAL)
    return 2 * usual > len(text)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode(UTF_8)
    except UnicodeDecodeError:
        return False
    return True
