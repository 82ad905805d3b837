"""A real Spark standalone cluster on loopback: one master, two workers, all processes of this machine.

Every daemon leads a session of its own, so a worker, its executors and their Python processes can be found and
killed together. A daemon dies with the process that started it, however that one ends.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TESTS = Path(__file__).parent.parent
HOST = "127.0.0.1"
CORES = 1
MEMORY = "3g"
PATIENCE = 240.0  # seconds a daemon may take to start on a busy machine

# prctl(PR_SET_PDEATHSIG, SIGKILL) survives exec: the daemon goes when its starter goes.
TIED = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); os.execv(sys.argv[1], sys.argv[1:])"


def missing() -> str | None:
    """What the Spark tests need and this machine lacks, or None."""
    if not sys.platform.startswith("linux"):
        return "Spark tests start a cluster of Linux processes"
    if shutil.which("java") is None:
        return (
            "Spark tests need Java 17 or newer on the PATH: apt install openjdk-17-jre-headless, or make java"
        )
    if find_spec("pyspark") is None:
        return "Spark tests need pyspark: pip install '.[spark]', or make test-spark"
    return None


class Cluster:
    """A master and workers of one core and 3 GB each; a context manager that leaves nothing running."""

    def __init__(self, workers: int = 2) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="republish-spark-"))
        self.master = ""
        self._page = ""
        self._workers: list[subprocess.Popen[bytes]] = []
        self._started: list[subprocess.Popen[bytes]] = []
        self._numbers = count()
        try:
            self._start_master()
            for _ in range(workers):
                self._start_worker()
            self._wait(workers)
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def workers(self) -> int:
        """How many workers the master counts as alive."""
        with urllib.request.urlopen(f"{self._page}/json/", timeout=10) as answer:
            state: dict[str, Any] = json.load(answer)
        return int(state["aliveworkers"])

    def add_worker(self) -> None:
        """Start one more worker and wait until the master counts it."""
        expected = self.workers + 1
        self._start_worker()
        self._wait(expected)

    def kill_worker(self, number: int) -> None:
        """Kill -9 a living worker, its executors and their Python processes; wait until the master has noticed."""
        expected = self.workers - 1
        killed = self._workers.pop(number)
        _kill(killed)
        self._started.remove(killed)
        self._wait(expected)

    def make_whole(self, workers: int = 2) -> None:
        """Start workers until there are as many again."""
        while self.workers < workers:
            self.add_worker()

    def leaders(self) -> list[int]:
        """The ids of the daemons; each leads a session, see :func:`members`."""
        return [daemon.pid for daemon in self._started]

    def processes(self) -> list[int]:
        """The ids of all processes of the cluster."""
        return [pid for leader in self.leaders() for pid in members(leader)]

    def stop(self) -> None:
        """Kill whatever runs and remove the folder; may be called again."""
        for daemon in reversed(self._started):
            _kill(daemon)
        self._started.clear()
        shutil.rmtree(self.folder, ignore_errors=True)

    def session(self, app: str, **conf: str) -> AbstractContextManager[SparkSession]:
        """A context with a SparkSession on this cluster, `conf` over the settings of :func:`session`."""
        return session(app, self.master, **conf)

    def _start_master(self) -> None:
        log = self._start(
            "master", "org.apache.spark.deploy.master.Master", "--port", "0", "--webui-port", "0"
        )
        self.master = self._read(log, r"(spark://127\.0\.0\.1:\d+)")
        port = self._read(log, r"Successfully started service 'MasterUI' on port (\d+)")
        self._page = f"http://{HOST}:{port}"
        until(self._answers, "the master's page")

    def _answers(self) -> bool:
        """Whether the master's page is there; its port is open a moment before."""
        try:
            return self.workers >= 0
        except urllib.error.URLError:
            return False

    def _start_worker(self) -> None:
        name = f"worker{next(self._numbers)}"
        work = str(self.folder / name)
        options = ["--port", "0", "--webui-port", "0", "--cores", str(CORES), "--memory", MEMORY]
        self._start(name, "org.apache.spark.deploy.worker.Worker", *options, "--work-dir", work, self.master)
        self._workers.append(self._started[-1])

    def _start(self, name: str, daemon: str, *options: str) -> Path:
        log = self.folder / f"{name}.log"
        command = [str(_home() / "bin" / "spark-class"), daemon, "--host", HOST, *options]
        settings = environment() | {
            "SPARK_CONF_DIR": str(self.folder),
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_DAEMON_MEMORY": "512m",
        }
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-c", TIED, *command],
                env=settings,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        self._started.append(process)
        return log

    def _read(self, log: Path, pattern: str) -> str:
        found: list[str] = []

        def there() -> bool:
            if self._started[-1].poll() is not None:
                self._started.pop()
                raise RuntimeError(f"a Spark daemon ended at once:\n{log.read_text()[-2000:]}")
            found.extend(re.findall(pattern, log.read_text(errors="replace")))
            return bool(found)

        until(there, f"{log.name} to show {pattern}")
        return found[0]

    def _wait(self, workers: int) -> None:
        until(lambda: self.workers == workers, f"{workers} workers to be registered")


def environment() -> dict[str, str]:
    """What a driver process needs: our environment, Spark on loopback, this interpreter, the tests importable."""
    paths = [str(TESTS.parent), str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {
        "SPARK_HOME": str(_home()),
        "SPARK_LOCAL_IP": HOST,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(paths),
    }


def settings(folder: Path) -> dict[str, str]:
    """How the tests' sessions are configured: no web page, no Hive, everything on loopback, tables in `folder`."""
    return {
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.executor.memory": "1g",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(folder),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


@contextmanager
def session(app: str, master: str, **conf: str) -> Iterator[SparkSession]:
    """A SparkSession on `master`, stopped at the end; a process can have one at a time."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is not None:
        raise RuntimeError("a process can have one SparkSession at a time, and one is running: stop it first")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="republish-driver-")))
        stack.enter_context(patch.dict(os.environ, environment()))
        builder = SparkSession.builder.appName(app).master(master)
        for name, value in (settings(folder) | conf).items():
            builder = builder.config(name, value)
        made = builder.getOrCreate()
        stack.callback(made.stop)
        yield made


def members(leader: int) -> list[int]:
    """The living processes of the session that `leader` leads."""
    return [pid for pid, state, session_id in _processes() if session_id == leader and state not in "ZX"]


def _processes() -> Iterator[tuple[int, str, int]]:
    """Id, state and session of every process."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            text = (entry / "stat").read_text()
        except OSError:  # it ended meanwhile
            continue
        state, _, _, session_id, *_ = text.rpartition(")")[2].split()
        yield int(entry.name), state, int(session_id)


def _kill(leader: subprocess.Popen[bytes]) -> None:
    """Kill -9 all of a session; again and again, as a dying process may just have started another.

    The leader is waited for last: until then no other process can be given its id.
    """

    def gone() -> bool:
        alive = members(leader.pid)
        for pid in alive:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return not alive

    until(gone, "killed processes to end")
    leader.wait()


def _home() -> Path:
    found = find_spec("pyspark")
    assert found is not None and found.origin is not None
    return Path(found.origin).parent


def until(condition: Callable[[], bool], what: str) -> None:
    """Ask again until `condition` holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {PATIENCE:.0f} seconds for {what}")
        time.sleep(0.05)
