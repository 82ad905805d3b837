"""Which publisher a new series should have: candidates are tried on past views, attacked, and laid side by side.

Over a series that is value-blind batches in two tables, unless the answers say otherwise. Values that last and few
people who come back: closed batches; else open ones. The size is the smallest at which the bound on people determined
is kept, few rows wait or are held, and values of batches are diverse without being made so
(`republish.tune.batch_search`). What else could be published is tried beside it (`republish.tune.compare`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from republish.errors import PolicyError
from republish.gate.limits import Gate
from republish.knowledge import Knowledge, learn
from republish.microdata import Microdata
from republish.publishers import Cohorts, JSReduce, Mondrian, Publisher, TauSafety, ValueBlind, parameters_of
from republish.publishing.plausibility import spelled_alike
from republish.release.forms import TwoTables
from republish.requirements import parse_requirements
from republish.schema import Schema
from republish.schema.files import schema_of
from republish.show.promises import words_on_spelling
from republish.tune.batch_search import LATE, BatchSearch
from republish.tune.compare import ComparedPublisher, TriedPolicy, compare
from republish.tune.dry_run import DIVERSITIES, DryRun, ViewTurnover, simulated, turnover_of
from republish.tune.recommended_gate import COMPARED_ROWS, NOTHING_SENSITIVE, UNTRIED, TriedGate, passing_gate
from republish.tune.situation import USUAL, Answers, told_by
from republish.tune.views import MOST_ROWS, PastViews, past_views

_FEWEST = 10  # rows of a series of batches that at least five people leave together, five staying
_LEAST = 0.00001  # a bound that is smaller is not told apart from it
_COMPARED_VIEWS = 8  # of a comparison, for attacks take long
_SECONDS = 12.0  # of processor time, after which no other publisher is compared
_MANY_FAKED = 0.25  # rows that are nobody's, beyond which a publisher is not recommended
_UNSEEN = 150  # the size where no view is given
_SELDOM = 0.02  # simulated people who change their value where it is said that few do
_ONCE_L = 3  # values in every group of a table that is published once, fewer where there are not so many
_FORM = TwoTables()
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Recommendation:
    """A publisher and a form for a new series, why, what it costs, and what cannot be promised of these data.

    Where there are `problems`, a release of the views given would be refused. `tried` is what was measured of batches,
    `compared` what else could be published beside it, `answers` the situation that it is for, `notes` are on the views
    themselves. `gate` is one that lets it pass if the series goes on so, `None` where there is none; `no_gate` says why
    none should be set unless it is asked for, and is empty where one should, or where there is but one release.
    """

    publisher: Publisher
    form: TwoTables | None
    why: tuple[str, ...]
    costs: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    tried: tuple[DryRun, ...] = ()
    simulated: bool = False
    notes: tuple[str, ...] = ()
    answers: Answers = USUAL
    compared: tuple[ComparedPublisher, ...] = ()
    gate: Gate | None = None
    no_gate: str = ""

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
            "answers": self.answers.words(),
            "compared": [line.as_dict() for line in self.compared],
            "gate": None if self.gate is None else self.gate.document(),
            "no_gate": self.no_gate,
        }


def recommend(
    views: Any,
    schema: Schema | str | Path,
    progress: Progress | None = None,
    form: TwoTables = _FORM,
    answers: Answers | None = None,
    compared: bool = True,
) -> Recommendation:
    """What suits a series that goes on like these raw views, oldest first; one or none will do.

    A view that stands alone needs no list, and the schema may be the path of a file.
    `form` is that of the two tables in which counts are measured. `answers` say of the situation what the views do not,
    or otherwise than they do. Unless it is not to be `compared`, other publishers are tried beside it.

    Raises:
        RepublishError: a view cannot be read; the message says which.
    """
    several = isinstance(views, Sequence) and not isinstance(views, str)
    schema, views = schema_of(schema), views if several else [views]
    asked, step = answers or Answers(), progress or (lambda _done, _all: None)
    if schema.sensitive is None:
        alone = "no column is sensitive, so only who is who is hidden, in each release alone"
        return Recommendation(Mondrian(), None, (alone,), no_gate=NOTHING_SENSITIVE)
    if not len(views):
        return _unseen(asked.otherwise(USUAL), form)
    read = past_views(views, schema)
    told, figures = told_by(read.past)
    situation = asked.otherwise(told).otherwise(USUAL)
    found = _batches(read, situation, asked, step, form) if situation.again else _once(read, form)
    notes = words_on_spelling(spelled_alike(read.past[-1].axes, read.past[-1].values, schema))
    found = replace(found, answers=situation, notes=(*notes, *_contradicted(asked, told, figures)))
    if found.problems or not (compared or situation.order or situation.one_table):
        return replace(found, no_gate=UNTRIED if situation.again else "")
    return _beside(found, read, schema, step)


def situation_of(views: Sequence[Any], schema: Schema) -> tuple[Answers, dict[str, str]]:
    """The answers to assume where nobody is asked: what past views tell, by which figures, else what is usual."""
    told, figures = (
        told_by(past_views(views, schema).past) if len(views) > 1 and schema.sensitive else (Answers(), {})
    )
    return told.otherwise(USUAL), figures


def _unseen(situation: Answers, form: TwoTables) -> Recommendation:
    if not situation.again:
        return Recommendation(Mondrian(form.k), None, (_ALONE,), answers=situation)
    unseen = "no view was given: open batches suit any data; with past views the size is chosen on them"
    publisher = ValueBlind(size=_UNSEEN)
    return Recommendation(publisher, form, (unseen,), answers=situation, no_gate=UNTRIED)


def _contradicted(asked: Answers, told: Answers, figures: Mapping[str, str]) -> list[str]:
    """A note for every answer that is not what the views say."""
    return [
        f"note: the answer {name}={asked.words()[name]} is not what the views say: {figure}"
        for name, figure in figures.items()
        if getattr(asked, name) not in (None, getattr(told, name))
    ]


def _batches(
    read: PastViews, situation: Answers, asked: Answers, progress: Progress, form: TwoTables
) -> Recommendation:
    """Value-blind batches of the kind and size that suit the views."""
    past, rows = read.past, read.rows
    found = turnover_of(past)
    lasting = not situation.change and not situation.back
    kind = "closed" if lasting else "open"
    by_answer = asked.change is not None or asked.back is not None
    why, problems = _why(kind, found, len(past), by_answer), _problems(rows, form)
    if problems:
        return Recommendation(ValueBlind(batches=kind, m=2), form, why, (), problems)
    share = _most_frequent(past)
    series = simulated(past) if situation.change else simulated(past, _SELDOM)
    search = BatchSearch(series, rows, progress, form, DIVERSITIES[0] if share * DIVERSITIES[0] <= 1 else 1)
    best = search.best(kind)
    if lasting and (best is None or best.late > LATE):
        kind, closed = "open", best
        best = search.best(kind) or closed
        kind = best.publisher.batches if best is not None else kind
        why = _why(kind, found, len(past), by_answer, lasting)
    more = len(series) > len(past)
    if best is None:
        return Recommendation(ValueBlind(m=2), form, why, (), (_UNKEPT,), tuple(search.tried), more)
    costs = _costs(best, len(past), len(series), rows > MOST_ROWS, bool(situation.change))
    costs += _instead(share, best.publisher)
    return Recommendation(best.publisher, form, why, costs, (), tuple(search.tried), more)


_ALONE = "published once: k and l of one table; over several releases it promises nothing, and the second is refused"


def _once(read: PastViews, form: TwoTables) -> Recommendation:
    """One table of groups of at least k rows and several values."""
    values = min(len(np.unique(view.codes)) for view in read.past)
    require = parse_requirements(f"l={min(_ONCE_L, values)}") if values > 1 else ()
    if read.rows < form.k:
        return Recommendation(Mondrian(form.k), None, (_ALONE,), (), _problems(max(read.rows, _FEWEST), form))
    one = "values cannot be hidden among others: the view holds only one value" if values < 2 else ""
    return Recommendation(Mondrian(form.k, require), None, (_ALONE,), (one,) if one else ())


def _beside(found: Recommendation, read: PastViews, schema: Schema, progress: Progress) -> Recommendation:
    """The recommendation with what else could be published; the answers may make another line the best."""
    small = read.only(COMPARED_ROWS, schema)
    situation, end = found.answers, process_time() + _SECONDS
    series = simulated(small) if situation.change else simulated(small, _SELDOM)
    views = series[max(0, len(small) - _COMPARED_VIEWS) :][:_COMPARED_VIEWS]
    knowledge = learn(read.frames, schema) if situation.order and len(read.frames) > 1 else None
    tried = _candidates(found, _most_frequent(small), knowledge)
    lines = compare(tried, views, knowledge, lambda: process_time() < end, progress)
    best, why = _best(lines, situation)
    if situation.order and knowledge is None:
        why += (
            "how values follow each other is learned from at least two past views, and there is one: who knows their "
            "order is not reckoned with",
        )
    ranked = sorted(lines, key=lambda line: (line is not best, bool(line.refused), line.worst))
    shown = tuple(replace(line, recommended=line is best) for line in ranked)
    again = "" if situation.again else ": what would be found out were it published again"
    notes = [f"note: compared on {_amount(views, read)}{again}"]
    if len(lines) < len(tried):
        notes.append(
            f"note: {len(tried) - len(lines)} more publishers were not tried, for the others took {_SECONDS:g} seconds "
            "of processor time"
        )
    chosen = TriedPolicy(best.publisher, best.form)
    costs = found.costs if best.publisher == found.publisher else _costs_of(best)
    tried_gate = TriedGate(None, "" if not situation.again else UNTRIED)
    if situation.again and not best.refused:
        tried_gate = passing_gate(chosen, schema, series, read.rows)
    return replace(
        found,
        publisher=best.publisher,
        form=best.form,
        why=(*(found.why if best.publisher == found.publisher else ()), *why),
        costs=costs,
        notes=(*found.notes, *notes),
        compared=shown,
        gate=tried_gate.gate,
        no_gate=tried_gate.why_not,
    )


def _amount(views: Sequence[Microdata], read: PastViews) -> str:
    simulated_ones = max(0, len(views) - len(read.past))
    few = f", about {COMPARED_ROWS:,} rows of each" if read.rows > COMPARED_ROWS else ""
    return f"{len(views)} views{few}" + (f", {simulated_ones} of them simulated" if simulated_ones else "")


def _candidates(found: Recommendation, share: float, knowledge: Knowledge | None) -> tuple[TriedPolicy, ...]:
    """What is recommended so far, and what else might be published in such a situation."""
    m = max(2, min(4, int(1 / share)))
    k = found.form.k if found.form is not None else parameters_of(found.publisher).get("k", _FORM.k)
    more = range(m, m + 3) if found.answers.one_table else (m,)  # safer, with more rows faked
    others = [TriedPolicy(made, None) for m in more for made in (TauSafety(m), Cohorts(m))]
    others.append(TriedPolicy(Mondrian(k), None))
    if knowledge is not None:
        others.insert(0, TriedPolicy(JSReduce(knowledge=knowledge), found.form or _FORM))
    if not found.publisher.series_promises:
        others = [TriedPolicy(ValueBlind(size=60, m=2), _FORM), *others[:-1]]
    return TriedPolicy(found.publisher, found.form), *others


def _best(
    lines: Sequence[ComparedPublisher], situation: Answers
) -> tuple[ComparedPublisher, tuple[str, ...]]:
    """The line to recommend, and why it is not the first where it is another."""
    first = lines[0]
    if not situation.again:
        return first, ()
    if situation.one_table:
        usable = [
            line
            for line in lines
            if line.form is None
            and line.publisher.series_promises
            and not line.refused
            and line.faked <= _MANY_FAKED
        ]
        if not usable:
            return first, (
                "one table was asked for, and no publisher that protects a series in one can publish these views "
                f"without faking more than {_MANY_FAKED:.0%} of the rows: two tables instead",
            )
        best = min(usable, key=lambda line: (line.worst, line.faked))
        return best, (
            f"one table was asked for: {best.publisher.name} gives {best.worst:.1%} away at worst; two tables "
            f"({first.publisher.name}) {first.worst:.1%}",
        )
    if situation.order:
        usable = [line for line in lines if line.form is not None and not line.refused]
        best = min(usable, key=lambda line: line.worst, default=first)
        return best, (
            f"an adversary knows how values follow each other: of what was tried {best.publisher.name} gives least "
            f"away at worst, {best.worst:.1%}",
        )
    return first, ()


def _costs_of(line: ComparedPublisher) -> tuple[str, ...]:
    return (
        f"{line.faked:.1%} of the rows are faked, and {line.late:.1%} wait or are left out",
        f"counts by quasi-identifiers and value are off by {line.error:.1%} in the median, at a selectivity of 5%",
        f"in these views {line.worst:.1%} are found out at worst",
    )


_UNKEPT = (
    "so few people may be expected to be determined that batches of no size tried can be counted anew; begin with more "
    "rows, or with a publisher chosen by hand (publisher and, for more risk, max_determined)"
)


def _problems(rows: int, form: TwoTables) -> tuple[str, ...]:
    """Why batches cannot be made of so many rows at all."""
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
    return ()


def _most_frequent(views: Sequence[Microdata]) -> float:
    """The largest share of the rows of a view that a value has."""
    return max(float(np.bincount(view.codes).max(initial=0)) / max(view.rows, 1) for view in views)


def _instead(share: float, publisher: ValueBlind) -> tuple[str, ...]:
    """What is promised where a value is too frequent for more."""
    if publisher.m > 1:
        return ()
    return (
        f"that no value has more than half of a batch cannot be promised, for the most frequent one has {share:.0%} of "
        "the rows of a view: m is 1. Promised is that few people can be determined; who guesses that value is right as "
        "often as anybody. For m=2 tell it apart more finely in the sensitive column",
    )


def _why(
    kind: str, found: ViewTurnover, views: int, by_answer: bool, lasting: bool = False
) -> tuple[str, ...]:
    blind = (
        "value-blind batches: who is in which batch with whom has nothing to do with values, so knowing the program "
        "tells nothing"
    )
    if by_answer and not lasting:
        return (blind, f"{kind} batches, for so it was answered how values change and who comes back")
    if views == 1 and not lasting:
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
            "open batches, for of so few people closed ones would be counted anew too seldom"
            + (f": {measured}" if views > 1 else ""),
        )
    return (blind, f"open batches, for people may change and come back in them: {measured}")


def _costs(run: DryRun, given: int, views: int, sampled: bool, change: bool) -> tuple[str, ...]:
    alone = "a tenth leaves, comes and changes each time" if change else "a tenth leaves and comes each time"
    how = alone if given == 1 else "going on as those before"
    on = f"over {views} views" + (
        f", of which {views - given} were simulated, {how}" if views > given else ""
    )
    on += f", on a sample of about {MOST_ROWS:,} rows" if sampled else ""
    publisher = run.publisher
    found: tuple[str, ...] = (
        f"batches of about {publisher.size} people, counted anew when {publisher.n} leave or come together, with no "
        f"value of more than one person in {publisher.m}",
        f"of the rows {run.waiting:.1%} wait to be counted, and {run.held:.1%} as many are counted on after they "
        f"left or changed ({on})",
        f"counts by quasi-identifiers and value are off by {run.error:.1%} in the median, at a selectivity of 5%",
        f"at most {max(run.bound, _LEAST):.3%} of the people are expected to be determined by an adversary who knows "
        f"{run.publisher.compromised:.0%} of them, and the worst placed person with a probability of at most "
        f"{run.worst:.1%}",
    )
    if run.late > LATE:
        found += (
            f"that is more than {LATE:.0%} of the rows: there are few people for how much they change; publish less "
            "often, or begin with more rows",
        )
    return found
