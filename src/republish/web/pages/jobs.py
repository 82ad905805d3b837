"""Pages that start work: publish a view, attack a series, and how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from republish.errors import RepublishError
from republish.publishing.plausibility import MEANT
from republish.report.sentences import limit_of
from republish.report.words import ATTACKS
from republish.show.promises import words_on_correction
from republish.web import NotFound, attack_charts
from republish.web.errors import status_of
from republish.web.pages.page import Page, said, share, text, to
from republish.web.request_models import AskedRelease

if TYPE_CHECKING:
    from republish.report.facts import ReleaseFacts
    from republish.web.desk import Desk
    from republish.web.jobs.jobs import Job

_TITLES = {"dry-run": "Trial run", "publish": "Publishing", "attack": "Attack"}
_REMEMBERED = 200  # trial runs, as many as there are jobs
_UNSURE = ("Stopped", "Unforeseen", "LedgerError")  # after these only the timeline says what was published
_FIRST = {
    "title": "Make a trial run first",
    "message": "Nothing was published. A release is published as its trial run showed it, and there is none of this "
    "file that has ended well.",
}


@dataclass(frozen=True)
class _Trial:
    """What a trial run was made of."""

    series: str
    upload: str
    asked: AskedRelease


class JobPages(Page):
    """Upload, check, trial run, confirm, progress, result; and attacks."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._trials: dict[str, _Trial] = {}

    def publish(self, request: Request, error: Any = None, status: int = 200) -> Response:
        found = self.desk.one(request.path_params["name"])
        running = next(
            (job for job in self.desk.jobs.all() if job.series == found.name and job.is_open), None
        )
        running = running if running is not None and running.kind != "attack" else None
        return self.page(request, "publish.html", status, s=found, running=running, error=error)

    def take_view(self, request: Request, form: FormData) -> Response:
        name = request.path_params["name"]
        self.desk.path(name)
        try:
            upload = self._upload(form)
        except RepublishError as problem:
            return self.publish(request, said(problem), status_of(problem))
        return to(f"/s/{quote(name)}/publish/{upload}")

    def check(self, request: Request, error: Any = None, as_of: str = "", status: int = 200) -> Response:
        name, upload = request.path_params["name"], request.path_params["upload"]
        found, check = self.desk.one(name), self.desk.check(name, upload)
        roles = {column["name"]: column["role"] for column in found.columns}
        checked = [
            {"name": c, "role": roles.get(c, ""), "state": "missing" if c in check["missing"] else "found"}
            for c in check["expected"]
        ]
        checked += [{"name": c, "role": "none", "state": "unknown"} for c in check["extra"]]
        return self.page(
            request,
            "publish.html",
            status,
            s=found,
            error=error,
            as_of=as_of,
            days=_days(found.releases[-1] if found.releases else None),
            upload=upload,
            check=check,
            checked=checked,
            fine=check["fits"],
            advice=self.desk.advice(name),
            no_gate=self.desk.no_gate(name),
        )

    def dry_run(self, request: Request, form: FormData) -> Response:
        """Start a trial run as of a date; one that cannot be is asked for again, and the file is kept."""
        name, upload, as_of = request.path_params["name"], request.path_params["upload"], text(form, "as_of")
        try:
            with self._files(form, "truth") as truth:
                asked = AskedRelease(
                    as_of or None,
                    [one for one in MEANT if one in form.getlist("meant")],
                    truth,
                    text(form, "expect_anyway") or None,
                    "hold_newcomers" in form,
                    _number(text(form, "corrects")),
                )
                job = self.desk.start_dry_run(name, upload, asked)
        except NotFound:
            raise
        except RepublishError as problem:
            return self.check(request, said(problem), as_of, status_of(problem))
        self._trials[job.id] = _Trial(name, upload, asked)
        for old in list(self._trials)[:-_REMEMBERED]:
            self._trials.pop(old, None)
        return self._to_job(job)

    def confirm(self, request: Request, form: FormData) -> Response:
        """Publish what a trial run showed, if the series is still as it was then."""
        name, upload = request.path_params["name"], request.path_params["upload"]
        trial, head = self._finished(text(form, "trial")), text(form, "head")
        if trial is None or (trial.series, trial.upload) != (name, upload) or not head:
            return self.check(request, _FIRST, "", 409)
        try:
            job = self.desk.start_publish(name, upload, trial.asked, head)
        except NotFound:
            raise
        except RepublishError as problem:
            return self.check(
                request, said(problem) | {"again": "yes"}, trial.asked.as_of or "", status_of(problem)
            )
        return self._to_job(job)

    def _finished(self, job: str) -> _Trial | None:
        """The trial run of that id, if it has ended well."""
        try:
            ended = self.desk.jobs.get(job).state == "done"
        except NotFound:
            return None
        return self._trials.get(job) if ended else None

    def job(self, request: Request) -> Response:
        found = self._job(request)
        return self.page(request, "job.html", 404 if found["job"] is None else 200, **found)

    def job_progress(self, request: Request) -> Response:
        """The same without the page around it, for a page that is open already."""
        return self.page(request, "job_progress.html", **self._job(request))

    def _job(self, request: Request) -> dict[str, Any]:
        found = self.desk.one(request.path_params["name"])
        try:
            job: Job | None = self.desk.jobs.get(request.path_params["job"])
        except NotFound:
            job = None
        if job is not None and job.series != found.name:
            job = None
        newest = None
        if job is not None and job.kind == "attack" and job.state == "done" and job.result:
            from republish.attacks.assessments import Assessment

            newest = attack_charts.assessment(Assessment.from_dict(job.result), True, limit_of(found))
        return {
            "s": found,
            "job": job,
            "what": "Job" if job is None else _TITLES[job.kind],
            "result": (job.result if job else None) or {},
            "outcome": _outcome(job),
            "trial": None if job is None else self._trials.get(job.id),
            "before": found.releases[-1] if found.releases else None,
            "newest": newest,
            "corrected": _corrected(job, found.publisher["keeps_counts"]),
            "notices": self.desk.notices(found.name),
        }

    def _to_job(self, job: Job) -> Response:
        return to(f"/s/{quote(job.series)}/jobs/{job.id}")

    def attack(
        self, request: Request, error: Any = None, form: Mapping[str, Any] | None = None, status: int = 200
    ) -> Response:
        from republish.attacks import IDENTIFIES, RETRACES, SWAPS, names, without_views

        found = self.desk.one(request.path_params["name"])
        made = [
            attack_charts.assessment(one, current, limit_of(found))
            for one, current in zip(found.assessments, found.current, strict=True)
        ][::-1]
        known = found.publisher.get("knowledge")
        able = {
            name: ATTACKS[name] for name in (*without_views(bool(known)), *names(RETRACES, IDENTIFIES, SWAPS))
        }
        asked = form or {
            "compromised": 4,
            "event_lists": True,
            "cascade": True,
            "which": "all",
            "attacks": without_views(bool(known)),
        }
        return self.page(
            request,
            "attack.html",
            status,
            s=found,
            error=error,
            form=asked,
            attacks=able,
            newest=made[0] if made else None,
            earlier=made,
            compare=attack_charts.compared(made),
        )

    def start_attack(self, request: Request, form: FormData) -> Response:
        asked: dict[str, Any] = {
            "compromised": text(form, "compromised"),
            "event_lists": "event_lists" in form,
            "cascade": "cascade" in form,
            "which": text(form, "which"),
            "attacks": [str(name) for name in form.getlist("attacks")],
        }
        try:
            adversary = {
                "compromised": share(form, "compromised", "the share of people known already"),
                "event_lists": asked["event_lists"],
                "cascade": asked["cascade"],
            }
            chosen = asked["attacks"] if asked["which"] == "some" else None
            name = request.path_params["name"]
            with self._files(form, "truth") as truth:
                job = self.desk.start_attack(name, adversary, chosen, truth)
        except NotFound:
            raise
        except RepublishError as problem:
            return self.attack(request, said(problem), asked, status_of(problem))
        return self._to_job(job)


def _number(typed: str) -> int | None:
    """The release that was ticked to be corrected."""
    return int(typed) if typed.isdecimal() else None


def _outcome(job: Job | None) -> str:
    """What of a job that did not end well is there: nothing, something committed, unknown; else that it went well."""
    if job is None or job.kind != "publish":
        return "nothing"
    committed = (job.result or {}).get("committed")
    if job.state == "done" and job.problem is None and "afterwards:" not in job.message:
        return "well"
    if committed or job.state == "done":
        return "committed"
    return "unknown" if committed is None and job.problem in _UNSURE else "nothing"


def _corrected(job: Job | None, keeps_counts: bool) -> list[str]:
    """What is said of a release that takes the place of another."""
    corrects = (job.result or {}).get("corrects") if job is not None else None
    return words_on_correction(corrects, keeps_counts) if corrects else []


def _days(last: ReleaseFacts | None) -> dict[str, date] | None:
    """The first day that a next release may be as of, and today; both in UTC."""
    if last is None:
        return None
    moment = datetime.fromisoformat(last.as_of)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return {"first": moment.astimezone(UTC).date() + timedelta(days=1), "today": datetime.now(UTC).date()}
