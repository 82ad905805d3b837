"""What every page needs: templates, the visitor's token for forms, fields of forms, refusals in words."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, select_autoescape
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

import republish
from republish.errors import RepublishError
from republish.show.numbers import size
from republish.web import DeskError, charts
from republish.web.errors import heading_of, sentence, status_of
from republish.web.plain_words import plain

if TYPE_CHECKING:
    from republish.web.desk import Desk


@cache
def asset(name: str) -> str:
    """The address of a static file; it changes with the file, so that browsers may keep it."""
    held = (Path(__file__).parent.parent / "static" / name).read_bytes()
    return f"/static/{name}?v={hashlib.blake2b(held, digest_size=6).hexdigest()}"


def _sentence(text: str) -> str:
    return str(charts.FILTERS["sentence"](plain(text)))


@cache
def environment() -> Environment:
    """The templates with everything they may call."""
    made = Environment(
        loader=PackageLoader("republish.web"),
        autoescape=select_autoescape(default=True),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(charts.FILTERS | {"plain": plain, "sentence": _sentence})
    made.globals |= {"version": republish.__version__, "asset": asset}
    return made


class Page:
    """A desk and how to show what it says."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.environment = environment()

    def page(self, request: Request, template: str, status: int = 200, **given: Any) -> HTMLResponse:
        limit = self.desk.uploads.limit
        csrf = str(
            getattr(request.state, "csrf", "") or ""
        )  # the token that forms of this visitor must carry
        ours = {"csrf": csrf, "limit": limit, "limit_words": size(limit)}
        return HTMLResponse(self.environment.get_template(template).render(**ours, **given), status)

    def _upload(self, form: FormData) -> str:
        file = form.get("file")
        if file is None or isinstance(file, str) or not file.filename:
            raise DeskError("no file was chosen; choose a CSV or Parquet file")
        return self.desk.upload(file)

    @contextmanager
    def _files(self, form: FormData, name: str, keep: bool = True) -> Iterator[list[str]]:
        """The files of a field, in the order of their names; erased after work that refuses or does not `keep` them."""
        files = [file for file in form.getlist(name) if not isinstance(file, str) and file.filename]
        taken: list[str] = []
        try:
            for file in sorted(files, key=lambda file: file.filename or ""):
                taken.append(self.desk.upload(file))
            yield taken
        except BaseException:
            keep = False
            raise
        finally:
            for upload in taken if not keep else ():
                self.desk.uploads.remove(upload)


def to(address: str) -> Response:
    """Go on to another page."""
    return RedirectResponse(address, 303)


def text(form: FormData, name: str) -> str:
    """A field of a form."""
    value = form.get(name)
    return value.strip() if isinstance(value, str) else ""


def share(form: FormData, name: str, what: str) -> float:
    """A share that was typed in percent."""
    try:
        found = float(text(form, name).replace(",", "."))
    except ValueError:
        found = -1.0
    if not 0 <= found <= 100:
        raise DeskError(f"{what} must be a number from 0 to 100 percent")
    return found / 100


def said(problem: RepublishError) -> dict[str, str]:
    """A refusal as a page says it."""
    return {"title": heading_of(status_of(problem)), "message": sentence(plain(str(problem)))}
