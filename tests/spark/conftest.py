"""Where the Spark tests run: on a cluster of two workers, or inside the driver for the quick ones.

A process can have one SparkSession at a time. A test names the one it wants as an argument: `spark` (on the
cluster), `local_spark` (two threads of the driver) or `free_cluster` (the cluster without a session, for tests
that start their own drivers). pytest runs those of one kind after each other and changes the session in between.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from spark.cluster import Cluster, missing, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
PLACES = {"local_spark": "local", "spark": "cluster", "free_cluster": "free"}


class LeftOut(pytest.Module):
    """A test file that is not even imported, as what it needs is not there."""

    def collect(self) -> list[pytest.Item]:
        reason = missing() or ""
        if os.environ.get("REPUBLISH_NEEDS_SPARK"):
            raise self.CollectError(reason)
        pytest.skip(reason)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    if missing() is None or not module_path.is_relative_to(HERE):
        return None
    return LeftOut.from_parent(parent, path=module_path)


QUICK = {"cor-split", "js-reduce", "repeated", "no number"}
SLOW = ("test_the_order_of_the_rows_changes_nothing", "test_a_dry_run_writes_nothing")
"""Cases of the contract that `make test` runs here; all of them run in this process, and here with `make test-long`."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.spark)
            case = item.name.partition("[local-")[2].rstrip("]")
            if "::TestSpark::" in item.nodeid and (
                (case and case not in QUICK) or item.name.startswith(SLOW)
            ):
                item.add_marker(pytest.mark.long)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    wanted = [place for name, place in PLACES.items() if name in metafunc.fixturenames]
    if len(wanted) > 1:
        raise pytest.UsageError(f"{metafunc.function.__name__} asks for two Spark sessions; there can be one")
    if wanted:
        metafunc.parametrize("place", wanted, indirect=True, scope="session")


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A master and two workers."""
    with Cluster() as started:
        yield started


@pytest.fixture(autouse=True)
def two_workers(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test finds two workers, whatever the one before did to them."""
    yield
    if "cluster" in request.fixturenames:
        request.getfixturevalue("cluster").make_whole()


@pytest.fixture(scope="session")
def place(request: pytest.FixtureRequest) -> str:
    """Where a test's session runs."""
    return str(request.param)


@pytest.fixture(scope="session")
def spark(place: str, cluster: Cluster) -> Iterator[SparkSession]:
    """A session on the cluster."""
    with cluster.session("republish-tests") as started:
        yield started


@pytest.fixture(scope="session")
def local_spark(place: str) -> Iterator[SparkSession]:
    """A session whose executors are two threads of the driver."""
    with session("republish-tests", "local[2]") as started:
        yield started


@pytest.fixture(scope="session")
def free_cluster(place: str, cluster: Cluster) -> Cluster:
    """The cluster with no session on it: all cores are for the drivers that a test starts."""
    return cluster
