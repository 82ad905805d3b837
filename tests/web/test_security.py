from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.routing import Route

from desk_client import BASE, TOKEN, TestClient, csv, desk, make_series, upload
from republish import PolicyError, Series
from republish.web import NotFound
from republish.web.app import create_app, free_socket, serve
from republish.web.pages import routes as pages

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("desk")
    make_series(folder / "visits", 1)
    return folder


@pytest.fixture
def stranger(folder: Path) -> Iterator[TestClient]:
    with desk(folder, log_in=False) as client:
        yield client


@pytest.fixture
def client(folder: Path) -> Iterator[TestClient]:
    with desk(folder) as client:
        yield client


def every_route(folder: Path) -> list[tuple[str, str]]:
    app = create_app([folder], token=TOKEN)
    app.state.desk.close()
    paths = {("GET", "/api/openapi.json"), ("POST", "/logout"), ("GET", "/static/desk.js")}
    for route in pages.router(app.state.desk).routes:
        assert isinstance(route, Route)
        paths |= {(method, route.path) for method in route.methods or ()}
    for path, actions in app.openapi()["paths"].items():
        paths |= {(method.upper(), path) for method in actions}
    values = {
        "name": "visits",
        "number:int": "1",
        "number": "1",
        "file": "table.csv",
        "upload": "0" * 32,
        "job": "1",
    }
    filled = set()
    for method, path in paths:
        for name, value in values.items():
            path = path.replace("{" + name + "}", value)  # noqa: PLW2901
        filled.add((method, path))
    return sorted(filled)


def test_without_the_token_nothing_is_served_but_the_login_page(folder: Path, stranger: TestClient) -> None:
    routes = every_route(folder)
    assert len(routes) > 35
    assert ("GET", "/s/visits/r/1") in routes
    assert ("GET", "/api/series/visits/releases/1/table.csv") in routes
    for method, path in routes:
        if path == "/login":
            continue
        answer = stranger.request(method, path)
        if answer.status_code == 303:
            assert answer.headers["location"] == "/login", path
            assert answer.content == b"", path
        else:
            assert answer.status_code == 401, (method, path)
            assert answer.json()["error"]["kind"] == "NotLoggedIn"
    assert stranger.get("/nothing/at/all").status_code == 303


def test_the_login_page_and_its_stylesheet_are_open(stranger: TestClient) -> None:
    assert stranger.get("/login").status_code == 200
    assert stranger.get("/static/desk.css").status_code == 200
    assert stranger.get("/static/../app.py").status_code in (303, 401, 404)
    assert stranger.get("/static/echarts.custom.min.js").status_code == 401


def test_the_address_with_the_token_logs_in_and_drops_it(stranger: TestClient) -> None:
    answer = stranger.get(f"/?token={TOKEN}")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in cookie
    assert stranger.get("/").status_code == 200


def test_a_form_logs_in_and_out(stranger: TestClient) -> None:
    wrong = stranger.post("/login", data={"token": "wrong"})
    assert wrong.status_code == 401
    assert "set-cookie" not in wrong.headers
    assert "not the token" in wrong.text
    assert stranger.post("/login", data={"token": f" {TOKEN} "}).status_code == 303
    assert stranger.get("/api/series").status_code == 200
    access = stranger.app.state.access  # type: ignore[attr-defined]
    csrf = access.csrf(stranger.cookies[access.cookie])
    kept = f"{access.cookie}={stranger.cookies[access.cookie]}"
    assert stranger.get("/api/series", headers={"Cookie": kept}).status_code == 200
    assert stranger.post("/logout", data={"csrf": csrf}).status_code == 303
    assert stranger.get("/api/series", headers={"Cookie": kept}).status_code == 401


@pytest.mark.parametrize(
    "content, body, status",
    [
        ("multipart/form-data; boundary=x", b"--x--", 415),
        ("application/json", b"{}", 415),
        ("application/x-www-form-urlencoded", b"token=" + b"x" * 5000, 413),
        ("multipart/form-data; boundary=x", b"x" * 2**20, 413),
    ],
)
def test_a_login_is_a_short_form(stranger: TestClient, content: str, body: bytes, status: int) -> None:
    answer = stranger.post("/login", content=body, headers={"Content-Type": content})
    assert answer.status_code == status
    pieces = (body[i : i + 1000] for i in range(0, len(body), 1000))  # without a length
    assert stranger.post("/login", content=pieces, headers={"Content-Type": content}).status_code in (
        413,
        415,
    )


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", "é"])
def test_a_wrong_token_opens_nothing(stranger: TestClient, token: str) -> None:
    assert stranger.get("/", params={"token": token}).status_code in (303, 401)
    assert stranger.get("/").status_code == 303
    bearer = {"Authorization": f"Bearer {token}".encode()}
    assert stranger.get("/api/series", headers=bearer).status_code == 401


