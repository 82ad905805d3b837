"""Errors in one shape: JSON for programs, a page for people; never a traceback, never a value."""

from __future__ import annotations

from typing import Any

from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, JSONResponse, Response

from republish.errors import REPORT_IT, CannotPublish, LedgerError, RepublishError, fault_of
from republish.web.plain_words import plain

_KINDS = {
    400: "BadRequest",
    401: "NotLoggedIn",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Busy",
    413: "TooLarge",
    415: "WrongType",
    422: "Invalid",
    500: "Unforeseen",
}
_HEADINGS = {
    401: "Please log in",
    403: "Not allowed",
    404: "There is nothing here",
    409: "Not now",
    413: "The file is too large",
    415: "This is not a table",
    500: "A fault of the desk",
}


def kind_of(status: int) -> str:
    """The word for a status."""
    return _KINDS.get(status, "Refused" if status < 500 else "Unforeseen")


def heading_of(status: int) -> str:
    """What stands above a page that says why something did not work."""
    return _HEADINGS.get(status, "That did not work")


def status_of(problem: RepublishError) -> int:
    """How HTTP says what the tool refused."""
    status = getattr(problem, "status", None)
    if isinstance(status, int):
        return status
    if isinstance(problem, LedgerError):
        return 409
    return 422 if isinstance(problem, CannotPublish) or problem.exit_code == 1 else 400


def document(kind: str, message: str, remedy: str | None = None) -> dict[str, Any]:
    """The one shape of errors."""
    said = {"kind": kind, "message": writable(message)}
    return {"error": said if remedy is None else said | {"remedy": remedy}}


def writable(text: str) -> str:
    """The text with a question mark for whatever no encoding has, such as halves of a pair of surrogates."""
    return text.encode("utf-8", "replace").decode()


def answer(
    connection: HTTPConnection,
    status: int,
    message: str,
    *,
    kind: str | None = None,
    remedy: str | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """The error as whoever asked wants it: a page for a browser outside /api, else JSON."""
    wants_page = "text/html" in connection.headers.get("accept", "")
    if connection.scope["path"].startswith("/api") or not wants_page:
        body = document(kind or kind_of(status), message, remedy)
        return JSONResponse(body, status_code=status, headers=headers)
    return page(connection, status, message, remedy, headers)


def page(
    connection: HTTPConnection,
    status: int,
    message: str,
    remedy: str | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """The error as a page."""
    said = {"title": heading_of(status), "message": sentence(plain(message)), "remedy": plain(remedy or "")}
    bare = not getattr(connection.state, "csrf", "")
    return render("problem.html", status, headers, error=said, back=None, bare=bare)


def render(
    template: str, status: int = 200, headers: dict[str, str] | None = None, **given: Any
) -> HTMLResponse:
    """One of the templates of the pages."""
    from republish.web.pages.routes import environment

    text = environment().get_template(template).render(**{"csrf": "", **given})
    return HTMLResponse(writable(text), status_code=status, headers=headers)


def sentence(message: str) -> str:
    """A message with a capital and a full stop."""
    return f"{message[:1].upper()}{message[1:]}".rstrip(".") + "."


def unforeseen(connection: HTTPConnection, problem: BaseException) -> Response:
    """What is said of a fault of the desk itself: where it is, and nothing that was in its hands."""
    message = f"an unforeseen {fault_of(problem)}"
    return answer(connection, 500, message, kind="Unforeseen", remedy=REPORT_IT)
