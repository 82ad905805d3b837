"""The desk as an application, and a server for it."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import Scope

import republish
from republish.errors import PolicyError, RepublishError
from republish.web import api
from republish.web.desk import Desk
from republish.web.errors import answer, render, status_of
from republish.web.pages import routes
from republish.web.security import LOOPBACK, Access, Guard
from republish.web.uploads.uploads import LIMIT

_STATIC = Path(__file__).parent / "static"


class Static(StaticFiles):
    """Files of the package: kept by browsers for a day, for a year where the address names a version."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        versioned = b"v=" in scope["query_string"]
        response.headers["Cache-Control"] = (
            "private, max-age=31536000, immutable" if versioned else "private, max-age=86400"
        )
        return response


def create_app(
    roots: Sequence[str | Path],
    token: str | None = None,
    upload_limit: int = LIMIT,
    hosts: Sequence[str] | None = LOOPBACK,
    uploads_in: Path | None = None,
    warm: bool = False,
) -> FastAPI:
    """The desk over these folders as an ASGI application; `app.state.access.token` is what opens it.

    Args:
        roots: folders of series, or folders that hold several.
        token: what to log in with; a fresh one where none is given.
        upload_limit: bytes of the largest upload.
        hosts: the names under which it answers, `None` for any.
        uploads_in: where uploads lie while they are needed; the system's folder for temporary files if not given.
        warm: start a process for jobs before the first one.
    """
    desk, access = Desk(roots, upload_limit, uploads_in), Access(token)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        if warm:
            desk.jobs.warm()
        try:
            yield
        finally:
            desk.close()

    app = FastAPI(
        title="republish desk",
        version=republish.__version__,
        summary="Publish a changing table of personal data again and again without giving anyone away.",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=life,
    )
    app.state.desk, app.state.access = desk, access
    _log_in(app, access, desk)
    app.include_router(api.router(desk))
    app.include_router(routes.router(desk), include_in_schema=False)
    app.mount("/static", Static(directory=_STATIC), name="static")
    _errors(app)
    app.add_middleware(GZipMiddleware, minimum_size=500, compresslevel=6)
    app.add_middleware(
        Guard,
        access=access,
        upload_limit=upload_limit,
        hosts=None if hosts is None else tuple(hosts),
        entered=desk.note_login,
    )
    return app


def _log_in(app: FastAPI, access: Access, desk: Desk) -> None:
    @app.post("/login", include_in_schema=False)
    async def log_in(request: Request) -> Response:
        given = (await request.form(max_files=0, max_fields=10)).get("token")
        if not isinstance(given, str) or not access.fits(given.strip()):
            wrong = {
                "message": "That is not the token of this desk. Open the address that was printed at its start."
            }
            return render("login.html", 401, bare=True, error=wrong)
        response = RedirectResponse("/", status_code=303)
        access.log_in(response)
        await run_in_threadpool(desk.note_login, "form")
        return response

    @app.post("/logout", include_in_schema=False)
    async def log_out(request: Request) -> Response:
        response = RedirectResponse("/login", status_code=303)
        access.log_out(request.cookies, response)
        return response


def _errors(app: FastAPI) -> None:
    @app.exception_handler(RepublishError)
    def refused(request: Request, problem: RepublishError) -> Response:
        return answer(request, status_of(problem), str(problem), kind=type(problem).__name__)

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, problem: RequestValidationError) -> Response:
        found = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in problem.errors()[:5]]
        return answer(request, 422, "the request is not as described: " + "; ".join(found))

    @app.exception_handler(HTTPException)
    def http(request: Request, problem: HTTPException) -> Response:
        words = {404: "there is no such page", 405: "this cannot be done here"}
        message = words.get(problem.status_code, str(problem.detail))
        return answer(request, problem.status_code, message, headers=dict(problem.headers or {}))


def serve(
    roots: Sequence[Path],
    host: str = "127.0.0.1",
    port: int = 8000,
    upload_limit: int = LIMIT,
    allow_remote: bool = False,
    say: Callable[[str], Any] = print,
) -> None:
    """Serve the desk until it is stopped; its address is said once, with the token."""
    remote = host not in ("127.0.0.1", "localhost", "::1")
    if remote and not allow_remote:
        raise PolicyError(
            f"the desk is for this machine alone, and {host} can be reached from others; with --allow-remote it is "
            "served there all the same, unencrypted: put a proxy with TLS before it"
        )
    taken = free_socket(host, port)
    number = taken.getsockname()[1]
    app = create_app(roots, upload_limit=upload_limit, hosts=None if allow_remote else LOOPBACK, warm=True)
    desk: Desk = app.state.desk
    shown = f"[{host}]" if ":" in host else host
    say(f"{len(desk.paths())} series. Open http://{shown}:{number}/?token={app.state.access.token}")
    if port not in (0, number):
        say(f"note: port {port} is taken by another program, so the desk listens at {number}")
    say("The address lets anyone in who has it and can reach this machine; Ctrl-C stops the desk.")
    if remote:
        say("note: other machines can reach this desk, and nothing is encrypted on the way")
    for name in desk.paths():
        for notice in desk.notices(name):
            say(f"note: {name}: {notice}")
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,  # addresses hold the token once, and names of series
        server_header=False,
        ws="none",
        lifespan="on",
        timeout_graceful_shutdown=3,
    )
    with suppress(KeyboardInterrupt):  # the way to stop it
        uvicorn.Server(config).run(sockets=[taken])


def free_socket(host: str, port: int, tries: int = 100) -> socket.socket:
    """A socket that listens at the port, or at the next one that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in [0] if port == 0 else range(port, min(port + tries, 65536)):
        taken = socket.socket(family, socket.SOCK_STREAM)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind((host, number))
            taken.listen(128)
        except PermissionError:
            taken.close()
            raise PolicyError(f"this user may not listen at port {number}; choose one from 1024 on") from None
        except OSError:
            taken.close()
            continue
        return taken
    raise PolicyError(f"no port from {port} on is free at {host}; choose another --port or --host")
