"""What every page needs: templates, the visitor's token for forms, fields of forms, refusals in words."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
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
from republish.show.numbers import size, written_moment
from republish.web import DeskError, charts
from republish.web.errors import heading_of, sentence, status_of

if TYPE_CHECKING:
    from republish.web.desk import Desk


@cache
def asset(name: str) -> str:
    """The address of a static file; it changes with the file, so that browsers may keep it."""
    held = (Path(__file__).parent.parent / "static" / name).read_bytes()
    return f"/static/{name}?v={hashlib.blake2b(held, digest_size=6).hexdigest()}"


@cache
def environment() -> Environment:
    """The templates with everything they may call."""
    made = Environment(
        loader=PackageLoader("republish.web"),
        autoescape=select_autoescape(default=True),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(charts.FILTERS | {"plain": plain})
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


def plain(message: str) -> str:
    """A message of the tool in the words of the desk, where there are no options and no settings in files."""
    for pattern, words in _PLAIN.items():
        message = re.sub(pattern, words, message)
    return message


def _too_early(found: re.Match[str]) -> str:
    return (
        f"the date must be later than that of the last release, which is as of {written_moment(found[1])}. A day "
        "counts from its beginning, so the day of the last release is too early too; choose a later day, or leave the "
        "date empty once that moment is past: the release is then as of now"
    )


def _of_gate(found: re.Match[str]) -> str:
    name = {
        "compromised": "what the adversary knows already",
        "max_determined": "the share of people determined",
    }
    ranges = {
        "a share from 0 to below 1": "from 0 to below 100 percent",
        "a number from 0 to 1": "from 0 to 100 percent",
    }
    return f"{name.get(found[1], found[1])} must be {ranges.get(found[2], found[2])}; correct it under Gate"


_PLAIN: dict[str, str | Callable[[re.Match[str]], str]] = {
    r"`republish publish --hold-newcomers` publishes it so, and they wait": "tick that newcomers wait, and they come",
    r"newcomers can be held only where others stay, and (.+?); publish it without --hold-newcomers": (
        r"newcomers can wait only where others stay, and \1; leave out the tick"
    ),
    r"With a reason, `republish amend .+? --gate \"?(.+?)\"? --reason TEXT` would let it pass": (
        r"With a reason, the gate \1 would let it pass: set it on the page Change"
    ),
    r"nothing is published yet, so begin anew with `republish init .+?`": "nothing is published yet, so begin anew",
    r"with (\w+=\d+) the view would pass; `republish init .+?` makes one\. It does not count": (
        r"with \1 the view would pass. It does not count"
    ),
    r"mark the wrong one with `republish withdraw`": "withdraw the wrong one on its page",
    r"--as-of \(in Python as_of\) (lies in the future, .*?); correct it": (
        r"the date \1; choose a day that has begun, or leave the date empty: the release is then as of now"
    ),
    r"a release must be later than the last one, which is as of (.+?); give a later --as-of \(in Python as_of\)": (
        _too_early
    ),
    r"--as-of \(in Python as_of\) must be": "the date must be",
    r'say that it is meant: --(new-people|fewer-rows|same-view), in Python meant=\["\1"\]': "say so at the trial run",
    r'say why: --expect-anyway REASON, in Python expect_anyway="REASON"': "say why at the trial run",
    r", or have it wait with --wait SECONDS": "",
    r"(\w+) of the gate must be (.+?); correct it in \[gate\] or --gate": _of_gate,
    r"for example with iconv": "or save it again from a spreadsheet as “CSV UTF-8”",
    r"give those of all releases so far \(--truth DIR\)": "choose the files of all earlier releases",
    r"^[\w, ]+ would be looser than before, (.+?), for the ledger and the report; give a reason \(--reason TEXT\)": (
        r"the gate would be looser than before, \1, for the record and the report; give a reason below"
    ),
    r"; give views \(--from VIEW\), or limits such as [\w.=,]+": "; choose past files below, or give limits",
    r"; give --knowledge DIR": ", and this series has no such knowledge",
    r"; give the raw views \(--truth DIR\)": "; choose the raw views below",
    r"Correct them, or list the texts that mean missing in the schema: missing = \[\.\.\.\]": "Correct them",
    r", or let the schema say how to read them: normal = .*": "",
    r"\bview\.(?:csv|parquet)\b": "the file",
    r"Say which, --read dates\.[^=]+=\S+?, or write": "Choose it in the row of the column, or write",
    r"; label one in the schema": "; choose that role for a column",
    r"the schema names columns that the table does not have:": "the file lacks columns of this series:",
    r"whose schema (has|lists)": r"that \1",
    r"in the schema": "when the series is made",
    r"\b(the|a) schema\b": r"\1 series",
}
