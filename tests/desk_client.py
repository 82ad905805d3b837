"""A desk to talk to in tests: small views, a client that is logged in, and waiting for jobs."""

from __future__ import annotations

import io
import re
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from lasting import lasting_workers
from republish import Category, Gate, Number, Schema, Series, TauSafety
from republish.web.app import create_app
from republish.web.desk import Desk

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # newer versions of Starlette ask for another httpx
    from starlette.testclient import TestClient

TOKEN = "a-token-for-tests"
BASE = "http://127.0.0.1:8000"
SCHEMA = Schema("patient", [Number("age"), Category("ward")], Category("diagnosis"))
ROLES = [
    {"name": "patient", "role": "identifier", "kind": None},
    {"name": "age", "role": "quasi-identifier", "kind": "number"},
    {"name": "ward", "role": "quasi-identifier", "kind": "category"},
    {"name": "diagnosis", "role": "sensitive", "kind": "category"},
]


def view(week: int = 1, rows: int = 90) -> pl.DataFrame:
    """The people of a week, some of them new."""
    rng = np.random.default_rng(week)
    people = np.arange(rows) + 10 * (week - 1)
    return pl.DataFrame(
        {
            "patient": [f"secret-person-{p}" for p in people],
            "age": 20 + people % 60,
            "ward": [f"ward{p % 4}" for p in people],
            "diagnosis": [f"illness{i}" for i in (people + rng.integers(0, 2, rows)) % 6],
        }
    )


def csv(week: int = 1, rows: int = 90) -> bytes:
    return view(week, rows).write_csv().encode()


def make_series(root: Path, releases: int = 1, gate: Gate | None = None) -> Path:
    """A series of tau-safety with some releases."""
    series = Series.create(root, SCHEMA, TauSafety(m=3), seed=5, gate=gate)
    for week in range(1, releases + 1):
        series.publish(view(week))
    series.ledger.close()
    return root


def take(desk: Desk, data: bytes) -> str:
    """The id of an upload at a desk that is spoken to without a client."""
    return desk.upload(io.BytesIO(data))


@contextmanager
def desk(*roots: Path, log_in: bool = True, **settings: Any) -> Iterator[TestClient]:
    """A client of a desk over these folders; logged in with a cookie and the CSRF header unless told otherwise."""
    app = create_app(roots, token=TOKEN, **settings)
    with lasting_workers(), TestClient(app, base_url=BASE, follow_redirects=False) as client:
        if log_in:
            client.get(f"/?token={TOKEN}")
            session = client.cookies[app.state.access.cookie]
            client.headers["X-CSRF-Token"] = app.state.access.csrf(session)
        yield client


def upload(client: TestClient, data: bytes) -> str:
    answer = client.post("/api/uploads", content=data, headers={"Content-Type": "text/csv"})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def ended(client: TestClient, job: dict[str, Any], seconds: float = 60) -> dict[str, Any]:
    """The job once it has ended."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found: dict[str, Any] = client.get(f"/api/jobs/{job['id']}").json()
        if found["state"] not in ("waiting", "running"):
            return found
        time.sleep(0.05)
    raise AssertionError(f"the job has not ended: {found}")


def published(client: TestClient, name: str, data: bytes, **more: Any) -> dict[str, Any]:
    """Upload and publish."""
    answer = client.post(f"/api/series/{name}/publish", json={"upload": upload(client, data), **more})
    assert answer.status_code == 202, answer.text
    return ended(client, answer.json())


def values_in(text: str) -> list[str]:
    """The cells of the views that a text holds."""
    return re.findall(r"secret-person-\d+|illness\d|ward\d", text)
