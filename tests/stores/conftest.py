"""Stores to keep releases and memory in: another folder, fsspec's memory, and an S3 server on loopback."""

from __future__ import annotations

import importlib.util
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from republish import LDiversity, Mondrian, Series, TauSafety, read_schema
from republish.release.forms import TwoTables
from slow import quick

BUCKET = "releases"
_NEEDED = ("upath", "s3fs", "moto")
_KEYS = {"FSSPEC_S3_KEY": "testing", "FSSPEC_S3_SECRET": "testing"}


def _require(*packages: str) -> None:
    """Skip where a package is not installed, unless everything is asked for."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        reason = f"not every store is tested: {', '.join(missing)} is not installed"
        if os.environ.get("REPUBLISH_NEEDS_STORES") == "1":
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The address of an S3 server of its own, stopped when the tests end."""
    _require(*_NEEDED)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert server.poll() is None, "the S3 server ended before it answered"
            time.sleep(0.1)  # it is another process: nothing else tells when it listens
        else:
            pytest.fail("the S3 server did not answer within 30 seconds")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


@pytest.fixture
def s3(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """An address in a bucket of the server; fsspec is told of it as a user would, by its environment."""
    import fsspec

    settings = _KEYS | {"FSSPEC_S3_ENDPOINT_URL": s3_server}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    conf: dict[str, dict[str, object]] = {}
    fsspec.config.set_conf_env(conf)
    monkeypatch.setitem(fsspec.config.conf, "s3", conf["s3"])
    fsspec.filesystem("s3").mkdirs(BUCKET, exist_ok=True)
    return f"s3://{BUCKET}/{secrets.token_hex(4)}"


@pytest.fixture(params=quick(["folder", "file", "memory", "s3"], lambda where: where in ("memory", "s3")))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty store."""
    if request.param == "s3":
        return str(request.getfixturevalue("s3"))
    if request.param == "memory":
        _require("upath")
        return f"memory://{secrets.token_hex(4)}/series"
    place = tmp_path / "a store"
    return str(place) if request.param == "folder" else f"file://{tmp_path}/a%20store"


@pytest.fixture(params=quick(["folder", "s3"], lambda where: where == "s3"))
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty store that other processes see."""
    return str(request.getfixturevalue("s3")) if request.param == "s3" else str(tmp_path / "store")


@pytest.fixture
def make(hospital_folder: Path) -> Callable[[Path, str | None], Series]:
    """Make a series under Mondrian with k=5 and l=3 that keeps releases and memory in a store."""

    def made(root: Path, store: str | None) -> Series:
        schema = read_schema(hospital_folder / "schema.toml")
        return Series.create(root, schema, Mondrian(5, (LDiversity(3),)), seed=3, one_table=True, store=store)

    return made


@pytest.fixture
def make_two(hospital_folder: Path) -> Callable[[Path, str | None], Series]:
    """Make a series under tau-safety with m=3 in two tables with k=5 that keeps all of it in a store."""

    def made(root: Path, store: str | None) -> Series:
        schema = read_schema(hospital_folder / "schema.toml")
        return Series.create(root, schema, TauSafety(3), seed=3, store=store, form=TwoTables(5))

    return made


@pytest.fixture
def stored(tmp_path: Path, store: str, make: Callable[[Path, str | None], Series]) -> Iterator[Series]:
    """A fresh series in each of the stores."""
    made = make(tmp_path / "series", store)
    yield made
    made.ledger.close()
