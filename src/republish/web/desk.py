"""Everything that can be done at the desk, for pages and API alike."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from republish.web import Busy, Changed, DeskError, request_models
from republish.web.amending_desk import AmendingDesk
from republish.web.downloads import FILES
from republish.web.jobs.interrupted import require_unlocked
from republish.web.jobs.jobs import DONE, FAILED, REFUSED, Job, Jobs
from republish.web.jobs.worker import CHANGED
from republish.web.request_models import AskedRelease
from republish.web.uploads.columns import compare, legible
from republish.web.uploads.uploads import LIMIT, Upload, Uploads

if TYPE_CHECKING:
    from republish.report.facts import SeriesFacts

SAY_NONE = 'Give one column the role sensitive, or say that none is: "No column is sensitive", no_sensitive in the API'
USUAL = AskedRelease()
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,62}[A-Za-z0-9]|[A-Za-z0-9]")


class Desk(AmendingDesk):
    """The series of this machine, the views that are uploaded for them, and the jobs that take long.

    New series are made in the first root that holds several.
    """

    def __init__(
        self,
        roots: Sequence[str | Path],
        upload_limit: int = LIMIT,
        uploads_in: Path | None = None,
        jobs: Jobs | None = None,
    ) -> None:
        super().__init__(roots)
        self.uploads = Uploads(upload_limit, uploads_in)
        self.jobs = jobs or Jobs()
        self._noted: set[tuple[str, str]] = set()
        self._advice: dict[str, dict[str, Any]] = {}
        self._no_gate: dict[str, str] = {}

    # Uploads --------------------------------------------------------------------------------------

    def upload(self, file: Any) -> str:
        """Keep an uploaded view (a file object, or an upload of Starlette) for an hour; return its id."""
        source: BinaryIO = getattr(file, "file", file)
        return self.uploads.take(source).id

    def check(self, name: str, upload: str) -> dict[str, Any]:
        """How the columns of a view compare with the schema, how many rows it has, and what is wrong in words."""
        view = self.uploads.get(upload)
        with self.opened(name) as series:
            schema = series.schema
            known = series.known_values() if series.records else None
        self._note_upload(name, view)
        found = compare(schema, view.path, known)
        self.note(
            name, "check", DONE if found["fits"] else REFUSED, rows=found["rows"], others=found["others"]
        )
        return {"upload": upload, **found}

    def propose(self, upload: str) -> dict[str, Any]:
        """A role and a kind for every column of a view, each with the reason.

        `forms` are those in which the days of a column can be read, where that is not clear; `maybe` numbers that may
        mean missing. The answers are `form` and `missing` of the roles that `create` takes.
        """
        from republish.sources.columns.understood import understand
        from republish.sources.propose import NO_SENSITIVE, propose

        view = self.uploads.get(upload)
        with legible():
            understood = understand(view.path)
            found = propose(understood)
        columns = [
            {
                **{"name": p.name, "role": p.role, "kind": p.kind, "why": p.why, "looks": p.looks},
                "forms": list(understood.unclear.get(p.name, ())),
                "maybe": list(understood.maybe.get(p.name, ())),
            }
            for p in found
        ]
        asks = "" if any(p.role == "sensitive" for p in found) else f"{NO_SENSITIVE}. {SAY_NONE}"
        rows, read = understood.table.height, understood.sentence
        return {"upload": upload, "rows": rows, "read": read, "columns": columns, "asks": asks}

    # What takes long ------------------------------------------------------------------------------

    def start_dry_run(self, name: str, upload: str, asked: AskedRelease = USUAL) -> Job:
        """Everything of a publish but the commit."""
        return self._start_writing("dry-run", name, upload, asked)

    def start_publish(
        self, name: str, upload: str, asked: AskedRelease = USUAL, expected_head: str | None = None
    ) -> Job:
        """Publish a view; all uploads are erased when it has ended.

        `expected_head` is `head` in the result of a trial run: with it, nothing is published to a series that has
        changed since.
        """
        return self._start_writing("publish", name, upload, asked, expected_head)

    def start_attack(
        self,
        name: str,
        adversary: Mapping[str, Any] | None = None,
        attacks: Sequence[str] | None = None,
        truth: Sequence[str] = (),
    ) -> Job:
        """Attack a series in the background; what is found is kept beside it.

        `truth` are uploads of the raw views, one a release, for attacks that look people up by their quasi-identifiers;
        they are erased when it has ended.
        """
        granted, names = request_models.granted(adversary or {}), None if attacks is None else list(attacks)
        with self.opened(name) as series:
            request_models.require_attackable(series, granted, names, len(truth))
            root = series.root
        job, views = Job("attack", name), self._use(truth)
        task = {"kind": "attack", "root": str(root), "adversary": granted, "attacks": names}
        task |= {"truth": [str(view.path) for view in views]}

        def finish(ended: Job) -> None:
            self._release(views, erase=True)
            if ended.state == DONE:
                ended.message = "the attacks are made; what they found is kept beside the series"
            self.note(name, "attack", ended.state, job=job.id, kind=ended.problem, **_attacked(ended))

        begin = partial(self.note, name, "attack", "started", job=job.id, adversary=granted, attacks=names)
        try:
            return self.jobs.start(job, task, begin, finish)
        except BaseException:
            self._release(views)
            raise

    def create(
        self,
        name: str,
        upload: str,
        roles: Sequence[Mapping[str, Any]] | Mapping[str, Any],
        publisher: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        gate: str | Mapping[str, Any] | None = None,
        require: str = "",
        one_table: bool = False,
        no_sensitive: bool = False,
        form: str | Mapping[str, Any] | None = None,
        report: Mapping[str, str] | None = None,
        answers: Mapping[str, Any] | None = None,
        further: Sequence[str] = (),
    ) -> SeriesFacts:
        """A new series with the columns of an uploaded view, in the first folder that holds several.

        `roles` are the columns with `name`, `role` and `kind`, as `propose` returns them, or the same by name.
        `no_sensitive` says that it is meant where none of them is sensitive. `form` is "two-tables", or the same with
        k, presence and hide_batch as series.toml has them; without one, that which the publisher needs. Without a
        publisher, that which is recommended for the view, `further` views that followed it, oldest first, and these
        `answers` to the questions of docs/choose.md, and `advice` says why. The gate "recommended" has limits that were
        tried on these views; it is the usual one of a recommended publisher, and "none" leaves it out. Where there is
        none, `no_gate` says why. `report` is title, purpose and so on.
        """
        from republish.series import Series

        if self.home is None:
            raise DeskError(
                "new series need a folder that holds several; start the desk with one: `republish serve FOLDER`"
            )
        if not _NAME.fullmatch(name):
            raise DeskError(
                "the name of a series has 1 to 64 letters, digits, spaces, dots, dashes or underscores, and begins and "
                "ends with a letter or digit"
            )
        root = self.home / name
        if root.exists() or root.is_symlink() or self.index.is_taken(name, root):
            raise Busy("a series or folder of that name is there already; choose another name")
        view = self.uploads.get(upload)
        schema = request_models.schema_of(view, roles)
        if schema.sensitive is None and not no_sensitive:
            raise DeskError(f"a series without a sensitive column hides only who is who. {SAY_NONE}")
        advice = None
        views = [view, *(self.uploads.get(one) for one in further)]
        if publisher is None:
            advice = request_models.advice_on(views, schema, form, answers)
        made, tables = request_models.method_of(
            advice, publisher, dict(parameters or {}), require, form, schema
        )
        tried = request_models.gate_of(gate, (made, tables), schema, views, advice)
        situation = {} if advice is None else advice.answers.given()
        series = Series.create(
            root,
            schema,
            made,
            one_table=one_table,
            gate=tried.gate,
            form=tables,
            report=report,
            situation=situation,
        )
        series.ledger.close()
        self._note_upload(name, view)
        self.note(name, "create", DONE, publisher=made.name, columns=len(schema.columns))
        if advice is not None:
            self._advice[name] = advice.as_dict()
        if tried.gate is None and tried.why_not:
            self._no_gate[name] = tried.why_not
        return self.one(name)

    def advice(self, name: str) -> dict[str, Any] | None:
        """Why a series that was made at this desk has the publisher that was recommended; `None` of any other."""
        return self._advice.get(name)

    def no_gate(self, name: str) -> str:
        """Why a series that was made at this desk has no gate although one might have been expected."""
        return self._no_gate.get(name, "")

    def _note_upload(self, name: str, view: Upload) -> None:
        """Write down an upload with the series that it is first used for; until then it concerns none."""
        if (name, view.id) not in self._noted:
            self.note(name, "upload", DONE, bytes=view.bytes, format=view.format, digest=view.digest)
            self._noted.add((name, view.id))

    def close(self) -> None:
        self.jobs.close()
        self.uploads.close()

    def _use(self, uploads: Sequence[str]) -> list[Upload]:
        """The uploads, each kept until it is released."""
        used: list[Upload] = []
        try:
            for upload in uploads:
                used.append(self.uploads.use(upload))
        except BaseException:
            self._release(used)
            raise
        return used

    def _release(self, used: Sequence[Upload], erase: bool = False) -> None:
        for one in used:
            self.uploads.release(one.id, erase)

    def _start_writing(
        self, kind: str, name: str, upload: str, asked: AskedRelease, expected: str | None = None
    ) -> Job:
        job = Job(kind, name)
        with self.opened(name) as series:
            root, head, releases = series.root, series.ledger.head.digest, len(series.records)
            request_models.require_possible(series, asked)
            self.jobs.require_free(job)
            require_unlocked(series)
        if expected not in (None, head):
            raise Changed(CHANGED)
        used = self._use((upload, *asked.truth))
        view, *truth = used
        task: dict[str, Any] = {"kind": kind, "root": str(root), "view": str(view.path), **asdict(asked)}
        task |= {"truth": [str(one.path) for one in truth], "meant": list(asked.meant)}
        task |= {"digest": view.digest, "expected_head": expected}

        def begin() -> None:
            self._note_upload(name, view)
            facts = {"job": job.id, "head": head, "releases": releases, "bytes": view.bytes}
            self.note(name, kind, "started", **facts, pid=os.getpid(), host=socket.gethostname())

        def finish(ended: Job) -> None:
            self._release(used, erase=kind == "publish")
            try:
                if kind == "publish":
                    self._published(ended, releases)
            finally:
                self.note(name, kind, ended.state, job=job.id, kind=ended.problem, **_counts(ended))

        try:
            return self.jobs.start(job, task, begin, finish)
        except BaseException:
            self._release(used)
            raise

    def _published(self, ended: Job, before: int) -> None:
        """The words for a publish that has ended; the ledger says whether the release exists."""
        from republish.publishing.maker import STEPS

        if ended.state == DONE:
            self._notices.pop(ended.series, None)
            ended.message = f"release {(ended.result or {}).get('number')} is published"
            return
        with self.opened(ended.series) as series:
            releases = len(series.records)
        begun = before if ended.before is None else ended.before
        if ended.state == FAILED and ended.step == STEPS[-1] and releases > begun:
            self._notices.pop(ended.series, None)
            ended.message = f"release {begun + 1} was committed; afterwards: {ended.message}"
            ended.result = {"committed": True, "release": begun + 1, "number": begun + 1}
            ended.state = DONE
            return
        ended.result = (ended.result or {}) | {"committed": False}
        if ended.problem == "Stopped":
            ended.message += f": there are {releases}, {before} before"


def _counts(ended: Job) -> dict[str, Any]:
    result = ended.result or {}
    return {name: result.get(name) for name in ("release", "rows", "groups", "suppressed", "counterfeits")}


def _attacked(ended: Job) -> dict[str, Any]:
    result = ended.result or {}
    return {
        "releases": result.get("releases"),
        "attacks": list(result["found"]) if "found" in result else None,
    }


__all__ = ["FILES", "Desk", "Job", "Upload"]