def test_a_session_ends(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    begun = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: begun + 13 * 3600)
    assert client.get("/api/series").status_code == 401


def test_a_program_shows_the_token_and_needs_no_csrf(stranger: TestClient) -> None:
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    assert stranger.get("/api/series", headers=bearer).status_code == 200
    sent = stranger.post("/api/uploads", content=csv(1), headers={**bearer, "Content-Type": "text/csv"})
    assert sent.status_code == 201
    assert stranger.get("/", headers=bearer).status_code == 303  # pages are for browsers


@pytest.mark.parametrize(
    "headers",
    [
        {"X-CSRF-Token": "wrong"},
        {"X-CSRF-Token": ""},
        {"Origin": "http://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_a_forged_change_does_nothing(client: TestClient, headers: dict[str, str]) -> None:
    found = upload(client, csv(2))
    answer = client.post("/api/series/visits/publish", json={"upload": found}, headers=headers)
    assert answer.status_code == 403
    assert set(answer.json()["error"]) <= {"kind", "message", "remedy"}
    assert client.get("/api/jobs").json() == []


def test_forms_carry_the_csrf_token_first(client: TestClient) -> None:
    csrf = client.headers.pop("X-CSRF-Token")
    files = {"file": ("week.csv", csv(2), "text/csv")}
    assert client.post("/s/visits/publish", files=files).status_code == 403
    assert client.post("/s/visits/publish", data={"csrf": "0" * 64}, files=files).status_code == 403
    assert client.post("/s/visits/attack", data={"compromised": "4"}).status_code == 403
    assert client.post("/s/visits/attack", content=b"csrf=\xff", headers=FORM).status_code == 403
    sent = client.post("/s/visits/publish", data={"csrf": csrf}, files=files)
    assert sent.status_code == 303
    assert sent.headers["location"].startswith("/s/visits/publish/")
    sent = client.post("/api/uploads", data={"csrf": csrf}, files=files)
    assert sent.status_code == 201
    assert sent.json()["bytes"] == len(csv(2))  # what was looked into arrives whole


def test_a_browser_that_tells_no_referrer_may_use_forms(client: TestClient) -> None:
    data = {"csrf": client.headers.pop("X-CSRF-Token"), "compromised": "many"}
    hidden = client.post("/s/visits/attack", data=data, headers={"Origin": "null"})
    assert hidden.status_code == 400  # not a number: the form was read
    own = client.post("/s/visits/attack", data=data, headers={"Origin": "http://127.0.0.1:8000"})
    assert own.status_code == 400
    assert client.post("/s/visits/attack", data={}, headers={"Origin": "null"}).status_code == 403


def test_pages_give_forms_their_token(client: TestClient) -> None:
    assert client.headers["X-CSRF-Token"] in client.get("/s/visits/publish").text


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "evil.example:8000", "127.0.0.1:80/x"]
)
def test_only_names_of_this_machine_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/api/series", headers={"Host": host}).status_code == 400


@pytest.mark.parametrize("host", ["localhost:9", "[::1]:8000", "127.0.0.1", "LOCALHOST"])
def test_loopback_names_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/api/series", headers={"Host": host}).status_code == 200


def test_other_names_are_answered_where_told(folder: Path) -> None:
    with desk(folder, hosts=None) as client:
        assert client.get("/api/series", headers={"Host": "desk.example"}).status_code == 200


@pytest.mark.parametrize(
    "path", ["/", "/login", "/s/visits", "/api/series", "/api/nothing", "/static/desk.css"]
)
def test_every_answer_tells_browsers_what_to_forbid(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'self';")
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    if not path.startswith("/static"):
        assert headers["cache-control"] == "no-store"


def test_the_report_may_load_and_run_nothing(client: TestClient) -> None:
    policy = client.get("/api/series/visits/report").headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "sandbox" in policy


def test_static_files_are_small_on_the_way_and_kept(client: TestClient) -> None:
    first = client.get("/static/echarts.custom.min.js?v=1")
    assert first.headers["content-encoding"] == "gzip"
    assert "max-age=31536000" in first.headers["cache-control"]
    again = client.get("/static/echarts.custom.min.js", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304


def test_the_first_page_is_under_400_kilobytes_on_the_way(client: TestClient) -> None:
    import re

    total = 0
    with client.stream("GET", "/s/visits") as answer:
        total += sum(len(piece) for piece in answer.iter_raw())
    page = client.get("/s/visits").text
    for address in set(re.findall(r'(?:src|href)="(/static/[^"]+)"', page)):
        with client.stream("GET", address) as answer:
            total += sum(len(piece) for piece in answer.iter_raw())
    assert 50_000 < total < 400_000


NAMES = [
    "..",
    ".",
    "",
    "/",
    "../visits",
    "visits/..",
    "visits/../visits",
    "visits/",
    "visits\0",
    "~root",
    "/etc",
]


@pytest.mark.parametrize("name", NAMES)
def test_no_name_leads_out_of_the_folders(client: TestClient, name: str) -> None:
    with pytest.raises(NotFound):
        client.app.state.desk.path(name)  # type: ignore[attr-defined]
    shown = quote(name, safe="").replace(".", "%2e")
    for path in (f"/api/series/{shown}/releases/1/table.csv", f"/s/{shown}/r/1/files/table.csv"):
        assert client.get(path).status_code in (303, 404)


def test_no_file_name_leads_out_of_a_release(client: TestClient) -> None:
    for file in (
        "../../series.toml",
        "..%2f..%2fseries.toml",
        "%2e%2e/%2e%2e/private/secret.key",
        "membership",
    ):
        for base in ("/api/series/visits/releases/1/", "/s/visits/r/1/files/"):
            assert client.get(base + file).status_code in (400, 404)


def test_links_are_not_followed(tmp_path: Path) -> None:
    elsewhere = make_series(tmp_path / "elsewhere" / "hidden", 1)
    shown = tmp_path / "shown"
    make_series(shown / "visits", 1)
    (shown / "linked").symlink_to(elsewhere)
    about = shown / "visits" / "releases" / "0001" / "about.json"
    about.unlink()
    about.symlink_to(elsewhere / "private" / "secret.key")
    with desk(shown) as client:
        assert [one["name"] for one in client.get("/api/series").json()["series"]] == ["visits"]
        assert client.get("/api/series/linked").status_code == 404
        assert client.get("/api/series/visits/releases/1/about.json").status_code == 404


def test_a_linked_folder_of_releases_is_not_handed_out(tmp_path: Path) -> None:
    root = make_series(tmp_path / "shown" / "visits", 1)
    (root / "releases").rename(tmp_path / "elsewhere")
    (root / "releases").symlink_to(tmp_path / "elsewhere")
    with desk(tmp_path / "shown") as client:
        assert client.get("/api/series/visits/releases/1/table.csv").status_code == 404


@pytest.mark.parametrize("name", ["../out", "a/b", "..", "", ".hidden", "x" * 70, "visits", "a\n", "/tmp/x"])
def test_a_new_series_stays_in_its_folder(client: TestClient, folder: Path, name: str) -> None:
    found = upload(client, csv(1))
    roles = client.post("/api/propose", json={"upload": found}).json()["columns"]
    body = {"name": name, "upload": found, "roles": roles, "publisher": "tau-safety"}
    assert client.post("/api/series", json=body).status_code in (400, 409)
    assert [path.name for path in folder.iterdir()] == ["visits"]
    assert not (folder.parent / "out").exists()


def test_a_websocket_is_refused(client: TestClient) -> None:
    from starlette.websockets import WebSocketDisconnect

    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/api/series"):
        pass


def test_the_desk_listens_on_this_machine_alone_unless_told(folder: Path) -> None:
    with pytest.raises(PolicyError, match="--allow-remote"):
        serve([folder], host="0.0.0.0")


def test_a_taken_port_is_passed_over() -> None:
    with free_socket("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with free_socket("127.0.0.1", port) as second:
            assert second.getsockname()[1] > port


def test_two_desks_have_two_tokens_and_two_cookies(folder: Path) -> None:
    apps = [create_app([folder]) for _ in range(2)]
    for app in apps:
        app.state.desk.close()
    first, second = (app.state.access for app in apps)
    assert len(first.token) >= 32
    assert first.token != second.token
    assert first.cookie != second.cookie


def test_series_are_untouched_by_all_this(folder: Path) -> None:
    series = Series.open(folder / "visits")
    assert len(series.records) == 1
    assert series.verify().holds
    assert BASE.startswith("http://127.0.0.1")
