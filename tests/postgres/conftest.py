from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from postgres.server import Server, require_binaries
from republish import LDiversity, Mondrian, Series, read_schema


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.postgres)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Server]:
    """A server for all tests of this process."""
    server = Server(require_binaries())
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture
def server(cluster: Server) -> Server:
    """The server, running whatever the test before did to it."""
    if not cluster.running:
        cluster.start()
    return cluster


@pytest.fixture
def url(server: Server) -> str:
    """The address of an empty database."""
    return server.new_database()


@pytest.fixture
def kept(tmp_path: Path, hospital_folder: Path, url: str) -> Iterator[Series]:
    """A fresh series whose ledger is in PostgreSQL."""
    schema = read_schema(hospital_folder / "schema.toml")
    made = Series.create(
        tmp_path / "series", schema, Mondrian(5, (LDiversity(3),)), seed=3, one_table=True, ledger=url
    )
    yield made
    made.ledger.close()
