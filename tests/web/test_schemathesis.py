"""The API against its own description: whatever is sent, the answer is one that is described."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from starlette.types import Receive, Scope, Send

from desk_client import TOKEN, csv, desk, make_series, upload, values_in
from republish import Series

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis import GenerationMode, checks

NEGATIVE = GenerationMode.NEGATIVE

pytestmark = pytest.mark.filterwarnings("ignore")
BEARER = {"Authorization": f"Bearer {TOKEN}"}
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
BOUNDED = settings(
    max_examples=6,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_series(tmp_path_factory.mktemp("desk") / "visits", 1)


@pytest.fixture(scope="module")
def view(root: Path) -> Iterator[tuple[Any, str]]:
    """The application without its beginning and end, which every request would repeat, and an upload."""
    with desk(root.parent, hosts=None) as client:

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "lifespan":
                for part in ("startup", "shutdown"):
                    await receive()
                    await send({"type": f"lifespan.{part}.complete"})
                return
            await client.app(scope, receive, send)

        yield app, upload(client, csv(2))
        left = client.get("/api/jobs").json()
        assert all(job["series"] == "visits" for job in left)
    assert Series.open(root).verify().holds
    assert [path.name for path in root.parent.iterdir()] == ["visits"]


@pytest.fixture(scope="module")
def described(view: tuple[Any, str]) -> Any:
    return schemathesis.openapi.from_asgi("/api/openapi.json", view[0], headers=BEARER)


def each(
    described: Any, check: Callable[[Any], None], bounds: settings = BOUNDED, without: str = "$^"
) -> list[str]:
    """Send what the description allows and some of what it does not, to every operation; return their names."""
    done = []
    for found in described.get_all_operations():
        operation = found.ok()
        if not re.search(without, operation.label):
            bounds(given(case=operation.as_strategy())(check))()
            bounds(given(case=operation.as_strategy(generation_mode=NEGATIVE))(check))()
            done.append(operation.label)
    return done


def test_whatever_is_sent_is_answered_as_described(described: Any) -> None:
    def check(case: Any) -> None:
        answer = case.call_and_validate(headers=BEARER, checks=CHECKS)
        if answer.status_code >= 400:
            assert set(answer.json()) == {"error"}
            assert not values_in(answer.text)

    assert len(each(described, check)) > 20


def test_the_same_of_a_series_and_an_upload_that_are_there(described: Any, view: tuple[Any, str]) -> None:
    def check(case: Any) -> None:
        there = case.path_parameters or {}
        there.update({key: value for key, value in (("name", "visits"), ("number", 1)) if key in there})
        if isinstance(case.body, dict) and "upload" in case.body:
            case.body["upload"] = view[1]
        answer = case.call_and_validate(headers=BEARER, checks=CHECKS)
        if answer.status_code >= 400:
            assert set(answer.json()) == {"error"}

    each(described, check, without="DELETE|/(publish|dry-run|uploads)$|^GET /api/(jobs|publishers|series$)")


def test_without_the_token_the_answer_is_401(described: Any) -> None:
    def check(case: Any) -> None:
        answer = case.call()
        assert answer.status_code == 401
        assert answer.json()["error"]["kind"] == "NotLoggedIn"

    each(described, check, settings(BOUNDED, max_examples=2))
