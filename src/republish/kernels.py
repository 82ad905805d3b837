"""Compiled kernels, and where the machine keeps what it has compiled.

Compiling takes far longer than most commands, so what is compiled is kept in the cache folder of the user, not beside
the source: a fresh checkout or a new installation of the same code compiles nothing again. A kernel is compiled anew
when its file, or one that it imports from, has other contents. The folder may be removed at any time.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numba import njit
from numba.core import caching

__all__ = ["cache_folder", "contents", "kernel", "kernel_with"]

_PACKAGE = Path(__file__).parent
_IMPORTED = re.compile(r"^(?:from (republish[.\w]*) import \(?([^)]*?)\)?$|import (republish[.\w]*))", re.M)


def kernel_with(**options: Any) -> Any:
    """A decorator as `kernel`, with options of numba's njit."""

    def compiled(function: Any) -> Any:
        made: Any = njit(nogil=True, **options)(function)
        if hasattr(made, "enable_caching"):  # not where NUMBA_DISABLE_JIT leaves the function as it is
            made._cache = _Cache(function)  # type: ignore[no-untyped-call]
        return made

    return compiled


def cache_folder() -> Path:
    """Where compiled kernels are kept: NUMBA_CACHE_DIR, else `republish` in the cache folder of the user."""
    given = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    return Path(given or Path.home() / ".cache") / "republish"


class _Locator(caching.UserProvidedCacheLocator):
    """A folder for each module and content, wherever the module lies."""

    def __init__(self, function: Any, file: str) -> None:
        self._py_file = file
        self._lineno = function.__code__.co_firstlineno
        module = ".".join(Path(file).relative_to(_PACKAGE).with_suffix("").parts)
        self._stamp = contents(Path(file))
        self._cache_path = str(cache_folder() / f"{module}-{self._stamp[:16]}")

    def get_source_stamp(self) -> str:
        return self._stamp

    @classmethod
    def from_function(cls, function: Any, file: str) -> _Locator | None:
        if not Path(file).is_relative_to(_PACKAGE):
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


class _Cache(caching.FunctionCache):
    """Files that another version wrote and this one cannot read are no files."""

    _impl_class = _Implementation

    def load_overload(self, *signature: Any) -> Any:
        try:
            return super().load_overload(*signature)  # type: ignore[no-untyped-call]
        except Exception:  # whatever a pickle of another version raises
            with suppress(OSError):
                self.flush()  # type: ignore[no-untyped-call]
            return None

    def save_overload(self, *compiled: Any) -> None:
        with suppress(Exception):  # what is not kept, for others keep the same just now, is compiled again
            super().save_overload(*compiled)  # type: ignore[no-untyped-call]


@cache
def contents(file: Path) -> str:
    """A digest of a module and of those it imports from, which its kernels may call and whose constants they hold.

    Records that are passed to kernels are defined beside them.
    """
    digest = hashlib.sha256()
    beside = {path for path in file.parent.glob("*.py") if "NamedTuple" in path.read_text(encoding="utf-8")}
    for path in sorted(_needed(file) | beside):
        digest.update(str(path.relative_to(_PACKAGE)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _needed(file: Path) -> set[Path]:
    """The module, what it imports from the package, and so on from each of those that has kernels."""
    found: set[Path] = set()
    open_ = [file]
    while open_:
        path = open_.pop()
        if path not in found:
            found.add(path)
            if path == file or "@kernel" in path.read_text(encoding="utf-8") or path.name == "__init__.py":
                open_ += _imported(path)
    return found


@cache
def _imported(file: Path) -> list[Path]:
    """The modules of the package that a module imports from."""
    text = file.read_text(encoding="utf-8")
    names: set[str] = set()
    for module, imported, plain in _IMPORTED.findall(text):
        names |= {
            module or plain,
            *(f"{module}.{name.split()[0]}" for name in imported.split(",") if name.strip()),
        }
    places = [_PACKAGE.joinpath(*name.split(".")[1:]) for name in names if name]
    files = [option for place in places for option in (place.with_suffix(".py"), place / "__init__.py")]
    return sorted(path for path in files if path.is_file() and path != _PACKAGE / "__init__.py")


kernel = njit() if TYPE_CHECKING else kernel_with()
"""A function that numba compiles when it is first called, or loads where this machine has compiled it before."""
