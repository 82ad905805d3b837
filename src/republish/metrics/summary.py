"""All measures of one release together, and each explained in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from republish.arrays import IntArray
from republish.errors import PolicyError
from republish.hooks import answer_of
from republish.metrics.boxes import aligned, suppressed_rows
from republish.metrics.divergence import kl_divergence
from republish.metrics.information import information_kept
from republish.metrics.levels import Levels, distance_of, levels_together
from republish.metrics.linkage import record_linkage
from republish.metrics.queries import QueryError, query_error
from republish.metrics.risk import THRESHOLDS, Risk, journalist_risk
from republish.metrics.sums import Sums, sums_of
from republish.microdata import Microdata
from republish.release.release import Release
from republish.release.two_tables import AnyRelease
from republish.schema import Schema

EXPLANATIONS: dict[str, str] = {
    "rows": "Rows of the release, counterfeits included.",
    "groups": "Groups whose rows look alike in every quasi-identifier.",
    "suppressed": "Rows of the raw view that the release leaves out.",
    "counterfeits": "Rows of the release that belong to nobody.",
    "penalty": "How much of its domain the average published cell leaves open: 0 is exact, 1 says nothing.",
    "penalty_by_column": "The same penalty, one quasi-identifier at a time: the largest loses most.",
    "discernibility": "For every row, how many rows look like it, added up: smaller keeps more apart.",
    "average_class_size": "Rows in the average group: smaller is more useful, k is the least allowed.",
    "kl_divergence": (
        "How far quasi-identifiers rebuilt from the release are from the real ones, in nats: 0 is the same."
    ),
    "query_error": "How far counts from the release are from the true ones, as a share of the true count.",
    "prosecutor_risk": "Chance of picking the right row for a person known to be in the release.",
    "journalist_risk": "Chance of picking the right person of the population for a row of the release.",
    "marketer_risk": "Share of the people in the release that linking everybody is expected to get right.",
    "record_linkage": (
        "Share of the raw rows that an adversary who knows all quasi-identifiers is expected to link rightly."
    ),
    "levels": "The strictest k, l and t that every group of the release satisfies.",
    "value_query_error": "How far counts that ask for the sensitive value too are from the true ones, as a share.",
    "information_kept": (
        "Share of what the most telling quasi-identifier says of the sensitive value that the release still says."
    ),
    "regression": "Coefficients that the release gives beside those of the raw view.",
    "fewest_people": "Real people in the group that has fewest: its other rows are counterfeits.",
}


_OF_TWO_TABLES = {
    "rows": "People in the release.",
    "groups": "Groups of people who look alike in every quasi-identifier.",
    "counterfeits": "Counted values of nobody who is there: counterfeits, or people as they were before they left.",
    "levels": "The strictest k of every group of people, and the strictest l and t of every batch of values.",
    "fewest_people": "Real people in the batch that has fewest: its other values are of nobody who is there.",
}
COUNTS = {
    "batches": "Batches of people whose values are counted together.",
    "smallest": "Values of the smallest batch, counterfeits included.",
    "average": "Values of the average batch.",
    "largest": "Values of the largest batch.",
    "fewest_values": "Different values in the batch that has fewest.",
    "without_batch": "People in the release whose value is not counted.",
    "extended": "People in cells that extend over a cut that died: these may cross cells of other releases.",
    "stale": "Batches that count a person as she was before she left or changed, or do not count a person yet.",
}
"""What is counted of two tables: see `republish.release.two_tables.TwoTableCounts`."""


def explanations(two_tables: bool) -> dict[str, str]:
    """Every measure in one sentence; in two tables rows are people, and nobody is left out."""
    if not two_tables:
        return EXPLANATIONS
    return {key: says for key, says in (EXPLANATIONS | _OF_TWO_TABLES).items() if key != "suppressed"}


@dataclass(frozen=True)
class Measures:
    """Usefulness and one-table risk of a release; None where a measure needs a raw view and has none."""

    rows: int
    groups: int
    suppressed: int
    counterfeits: int
    penalty: float
    penalty_by_column: dict[str, float]
    discernibility: int
    average_class_size: float
    kl_divergence: float | None
    query_error: QueryError | None
    prosecutor_risk: Risk
    journalist_risk: Risk
    marketer_risk: float
    record_linkage: float | None
    levels: Levels
    value_query_error: QueryError | None = None
    information_kept: float | None = None
    regression: dict[str, dict[str, float]] | None = None
    fewest_people: int | None = None

    def as_dict(self) -> dict[str, Any]:
        document = asdict(self)
        for name in ("prosecutor_risk", "journalist_risk"):
            above = document[name]["above"]
            document[name]["above"] = {f"{limit:g}": share for limit, share in above.items()}
        return document


def measure(
    release: AnyRelease,
    view: Microdata | None = None,
    suppressed: int | None = None,
    *,
    membership: IntArray | None = None,
    population: Microdata | None = None,
    queries: int = 1_000,
    seed: int = 0,
    regress: str | None = None,
) -> Measures:
    """All measures of a release.

    Args:
        release: the release.
        view: the raw view it was made of; without it there is no divergence, query error, information kept or record
            linkage.
        suppressed: rows that the release leaves out; counted from the view where there is one, else 0.
        membership: the published group of every row of the view, 0 where left out, in two tables that of people; makes
            the record linkage exact where rows were left out.
        population: a table of the population that the view is part of, for the journalist's risk.
        queries: how many random queries to ask, each over two quasi-identifiers with a selectivity of 5 %.
        seed: what the random queries are drawn with.
        regress: a formula such as `salary ~ age + gender`, whose coefficients are compared with those of the view.
    """
    people = release.people
    left_out = _left_out(people, view, suppressed)
    found = measures_of([sums_of(release)], release.schema, left_out)
    if population is not None:
        found = replace(found, journalist_risk=journalist_risk(people, population))
    if view is None:
        if regress is not None:
            raise PolicyError("coefficients are compared with those of the raw view; give the view")
        return found
    with_values = release.schema.sensitive is not None
    return replace(
        found,
        kl_divergence=kl_divergence(people, view),
        query_error=query_error(people, view, queries, seed) if queries else None,
        record_linkage=record_linkage(people, view, membership),
        value_query_error=(
            query_error(release, view, queries, seed, sensitive=True) if queries and with_values else None
        ),
        information_kept=information_kept(release, aligned(view, people)) if with_values else None,
        regression=(
            None
            if regress is None
            else answer_of("republish.estimates:compare_regressions")(release, view, regress)
        ),
    )


def measures_of(sums: Sequence[Sums], schema: Schema, suppressed: int) -> Measures:
    """The measures of a release from those of its parts; those that need the raw view are none."""
    if suppressed < 0:
        raise PolicyError(f"the number of suppressed rows must be 0 or more, found {suppressed}")
    groups, rows = sum(s.groups for s in sums), sum(s.rows for s in sums)
    everyone = sum(s.people for s in sums)
    in_view = everyone + suppressed
    names = [column.name for column in schema.quasi_identifiers]
    lost = np.sum([s.lost for s in sums], axis=0) if sums else np.zeros(len(names))
    by_column = {
        name: float((x + suppressed) / in_view) if in_view else 0.0
        for name, x in zip(names, lost, strict=True)
    }
    in_all = sum(s.lost_in_all for s in sums)
    smallest = min((s.smallest for s in sums if s.smallest is not None), default=None)
    above = np.sum([s.above for s in sums], axis=0) if sums else np.zeros(len(THRESHOLDS))
    risk = Risk(
        max((s.highest for s in sums), default=0.0),
        sum(s.links for s in sums) / everyone if everyone else 0.0,
        {limit: float(x / everyone) if everyone else 0.0 for limit, x in zip(THRESHOLDS, above, strict=True)},
    )
    return Measures(
        rows=rows,
        groups=groups,
        suppressed=suppressed,
        counterfeits=sum(s.counterfeits for s in sums),
        penalty=(in_all + suppressed) / in_view if in_view else 0.0,
        penalty_by_column=by_column,
        discernibility=sum(s.squares for s in sums) + suppressed * in_view,
        average_class_size=rows / groups if groups else 0.0,
        kl_divergence=None,
        query_error=None,
        prosecutor_risk=risk,
        journalist_risk=risk,
        marketer_risk=risk.average,
        record_linkage=None,
        levels=levels_together(smallest, [s.levels for s in sums], distance_of(schema)),
        fewest_people=min((s.fewest_people for s in sums if s.fewest_people is not None), default=None),
    )


def _left_out(release: Release, view: Microdata | None, suppressed: int | None) -> int:
    if view is None:
        return suppressed or 0
    counted = suppressed_rows(release, view)
    if suppressed is not None and suppressed != counted:
        raise PolicyError(
            f"the suppressed rows must be those that the release lacks of the view: {counted}, found "
            f"{suppressed}; leave the number out"
        )
    return counted
