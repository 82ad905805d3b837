"""Shared fixtures: a small hospital, and a series that has published some of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from republish import LDiversity, Mondrian, Series, TauSafety, read_schema
from republish.datasets import hospital
from republish.ledger import catalogue
from republish.release.forms import TwoTables

settings.register_profile("republish", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("republish")


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_disks() -> Iterator[None]:
    """Nothing is forced to disk in this process; `ledger/test_durability.py` proves in others that the product does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _descriptor: None)
        patch.setattr(catalogue, "SYNCHRONOUS", "OFF")
        yield


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
