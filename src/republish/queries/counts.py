"""Counting queries on a release: an estimate, and bounds that the truth cannot leave.

The estimate spreads the people of a group evenly over its cells, each quasi-identifier by itself, as
`republish.metrics` does for its workloads; in two tables, whose cells overlap in every column, as `density` says. The
bounds need no such guess. At least those groups count that lie wholly inside the condition, at most all that meet it;
columns that are published as they are count row by row. Of a group's counterfeits nobody knows which rows they are: the
estimate leaves out their share, the bounds allow for every choice. A cell `*` says that some of its people lack the
value and some have it, and counts so.

The standard error has these parts. By chance: `lower` people of a group match for certain, and each of those in doubt,
up to `upper`, for himself. By a lean: people do not lie evenly in cells, nor values evenly over a batch, and they lean
the same way in many of them. Where the log odds of all people in doubt lean by t, the count moves by t times the
variance by chance; t is taken to have a standard deviation of
`LEAN`; docs/estimates.md says how often intervals then hold the truth of generated tables. Where batches were counted
earlier a third part is added: how many of those who wait or are held have a value that is asked for is not known.

Where the release has levels its groups are nested regions, and the people of a group lie in none of those inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.errors import PolicyError
from republish.metrics.boxes import real_rows, sensitive_ranks
from republish.metrics.queries import Workload, require_axes
from republish.queries._kernel import CompiledQueries, EstimateTable, count_all
from republish.queries._nest import nest_of
from republish.queries._nested import count_nested
from republish.queries.batches import Asked, count_value_ranges, count_values
from republish.queries.columns import Columns
from republish.queries.compiled import estimate_table, packed, people_table
from republish.queries.language import Condition, parse_condition
from republish.queries.spans import Term, none_of
from republish.release.release import Release
from republish.release.two_tables import WAITING, AnyRelease, TwoTableRelease

LEAN = 0.5
"""Standard deviation of the log odds by which people in doubt are taken to lean together."""


@dataclass(frozen=True)
class Count:
    """How many people of a release match a condition.

    `lower` and `upper` hold for certain, `expected` lies between them. All three speak of the `people` in the
    release; rows of the view that it leaves out, `suppressed` of them, may match too.
    """

    expected: float
    lower: int
    upper: int
    people: int
    counterfeits: int
    suppressed: int = 0
    notes: tuple[str, ...] = ()
    standard_error: float = 0.0

    @property
    def upper_in_view(self) -> int:
        """The most rows of the raw view that can match: those left out are counted as if all did."""
        return self.upper + self.suppressed

    def as_dict(self) -> dict[str, object]:
        return {
            "expected": self.expected,
            "standard_error": self.standard_error,
            "lower": self.lower,
            "upper": self.upper,
            "upper_in_view": self.upper_in_view,
            "people": self.people,
            "counterfeits": self.counterfeits,
            "suppressed": self.suppressed,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, eq=False)
class Counts:
    """The answers to many queries, one entry each; `notes` are those of all conditions."""

    expected: FloatArray
    lower: IntArray
    upper: IntArray
    standard_error: FloatArray
    notes: tuple[str, ...] = ()

    @classmethod
    def none(cls, queries: int) -> Counts:
        """Zeros, to be filled in."""
        whole = np.zeros(queries, np.int64)
        return cls(np.zeros(queries), whole, whole.copy(), np.zeros(queries))

    def fill(self, chosen: BoolArray, answers: Counts) -> None:
        """Write the answers to the chosen queries."""
        for name in ("expected", "lower", "upper", "standard_error"):
            getattr(self, name)[chosen] = getattr(answers, name)


def count(release: AnyRelease, where: str = "", suppressed: int = 0) -> Count:
    """How many people of a release match a condition; a blank one is true of everybody.

    `suppressed` is the number of rows that the release leaves out, as its `about.json` says. In two tables those are
    people without a batch, who are counted as people and not again as left out.
    """
    if suppressed < 0:
        raise PolicyError(f"the number of rows left out must be 0 or more, found {suppressed}")
    found = count_many(release, [where])
    return Count(
        float(found.expected[0]),
        int(found.lower[0]),
        int(found.upper[0]),
        int(real_rows(release.people).sum()),
        int(release.counterfeits.sum()),
        suppressed if isinstance(release, Release) else 0,
        found.notes,
        float(found.standard_error[0]),
    )


def count_many(release: AnyRelease, queries: Sequence[str | Condition] | Workload) -> Counts:
    """The answers to many conditions, or to a workload, in one pass."""
    if isinstance(queries, str):
        raise PolicyError("many queries are a list of conditions, found a single text; put it into a list")
    if isinstance(queries, Workload):
        return _count_workload(release, queries)
    conditions = [parse_condition(query) if isinstance(query, str) else query for query in queries]
    columns = Columns(release)
    terms = [columns.terms(condition) for condition in conditions]
    two = not isinstance(release, Release)
    asked = [
        Asked(
            own, *(columns.terms_of_unknown(condition, holds=holds) if two else [] for holds in (True, False))
        )
        for own, condition in zip(terms, conditions, strict=True)
    ]
    axes, sensitive = len(release.people.cells), columns.sensitive
    used = {c for one in asked for part in one for term in part for c in term if c >= axes}
    plain = [*sorted(used - {sensitive}), *([sensitive] if two or sensitive in used else [])]
    asked = [one.renumbered({column: axes + at for at, column in enumerate(plain)}) for one in asked]
    places = [columns.places(column) for column in plain]
    if isinstance(release, Release):
        found = _answers(release, [one.terms for one in asked], estimate_table(release, places))
    else:
        found = _two_tables(release, asked, places[:-1], places[-1])
    return replace(found, notes=(*columns.notes, *_notes(release, asked)))


def _notes(release: AnyRelease, asked: Sequence[Asked]) -> list[str]:
    """What to know of answers about values where batches were counted in earlier releases."""
    if (
        isinstance(release, Release)
        or release.clock is None
        or all(one.perhaps == one.surely for one in asked)
    ):
        return []
    waiting, held = int(release.clock[WAITING].sum()), int(release.counterfeits.sum())
    if not waiting and not held:
        return []
    return [
        f"{waiting:,} people are not counted yet and {held:,} are counted as they were before they left or changed; "
        "the standard error allows that they have the value or not, the bounds hold for certain"
    ]


def _two_tables(
    release: TwoTableRelease, asked: Sequence[Asked], plain: Sequence[IntArray], places: IntArray
) -> Counts:
    """Queries that say nothing of values are put to the people alone, all others to both tables."""
    column = len(release.people.cells) + len(plain)
    speaks = np.array([one.speaks_of(column) for one in asked], dtype=np.bool_)
    found = Counts.none(len(asked))
    if not speaks.all():
        terms = [asked[i].terms for i in np.flatnonzero(~speaks).tolist()]
        found.fill(~speaks, _answers(release.people, terms, people_table(release, plain)))
    if speaks.any():
        both = count_values(release, [asked[i] for i in np.flatnonzero(speaks).tolist()], plain, places)
        found.fill(speaks, _counts(*both))
    return found


def _answers(release: Release, asked: Sequence[list[Term]], table: EstimateTable) -> Counts:
    return _put(release, packed(asked), packed([none_of(terms) for terms in asked]), table)


def _put(
    release: Release,
    asked: CompiledQueries,
    against: CompiledQueries,
    table: EstimateTable,
) -> Counts:
    if release.level is None:
        return _counts(*count_all(asked, against, table))
    return _counts(*count_nested(asked, against, table, nest_of(release, table)))


def _errors(variance: FloatArray, stale: FloatArray | float) -> FloatArray:
    """Standard errors: chance, a lean of the data that no even spread shows, and people counted earlier or not yet.

    Any number of these, up to `stale`, is as likely as any other.
    """
    errors: FloatArray = np.sqrt(variance + (LEAN * variance) ** 2 + np.square(stale) / 12)
    return errors


def _count_workload(release: AnyRelease, workload: Workload) -> Counts:
    """The ranges of a workload are one term a query; a missing value is in none that is asked."""
    require_axes(tuple(cells.axis for cells in release.people.cells), workload)
    if not isinstance(release, Release):
        return _count_workload_of_values(release, workload)
    low, high = workload.low, workload.high
    places = []
    if release.schema.sensitive is not None:
        low = np.column_stack([low, workload.value_low])
        high = np.column_stack([high, workload.value_high])
        places.append(sensitive_ranks(release, workload.values))
    return _put(release, *_ranges(low, high), estimate_table(release, places))


def _ranges(low: FloatArray, high: FloatArray) -> tuple[CompiledQueries, CompiledQueries]:
    """Queries that ask for a range of every column, and their contraries; one from -inf is not asked about."""
    queries = len(low)
    query, column = np.nonzero(low > -np.inf)
    low, high = low[query, column], high[query, column]
    held = np.bincount(query, minlength=queries)
    one = np.arange(len(query) + 1)
    no, yes = np.zeros(len(query), np.bool_), np.ones(len(query), np.bool_)
    asked = CompiledQueries(np.arange(queries + 1), _ends(held), column, no, one, low, high)
    outside = np.column_stack([np.full(len(low), -np.inf), np.nextafter(high, np.inf)]).ravel()
    inside = np.column_stack([np.nextafter(low, -np.inf), np.full(len(low), np.inf)]).ravel()
    return asked, CompiledQueries(_ends(held), one, column, yes, 2 * one, outside, inside)


def _ends(lengths: IntArray) -> IntArray:
    return np.append(0, np.cumsum(lengths)).astype(np.int64)


def _count_workload_of_values(release: TwoTableRelease, workload: Workload) -> Counts:
    """The same for two tables: no value that is not published is asked for, so people without a batch may match all."""
    speaks = workload.value_low > -np.inf

    def of_people(chosen: BoolArray) -> tuple[CompiledQueries, CompiledQueries]:
        return _ranges(workload.low[chosen], workload.high[chosen])

    found = Counts.none(len(speaks))
    if not speaks.all():
        found.fill(~speaks, _put(release.people, *of_people(~speaks), people_table(release, [])))
    if speaks.any():
        low, high = workload.value_low[speaks], workload.value_high[speaks]
        places = sensitive_ranks(release.values, workload.values)
        both = count_value_ranges(release, of_people(speaks), low, high, places)
        found.fill(speaks, _counts(*both))
    return found


def _counts(
    expected: FloatArray,
    lower: IntArray,
    upper: IntArray,
    variance: FloatArray,
    stale: FloatArray | float = 0.0,
) -> Counts:
    """Answers with standard errors; shares that add up to a whole may miss it by a rounding."""
    return Counts(np.clip(expected, lower, upper), lower, upper, _errors(variance, stale))
