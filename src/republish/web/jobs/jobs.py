"""What takes long: each job runs in a process of its own, so that a crash in it is words and not an end of the desk.

Jobs are kept in memory. Whether a release exists is never read from them but from the ledger.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from republish.errors import RepublishError
from republish.web import Busy, NotFound

AT_ONCE = 2
_WAITING, _KEPT = 10, 200
WAITING, RUNNING, DONE, REFUSED, FAILED = "waiting", "running", "done", "refused", "failed"
OPEN = (WAITING, RUNNING)
_STOPPED = {
    FAILED: "the process that did the work was stopped before it ended; the releases of the series say what is there",
    "kind": "Stopped",
}
WRITES = ("dry-run", "publish")  # both hold the lock of the series


@dataclass
class Job:
    """One piece of work and how far it is; `message` is for people, `result` for programs."""

    kind: str
    series: str
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    state: str = WAITING
    step: str = ""
    done: int = 0
    of: int = 0
    message: str = ""
    result: dict[str, Any] | None = None
    problem: str | None = None
    started_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    before: int | None = None
    """Releases when the worker had the lock of the series."""

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    def as_dict(self) -> dict[str, Any]:
        document = asdict(self)
        del document["before"]
        return document


Finish = Callable[[Job], None]


class Worker:
    """A process that does tasks one after another."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "republish.web.jobs.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a traceback may show cells
            start_new_session=True,  # Ctrl-C is for the desk, which then ends its workers
        )
        self._last = False

    def run(self, task: dict[str, Any], hear: Callable[[dict[str, Any]], None]) -> dict[str, Any] | None:
        """How the task ended, `None` where the process ended before it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(task).encode() + b"\n")
            self._process.stdin.flush()
            for line in self._process.stdout:
                said: dict[str, Any] = json.loads(line)
                if "end" in said:
                    self._last = bool(said["last"])
                    found: dict[str, Any] = said["end"]
                    return found
                hear(said)
        except (OSError, ValueError):
            pass
        return None

    @property
    def alive(self) -> bool:
        """Whether it can take another task."""
        return not self._last and self._process.poll() is None

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


class Jobs:
    """The jobs of one desk: at most two run at once, and of each series one that writes and one that attacks."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="desk-job")
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._closed = False

    def warm(self) -> None:
        """Start a process before there is work for it."""
        worker = Worker()
        with self._lock:
            self._idle.append(worker)

    def start(self, job: Job, task: dict[str, Any], begin: Callable[[], None], finish: Finish) -> Job:
        """Begin a job.

        `begin` is called before anything is done; what it raises keeps the job from existing. `finish` is called once,
        when the job has ended in whatever way and before its state says so.

        Raises:
            Busy: one of its kind is under way for the series, or too many are waiting.
        """
        with self._lock:
            self._require_free(job)
            self._jobs[job.id] = job
            self._forget_old()
        try:
            begin()
            self._threads.submit(self._run, job, task, finish)
        except BaseException:
            with self._lock:
                self._jobs.pop(job.id, None)
            raise
        return job

    def require_free(self, job: Job) -> None:
        """Busy where the job could not be started now."""
        with self._lock:
            self._require_free(job)

    def get(self, job: str) -> Job:
        with self._lock:
            if job not in self._jobs:
                raise NotFound(
                    "there is no such job; jobs do not outlive the desk that ran them. The releases of the series say "
                    "what was published"
                )
            return self._jobs[job]

    def all(self) -> list[Job]:
        with self._lock:
            return list(self._jobs.values())

    def close(self) -> None:
        """End all work at once; a publish that is not committed leaves the series as it was."""
        with self._lock:
            self._closed = True
            workers = [*self._idle, *self._busy]
            self._idle.clear()
        for worker in workers:
            worker.end()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _require_free(self, job: Job) -> None:
        under_way = [other for other in self._jobs.values() if other.is_open]
        alike = WRITES if job.kind in WRITES else (job.kind,)
        for other in under_way:
            if other.series == job.series and other.kind in alike:
                raise Busy(
                    f"only one {_words(job.kind)} at a time for a series, and one ({_words(other.kind)}, "
                    f"{other.step or 'waiting'}) is under way since {other.started_at}; wait until it has ended"
                )
        if sum(other.state == WAITING for other in under_way) >= _WAITING:
            raise Busy(f"{_WAITING} jobs are waiting already; wait until some have ended")

    def _forget_old(self) -> None:
        ended = [key for key, job in self._jobs.items() if not job.is_open]
        for key in ended[: max(0, len(self._jobs) - _KEPT)]:
            del self._jobs[key]

    def _run(self, job: Job, task: dict[str, Any], finish: Finish) -> None:
        def hear(said: dict[str, Any]) -> None:
            job.step, job.done, job.of = said["step"], said["done"], said["of"]
            job.before = said.get("before", job.before)

        found: dict[str, Any] | None = None
        try:
            worker = self._worker()
        except (Busy, OSError):
            pass
        else:
            job.state = RUNNING
            found = worker.run(task, hear)
            self._give_back(worker)
        _end(job, found or dict(_STOPPED), finish)

    def _worker(self) -> Worker:
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.alive:
                    self._busy.add(worker)
                    return worker
                worker.end()
            if self._closed:
                raise Busy("the desk is closing")
            worker = Worker()
            self._busy.add(worker)
            return worker

    def _give_back(self, worker: Worker) -> None:
        with self._lock:
            self._busy.discard(worker)
            if worker.alive and not self._closed and not self._idle:
                self._idle.append(worker)
                return
        worker.end()


def _end(job: Job, found: dict[str, Any], finish: Finish) -> None:
    """Write the end into the job; the state last, for whoever waits for it."""
    state = DONE
    for refusal in (REFUSED, FAILED):
        if refusal in found:
            state, job.message, job.problem = refusal, found[refusal], found["kind"]
    job.result = found.get("result")
    if state == DONE:
        job.done = job.of = max(job.of, 1)
    ended = replace(job, state=state)
    try:
        finish(ended)
    except Exception as problem:  # the work is done all the same
        said = (
            str(problem) if isinstance(problem, RepublishError) else f"an unforeseen {type(problem).__name__}"
        )
        ended.message = f"{ended.message} (afterwards: {said})".strip()
    job.message, job.result, job.state = ended.message, ended.result, ended.state


def _words(kind: str) -> str:
    return {"dry-run": "dry run", "publish": "publish", "attack": "attack"}.get(kind, kind)
