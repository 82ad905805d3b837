"""A PostgreSQL server of the tests' own, on a free loopback port, that can be killed and started again."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

NEEDED = "REPUBLISH_NEEDS_POSTGRES"
START_SECONDS = 60


def binaries() -> Path | None:
    """The folder with initdb and postgres, the newest where there are several."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    folders = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(folders, key=lambda folder: int(folder.parent.name), default=None)


def require_binaries() -> Path:
    """The folder of the server's programs; skips the test where there is none, or fails where one is needed."""
    folder = binaries()
    if folder is None or importlib.util.find_spec("psycopg") is None:
        missing = "the PostgreSQL server programs (initdb, postgres) or psycopg are not installed"
        if os.environ.get(NEEDED) == "1":
            pytest.fail(f"{missing}, and {NEEDED}=1 asks for them")
        pytest.skip(missing)
    return folder


class Server:
    """One cluster in a temporary folder: trust on loopback, fsync on."""

    def __init__(self, programs: Path) -> None:
        self.programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="republish-postgres-"))
        self.user = "postgres" if os.geteuid() == 0 else None  # initdb refuses root
        if self.user:
            shutil.chown(self.folder, self.user)
        self.data = self.folder / "data"
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0
        self._run("initdb", "-D", self.data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C")
        with (self.data / "postgresql.conf").open("a") as settings:
            settings.write(
                f"listen_addresses = '127.0.0.1'\nport = {self.port}\nunix_socket_directories = ''\n"
                "fsync = on\nmax_connections = 40\nshared_buffers = 32MB\n"
            )

    def url(self, database: str = "postgres", user: str = "postgres") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """The address of a new and empty database."""
        self._databases += 1
        name = f"test_{self._databases}"
        self.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def execute(self, *statements: str, url: str = "") -> None:
        import psycopg

        with psycopg.connect(url or self.url(), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)  # type: ignore[call-overload]

    def start(self) -> None:
        log = (self.folder / "log").open("ab")
        self._process = subprocess.Popen(
            [self.programs / "postgres", "-D", self.data],
            stdout=log,
            stderr=subprocess.STDOUT,
            user=self.user,
            cwd=self.folder,
        )
        log.close()
        self._wait_until_ready()

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)  # at once: nobody needs the data any more
            self._process.wait(START_SECONDS)
            self._process = None

    def kill(self) -> None:
        """SIGKILL for the server and every process it started, as when the power goes."""
        assert self._process is not None
        pid = self._process.pid
        self._process.send_signal(signal.SIGSTOP)  # it must not start others meanwhile
        children = [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        for process in (pid, *children):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._process.wait(START_SECONDS)
        self._process = None
        for child in children:  # now of another parent, which reaps them
            _wait_until_gone(child)

    @property
    def running(self) -> bool:
        return self._process is not None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder)

    def _wait_until_ready(self) -> None:
        command = [self.programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        assert self._process is not None
        while subprocess.run(command, check=False).returncode:
            assert self._process.poll() is None, (self.folder / "log").read_text()[-2000:]

    def _run(self, program: str, *arguments: object) -> None:
        command = [str(part) for part in (self.programs / program, *arguments)]
        subprocess.run(command, check=True, user=self.user, cwd=self.folder, stdout=subprocess.DEVNULL)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_gone(pid: int) -> None:
    """Until a process is dead; a dead one that nobody has reaped yet is gone too."""
    status = Path(f"/proc/{pid}/stat")
    with suppress(FileNotFoundError, ProcessLookupError):
        while status.read_text().rpartition(")")[2].split()[0] != "Z":
            pass
