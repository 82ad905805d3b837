from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from desk_client import csv, desk, make_series, published, upload
from republish import Series
from republish.web import Busy, NotFound
from republish.web.jobs.jobs import DONE, FAILED, Job, Jobs, Worker


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    made = Jobs()
    yield made
    made.close()


def started(jobs: Jobs, job: Job, task: dict[str, Any]) -> Job:
    """The job once it has ended, as `finish` was told of it."""
    told: list[Job] = []
    over = threading.Event()

    def finish(ended: Job) -> None:
        told.append(ended)
        over.set()

    jobs.start(job, task, lambda: None, finish)
    assert over.wait(60)
    return told[0]


def test_a_job_tells_its_steps_and_its_result(jobs: Jobs, tmp_path: Path) -> None:
    root = make_series(tmp_path / "visits", 1)
    seen = started(
        jobs,
        Job("attack", "visits"),
        {"kind": "attack", "root": str(root), "adversary": {}, "attacks": ["tau"]},
    )
    assert (seen.state, seen.done, seen.of) == (DONE, 1, 1)
    assert seen.result is not None
    assert seen.result["releases"] == 1


def test_what_the_tool_refuses_is_words(jobs: Jobs, tmp_path: Path) -> None:
    seen = started(
        jobs,
        Job("publish", "x"),
        {"kind": "publish", "root": str(tmp_path / "none"), "view": "x", "as_of": None},
    )
    assert seen.state == FAILED
    assert seen.problem == "LedgerError"
    assert "there is no series" in seen.message


def test_a_fault_is_words_without_what_it_was_about(jobs: Jobs) -> None:
    seen = started(jobs, Job("attack", "x"), {"kind": "secret-person-1"})
    assert seen.state == FAILED
    assert seen.problem == "Unforeseen"
    assert "KeyError at worker.py" in seen.message
    assert "secret-person" not in seen.message


def test_one_that_writes_and_one_that_attacks_at_a_time(jobs: Jobs) -> None:
    block = threading.Event()
    jobs._threads.submit(block.wait)
    jobs._threads.submit(block.wait)  # both threads are taken: what follows waits
    jobs.start(Job("publish", "a"), {}, lambda: None, lambda _: None)
    for kind in ("publish", "dry-run"):
        with pytest.raises(Busy, match="only one"):
            jobs.start(Job(kind, "a"), {}, lambda: None, lambda _: None)
    jobs.start(Job("attack", "a"), {}, lambda: None, lambda _: None)
    with pytest.raises(Busy):
        jobs.start(Job("attack", "a"), {}, lambda: None, lambda _: None)
    for number in range(8):
        jobs.start(Job("publish", f"b{number}"), {}, lambda: None, lambda _: None)
    with pytest.raises(Busy, match="10 jobs are waiting"):
        jobs.start(Job("publish", "c"), {}, lambda: None, lambda _: None)
    block.set()


def test_a_job_that_may_not_begin_does_not_exist(jobs: Jobs) -> None:
    def refuse() -> None:
        raise Busy("no")

    with pytest.raises(Busy):
        jobs.start(Job("publish", "a"), {}, refuse, lambda _: None)
    assert jobs.all() == []
    with pytest.raises(NotFound):
        jobs.get("1")


def test_a_fault_after_the_work_does_not_undo_it(jobs: Jobs, tmp_path: Path) -> None:
    root = make_series(tmp_path / "visits", 1)

    def fail(_: Job) -> None:
        raise Busy("the log is full")

    task = {"kind": "attack", "root": str(root), "adversary": {}, "attacks": ["tau"]}
    job = jobs.start(Job("attack", "visits"), task, lambda: None, fail)
    until = time.monotonic() + 60
    while job.is_open and time.monotonic() < until:
        time.sleep(0.02)
    assert job.state == DONE
    assert "the log is full" in job.message


def test_closing_ends_what_is_under_way(tmp_path: Path) -> None:
    jobs = Jobs()
    jobs.warm()
    root = make_series(tmp_path / "visits", 1)
    told: list[Job] = []
    task = {"kind": "attack", "root": str(root), "adversary": {}, "attacks": None}
    jobs.start(Job("attack", "visits"), task, lambda: None, told.append)
    jobs.close()
    assert [job.state for job in told] in ([FAILED], [DONE])
    assert jobs._idle == []


def test_a_worker_ends_with_its_desk() -> None:
    worker = Worker()
    try:
        assert worker._process.stdin is not None
        worker._process.stdin.close()  # as the system does when the desk is killed
        assert worker._process.wait(60) == 0
    finally:
        worker.end()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills a process with its parent")
