"""Where the machine keeps what it has compiled, by the contents of the source.

Compiling takes far longer than most commands, so what is compiled is kept in the cache folder of the user, not beside
the source: a fresh checkout or a new installation of the same code compiles nothing again. A kernel is compiled anew
when its file, or one that it imports from, has other contents. The folder may be removed at any time.
"""

from __future__ import annotations

import hashlib
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["PACKAGE", "cache_folder", "contents", "is_kept", "place_of"]

PACKAGE = Path(__file__).parent.parent
_COMPILER = Path(__file__).with_name("compiled.py")
_HERE = "republish.kernels"  # decides when kernels are compiled, not to what
_IMPORTED = re.compile(
    r"^(?:from (republish[.\w]*) import (?:\(([^)]*)\)|([^(\n]*))|import (republish[.\w]*))", re.M
)


def cache_folder() -> Path:
    """Where compiled kernels are kept: NUMBA_CACHE_DIR, else `republish` in the cache folder of the user."""
    given = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    return Path(given or Path.home() / ".cache") / "republish"


def place_of(file: Path) -> Path:
    """The folder for the kernels of a module with these contents, wherever the module lies."""
    module = ".".join(file.relative_to(PACKAGE).with_suffix("").parts)
    return cache_folder() / f"{module}-{contents(file)[:16]}"


def is_kept(function: Any) -> bool:
    """Whether the machine keeps a kernel compiled, for some kinds of arguments."""
    code = function.__code__
    try:
        place = place_of(Path(code.co_filename))
        return any(place.glob(f"*.{code.co_name}-{code.co_firstlineno}.*.nbi"))
    except (OSError, RuntimeError, ValueError):  # no home, or a kernel from elsewhere
        return False


@cache
def contents(file: Path) -> str:
    """A digest of a module and of those it imports from, which its kernels may call and whose constants they hold.

    Records that are passed to kernels are defined beside them.
    """
    digest = hashlib.sha256(_COMPILER.read_bytes())
    beside = {path for path in file.parent.glob("*.py") if "NamedTuple" in path.read_text(encoding="utf-8")}
    for path in sorted(_needed(file) | beside):
        digest.update(str(path.relative_to(PACKAGE)).encode() + b"\0" + path.read_bytes() + b"\0")
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
    for module, several, few, plain in _IMPORTED.findall(text):
        imported = (name.split()[0] for name in (several or few).split(",") if name.strip())
        names |= {module or plain, *(f"{module}.{name}" for name in imported)}
    places = [PACKAGE.joinpath(*name.split(".")[1:]) for name in names if not name.startswith(_HERE)]
    files = [option for place in places for option in (place.with_suffix(".py"), place / "__init__.py")]
    return sorted(path for path in files if path.is_file() and path != PACKAGE / "__init__.py")
