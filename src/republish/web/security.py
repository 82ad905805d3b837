"""Who may come in: a token, then a cookie; only from this machine's own pages; and what browsers are told to forbid."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from urllib.parse import parse_qs

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from republish.sources.panics import is_panic
from republish.web.errors import answer, unforeseen
from republish.web.uploads.uploads import too_large

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
OPEN_PATHS = ("/login", "/static/desk.css", "/static/icon.svg")
"""All that is served without the token."""

POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; sandbox"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}
_SAFE = ("GET", "HEAD", "OPTIONS")
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_HOST = re.compile(r"([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?")
_SMALL = 2**20
_LOGIN = 2**12
_LONGEST_PATH = 2_000
_FIRST = 2**12
_CSRF_PART = re.compile(
    rb'(?:\r\n)?--[^\r\n]{1,100}\r\ncontent-disposition: form-data; name="csrf"\r\n\r\n([0-9a-f]{64})\r\n--',
    re.I,
)
_SESSION_SECONDS = 12 * 3600.0
_MOST_SESSIONS = 100
_DRAINED = 4  # so many times the limit is read and thrown away, so that a browser shows the answer


class Access:
    """The token of one desk, and everyone who is logged in with it."""

    def __init__(self, token: str | None = None) -> None:
        self.token = token or secrets.token_urlsafe(24)
        self._key = secrets.token_bytes(32)
        self._sessions: dict[str, float] = {}
        self._lock = threading.Lock()
        mark = hashlib.blake2b(self.token.encode(), digest_size=6).hexdigest()
        self.cookie = f"republish-{mark}"  # cookies know no ports: two desks on a machine need two names

    def fits(self, token: str) -> bool:
        """Whether this is the token, in a time that does not tell how much of it is right."""
        return hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())

    def log_in(self, response: Response) -> None:
        session, now = secrets.token_urlsafe(24), time.monotonic()
        with self._lock:
            current = {key: begun for key, begun in self._sessions.items() if now - begun < _SESSION_SECONDS}
            oldest = sorted(current, key=lambda key: current[key])[
                : max(0, len(current) + 1 - _MOST_SESSIONS)
            ]
            for key in oldest:
                del current[key]
            self._sessions = current | {session: now}
        response.set_cookie(
            self.cookie, session, max_age=int(_SESSION_SECONDS), httponly=True, samesite="strict", path="/"
        )

    def log_out(self, cookies: Mapping[str, str], response: Response) -> None:
        with self._lock:
            self._sessions.pop(cookies.get(self.cookie, ""), None)
        response.delete_cookie(self.cookie, httponly=True, samesite="strict", path="/")

    def session(self, cookies: Mapping[str, str]) -> str | None:
        """The session of a request, where it has one that goes on."""
        found = cookies.get(self.cookie, "")
        with self._lock:
            begun = self._sessions.get(found)
        return found if begun is not None and time.monotonic() - begun < _SESSION_SECONDS else None

    def csrf(self, session: str) -> str:
        """What only a page of this desk can know and must send with everything that changes something."""
        return hmac.new(self._key, session.encode(), "sha256").hexdigest()

    def has_bearer(self, connection: HTTPConnection) -> bool:
        """Whether a program shows the token itself."""
        scheme, _, given = connection.headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self.fits(given.strip())


class Guard:
    """Stands before everything that is served."""

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        upload_limit: int,
        hosts: tuple[str, ...] | None,
        entered: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.app, self.access, self.limit, self.hosts = app, access, upload_limit, hosts
        self.entered = entered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what may not pass; add the headers to whatever is answered."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        begun = False

        async def protected(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        body = Body(receive, self._limit(connection))
        incoming: Receive = body.receive
        try:
            refusal = self._refusal(scope, connection)
            if refusal is None and scope["state"].get("csrf_in_form"):
                given, incoming = await csrf_of_form(connection.headers.get("content-type", ""), incoming)
                if not hmac.compare_digest(given, scope["state"]["csrf"].encode()):
                    refusal = answer(connection, 403, _NO_CSRF)
            if refusal is not None:
                if refusal.status_code in (403, 413, 415):
                    await body.drain(self._drained(connection))
                await refusal(scope, receive, protected)
                return
            await self.app(scope, incoming, protected)
        except HTTPException as problem:  # the body is too large
            await body.drain(self._drained(connection))
            await answer(connection, problem.status_code, problem.detail)(scope, receive, protected)
        except BaseException as problem:
            if not isinstance(problem, Exception) and not is_panic(problem):
                raise
            if begun:  # the answer cannot be taken back, only cut short
                raise RuntimeError(f"an unforeseen {type(problem).__name__} cut an answer short") from None
            await unforeseen(connection, problem)(scope, receive, protected)

    def _limit(self, connection: HTTPConnection) -> int:
        if connection.scope["path"] == "/login":
            return _LOGIN
        content = connection.headers.get("content-type", "")
        uploads = content.startswith("multipart/form-data") or connection.scope["path"] == "/api/uploads"
        return self.limit + _SMALL if uploads else _SMALL

    def _drained(self, connection: HTTPConnection) -> int:
        return _SMALL if connection.scope["path"] == "/login" else _DRAINED * self.limit

    def _refusal(self, scope: Scope, connection: HTTPConnection) -> Response | None:
        """Why a request may not pass, `None` where it may."""
        path, method = scope["path"], scope["method"]
        state = scope.setdefault("state", {})
        state["csrf"] = ""
        if self.hosts is not None and _host(connection) not in self.hosts:
            return answer(
                connection,
                400,
                "this desk answers to the names of this machine alone",
                remedy="Open it as http://127.0.0.1 with the port that was printed",
            )
        if len(path) > _LONGEST_PATH:
            return answer(connection, 404, "there is no such page")
        length = connection.headers.get("content-length", "0")
        if length.isdecimal() and (len(length) > 20 or int(length) > self._limit(connection)):
            return answer(connection, 413, _too_much(self._limit(connection)))
        if path == "/login" and method == "POST" and _content(connection) != _FORMS[0]:
            return answer(connection, 415, f"a login is a form with the field token, as {_FORMS[0]}")
        if path == "/" and method == "GET" and b"token=" in scope["query_string"]:
            return self._enter(scope, connection)
        if path.startswith("/api") and self.access.has_bearer(connection):
            return None  # no cookie, so no other page can have sent it
        session = self.access.session(connection.cookies)
        if session is None:
            return None if path in OPEN_PATHS else _stranger(connection, method)
        state["csrf"] = self.access.csrf(session)
        return None if method in _SAFE else self._forged(scope, connection)

    def _enter(self, scope: Scope, connection: HTTPConnection) -> Response:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not self.access.fits(given):
            return answer(connection, 401, "that is not the token of this desk", remedy=_REMEDY)
        response = RedirectResponse("/", status_code=303)  # the token leaves the address and the history
        self.access.log_in(response)
        self.entered("address")
        return response

    def _forged(self, scope: Scope, connection: HTTPConnection) -> Response | None:
        """Refuse a change that did not come from a page of this desk; a form is looked into afterwards."""
        headers, state = connection.headers, scope["state"]
        origin = headers.get("origin")
        foreign = headers.get("sec-fetch-site") in ("cross-site", "same-site") or (
            origin not in (None, "null") and str(origin).partition("://")[2] != headers.get("host")
        )  # a browser that may tell no referrer says "null"; the token decides then
        if foreign:
            return answer(
                connection, 403, "a page that is not of this desk asked for a change; nothing was done"
            )
        shown = headers.get("x-csrf-token")
        content = _content(connection)
        if shown is None and content in _FORMS:
            state["csrf_in_form"] = True
            return None
        fits = hmac.compare_digest((shown or "").encode(), state["csrf"].encode())
        return None if fits else answer(connection, 403, _NO_CSRF)


async def csrf_of_form(content_type: str, receive: Receive) -> tuple[bytes, Receive]:
    """The field `csrf` of a form, and a way to receive the whole body all the same.

    In a form with files it must be the first field, so that nothing else needs to be read before it.
    """
    heard: list[Message] = []
    body, more = b"", True
    files = content_type.lower().startswith("multipart/form-data")
    while more and not (files and len(body) > _FIRST):
        message = await receive()
        heard.append(message)
        body += message.get("body", b"")
        more = message["type"] == "http.request" and bool(message.get("more_body"))

    async def again() -> Message:
        return heard.pop(0) if heard else await receive()

    return (_first_part(body) if files else _field(body)), again


def _field(body: bytes) -> bytes:
    try:
        found = parse_qs(body.decode("latin-1"), max_num_fields=10_000).get("csrf", [""])
    except ValueError:  # too many fields
        return b""
    return found[0].encode()


def _first_part(body: bytes) -> bytes:
    """What the first part of a form with files holds, where that is `csrf`."""
    found = _CSRF_PART.match(body)
    return found[1] if found else b""


_NO_CSRF = (
    "a change must show that it comes from a page of this desk, and this one does not; nothing was done. Reload the "
    "page and repeat it. Programs send Authorization: Bearer with the token"
)
_REMEDY = "Open the address that `republish serve` printed"


def _stranger(connection: HTTPConnection, method: str) -> Response:
    path = connection.scope["path"]
    if method in ("GET", "HEAD") and not path.startswith(("/api", "/static")):
        return RedirectResponse("/login", status_code=303)
    return answer(
        connection,
        401,
        "nothing is served without the token of this desk",
        remedy=f"{_REMEDY}, or send Authorization: Bearer with the token",
        headers={"WWW-Authenticate": "Bearer"},
    )


def _content(connection: HTTPConnection) -> str:
    return connection.headers.get("content-type", "").partition(";")[0].strip().lower()


def _too_much(limit: int) -> str:
    if limit == _LOGIN:
        return "a login is a short form with the field token; this is more"
    return str(too_large(max(limit - _SMALL, _SMALL)))


def _host(connection: HTTPConnection) -> str:
    found = _HOST.fullmatch(connection.headers.get("host", "").lower())
    return found[1] if found else ""


class Body:
    """What a request brings: at most so many bytes, whatever its header says."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive, self._limit = receive, limit
        self._taken, self._ended = 0, False

    async def receive(self) -> Message:
        """The next piece; 413 once there is more than the limit."""
        message = await self._next()
        if self._taken > self._limit:
            raise HTTPException(413, _too_much(self._limit))
        return message

    async def drain(self, most: int) -> None:
        """Read what a browser still sends, within reason: one that cannot send shows no answer."""
        while not self._ended and self._taken < most:
            await self._next()

    async def _next(self) -> Message:
        message = await self._receive()
        self._taken += len(message.get("body", b""))
        self._ended = message["type"] != "http.request" or not message.get("more_body")
        return message