def test_a_worker_that_cannot_listen_ends_with_its_desk_too() -> None:
    code = (
        "from republish.web.jobs.jobs import Worker; import time; w = Worker(); "
        "w.run({'kind': 'none'}, print); print(w._process.pid, flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    os.kill(worker, signal.SIGSTOP)
    until = time.monotonic() + 10
    while _state(worker) != "T" and time.monotonic() < until:
        time.sleep(0.02)
    parent.kill()
    parent.communicate()
    until = time.monotonic() + 10
    while _runs(worker) and time.monotonic() < until:
        time.sleep(0.02)
    if _runs(worker):
        os.kill(worker, signal.SIGKILL)
        raise AssertionError("the worker outlived its desk")


def _state(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def _runs(process: int) -> bool:
    return _state(process) not in "ZX"


def test_another_process_that_writes_is_named_with_409(tmp_path: Path) -> None:
    root = make_series(tmp_path / "visits", 1)
    with desk(tmp_path) as client:
        found = upload(client, csv(2))
        with Series.open(root).ledger.lock("publish weekly"):
            for action in ("publish", "dry-run"):
                answer = client.post(f"/api/series/visits/{action}", json={"upload": found})
                assert answer.status_code == 409
                assert f"process {os.getpid()}" in answer.json()["error"]["message"]
        assert client.get("/api/jobs").json() == []
        assert client.post("/api/series/visits/check", json={"upload": found}).status_code == 200


def test_a_second_tab_is_told_that_one_is_under_way(tmp_path: Path) -> None:
    make_series(tmp_path / "visits", 1)
    with desk(tmp_path) as client:
        first, second = upload(client, csv(2)), upload(client, csv(3))
        answers = [
            client.post("/api/series/visits/publish", json={"upload": found}).status_code
            for found in (first, second)
        ]
        assert answers == [202, 409]
        assert client.post("/api/series/visits/check", json={"upload": second}).status_code == 200


class Served:
    """A real `republish serve` in a process of its own."""

    def __init__(self, root: Path) -> None:
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "republish", "serve", str(root), "--port", "18450"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        address = re.search(r"(http://127\.0\.0\.1:\d+)/\?token=(\S+)", line)
        assert address, line
        self.base, self.token = address.groups()

    def ask(self, path: str, data: bytes | None = None, content: str = "application/json") -> Any:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": content}
        request = urllib.request.Request(self.base + path, data, headers)
        for _ in range(100):
            try:
                with urllib.request.urlopen(request, timeout=20) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as problem:
                return json.load(problem)
            except urllib.error.URLError:
                time.sleep(0.1)
        raise AssertionError("the desk does not answer")

    def publish(self, data: bytes) -> dict[str, Any]:
        found = self.ask("/api/uploads", data, "text/csv")["id"]
        job: dict[str, Any] = self.ask("/api/series/visits/publish", json.dumps({"upload": found}).encode())
        return job

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def stop(self) -> str:
        """Stop it as Ctrl-C does; return what it said besides its address."""
        self.process.send_signal(signal.SIGINT)
        said, _ = self.process.communicate(timeout=30)
        assert self.process.returncode == 0
        return said


@pytest.fixture
def serve() -> Iterator[Callable[[Path], Served]]:
    """Start desks, all of which are gone after the test, however it ends."""
    started: list[Served] = []

    def start(root: Path) -> Served:
        started.append(Served(root))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.kill()


def test_a_desk_killed_while_it_publishes_leaves_the_series_whole_and_says_so(
    tmp_path: Path, serve: Callable[[Path], Served]
) -> None:
    root = make_series(tmp_path / "visits", 1)
    first = serve(tmp_path)
    lock = root / "private" / "lock"
    job = first.publish(csv(2, rows=20_000))
    until = time.monotonic() + 60
    while (
        first.ask(f"/api/jobs/{job['id']}")["step"] in ("", "reading the view") and time.monotonic() < until
    ):
        time.sleep(0.01)
    worker = int(json.loads(lock.read_text())["pid"])
    os.kill(worker, signal.SIGSTOP)  # so that it cannot end before the desk is killed
    first.kill()
    with suppress(ProcessLookupError):  # on Linux it is gone already
        os.kill(worker, signal.SIGCONT)
    until = time.monotonic() + 30
    while lock.read_text() and time.monotonic() < until and _alive(lock):  # its worker ends with it
        time.sleep(0.05)
    assert len(Series.open(root).records) == 1
    again = serve(tmp_path)
    found = again.ask("/api/series/visits")
    assert len(found["releases"]) == 1
    assert len(found["notices"]) == 1
    assert "cut off" in found["notices"][0]
    assert "nothing of it was published" in found["notices"][0]
    assert "no such job" in again.ask(f"/api/jobs/{job['id']}")["error"]["message"]
    job = again.publish(csv(2))
    until = time.monotonic() + 60
    while (done := again.ask(f"/api/jobs/{job['id']}"))["state"] in (
        "waiting",
        "running",
    ) and time.monotonic() < until:
        time.sleep(0.1)
    assert done["state"] == "done"
    assert again.ask("/api/series/visits")["notices"] == []
    said = again.stop()
    assert "Traceback" not in said
    assert first.token not in said
    assert "cut off" in said
    assert Series.open(root).verify().holds


def test_a_release_that_was_committed_before_the_kill_is_told_of(tmp_path: Path) -> None:
    from republish.web import audit

    root = make_series(tmp_path / "visits", 1)
    audit.note(root, "publish", "started", job="1", releases=0, pid=2**22 + 1, host="elsewhere")
    with desk(tmp_path) as client:
        (notice,) = client.get("/api/series/visits").json()["notices"]
        assert "release 1 was committed and is whole" in notice
        assert "cut off" in client.get("/s/visits").text
    with desk(tmp_path) as client:
        assert client.get("/api/series/visits").json()["notices"] == []


def test_a_publish_of_another_live_desk_is_not_called_cut_off(tmp_path: Path) -> None:
    import socket

    from republish.web import audit

    root = make_series(tmp_path / "visits", 1)
    audit.note(root, "publish", "started", job="1", releases=1, pid=os.getppid(), host=socket.gethostname())
    with desk(tmp_path) as client:
        assert client.get("/api/series/visits").json()["notices"] == []
        assert published(client, "visits", csv(2))["state"] == "done"


def _alive(lock: Path) -> bool:
    try:
        os.kill(int(json.loads(lock.read_text())["pid"]), 0)
    except (ValueError, KeyError, ProcessLookupError):
        return False
    return True
