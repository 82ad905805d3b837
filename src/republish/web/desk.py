"""Everything that can be done at the desk, for pages and API alike."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from republish.errors import PolicyError, RepublishError
from republish.web import Busy, DeskError, NotFound, audit, look
from republish.web.cut_off import is_going_on, require_unlocked, words
from republish.web.jobs import DONE, FAILED, Job, Jobs
from republish.web.uploads import LIMIT, Upload, Uploads

if TYPE_CHECKING:
    from republish.report.facts import ReleaseFacts, SeriesFacts
    from republish.series import Series

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,62}[A-Za-z0-9]|[A-Za-z0-9]")
FILES = ("table.csv", "table.parquet", "counterfeits.csv", "about.json")


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
        self.roots = [Path(root).resolve() for root in roots]
        for root, given in zip(self.roots, roots, strict=True):
            if not root.is_dir():
                raise PolicyError(
                    f"there is no folder {given}; give the folder of a series, or one that holds several"
                )
        self.uploads = Uploads(upload_limit, uploads_in)
        self.jobs = jobs or Jobs()
        self._interrupted: dict[str, dict[str, Any]] = {}
        self._notices: dict[str, list[str]] = {}
        for name, path in self.paths().items():
            begun = audit.unfinished(path)
            if begun is not None:
                self._interrupted[name] = begun

    # Which series there are -----------------------------------------------------------------------

    @property
    def home(self) -> Path | None:
        """Where new series are made, `None` where only single series were given."""
        return next((root for root in self.roots if not _is_series(root)), None)

    def paths(self) -> dict[str, Path]:
        """The folder of every series by its name; links inside a folder are not followed."""
        found: dict[str, Path] = {}
        for root in self.roots:
            inside = [root] if _is_series(root) else sorted(p for p in root.iterdir() if not p.is_symlink())
            for path in inside:
                if not _is_series(path) or path in found.values():
                    continue
                name, again = path.name, 1
                while name in found:
                    again += 1
                    name = f"{path.name}-{again}"
                found[name] = path
        return found

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
        found = []
        for name in self.paths():
            try:
                found.append(self.one(name))
            except RepublishError:
                continue
        return found

    def broken(self) -> dict[str, str]:
        """Why some series cannot be opened, by name."""
        found = {}
        for name in self.paths():
            try:
                with self.opened(name) as series:
                    series.ledger.entries()
            except RepublishError as problem:
                found[name] = str(problem)
        return found

    def one(self, name: str) -> SeriesFacts:
        """The facts of a series as they are now."""
        from republish.report.facts import facts_of

        with self.opened(name) as series:
            return replace(facts_of(series), name=name)

    def notices(self, name: str) -> list[str]:
        """What whoever opens the series should know: a publish that was cut off when a desk was stopped."""
        begun = self._interrupted.get(name)
        if begun is not None:
            with self.opened(name) as series:
                releases, goes_on = len(series.records), is_going_on(series, begun)
            if not goes_on and self._interrupted.pop(name, None) is not None:
                self._notices[name] = [words(begun, releases)]
                self.note(name, "publish", "interrupted", job=begun.get("job"), releases=releases)
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
            return look.picture(series.release(number), axes)

    def file(self, name: str, number: int, file: str) -> Path:
        """A file of a release that may leave the house."""
        with self.opened(name) as series:
            _require_release(series, number)
            path = series.ledger.folder(number) / file
        if file not in FILES or path.is_symlink() or not path.is_file():
            raise NotFound(f"release {number} has no such file; a release has {', '.join(FILES)}")
        self.note(name, "download", DONE, release=number, file=file)
        return path

    def report(self, name: str, format: str = "html") -> str:  # noqa: A002 - the word of `make_report`
        """The disclosure report."""
        from republish.report import make_report

        with self.opened(name) as series:
            text: str = make_report(series, format)
        self.note(name, "report", DONE, format=format)
        return text

    def tuned(self, name: str) -> list[dict[str, Any]]:
        """The frontiers that `tune` kept beside the series, the newest last."""
        return look.frontiers(self.path(name))

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
        from republish.microdata import read_view
        from republish.tables import header, read_table

        view = self.uploads.get(upload)
        with self.opened(name) as series:
            schema = series.schema
            known = series.known_values() if series.records else None
        problems: list[str] = []
        rows, found = 0, []
        try:
            found = header(view.path)
            rows = read_table(view.path, schema.missing).height
            read_view(view.path, schema, known)
        except RepublishError as problem:
            problems.append(str(problem))
        expected = list(schema.columns)
        labelled = {*expected, *schema.dropped}
        return {
            "upload": upload,
            "rows": rows,
            "expected": expected,
            "found": found,
            "missing": [column for column in expected if column not in found],
            "extra": [column for column in found if column not in labelled],
            "problems": problems,
            "fits": not problems,
        }

    def propose(self, upload: str) -> dict[str, Any]:
        """A role and a kind for every column of a view, each with the reason."""
        from republish.proposal import propose
        from republish.tables import read_table

        view = self.uploads.get(upload)
        found = propose(view.path)
        columns = [{"name": p.name, "role": p.role, "kind": p.kind, "why": p.why} for p in found]
        return {"upload": upload, "rows": read_table(view.path).height, "columns": columns}

    # What takes long ------------------------------------------------------------------------------

    def start_dry_run(self, name: str, upload: str, as_of: str | None = None) -> Job:
        """Everything of a publish but the commit."""
        return self._start_writing("dry-run", name, upload, as_of)

    def start_publish(self, name: str, upload: str, as_of: str | None = None) -> Job:
        """Publish a view; the upload is erased when it has ended."""
        return self._start_writing("publish", name, upload, as_of)

    def start_attack(
        self, name: str, adversary: Mapping[str, Any] | None = None, attacks: Sequence[str] | None = None
    ) -> Job:
        """Attack a series in the background; what is found is kept beside it."""
        granted, names = look.granted(adversary or {}), None if attacks is None else list(attacks)
        with self.opened(name) as series:
            look.require_attackable(series, granted, names)
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
    ) -> SeriesFacts:
        """A new series with the columns of an uploaded view, in the first folder that holds several.

        `roles` are the columns with `name`, `role` and `kind`, as `propose` returns them, or the same by name.
        """
        from republish.gate import gate_from_mapping, parse_gate
        from republish.publishers import make_publisher
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
        if root.exists() or root.is_symlink() or name in self.paths():
            raise Busy("a series or folder of that name is there already; choose another name")
        schema = look.schema_of(self.uploads.get(upload), roles)
        made = make_publisher(publisher, dict(parameters or {}), parse_requirements(require))
        limits = (parse_gate(gate) if isinstance(gate, str) else gate_from_mapping(gate)) if gate else None
        series = Series.create(root, schema, made, one_table=one_table, gate=limits)
        series.ledger.close()
        self.note(name, "create", DONE, publisher=publisher, columns=len(schema.columns))
        return self.one(name)

    def publishers(self) -> list[dict[str, Any]]:
        """Every publisher with what it is for and its parameters."""
        return look.publishers()

    def note(self, name: str, action: str, outcome: str, **facts: Any) -> None:
        """Write a line into the audit log of a series."""
        audit.note(self.path(name), action, outcome, **facts)

    def close(self) -> None:
        """End all jobs and erase all uploads."""
        self.jobs.close()
        self.uploads.close()

    def _start_writing(self, kind: str, name: str, upload: str, as_of: str | None) -> Job:
        job = Job(kind, name)
        with self.opened(name) as series:
            root, head, releases = series.root, series.ledger.head.digest, len(series.records)
            look.require_moment(series, as_of)
            self.jobs.require_free(job)
            require_unlocked(series)
        view = self.uploads.use(upload)
        task = {"kind": kind, "root": str(root), "view": str(view.path), "as_of": as_of}

        def begin() -> None:
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
        with self.opened(ended.series) as series:
            releases = len(series.records)
        if ended.state == DONE:
            self._notices.pop(ended.series, None)
            ended.message = f"release {releases} is published"
        elif ended.state == FAILED and ended.problem == "Stopped":
            ended.message += f": there are {releases}, {before} before"


def _is_series(path: Path) -> bool:
    return (path / "series.toml").is_file()


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
