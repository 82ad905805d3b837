"""The pages of the desk: HTML made on the server from what `Desk` says, nothing decided here.

Forms that change something are sent by htmx: the desk refuses a change whose origin the browser does not name, and
under its referrer policy browsers name none for a plain form. What is only read needs no scripts, charts aside.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from republish.errors import RepublishError
from republish.web.errors import status_of
from republish.web.pages.change import ChangePages
from republish.web.pages.jobs import JobPages
from republish.web.pages.new_series import NewSeriesPages
from republish.web.pages.page import environment, said
from republish.web.pages.series import SeriesPages
from republish.web.pages.tune import TunePages
from republish.web.uploads.uploads import AT_ONCE

if TYPE_CHECKING:
    from republish.web.desk import Desk

Answer = Callable[[Request], Awaitable[Response]]


class Pages(SeriesPages, JobPages, NewSeriesPages, TunePages, ChangePages):
    """Every page as a method that takes a request; forms come with it."""


def router(desk: Desk) -> APIRouter:
    """The routes of all pages."""
    pages, made = Pages(desk), APIRouter()

    def shown(answer: Callable[..., Response], request: Request, *form: FormData) -> Response:
        try:
            return answer(request, *form)
        except RepublishError as problem:
            return pages.page(request, "problem.html", status_of(problem), error=said(problem), back=None)

    def shows(answer: Callable[[Request], Response]) -> Answer:
        async def endpoint(request: Request) -> Response:
            return await run_in_threadpool(shown, answer, request)

        return endpoint

    def takes(answer: Callable[[Request, FormData], Response]) -> Answer:
        async def endpoint(request: Request) -> Response:
            async with request.form(max_files=AT_ONCE, max_fields=5_000) as form:
                return await run_in_threadpool(shown, answer, request, form)

        return endpoint

    release = "/s/{name}/r/{number:int}"
    for path, answer in {
        "/": pages.home,
        "/login": pages.login,
        "/new": pages.new,
        "/new/{upload}": pages.roles,
        "/s/{name}": pages.series,
        "/s/{name}/report": pages.report,
        "/s/{name}/tune": pages.tune,
        "/s/{name}/attack": pages.attack,
        "/s/{name}/change": pages.change,
        "/s/{name}/publish": pages.publish,
        "/s/{name}/publish/{upload}": pages.check,
        "/s/{name}/jobs/{job}": pages.job,
        "/s/{name}/jobs/{job}/part": pages.job_progress,
        release: pages.release,
        f"{release}/picture": pages.picture,
        f"{release}/files/{{file:path}}": pages.file,
    }.items():
        made.add_route(path, shows(answer), ["GET"], include_in_schema=False)
    for path, action in {
        "/new": pages.take_first,
        "/new/{upload}": pages.create,
        "/s/{name}/attack": pages.start_attack,
        "/s/{name}/change": pages.make_change,
        f"{release}/withdraw": pages.withdraw,
        "/s/{name}/publish": pages.take_view,
        "/s/{name}/publish/{upload}/dry-run": pages.dry_run,
        "/s/{name}/publish/{upload}/confirm": pages.confirm,
    }.items():
        made.add_route(path, takes(action), ["POST"], include_in_schema=False)
    return made


__all__ = ["Pages", "environment", "router"]
