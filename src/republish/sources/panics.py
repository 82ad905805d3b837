"""Panics of libraries in Rust, which are no `Exception` and print what they like: caught, and kept unheard."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from republish.errors import RepublishError

_STANDARD_ERROR = 2
_PANICKED = b"panicked at "


def is_panic(problem: BaseException) -> bool:
    """Whether a library in Rust gave up."""
    return type(problem).__name__ == "PanicException"


@contextmanager
def contained(kind: type[RepublishError], message: str) -> Iterator[None]:
    """A panic in the block is this error, and nothing of what the library printed is seen."""
    _HUSH.begin()
    try:
        yield
    except BaseException as problem:
        if is_panic(problem):
            raise kind(message) from None
        raise
    finally:
        _HUSH.end()


@contextmanager
def unheard() -> Iterator[None]:
    """Only Python speaks on standard error during the block: what other code prints there, panics too, is lost."""
    try:
        ours = os.dup(_STANDARD_ERROR)
    except OSError:  # there is none
        yield
        return
    before = sys.stderr
    with suppress(AttributeError, OSError, ValueError):  # one that is no file needs no other way out
        if before.fileno() == _STANDARD_ERROR:
            before.flush()
            sys.stderr = os.fdopen(
                os.dup(ours), "w", encoding=before.encoding, errors=before.errors, buffering=1
            )
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, _STANDARD_ERROR)
    os.close(nowhere)
    try:
        yield
    finally:
        os.dup2(ours, _STANDARD_ERROR)
        os.close(ours)
        if sys.stderr is not before:
            sys.stderr.close()
            sys.stderr = before


class _Hush:
    """Holds back what is printed on standard error while any thread reads; it is said afterwards, unless of a panic.

    The descriptor is one for all threads, so what others print meanwhile comes late; beside a panic it is lost. A panic
    of a library's own thread may end in another error, so what was printed decides.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = 0
        self._ours = -1
        self._held: IO[bytes] | None = None

    def begin(self) -> None:
        with self._lock:
            self._depth += 1
            if self._depth > 1:
                return
            with suppress(OSError):  # without a standard error, or room for a file, nothing is held back
                held = tempfile.TemporaryFile()  # noqa: SIM115 - closed by whoever ends last
                self._ours = os.dup(_STANDARD_ERROR)
                os.dup2(held.fileno(), _STANDARD_ERROR)
                self._held = held

    def end(self) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth or self._held is None:
                return
            os.dup2(self._ours, _STANDARD_ERROR)
            os.close(self._ours)
            with self._held as held:
                held.seek(0)
                printed = held.read()
            self._held = None
        if printed and _PANICKED not in printed:
            with suppress(OSError), os.fdopen(os.dup(_STANDARD_ERROR), "wb") as out:
                out.write(printed)


_HUSH = _Hush()
