"""What can be looked at: the series of this machine, their releases and their logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from republish.errors import LedgerError, RepublishError
from republish.sources.panics import is_panic
from republish.web import NotFound, Withdrawn, audit, documents
from republish.web.downloads import Download, altered_words, taken
from republish.web.jobs.interrupted import is_going_on, words
from republish.web.jobs.jobs import DONE, REFUSED
from republish.web.series_index import SeriesIndex
from republish.web.watch import Watch

if TYPE_CHECKING:
    from republish.report.facts import ReleaseFacts, SeriesFacts
    from republish.series import Series


class SeriesDesk:
    """Some series on this machine, each by the name of its folder; nothing is changed but their audit logs.

    A root is the folder of a series, or a folder that holds several.
    """

    def __init__(self, roots: Sequence[str | Path]) -> None:
        self.index = SeriesIndex(roots)
        self._watch = Watch()
        self._interrupted: dict[str, dict[str, Any]] = {}
        self._notices: dict[str, list[str]] = {}
        for name, path in self.paths().items():
            begun = audit.unfinished(path)
            if begun is not None:
                self._interrupted[name] = begun

    # Which series there are -----------------------------------------------------------------------

    @property
    def home(self) -> Path | None:
        return self.index.home

    def paths(self) -> dict[str, Path]:
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
        with closing(series.ledger):
            yield series

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
        _require_release(number, len(releases))
        return releases[number - 1]

    def release_picture(self, name: str, number: int, axes: tuple[str, str] | None = None) -> dict[str, Any]:
        """Groups over two quasi-identifiers as boxes, and how many groups there are of each size."""
        with self.opened(name) as series:
            _require_release(number, len(series.records))
            return documents.picture(series.release(number).people, axes)

    def release_batches(self, name: str, number: int) -> dict[str, Any] | None:
        """The batches of a release in two tables, the largest first, each with the shares of its values."""
        with self.opened(name) as series:
            _require_release(number, len(series.records))
            two = "two_tables" in series.record(number).payload
            return documents.batches(series.release(number)) if two else None

    def file(self, name: str, number: int, file: str, withdrawn: bool = False) -> Download:
        """A file of a release that may leave the house, exactly as the ledger recorded it; what is refused is noted.

        `withdrawn` says that a withdrawn release is wanted all the same.
        """
        with self.opened(name) as series:
            _require_release(number, len(series.records))
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


def _require_release(number: int, count: int) -> None:
    if not 1 <= number <= count:
        raise NotFound(f"there is no release {number}; the series has {count}")
