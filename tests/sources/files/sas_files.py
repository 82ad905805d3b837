"""SAS files for tests, written by ReadStat: pyreadstat carries its writer of sas7bdat and has no function for it."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyreadstat._readstat_parser as library
import pytest

_TEXT, _NUMBER = 0, 5  # readstat_type_t
_WIDTH = 16  # bytes of a text


def write_sas7bdat(path: Path, columns: Mapping[str, Sequence[str | float | None]]) -> None:
    """Write columns of texts or of numbers; skips the test where the library does not show its writer."""
    stat = ctypes.CDLL(library.__file__)
    if not hasattr(stat, "readstat_begin_writing_sas7bdat"):
        pytest.skip("this build of pyreadstat does not show the functions of ReadStat")
    for name in ("readstat_writer_init", "readstat_add_variable"):
        getattr(stat, name).restype = ctypes.c_void_p
    content = bytearray()

    @ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    def take(data: int, length: int, _context: int) -> int:
        content.extend(ctypes.string_at(data, length))
        return length

    writer = ctypes.c_void_p(stat.readstat_writer_init())
    assert stat.readstat_set_data_writer(writer, take) == 0
    variables = []
    for name, cells in columns.items():
        is_text = any(isinstance(cell, str) for cell in cells)
        kind, width = (_TEXT, _WIDTH) if is_text else (_NUMBER, 8)
        made = stat.readstat_add_variable(writer, name.encode(), kind, ctypes.c_size_t(width))
        variables.append(ctypes.c_void_p(made))
    rows = list(zip(*columns.values(), strict=True))
    assert stat.readstat_begin_writing_sas7bdat(writer, None, ctypes.c_long(len(rows))) == 0
    for row in rows:
        assert stat.readstat_begin_row(writer) == 0
        for variable, cell in zip(variables, row, strict=True):
            if cell is None:
                wrong = stat.readstat_insert_missing_value(writer, variable)
            elif isinstance(cell, str):
                wrong = stat.readstat_insert_string_value(writer, variable, cell.encode())
            else:
                wrong = stat.readstat_insert_double_value(writer, variable, ctypes.c_double(cell))
            assert wrong == 0
        assert stat.readstat_end_row(writer) == 0
    assert stat.readstat_end_writing(writer) == 0
    stat.readstat_writer_free(writer)
    path.write_bytes(content)
