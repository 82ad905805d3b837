"""How much a Parquet file would become in memory, read from its footer alone: a small file may hold a huge table.

The footer is a structure in the compact protocol of Thrift; https://parquet.apache.org/docs/file-format/metadata/
names its fields.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

_MOST_BYTES = 2**23
_DEEP = 16
_TRUE, _FALSE, _BYTE, _DOUBLE, _TEXT, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_WHOLE = (4, 5, 6)


def contents(path: Path) -> tuple[int, int]:
    """Cells and bytes of the table once it is unpacked.

    Raises:
        ValueError: the footer cannot be read.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(size - 8)
        length = int.from_bytes(file.read(4), "little")
        if not 0 < length <= min(size - 12, _MOST_BYTES):
            raise ValueError("the footer has no length that it could have")
        file.seek(size - 8 - length)
        data = file.read(length)
    try:
        return _sums(_ThriftReader(data).struct(0))
    except (IndexError, KeyError, TypeError, AttributeError):
        raise ValueError("the footer is not as it should be") from None


def _sums(about: dict[int, Any]) -> tuple[int, int]:
    """`about` is a FileMetaData: 3 rows, 4 row groups; of each 1 column chunks, 3 rows; of each of those 3 metadata."""
    cells = unpacked = rows = 0
    for group in about.get(4, []):
        chunks = [chunk[3] for chunk in group[1]]
        rows += group[3]
        cells += sum(max(chunk[5], group[3]) for chunk in chunks)  # lists have more values than rows
        unpacked += sum(chunk[6] for chunk in chunks)
        if group[3] < 0 or any(chunk[5] < 0 or chunk[6] < 0 for chunk in chunks):
            raise ValueError("a size is negative")
    if rows != about[3]:
        raise ValueError("the row groups have other rows than the file")
    return cells, unpacked


class _ThriftReader:
    """Structures as mappings from the numbers of their fields."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 70:
                raise ValueError("a number has too many bytes")

    def whole(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def skip(self, count: int) -> None:
        self.at += count
        if self.at > len(self.data):
            raise ValueError("the footer ends too early")

    def struct(self, depth: int) -> dict[int, Any]:
        if depth > _DEEP:
            raise ValueError("the footer is too deep")
        found: dict[int, Any] = {}
        number = 0
        while (head := self.byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self.whole()
            kind = head & 0x0F
            found[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self.value(kind, depth)
        return found

    def value(self, kind: int, depth: int) -> Any:
        if kind in _WHOLE:
            return self.whole()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            return self.several(depth)
        if kind == _TEXT:
            return self.skip(self.varint())
        if kind in (_TRUE, _FALSE, _BYTE):
            return self.skip(1)
        if kind == _DOUBLE:
            return self.skip(8)
        if kind == _MAP:
            return self.pairs(depth)
        raise ValueError("a field is of no kind that there is")

    def several(self, depth: int) -> list[Any]:
        head = self.byte()
        count = self.varint() if head >> 4 == 15 else head >> 4
        if count > len(self.data) - self.at or depth > _DEEP:  # each takes at least a byte
            raise ValueError("a list is longer than the footer")
        return [self.value(head & 0x0F, depth + 1) for _ in range(count)]

    def pairs(self, depth: int) -> None:
        count = self.varint()
        if count > len(self.data) - self.at or depth > _DEEP:
            raise ValueError("a map is longer than the footer")
        kinds = self.byte() if count else 0
        for _ in range(count):
            self.value(kinds >> 4, depth + 1)
            self.value(kinds & 0x0F, depth + 1)
