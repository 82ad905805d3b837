"""Pages that make a new series of a first file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from republish.errors import RepublishError
from republish.policy import REPORT_FIELDS
from republish.release.forms import ONE_TABLE, PRESENCE, TWO_TABLES, TwoTables
from republish.report.signing import LABELS
from republish.report.words import PARAMETERS
from republish.show.numbers import upper_first
from republish.tune.situation import QUESTIONS, USUAL, Question
from republish.web import DeskError, NotFound
from republish.web.errors import status_of
from republish.web.pages.page import Page, said, share, text, to
from republish.web.request_models import NO_GATE, RECOMMENDED, USUAL_GATE

ROLES = (
    ("identifier", "identifier: names a person"),
    ("quasi-identifier", "quasi-identifier: may be known from elsewhere"),
    ("sensitive", "sensitive: nobody may learn it"),
    ("insensitive", "insensitive: tells nothing of a person"),
    ("drop", "drop: leave it out"),
)
KINDS = ("number", "category", "date")
_EASY = {"k", "m", "n", "t", "j", "beta", "size", "values", "together", "max_determined", "compromised"}
_MAY_BE_EMPTY = {"n", "p", "L", "h"}
_STEPS = {"int": "1", "float": "any"}
_RECOMMENDED, _AS_USUAL, _AS_FILES = "recommended", "as-usual", "as-files"
_ONE_TABLE, _FOLLOW = "one-table", "follow"
SITUATIONS = {
    "again": "The table is published again and again",
    _ONE_TABLE: "It is published again and again, and recipients need one table of rows",
    _FOLLOW: "It is published again and again, and an adversary may know how values follow each other",
    "once": "It is published once",
}
"""In which situation a method is for; the first of each is the one to begin with."""
_SUITED = {
    "value-blind": "again",
    **dict.fromkeys(("tau-safety", "cor-split", "cohorts", "m-invariance"), _ONE_TABLE),
    **dict.fromkeys(("bayframe", "js-reduce"), _FOLLOW),
}


class NewSeriesPages(Page):
    """Upload, roles and method, create."""

    def new(self, request: Request, error: Any = None, status: int = 200) -> Response:
        return self.page(request, "new.html", status, here="new", error=error)

    def take_first(self, request: Request, form: FormData) -> Response:
        try:
            upload = self._upload(form)
            self.desk.propose(upload)
        except RepublishError as problem:
            return self.new(request, said(problem), status_of(problem))
        return to(f"/new/{upload}")

    def roles(
        self, request: Request, error: Any = None, form: FormData | None = None, status: int = 200
    ) -> Response:
        upload = request.path_params["upload"]
        proposed = self.desk.propose(upload)
        columns, methods = proposed["columns"], self._methods(form)
        asked: dict[str, Any] = {
            "name": "",
            "publisher": _RECOMMENDED,
            "gate": True,
            "one_table": False,
            "tables": _AS_USUAL,
            "people_k": TwoTables().k,
            "presence_public": False,
            "hide_batch": False,
            "no_sensitive": False,
            "max_determined": "",
            "gate_compromised": "",
            **{f"answer.{one.name}": _choices(one)[0][0] for one in QUESTIONS},
        }
        if form is not None:
            asked = {key: text(form, key) or usual for key, usual in asked.items()} | {
                key: key in form
                for key in ("gate", "one_table", "no_sensitive", "presence_public", "hide_batch")
            }
            chosen = zip(form.getlist("role"), form.getlist("kind"), strict=False)
            columns = [
                column
                | {"role": role, "kind": kind, "form": text(form, f"form.{column['name']}")}
                | {"missing": form.getlist(f"missing.{column['name']}")}
                for column, (role, kind) in zip(columns, chosen, strict=False)
            ]
        return self.page(
            request,
            "new.html",
            status,
            here="new",
            upload=upload,
            columns=columns,
            asks=proposed["asks"],
            read=proposed["read"],
            roles=ROLES,
            kinds=KINDS,
            methods=methods,
            situations=_by_situation(methods),
            fields=[
                {
                    "name": name,
                    "label": label,
                    "text": text(form, f"report.{name}") if form is not None else "",
                }
                for name, label in {"title": "Title", **LABELS}.items()
            ],
            form=asked,
            questions=[(one, _choices(one)) for one in QUESTIONS],
            error=error,
        )

    def create(self, request: Request, form: FormData) -> Response:
        upload, name, publisher = request.path_params["upload"], text(form, "name"), text(form, "publisher")
        try:
            named = zip(form.getlist("column"), form.getlist("role"), form.getlist("kind"), strict=True)
            roles = [
                {
                    **{"name": str(c), "role": str(role), "kind": str(kind)},
                    "form": text(form, f"form.{c}"),
                    "missing": [str(code) for code in form.getlist(f"missing.{c}")],
                }
                for c, role, kind in named
            ]
            parameters = {
                key.removeprefix(f"{publisher}."): str(value)
                for key, value in form.items()
                if key.startswith(f"{publisher}.") and str(value).strip()
            }
            with self._files(form, "further", keep=False) as further:
                found = self.desk.create(
                    name,
                    upload,
                    roles,
                    None if publisher == _RECOMMENDED else publisher,
                    parameters,
                    _gate(form),
                    one_table="one_table" in form,
                    no_sensitive="no_sensitive" in form,
                    form=_form(form, publisher),
                    report={name: text(form, f"report.{name}") for name in REPORT_FIELDS},
                    answers=_answers(form),
                    further=further,
                )
        except NotFound:
            raise
        except RepublishError as problem:
            return self.roles(request, said(problem), form, status_of(problem))
        return to(f"/s/{quote(found.name)}/publish/{upload}")

    def _methods(self, form: FormData | None) -> list[dict[str, Any]]:
        """The methods with those parameters that a data officer may want to set."""
        methods = []
        for one in sorted(self.desk.publishers(), key=lambda p: not p["protects_series"]):
            parameters = [
                {
                    "name": field["name"],
                    "says": upper_first(PARAMETERS.get(field["name"], "")),
                    "type": "number",
                    "step": _STEPS[field["type"].removesuffix(" | None")],
                    "value": (text(form, f"{one['name']}.{field['name']}") if form is not None else "")
                    or ("" if field["default"] is None else field["default"]),
                }
                for field in one["parameters"]
                if (field["name"] in _EASY and field["type"] in _STEPS) or field["name"] in _MAY_BE_EMPTY
            ]
            methods.append(
                {
                    "name": one["name"],
                    "summary": one["summary"],
                    "protects": one["protects_series"],
                    "parameters": parameters,
                }
            )
        return methods


def _by_situation(methods: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The methods by what they are for; one that no situation names is for it as its promises say."""
    order = list(_SUITED)
    found: dict[str, list[Mapping[str, Any]]] = {key: [] for key in SITUATIONS}
    for method in sorted(
        methods, key=lambda one: order.index(one["name"]) if one["name"] in order else len(order)
    ):
        found[_SUITED.get(method["name"], _ONE_TABLE if method["protects"] else "once")].append(method)
    return [{"title": SITUATIONS[key], "methods": some, "key": key} for key, some in found.items() if some]


