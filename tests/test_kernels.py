"""Compiled kernels are kept by content: found again wherever the source lies, and never where it has changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numba.core import caching

from republish import kernels
from republish.memory import memory


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel that calls another one, whose constant lies in a third module; and a module that is not concerned."""
    monkeypatch.setattr(kernels, "_PACKAGE", tmp_path)
    (tmp_path / "a.py").write_text("from republish.b import called\n\n@kernel\ndef f(): ...\n")
    (tmp_path / "b.py").write_text("from republish.c import SIZE\n\n@kernel\ndef called(): ...\n")
    (tmp_path / "c.py").write_text("SIZE = 3\n")
    (tmp_path / "other.py").write_text("X = 1\n")
    return tmp_path


def stamp(package: Path) -> str:
    kernels.contents.cache_clear()
    kernels._imported.cache_clear()
    return kernels.contents(package / "a.py")


@pytest.mark.parametrize("file", ["a.py", "b.py", "c.py"])
def test_a_change_of_what_a_kernel_uses_is_another_kernel(package: Path, file: str) -> None:
    before = stamp(package)
    (package / file).write_text((package / file).read_text() + "# changed\n")
    assert stamp(package) != before


def test_other_changes_are_not(package: Path) -> None:
    before = stamp(package)
    (package / "other.py").write_text("X = 2\n")
    assert stamp(package) == before


def test_where_the_source_lies_does_not_matter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    found = kernels._Locator(memory._find.py_func, memory.__file__)
    place = Path(found.get_cache_path())
    assert place.parent == tmp_path / "republish"
    assert place.name == f"memory.memory-{kernels.contents(Path(memory.__file__))[:16]}"


@pytest.mark.jit
def test_what_another_version_compiled_is_compiled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(*_: object) -> None:
        raise AttributeError("Can't get attribute 'Renamed'")

    @kernels.kernel
    def doubled(numbers):  # type: ignore[no-untyped-def]
        return numbers * 2

    monkeypatch.setattr(caching.FunctionCache, "load_overload", unreadable)
    assert doubled(np.arange(3)).tolist() == [0, 2, 4]
