"""Workers that outlive their desk: most of what a small job costs is the start of a process."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from republish.web.jobs import jobs
from republish.web.jobs.jobs import Worker

Surroundings = tuple[str, frozenset[tuple[str, str]]]

_free: dict[Surroundings, list[Worker]] = {}
_lock = threading.Lock()
_starter = ThreadPoolExecutor(1)  # a worker dies with the thread that started it: this one lasts


class Lasting:
    """A worker that the next desk with the same folder and environment takes over, unless a task is under way."""

    def __init__(self) -> None:
        variables = {(key, value) for key, value in os.environ.items() if key != "PYTEST_CURRENT_TEST"}
        self._surroundings = (os.getcwd(), frozenset(variables))  # noqa: PTH109
        self._works = self._is_given_back = False
        with _lock:
            free = [worker for worker in _free.pop(self._surroundings, []) if worker.alive]
            self._worker = free.pop() if free else _starter.submit(Worker).result()
            _free[self._surroundings] = free

    def run(self, task: dict[str, Any], hear: Callable[[dict[str, Any]], None]) -> dict[str, Any] | None:
        self._works = True
        found = self._worker.run(task, hear)
        self._works = False
        return found

    @property
    def alive(self) -> bool:
        return self._worker.alive

    def end(self) -> None:
        with _lock:
            if self._is_given_back:
                return
            if self._works or not self.alive:
                self._worker.end()
            else:
                _free[self._surroundings].append(self._worker)
                self._is_given_back = True


@contextmanager
def lasting_workers() -> Iterator[None]:
    """Desks take workers that desks before them left."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "Worker", Lasting)
        yield


@atexit.register
def _end() -> None:
    for free in _free.values():
        for worker in free:
            worker.end()