def _choices(one: Question) -> list[tuple[str, str, str]]:
    """What may be answered to a question, the usual first: a word, how it is shown, and what follows."""
    said = [("yes", "Yes", one.yes), ("no", "No", one.no)]
    usual = USUAL.words()[one.name]
    if not one.in_views:
        return sorted(said, key=lambda choice: choice[0] != usual)
    alone = (
        f"The first file and those that followed answer it; one file alone cannot: then {usual} is assumed."
    )
    return [(_AS_FILES, "As the files say", alone), *said]


def _answers(form: FormData) -> dict[str, str]:
    """What was answered by a person; the rest is left to the files."""
    given = {one.name: text(form, f"answer.{one.name}") for one in QUESTIONS}
    return {name: word for name, word in given.items() if word not in ("", _AS_FILES)}


def _gate(form: FormData) -> str | dict[str, Any]:
    """The gate that was asked for; with neither of its limits given, one that is tried."""
    if "gate" not in form:
        return NO_GATE
    said = {
        "max_determined": ("max_determined", "the share of people determined"),
        "compromised": ("gate_compromised", "the share of people whom the adversary knows already"),
    }
    given = {name: share(form, *how) for name, how in said.items() if text(form, how[0])}
    return USUAL_GATE | given if given else RECOMMENDED


def _form(form: FormData, publisher: str) -> dict[str, Any] | None:
    """The form of the series that was chosen, as series.toml has it; `None` where the method decides."""
    tables = text(form, "tables")
    if tables == ONE_TABLE:
        return {"name": ONE_TABLE}
    if tables != TWO_TABLES and publisher != _RECOMMENDED:
        return None
    k = text(form, "people_k")
    if not k.isdigit():
        raise DeskError("how many people look alike must be a whole number")
    return {
        "name": TWO_TABLES,
        "k": int(k),
        "presence": PRESENCE["presence_public" in form],
        "hide_batch": "hide_batch" in form,
    }
