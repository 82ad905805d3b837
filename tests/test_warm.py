"""`republish warm` finds the kernels that commands call, and compiles them so that they are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from republish import kernels, warm
from republish.kernels.kept import is_kept
from republish.memory import memory

pytestmark = pytest.mark.jit


def test_a_trial_tells_which_kernels_are_called_and_with_what(interpreted: None) -> None:
    calls = warm._called(warm._WarmedSeries("mondrian", {"k": 4}))
    assert memory._find in {kernel for kernel, _ in calls}
    assert len(calls) == len(set(calls))
    assert kernels.OBSERVER is None


def test_what_is_compiled_is_kept(interpreted: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = warm._called(warm._WarmedSeries("mondrian", {"k": 4}))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    found = next(types for kernel, types in calls if kernel is memory._find)
    fresh = kernels.Kernel(memory._find.py_func, {})
    assert not is_kept(fresh.py_func)
    warm._compile((fresh, found))
    assert is_kept(fresh.py_func)
