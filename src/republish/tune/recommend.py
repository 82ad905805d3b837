"""Which publisher a new series should have, found on past views: value-blind batches in two tables, and how large.

Values that last and few people who come back: closed batches; else open ones. The size is the smallest at which the
bound on people determined is kept, few rows wait or are held, and values of batches are diverse without being made so.
All of it is found by making the batches in memory (`republish.tune.dry_run`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import numpy as np

from republish.errors import CannotPublish, PolicyError
from republish.microdata import Microdata, read_view
from republish.publishers import Mondrian, Publisher, ValueBlind, parameters_of
from republish.publishing.plausibility import spelled_alike
from republish.release.forms import TwoTables
from republish.schema import Schema
from republish.secret import Secret
from republish.show.promises import words_on_spelling
from republish.tune.dry_run import DIVERSITIES, DryRun, ViewTurnover, dry_run, simulated, turnover_of
from republish.tune.views import read_views

SIZES = (60, 90, 150, 300, 600)
_FEWEST = 10  # rows of a series of batches that at least five people leave together, five staying
_LATE = 0.07  # of the rows may wait or be held
_LASTING, _GONE = 0.1, 0.02  # closed batches: so few change their value, and so few come back
_LEAST = 0.00001  # a bound that is smaller is not told apart from it
_NEVER = 0.001  # of the rows wait or are held where all batches are counted anew every time
_DIVERSE = 0.98  # of the batches have no value too often by themselves
_MOST_VIEWS, _MOST_ROWS = 12, 6_000  # more of them are sampled
_SECONDS = 15.0  # after which no other size is tried
_MANY = 150  # a batch of so many may wait for more than five to leave together
_UNSEEN = 150  # the size where no view is given
_FORM = TwoTables()
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Recommendation:
    """A publisher and a form for a new series, why, what it costs, and what cannot be promised of these data.

    Where there are `problems`, a release of the views given would be refused. `tried` is what was measured, `notes` are
    on the views themselves.
    """

    publisher: Publisher
    form: TwoTables | None
    why: tuple[str, ...]
    costs: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    tried: tuple[DryRun, ...] = ()
    simulated: bool = False
    notes: tuple[str, ...] = ()

    def require_kept(self) -> None:
        """Refuse to begin a series whose promises these data do not allow."""
        if self.problems:
            raise PolicyError("; ".join(self.problems))

    def as_dict(self) -> dict[str, Any]:
        """A JSON document."""
        return {
            "publisher": self.publisher.name,
            "parameters": parameters_of(self.publisher),
            "form": None if self.form is None else self.form.document(),
            "why": list(self.why),
            "costs": list(self.costs),
            "problems": list(self.problems),
            "notes": list(self.notes),
            "simulated": self.simulated,
            "tried": [run.as_dict() for run in self.tried],
        }


def recommend(
    views: Sequence[Any],
    schema: Schema,
    progress: Progress | None = None,
    form: TwoTables = _FORM,
) -> Recommendation:
    """What suits a series that goes on like these raw views, oldest first; one or none will do.

    `form` is that of the two tables in which counts are measured.

    Raises:
        RepublishError: a view cannot be read; the message says which.
    """
    if schema.sensitive is None:
        alone = "no column is sensitive, so only who is who is hidden, in each release alone"
        return Recommendation(Mondrian(), None, (alone,))
    if not len(views):
        unseen = "no view was given: open batches suit any data; with past views the size is chosen on them"
        return Recommendation(ValueBlind(size=_UNSEEN), form, (unseen,))
    past, rows = _read(views, schema)
    found = turnover_of(past)
    lasting = len(past) > 1 and found.changed <= _LASTING and found.returned <= _GONE
    kind = "closed" if lasting else "open"
    why, problems = _why(kind, found, len(past)), _problems(past, rows, form)
    if problems:
        return Recommendation(ValueBlind(batches=kind, m=2), form, why, (), problems)
    series = simulated(past)
    search = _Search(series, rows, progress or (lambda _done, _all: None), form)
    best = search.best(kind)
    if lasting and (best is None or best.late > _LATE):
        kind, closed = "open", best
        best = search.best(kind) or closed
        kind = best.publisher.batches if best is not None else kind
        why = _why(kind, found, len(past), lasting)
    if best is None:
        return Recommendation(
            ValueBlind(m=2), form, why, (), (_UNKEPT,), tuple(search.tried), len(series) > len(past)
        )
    costs = _costs(best, len(past), len(series), rows > _MOST_ROWS)
    notes = words_on_spelling(spelled_alike(past[-1].axes, past[-1].values, schema))
    return Recommendation(
        best.publisher, form, why, costs, (), tuple(search.tried), len(series) > len(past), tuple(notes)
    )


def _read(views: Sequence[Any], schema: Schema) -> tuple[list[Microdata], int]:
    """The last views, large ones sampled; and the rows that the smallest has in truth."""
    secret = Secret.from_text("a dry run, of which nothing is kept")  # the same views give the same answer
    whole = read_views(list(views)[-_MOST_VIEWS:], schema, secret, None)
    past: list[Microdata] = []
    for frame in read_views(whole.frames, schema, secret, _MOST_ROWS).frames:
        past.append(read_view(frame, schema, past[-1].values if past else None))
    return [view.pseudonymous(secret) for view in past], whole.rows


_UNKEPT = (
    "so few people may be expected to be determined that batches of no size tried can be counted anew; begin with more "
    "rows, or with a publisher chosen by hand (publisher and, for more risk, max_determined)"
)


def _problems(views: Sequence[Microdata], rows: int, form: TwoTables) -> tuple[str, ...]:
    """Why batches cannot be made of these views at all."""
    if rows < _FEWEST:
        return (
            f"batches are counted anew when 5 people leave or come together, which needs at least {_FEWEST} rows, and "
            f"the smallest view has {rows}; gather more rows before the first release, or choose a publisher by hand",
        )
    if rows < form.k:
        return (
            f"{form.k} people must look alike, and the smallest view has {rows} rows; choose a smaller k of people, or "
            "gather more rows before the first release",
        )
    share = max(float(np.bincount(view.codes).max(initial=0)) / max(view.rows, 1) for view in views)
    if share > 1 / DIVERSITIES[0]:
        return (
            f"no value may have more than half of a batch, and the most frequent one has {share:.0%} of the rows of a "
            "view; tell it apart more finely in the sensitive column, or choose a publisher by hand",
        )
    return ()


@dataclass
class _Search:
    """Sizes, the smallest first, until one is good."""

    views: Sequence[Microdata]
    rows: int
    progress: Progress
    form: TwoTables

    def __post_init__(self) -> None:
        self.tried: list[DryRun] = []
        self._end = monotonic() + _SECONDS
        fitting = [size for size in SIZES if size * 2 <= self.rows]
        whole = (
            [self.rows] if self.rows < 2 * SIZES[-1] else []
        )  # of a small table everybody may be one batch
        self.sizes = fitting + whole

    def best(self, kind: str) -> DryRun | None:
        """The first that is good, else the one with the fewest rows late; `None` where all would be refused."""
        kept: list[DryRun] = []
        candidates = list(self._candidates(kind))
        for number, candidate in enumerate(candidates):
            self.progress(number, len(candidates))
            if kept and monotonic() > self._end:
                break
            if any(
                run.publisher.batches == kind and run.publisher.size == candidate.size and run.late < _NEVER
                for run in self.tried
            ):
                continue  # so many leave and come that a larger n makes no difference
            run = self._tried(candidate)
            if run is None:
                continue
            kept.append(run)
            if run.late <= _LATE:
                self.progress(len(candidates), len(candidates))
                return run
        kept = kept or self._bounded(candidates[-1:])  # held back by the bound, the largest may do
        return min(kept, key=lambda run: run.late, default=None)

    def _bounded(self, candidates: Sequence[ValueBlind]) -> list[DryRun]:
        """What comes of candidates whose batches are not counted anew where the bound forbids it."""
        runs = []
        for candidate in candidates:
            try:
                runs.append(dry_run(self.views, candidate, hindered=True, form=self.form))
            except CannotPublish:
                continue
        self.tried.extend(runs)
        return runs

    def _candidates(self, kind: str) -> Iterator[ValueBlind]:
        for size in self.sizes:
            for n in (5, 6, 8) if size >= _MANY else (5,):
                yield ValueBlind(batches=kind, size=size, n=n, m=DIVERSITIES[0])

    def _tried(self, candidate: ValueBlind) -> DryRun | None:
        """What comes of a candidate with the largest m that the values allow; `None` where the bound is not kept."""
        try:
            run = dry_run(self.views, candidate, form=self.form)
        except CannotPublish:
            return None
        self.tried.append(run)
        if run.bound > candidate.max_determined:
            return None
        m = max(m for m in DIVERSITIES if m == DIVERSITIES[0] or run.diverse[m] >= _DIVERSE)
        for diverse in range(m, DIVERSITIES[0] - 1, -1):
            for bounded in self._bounded([replace(candidate, m=diverse)]):
                if bounded.late <= _LATE or diverse == DIVERSITIES[0] or monotonic() > self._end:
                    return bounded
        return None


def _why(kind: str, found: ViewTurnover, views: int, lasting: bool = False) -> tuple[str, ...]:
    blind = "value-blind batches: who is with whom has nothing to do with values, so knowing the program tells nothing"
    if views == 1:
        return (blind, "open batches: one view does not tell whether values last and people come back")
    measured = (
        f"over {views} views {found.changed:.1%} of people change their value from one to the next, and "
        f"{found.returned:.1%} of the rows are of people who come back"
    )
    if kind == "closed":
        return (blind, f"closed batches, for values last and few come back: {measured}")
    if lasting:
        return (
            blind,
            f"open batches, for of so few people closed ones would be counted anew too seldom: {measured}",
        )
    return (blind, f"open batches, for people may change and come back in them: {measured}")


def _costs(run: DryRun, given: int, views: int, sampled: bool) -> tuple[str, ...]:
    how = "a tenth leaves, comes and changes each time" if given == 1 else "going on as those before"
    on = f"over {views} views" + (
        f", of which {views - given} were simulated, {how}" if views > given else ""
    )
    on += f", on a sample of about {_MOST_ROWS:,} rows" if sampled else ""
    publisher = run.publisher
    found: tuple[str, ...] = (
        f"batches of about {publisher.size} people, counted anew when {publisher.n} leave or come together, with no "
        f"value of more than one person in {publisher.m}",
        f"of the rows {run.waiting:.1%} wait to be counted, and {run.held:.1%} as many are counted on after they "
        f"left or changed ({on})",
        f"counts by quasi-identifiers and value are off by {run.error:.1%} in the median, at a selectivity of 5%",
        f"at most {max(run.bound, _LEAST):.3%} of the people are expected to be determined by somebody who knows "
        f"{run.publisher.compromised:.0%} of them, and the worst placed person with a probability of at most "
        f"{run.worst:.1%}",
    )
    if run.late > _LATE:
        found += (
            f"that is more than {_LATE:.0%} of the rows: there are few people for how much they change; publish less "
            "often, or begin with more rows",
        )
    return found
