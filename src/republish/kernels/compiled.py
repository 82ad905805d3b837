"""What numba makes of kernels: compiled once a machine, kept in the cache folder of the user."""

from __future__ import annotations

import itertools
import logging
import os
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba import njit
from numba.core import bytecode, caching

from republish.kernels.kept import PACKAGE, contents, place_of

__all__ = ["dispatcher"]

_LOG = logging.getLogger("republish.kernels")


def _number_apart() -> None:
    """Let this process number what it compiles as no other does.

    numba tells functions of one name and type apart by a number that every process counts from 1. Where two processes
    gave the same number to two functions, a third that loads both runs one in place of the other.
    """
    bytecode.FunctionIdentity._unique_ids = itertools.count(uuid.uuid4().int >> 66)


_number_apart()
os.register_at_fork(after_in_child=_number_apart)


def dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """The function as numba compiles it, or loads it where this machine has compiled it before."""
    made: Any = njit(nogil=True, **options)(function)
    made._cache = _Cache(function)
    return made


class _Locator(caching.UserProvidedCacheLocator):
    """A folder for each module and content, wherever the module lies."""

    def __init__(self, function: Any, file: str) -> None:
        self._py_file = file
        self._lineno = function.__code__.co_firstlineno
        self._stamp = contents(Path(file))
        self._cache_path = str(place_of(Path(file)))

    def get_source_stamp(self) -> str:
        return self._stamp

    @classmethod
    def from_function(cls, function: Any, file: str) -> _Locator | None:
        if not Path(file).is_relative_to(PACKAGE):
            return None
        try:
            found = cls(function, file)
            found.ensure_cache_path()  # type: ignore[no-untyped-call]
        except (
            OSError,
            RuntimeError,
        ):  # no home, or none that can be written: beside the source, as numba does
            return None
        return found


class _Implementation(caching.CompileResultCacheImpl):
    _locator_classes = [_Locator, *caching.CompileResultCacheImpl._locator_classes]  # noqa: RUF012 - as numba has it


class _KernelFiles(caching.IndexDataCacheFile):
    """An index of what is compiled, each in a file of its own that is written once, and before the index names it.

    numba numbers the files by the index. Two processes that compile the same kernel for different arguments at the same
    time then write to one file, and a third loads what was compiled for arguments that are not its own.
    """

    def save(self, key: Any, data: Any) -> None:
        name = f"{Path(self._index_name).stem}.{uuid.uuid4().hex}.nbc"
        self._save_data(name, data)  # type: ignore[no-untyped-call]
        self._save_index(self._load_index() | {key: name})  # type: ignore[no-untyped-call]


class _Cache(caching.FunctionCache):
    """Files that another version wrote and this one cannot read are no files."""

    _impl_class = _Implementation

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        files = self._cache_file
        self._cache_file = _KernelFiles(self._cache_path, Path(files._index_name).stem, files._source_stamp)  # type: ignore[no-untyped-call]

    def load_overload(self, *signature: Any) -> Any:
        found = None
        try:
            found = super().load_overload(*signature)  # type: ignore[no-untyped-call]
        except Exception:  # whatever a pickle of another version raises
            with suppress(OSError):
                self.flush()  # type: ignore[no-untyped-call]
        if found is None:
            _LOG.info("compiling %s", self._name)
        return found

    def save_overload(self, *compiled: Any) -> None:
        with suppress(Exception):  # what is not kept, for others keep the same just now, is compiled again
            super().save_overload(*compiled)  # type: ignore[no-untyped-call]
