"""What may be changed of a series: its gate, what its report says, and that a release is withdrawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from republish.errors import RepublishError
from republish.policy import REPORT_FIELDS
from republish.report.signing import LABELS
from republish.web import DeskError, NotFound
from republish.web.errors import sentence, status_of
from republish.web.pages.page import Page, said, share, text, to
from republish.web.plain_words import plain
from republish.web.request_models import RECOMMENDED

_NONE, _LIMITS = "none", "limits"
_SHARES = {
    "max_determined": "the share of people determined",
    "compromised": "the share of people whom the adversary knows already",
}


class ChangePages(Page):
    """What was promised stays: columns and method are those of the first release."""

    def change(
        self,
        request: Request,
        error: Any = None,
        form: FormData | None = None,
        status: int = 200,
        done: Sequence[str] = (),
    ) -> Response:
        found = self.desk.one(request.path_params["name"])
        typed: Mapping[str, Any] = form if form is not None and error is not None else {}
        limits = {} if found.gate is None else found.gate["limits"] | found.gate["granted"]
        shown = {key: f"{100 * limits[key]:g}" for key in _SHARES if key in limits}
        asked = {"gate": _LIMITS if found.gate else RECOMMENDED, "reason": "", **shown, **typed}
        reported = found.signing | {
            name: typed[f"report.{name}"] for name in REPORT_FIELDS if f"report.{name}" in typed
        }
        return self.page(
            request,
            "change.html",
            status,
            s=found,
            error=error,
            done=[sentence(plain(one)) for one in done],
            form=asked,
            fields=[
                {"name": name, "label": label, "text": reported.get(name, "")}
                for name, label in {"title": "Title", **LABELS}.items()
            ],
        )

    def make_change(self, request: Request, form: FormData) -> Response:
        """Change the gate or the report, as the form says, and show what came of it."""
        name = request.path_params["name"]
        try:
            if text(form, "what") == "report":
                self.desk.amend_report(
                    name, {field: text(form, f"report.{field}") for field in REPORT_FIELDS}
                )
                done: Sequence[str] = ("what the report says is kept",)
            else:
                with self._files(form, "views", keep=False) as uploads:
                    views = [self.desk.uploads.get(one).path for one in uploads]
                    done = self.desk.amend_gate(name, _settings(form), text(form, "reason"), views)
        except NotFound:
            raise
        except RepublishError as problem:
            return self.change(request, said(problem), form, status_of(problem))
        return self.change(request, done=done)

    def withdraw(self, request: Request, form: FormData) -> Response:
        """Mark a release as withdrawn, once that was ticked, and show it."""
        name, number = request.path_params["name"], request.path_params["number"]
        if text(form, "sure") != "yes":
            raise DeskError("tick that you want to withdraw the release; this cannot be undone")
        self.desk.withdraw(name, number, text(form, "reason"))
        return to(f"/s/{quote(name)}/r/{number}")


def _settings(form: FormData) -> str:
    """The settings of the gate that were asked for."""
    chosen = text(form, "gate")
    if chosen in (RECOMMENDED, _NONE):
        return chosen
    given = {name: share(form, name, what) for name, what in _SHARES.items() if text(form, name)}
    if "max_determined" not in given:
        raise DeskError("say what share of people may be determined at most, in percent")
    return ",".join(f"{name}={value!r}" for name, value in given.items())
