"""Shared fixtures: a small hospital, and a series that has published some of it."""

from __future__ import annotations

import os
import random
import secrets
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from republish import LDiversity, Mondrian, Series, TauSafety, kernels, read_schema
from republish.datasets import hospital
from republish.ledger import sqlite_file
from republish.release.forms import TwoTables

# `make test` tries the same examples on every machine; `make test-long` searches for new ones.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("republish", settings.get_profile("search"), derandomize=True)
settings.load_profile("republish")

HERE = Path(__file__).parent
SMALL = kernels.SMALL


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give what is made once for several tests to one process: two would make it twice.

    That is a file with fixtures for the whole module, and the whole folder `spark`, whose tests share a cluster. The
    mark `xdist_group` does nothing under pytest 9.2 and pytest-xdist 3.8, so the path decides.
    """
    from xdist.scheduler import LoadScopeScheduling

    root = HERE.relative_to(config.rootpath).as_posix()
    together = {
        path.relative_to(config.rootpath).as_posix()
        for path in HERE.rglob("test_*.py")
        if 'scope="module"' in path.read_text(encoding="utf-8")
    }

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if nodeid.startswith(f"{root}/spark/"):
                return f"{root}/spark"
            path = nodeid.partition("::")[0]
            return path if path in together else nodeid

    return Together(config, log) if config.getvalue("dist") == "load" else None


@pytest.fixture(scope="session", autouse=True)
def _compiled_kernels() -> Iterator[None]:
    """Kernels are compiled in this process, small as tests are; `interpreted` lets the product decide, as in others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "SMALL", 0)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_hurry() -> Iterator[None]:
    """Every publisher is compared, however long kernels take to compile before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("republish.tune.recommend"), "_SECONDS", 600.0)
        yield


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are interpreted while there is little to do."""
    usual = kernels.Kernel.__call__

    def anew(self: kernels.Kernel, *given: Any) -> Any:
        self._compiled = False  # whatever an earlier test did
        return usual(self, *given)

    monkeypatch.setattr(kernels, "SMALL", SMALL)
    monkeypatch.setattr(kernels.Kernel, "__call__", anew)


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_disks() -> Iterator[None]:
    """Nothing is forced to disk in this process; `ledger/test_durability.py` proves in others that the product does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _descriptor: None)
        patch.setattr(sqlite_file, "SYNCHRONOUS", "OFF")
        yield


class _SameChance:
    """`secrets` that draws the same for every run of a test, in this process; others draw their own."""

    def __init__(self, test: str) -> None:
        self._chance, self._process = random.Random(test), os.getpid()

    def token_bytes(self, size: int) -> bytes:
        return self._chance.randbytes(size) if os.getpid() == self._process else secrets.token_bytes(size)

    def token_hex(self, size: int) -> str:
        return self.token_bytes(size).hex()

    def randbelow(self, end: int) -> int:
        return int.from_bytes(self.token_bytes(16)) % end


def _same_chance(request: pytest.FixtureRequest) -> Iterator[None]:
    """Secrets and seeds that a series draws are the same on every machine, unless new examples are searched for."""
    with pytest.MonkeyPatch.context() as patch:
        if settings().derandomize:
            chance = _SameChance(request.node.nodeid)
            patch.setattr("republish.secret.secrets", chance)
            patch.setattr("republish.series.secrets", chance)
        yield


_chance_of_session = pytest.fixture(_same_chance, scope="session", autouse=True)
_chance_of_module = pytest.fixture(_same_chance, scope="module", autouse=True)
_chance_of_test = pytest.fixture(_same_chance, autouse=True)


@pytest.fixture(scope="session")
def hospital_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five small weekly views with their schema."""
    folder = tmp_path_factory.mktemp("hospital")
    hospital(views=5, rows=400, seed=11).write(folder)
    return folder


@pytest.fixture
def views(hospital_folder: Path) -> list[Path]:
    return sorted((hospital_folder / "views").iterdir())


@pytest.fixture
def two_tables(tmp_path: Path, hospital_folder: Path) -> Iterator[Series]:
    """A fresh series under tau-safety with m=3 in two tables with k=5."""
    schema = read_schema(hospital_folder / "schema.toml")
    made = Series.create(tmp_path / "two", schema, TauSafety(3), seed=3, form=TwoTables(5))
    yield made
    made.ledger.close()


@pytest.fixture
def series(tmp_path: Path, hospital_folder: Path) -> Iterator[Series]:
    """A fresh series under Mondrian with k=5 and l=3."""
    schema = read_schema(hospital_folder / "schema.toml")
    made = Series.create(tmp_path / "series", schema, Mondrian(5, (LDiversity(3),)), seed=3, one_table=True)
    yield made
    made.ledger.close()
