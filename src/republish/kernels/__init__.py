"""Kernels: loops over arrays, interpreted while there is little to do, else compiled once a machine and kept.

To compile a kernel takes about a second, and to import the compiler half of one. A small table needs neither: its
kernels run as plain Python, until one of them has taken as long as compiling it would, or loading it where this machine
keeps it compiled. Both ways give the same bits: floats are added one by one, logarithms are those of `math`, and where
whole numbers would overflow, or anything else fails, the compiled kernel decides.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any

import numpy as np

from republish.kernels.kept import is_kept

if TYPE_CHECKING:
    from numba import njit

__all__ = ["Kernel", "is_loaded", "kernel", "kernel_with", "threads"]

SMALL = 40_000
"""Calls whose arrays have as many entries or more are compiled, whatever they do; with 0 all are."""

OBSERVER: Callable[[Kernel, tuple[Any, ...]], None] | None = None
"""Is told of every call that no kernel makes."""

_IMPORT, _LOAD, _COMPILE = 0.5, 0.1, 3.0  # seconds of interpretation that this is worth


class _Interpreted(threading.local):
    """The kernel that this thread interprets, and when it has taken long.

    `until` is of the thread's own time, which is slow to ask for. It cannot have come before `not_before`.
    """

    kernel: Kernel | None = None
    until = 0.0
    not_before = 0.0

    def has_time(self) -> bool:
        """Whether the kernel has not taken long yet."""
        now = perf_counter()
        if now < self.not_before:
            return True
        left = self.until - thread_time()
        self.not_before = now + left
        return left >= 0


_now = _Interpreted()


class _TooLongError(Exception):
    pass


class Kernel:
    """A function of arrays and numbers, interpreted or compiled, whichever is done sooner."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self._options = function, options
        self._interpreted = "random" not in function.__code__.co_names  # numba draws other numbers than numpy
        self._spent, self._worth = 0.0, _LOAD
        self._dispatcher: Any = None
        self._compiled = False

    def __call__(self, *given: Any) -> Any:
        if _now.kernel is not None:
            if not self._interpreted or not (_now.has_time() or _now.kernel._may_go_on()):
                raise _TooLongError
            return self.py_func(*given)
        if OBSERVER is not None:
            OBSERVER(self, given)
        if not self._compiled:
            arrays = list(_arrays(given))
            if self._interpreted and sum(array.size for array in arrays) < SMALL:
                return self._interpret(given, arrays)
            self._compiled = True
        return self.dispatcher(*given)

    def _interpret(self, given: tuple[Any, ...], arrays: list[Any]) -> Any:
        """What the function returns, from compiled code where that is sooner or the interpreter cannot tell."""
        before = [array.copy() for array in arrays]
        begin = thread_time()
        _now.kernel, _now.until, _now.not_before = self, begin + self._worth - self._spent, 0.0
        try:
            with np.errstate(divide="raise", over="raise", invalid="ignore"):
                return _plain(self.py_func(*given))
        except Exception:
            self._compiled = True
        finally:
            _now.kernel = None
            self._spent += thread_time() - begin
            self._compiled = self._compiled or (self._spent > self._worth and not self._may_go_on())
        for array, was in zip(arrays, before, strict=True):
            if array.flags.writeable:
                array[...] = was
        return self.dispatcher(*given)

    def _may_go_on(self) -> bool:
        """Whether compiling would take longer than all that was interpreted; asked when loading would not."""
        more = _IMPORT * ("numba" not in sys.modules)
        worth = _LOAD + more if is_kept(self.py_func) else _COMPILE + more
        _now.until += worth - self._worth
        self._worth, known = worth, self._worth
        return worth > known

    @property
    def loaded(self) -> bool:
        """Whether this process has run its compiled code."""
        return self._dispatcher is not None

    @property
    def dispatcher(self) -> Any:
        """What numba makes of the function; compiled on its first call, or loaded."""
        if self._dispatcher is None:
            from republish.kernels.compiled import dispatcher

            self._dispatcher = dispatcher(self.py_func, self._options)
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        """Compiled kernels call this one as they would call what numba makes of it."""
        return self.dispatcher._numba_type_

    def __reduce__(self) -> str:
        return self.py_func.__qualname__


def kernel_with(**options: Any) -> Any:
    """A decorator as `kernel`, with options of numba's njit."""

    def made(function: Callable[..., Any]) -> Any:
        return function if os.environ.get("NUMBA_DISABLE_JIT") == "1" else Kernel(function, options)

    return made


kernel = njit() if TYPE_CHECKING else kernel_with()
"""A function that is interpreted while there is little to do, and compiled or loaded when there is more."""


def is_loaded(function: object) -> bool:
    """Whether to call a kernel costs no more than its work."""
    return isinstance(function, Kernel) and function.loaded


def threads() -> int:
    """How many threads kernels may work on: as many as numba may use."""
    numba = sys.modules.get("numba")
    if numba is not None:
        return int(numba.get_num_threads())
    given = os.environ.get("NUMBA_NUM_THREADS")
    return int(given) if given else len(os.sched_getaffinity(0))


def _arrays(given: tuple[Any, ...]) -> Iterator[Any]:
    """The arrays among arguments, and in records of them."""
    for one in given:
        if isinstance(one, np.ndarray):
            yield one
        elif isinstance(one, tuple):
            yield from _arrays(one)


def _plain(result: Any) -> Any:
    """A result as compiled code returns it: numbers are those of Python."""
    if isinstance(result, np.generic):
        return result.item()
    if isinstance(result, tuple):
        parts = [_plain(part) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    return result
