"""Kernels are interpreted while that is sooner, with the same result; what is compiled is kept by content."""

from __future__ import annotations

import multiprocessing
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core import bytecode, caching

from republish import kernels
from republish.kernels import compiled, kept
from republish.memory import memory


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel that calls another one, whose constant lies in a third module; and a module that is not concerned."""
    monkeypatch.setattr(kept, "PACKAGE", tmp_path)
    (tmp_path / "a.py").write_text("from republish.b import called\n\n@kernel\ndef f(): ...\n")
    (tmp_path / "b.py").write_text("from republish.c import SIZE\n\n@kernel\ndef called(): ...\n")
    (tmp_path / "c.py").write_text("SIZE = 3\n")
    (tmp_path / "other.py").write_text("X = 1\n")
    return tmp_path


def stamp(package: Path) -> str:
    kept.contents.cache_clear()
    kept._imported.cache_clear()
    return kept.contents(package / "a.py")


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
    found = compiled._Locator(memory._find.py_func, memory.__file__)
    place = Path(found.get_cache_path())
    assert place.parent == tmp_path / "republish"
    assert place.name == f"memory.memory-{kept.contents(Path(memory.__file__))[:16]}"


@pytest.mark.jit
def test_what_another_version_compiled_is_compiled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(*_: object) -> None:
        raise AttributeError("Can't get attribute 'Renamed'")

    @kernels.kernel
    def doubled(numbers):  # type: ignore[no-untyped-def]
        return numbers * 2

    monkeypatch.setattr(caching.FunctionCache, "load_overload", unreadable)
    assert doubled(np.arange(3)).tolist() == [0, 2, 4]


def test_processes_that_compile_at_the_same_time_never_load_what_is_not_theirs(tmp_path: Path) -> None:
    one, other = (compiled._KernelFiles(str(tmp_path), "module.kernel-1.py311", "stamp") for _ in range(2))  # type: ignore[no-untyped-call]
    one._load_index = dict  # as it was before the other one wrote
    other.save("left", "compiled for left")
    one.save("right", "compiled for right")
    for key in ("left", "right"):
        assert other.load(key) in (None, f"compiled for {key}")  # type: ignore[no-untyped-call]
    assert other.load("right") == "compiled for right"  # type: ignore[no-untyped-call]
    late = one._save_data
    one._save_data = lambda *given: (other.save("left", "left again"), late(*given))
    one.save("up", "compiled for up")
    assert other.load("up") == "compiled for up"  # type: ignore[no-untyped-call]
    assert other.load("left") in (None, "left again")  # type: ignore[no-untyped-call]


def test_no_two_processes_give_what_they_compile_the_same_number() -> None:
    numbers = bytecode.FunctionIdentity._unique_ids
    apart = 2**32
    with multiprocessing.get_context("fork").Pool(1) as forked:
        assert abs(forked.apply(next_number) - next(numbers)) > apart
    with multiprocessing.get_context("spawn").Pool(1) as spawned:
        assert abs(spawned.apply(next_number) - next(numbers)) > apart


def next_number() -> int:
    """The number of what this process would compile next."""
    return next(bytecode.FunctionIdentity._unique_ids)


class Counts(NamedTuple):
    """A record as kernels take and return them."""

    seen: np.ndarray[Any, Any]
    most: int


def add_up(counts, rounds):  # type: ignore[no-untyped-def]
    for _ in range(rounds):
        for i in range(len(counts.seen)):
            counts.seen[i] += step(counts.seen[i])
    return Counts(counts.seen, counts.seen[0]), counts.seen[0] > 1


@kernels.kernel
def step(number):  # type: ignore[no-untyped-def]
    return number * 0 + 1


@pytest.fixture
def steps(interpreted: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A fresh kernel that counts how often it is compiled."""
    made = kernels.kernel(add_up)
    made.times_compiled = 0

    def dispatcher(function: Any, _options: Any) -> Any:
        made.times_compiled += 1
        return function

    monkeypatch.setattr(compiled, "dispatcher", dispatcher)
    return made


@pytest.mark.jit
class TestInterpreting:
    def test_little_work_is_not_compiled(self, steps: Any) -> None:
        (seen, most), more = steps(Counts(np.zeros(3, np.int64), 0), 2)
        assert (seen.tolist(), most, more, steps.times_compiled) == ([2, 2, 2], 2, True, 0)

    def test_numbers_are_those_of_python(self, steps: Any) -> None:
        found, more = steps(Counts(np.zeros(3, np.int64), 0), 2)
        assert (type(found), type(found.most), type(more)) == (Counts, int, bool)

    def test_large_arrays_are_not_interpreted(self, steps: Any) -> None:
        steps(Counts(np.zeros(kernels.SMALL, np.int64), 0), 1)
        assert steps.times_compiled == 1

    def test_what_takes_as_long_as_compiling_is_compiled_from_the_beginning(
        self, steps: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(kernels, "_COMPILE", 0.0)
        monkeypatch.setattr(kernels, "_IMPORT", 0.0)
        (seen, _), _ = steps(Counts(np.zeros(100, np.int64), 0), 3_000)
        assert (seen[0], steps.times_compiled) == (3_000, 1)

    def test_what_is_kept_compiled_is_loaded_sooner(
        self, steps: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(kernels, "is_kept", lambda _function: True)
        monkeypatch.setattr(kernels, "_IMPORT", 0.0)
        (seen, _), _ = steps(Counts(np.zeros(100, np.int64), 0), 3_000)
        assert (seen[0], steps.times_compiled) == (3_000, 1)

    def test_where_numbers_overflow_the_compiled_kernel_decides(self, interpreted: None) -> None:
        @kernels.kernel
        def wrapped(numbers):  # type: ignore[no-untyped-def]
            numbers[0] += np.uint64(1)
            return numbers[1] * np.uint64(2)

        numbers = np.array([0, 2**63], dtype=np.uint64)
        assert (wrapped(numbers), numbers[0]) == (0, 1)

    def test_chance_is_drawn_by_compiled_kernels_alone(self, interpreted: None) -> None:
        @kernels.kernel
        def drawn(seed):  # type: ignore[no-untyped-def]
            np.random.seed(seed)
            return np.random.random()

        @kernels.kernel
        def twice(seed):  # type: ignore[no-untyped-def]
            return drawn(seed) * 2.0

        before = np.random.get_state()[1][:3].tolist()
        assert twice(5) == 2 * drawn(5)
        assert np.random.get_state()[1][:3].tolist() == before

    def test_kernels_are_pickled_by_name(self) -> None:
        assert pickle.loads(pickle.dumps(memory._find)) is memory._find
