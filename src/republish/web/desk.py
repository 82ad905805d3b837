"""Everything that can be done at the desk, for pages and API alike."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from republish.errors import LedgerError, RepublishError
from republish.sources.panics import is_panic
from republish.web import Busy, Changed, DeskError, NotFound, Withdrawn, audit, documents, request_models
from republish.web.downloads import FILES, Download, altered_words, taken
from republish.web.jobs.interrupted import is_going_on, require_unlocked, words
from republish.web.jobs.jobs import DONE, FAILED, REFUSED, Job, Jobs
from republish.web.jobs.worker import CHANGED
from republish.web.series_index import SeriesIndex
from republish.web.uploads.columns import compare, legible
from republish.web.uploads.uploads import LIMIT, Upload, Uploads
from republish.web.watch import Watch

if TYPE_CHECKING:
    from republish.report.facts import ReleaseFacts, SeriesFacts
    from republish.series import Series

SAY_NONE = 'Give one column the role sensitive, or say that none is: "No column is sensitive", no_sensitive in the API'
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,62}[A-Za-z0-9]|[A-Za-z0-9]")


class Desk:
    """Some series on this machine, each by the name of its folder.

    A root is the folder of a series, or a folder that holds several; new series are made in the first of the latter.
    """

    def __init__(
        self,
        roots: Sequence[str | Path],
        upload_limit: int = LIMIT,
        uploads_in: Path | None = None,
        jobs: Jobs | None = None,
    ) -> None:
        self.index = SeriesIndex(roots)
        self.uploads = Uploads(upload_limit, uploads_in)
        self.jobs = jobs or Jobs()
        self._watch = Watch()
        self._interrupted: dict[str, dict[str, Any]] = {}
        self._notices: dict[str, list[str]] = {}
        self._noted: set[tuple[str, str]] = set()
        for name, path in self.paths().items():
            begun = audit.unfinished(path)
            if begun is not None:
                self._interrupted[name] = begun

    # Which series there are -----------------------------------------------------------------------

    @property
    def home(self) -> Path | None:
        """Where new series are made, `None` where only single series were given."""
        return self.index.home

    def paths(self) -> dict[str, Path]:
        """The folder of every series by its name, which keeps it for as long as the desk lives."""
        return self.index.paths()

    def path(self, name: str) -> Path:
        """The folder of a series; only names of series that are there lead anywhere."""
        found = self.paths().get(name)
        if found is None:
            raise NotFound("there is no such series at this desk; the first page lists those that are")
        return found

    @contextmanager
    def opened(self, name: str) -> Iterator[Series]:
        """The series, closed afterwards."""
        from republish.series import Series

        series = Series.open(self.path(name))
        try:
            yield series
        finally:
            series.ledger.close()

    def series(self) -> list[SeriesFacts]:
        """The facts of every series that can be opened; `broken` says why others cannot."""
        return [one for one in map(self._facts, self.paths()) if not isinstance(one, str)]

    def broken(self) -> dict[str, str]:
        """Why some series cannot be opened, by name."""
        found = {name: one for name in self.paths() if isinstance(one := self._facts(name), str)}
        return found | dict.fromkeys(
            self.index.unnamed(), "the name of its folder is not UTF-8; rename the folder"
        )

    def _facts(self, name: str) -> SeriesFacts | str:
        """The facts of a series, or why there are none: one that is damaged must not hide the others."""
        try:
            return self.one(name)
        except RepublishError as problem:
            return str(problem)
        except BaseException as problem:  # whatever lies in its folder
            if not isinstance(problem, Exception) and not is_panic(problem):
                raise
            return f"an unforeseen {type(problem).__name__} when it was opened; restore it from a backup"

    def one(self, name: str) -> SeriesFacts:
        """The facts of a series as they are now."""
        from republish.report.facts import facts_of

        with self.opened(name) as series:
            facts, altered = facts_of(series), self._watch.altered(series.ledger)
        found = [altered_words(number, file) for number, files in altered.items() for file in files]
        return replace(facts, name=name, problems=[*facts.problems, *found])

    def altered(self, name: str, number: int) -> list[str]:
        """The files of a release that are not as they were published, as far as it was looked at."""
        with self.opened(name) as series:
            return self._watch.altered(series.ledger).get(number, [])

    def notices(self, name: str) -> list[str]:
        """What whoever opens the series should know: a publish that was cut off when a desk was stopped."""
        begun = self._interrupted.get(name)
        if begun is not None:
            try:
                with self.opened(name) as series:
                    releases, goes_on = len(series.records), is_going_on(series, begun)
                if not goes_on and self._interrupted.pop(name, None) is not None:
                    self._notices[name] = [words(begun, releases)]
                    self.note(name, "publish", "interrupted", job=begun.get("job"), releases=releases)
            except RepublishError:  # `broken` says why
                pass
        return list(self._notices.get(name, ()))

    # One release ----------------------------------------------------------------------------------

    def one_release(self, name: str, number: int) -> ReleaseFacts:
        """The facts of a release."""
        releases = self.one(name).releases
        if not 1 <= number <= len(releases):
            raise NotFound(f"there is no release {number}; the series has {len(releases)}")
        return releases[number - 1]

    def release_picture(self, name: str, number: int, axes: tuple[str, str] | None = None) -> dict[str, Any]:
        """Groups over two quasi-identifiers as boxes, and how many groups there are of each size."""
        with self.opened(name) as series:
            _require_release(series, number)
            return documents.picture(series.release(number).people, axes)

    def release_batches(self, name: str, number: int) -> dict[str, Any] | None:
        """The batches of a release in two tables, the largest first, each with the shares of its values."""
        with self.opened(name) as series:
            _require_release(series, number)
            return None if series.policy.form is None else documents.batches(series.release(number))

    def file(self, name: str, number: int, file: str, withdrawn: bool = False) -> Download:
        """A file of a release that may leave the house, exactly as the ledger recorded it; what is refused is noted.

        `withdrawn` says that a withdrawn release is wanted all the same.
        """
        with self.opened(name) as series:
            _require_release(series, number)
            try:
                found = taken(series, number, file, withdrawn)
            except (LedgerError, Withdrawn) as problem:
                if isinstance(problem, LedgerError):
                    self._watch.handed_out(series.ledger, number, file, intact=False)
                kind = type(problem).__name__
                self.note(name, "download", REFUSED, release=number, file=file, kind=kind)
                raise
            self._watch.handed_out(series.ledger, number, file, intact=True)
        try:
            self.note(name, "download", DONE, release=number, file=file, withdrawn=found.withdrawn or None)
        except RepublishError:
            found.content.close()
            raise
        return found

    def report(self, name: str, format: str = "html") -> str:  # noqa: A002 - the word of `make_report`
        """The disclosure report."""
        from republish.report import make_report

        with self.opened(name) as series:
            text: str = make_report(series, format)
        self.note(name, "report", DONE, format=format)
        return text

    def tuned(self, name: str) -> list[dict[str, Any]]:
        """The frontiers that `tune` kept beside the series, the newest last."""
        return documents.frontiers(self.path(name))

    def audit_lines(self, name: str) -> list[dict[str, Any]]:
        """The last lines of the audit log, oldest first."""
        return audit.lines(self.path(name))

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
        """A role and a kind for every column of a view, each with the reason."""
        from republish.sources.propose import NO_SENSITIVE, propose
        from republish.sources.tables import read_table

        view = self.uploads.get(upload)
        with legible():
            found = propose(view.path)
        columns = [{"name": p.name, "role": p.role, "kind": p.kind, "why": p.why} for p in found]
        asks = "" if any(p.role == "sensitive" for p in found) else f"{NO_SENSITIVE}. {SAY_NONE}"
        return {"upload": upload, "rows": read_table(view.path).height, "columns": columns, "asks": asks}

    # What takes long ------------------------------------------------------------------------------

    def start_dry_run(
        self, name: str, upload: str, as_of: str | None = None, meant: Sequence[str] = ()
    ) -> Job:
        """Everything of a publish but the commit; `meant` is that of `Series.publish`."""
        return self._start_writing("dry-run", name, upload, as_of, meant)

    def start_publish(
        self,
        name: str,
        upload: str,
        as_of: str | None = None,
        expected_head: str | None = None,
        meant: Sequence[str] = (),
    ) -> Job:
        """Publish a view; the upload is erased when it has ended.

        `expected_head` is `head` in the result of a trial run: with it, nothing is published to a series that has
        changed since.
        """
        return self._start_writing("publish", name, upload, as_of, meant, expected_head)

    def start_attack(
        self, name: str, adversary: Mapping[str, Any] | None = None, attacks: Sequence[str] | None = None
    ) -> Job:
        """Attack a series in the background; what is found is kept beside it."""
        granted, names = request_models.granted(adversary or {}), None if attacks is None else list(attacks)
        with self.opened(name) as series:
            request_models.require_attackable(series, granted, names)
            root = series.root
        job = Job("attack", name)
        task = {"kind": "attack", "root": str(root), "adversary": granted, "attacks": names}

        def finish(ended: Job) -> None:
            if ended.state == DONE:
                ended.message = "the attacks are made; what they found is kept beside the series"
            self.note(name, "attack", ended.state, job=job.id, kind=ended.problem, **_attacked(ended))

        begin = partial(self.note, name, "attack", "started", job=job.id, adversary=granted, attacks=names)
        return self.jobs.start(job, task, begin, finish)

    def create(
        self,
        name: str,
        upload: str,
        roles: Sequence[Mapping[str, Any]] | Mapping[str, Any],
        publisher: str,
        parameters: Mapping[str, Any] | None = None,
        gate: str | Mapping[str, Any] | None = None,
        require: str = "",
        one_table: bool = False,
        no_sensitive: bool = False,
        form: str | Mapping[str, Any] | None = None,
    ) -> SeriesFacts:
        """A new series with the columns of an uploaded view, in the first folder that holds several.

        `roles` are the columns with `name`, `role` and `kind`, as `propose` returns them, or the same by name.
        `no_sensitive` says that it is meant where none of them is sensitive. `form` is "two-tables", or the same with k
        and presence as series.toml has it.
        """
        from republish.gate.limits import gate_from_mapping, parse_gate
        from republish.publishers import make_publisher, two_table_parameters
        from republish.release.forms import form_from
        from republish.requirements import parse_requirements
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
        tables, given = form_from(form), dict(parameters or {})
        given = given if tables is None else two_table_parameters(publisher, given)
        made = make_publisher(publisher, given, parse_requirements(require))
        limits = (parse_gate(gate) if isinstance(gate, str) else gate_from_mapping(gate)) if gate else None
        series = Series.create(root, schema, made, one_table=one_table, gate=limits, form=tables)
        series.ledger.close()
        self._note_upload(name, view)
        self.note(name, "create", DONE, publisher=publisher, columns=len(schema.columns))
        return self.one(name)

    def publishers(self) -> list[dict[str, Any]]:
        """Every publisher with what it is for and its parameters."""
        return documents.publishers()

    def note(self, name: str, action: str, outcome: str, **facts: Any) -> None:
        """Write a line into the audit log of a series."""
        audit.note(self.path(name), action, outcome, **facts)

    def note_login(self, how: str) -> None:
        """Write into every log that someone has come in; a log that cannot be written keeps nobody out."""
        for name in self.paths():
            with suppress(RepublishError):
                self.note(name, "login", DONE, how=how)

    def _note_upload(self, name: str, view: Upload) -> None:
        """Write down an upload with the series that it is first used for; until then it concerns none."""
        if (name, view.id) not in self._noted:
            self.note(name, "upload", DONE, bytes=view.bytes, format=view.format, digest=view.digest)
            self._noted.add((name, view.id))

    def close(self) -> None:
        """End all jobs and erase all uploads."""
        self.jobs.close()
        self.uploads.close()

    def _start_writing(
        self,
        kind: str,
        name: str,
        upload: str,
        as_of: str | None,
        meant: Sequence[str],
        expected: str | None = None,
    ) -> Job:
        job = Job(kind, name)
        with self.opened(name) as series:
            root, head, releases = series.root, series.ledger.head.digest, len(series.records)
            request_models.require_moment(series, as_of)
            self.jobs.require_free(job)
            require_unlocked(series)
        if expected not in (None, head):
            raise Changed(CHANGED)
        view = self.uploads.use(upload)
        task: dict[str, Any] = {"kind": kind, "root": str(root), "view": str(view.path), "as_of": as_of}
        task |= {"digest": view.digest, "expected_head": expected, "meant": list(meant)}

        def begin() -> None:
            self._note_upload(name, view)
            facts = {"job": job.id, "head": head, "releases": releases, "bytes": view.bytes}
            self.note(name, kind, "started", **facts, pid=os.getpid(), host=socket.gethostname())

        def finish(ended: Job) -> None:
            self.uploads.release(upload, erase=kind == "publish")
            try:
                if kind == "publish":
                    self._published(ended, releases)
            finally:
                self.note(name, kind, ended.state, job=job.id, kind=ended.problem, **_counts(ended))

        try:
            return self.jobs.start(job, task, begin, finish)
        except BaseException:
            self.uploads.release(upload)
            raise

    def _published(self, ended: Job, before: int) -> None:
        """The words for a publish that has ended; the ledger says whether the release exists."""
        from republish.publishing.run import STEPS

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


def _require_release(series: Series, number: int) -> None:
    count = len(series.records)
    if not 1 <= number <= count:
        raise NotFound(f"there is no release {number}; the series has {count}")


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
