"""All measures of one release together, and each explained in one sentence."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from republish.arrays import IntArray
from republish.errors import PolicyError
from republish.metrics.boxes import aligned, suppressed_rows
from republish.metrics.discernibility import average_class_size, discernibility
from republish.metrics.divergence import kl_divergence
from republish.metrics.levels import Levels, achieved_levels
from republish.metrics.linkage import record_linkage
from republish.metrics.penalty import column_penalties, global_certainty_penalty
from republish.metrics.queries import QueryError, Workload, estimated_counts, relative_error, true_counts
from republish.metrics.risk import Risk, journalist_risk, marketer_risk, prosecutor_risk
from republish.microdata import Microdata
from republish.release.release import Release

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
    "prosecutor_risk": "Chance of picking the right row for somebody known to be in the release.",
    "journalist_risk": "Chance of picking the right person of the population for a row of the release.",
    "marketer_risk": "Share of the people in the release that linking everybody is expected to get right.",
    "record_linkage": (
        "Share of the raw rows that whoever knows all quasi-identifiers is expected to link to their own row."
    ),
    "levels": "The strictest k, l and t that every group of the release satisfies.",
}


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

    def as_dict(self) -> dict[str, Any]:
        """All measures as JSON can hold them."""
        document = asdict(self)
        for name in ("prosecutor_risk", "journalist_risk"):
            above = document[name]["above"]
            document[name]["above"] = {f"{limit:g}": share for limit, share in above.items()}
        return document


def measure(
    release: Release,
    view: Microdata | None = None,
    suppressed: int | None = None,
    *,
    membership: IntArray | None = None,
    population: Microdata | None = None,
    queries: int = 1_000,
    seed: int = 0,
) -> Measures:
    """All measures of a release.

    Args:
        release: the release.
        view: the raw view it was made of; without it there is no divergence, query error or record linkage.
        suppressed: rows that the release leaves out; counted from the view where there is one, else 0.
        membership: the published group of every row of the view, 0 where left out; makes the record linkage
            exact where rows were left out.
        population: a table of the population that the view is part of, for the journalist's risk.
        queries: how many random queries to ask, each over two quasi-identifiers with a selectivity of 5 %.
        seed: what the random queries are drawn with.
    """
    left_out = _left_out(release, view, suppressed)
    return Measures(
        rows=release.rows,
        groups=release.group_count,
        suppressed=left_out,
        counterfeits=int(release.counterfeits.sum()),
        penalty=global_certainty_penalty(release, left_out),
        penalty_by_column=column_penalties(release, left_out),
        discernibility=discernibility(release, left_out),
        average_class_size=average_class_size(release),
        kl_divergence=None if view is None else kl_divergence(release, view),
        query_error=None if view is None or queries == 0 else _query_error(release, view, queries, seed),
        prosecutor_risk=prosecutor_risk(release),
        journalist_risk=journalist_risk(release, population),
        marketer_risk=marketer_risk(release),
        record_linkage=None if view is None else record_linkage(release, view, membership),
        levels=achieved_levels(release),
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


def _query_error(release: Release, view: Microdata, queries: int, seed: int) -> QueryError:
    view = aligned(view, release)
    workload = Workload.random(view, queries, min(2, len(view.axes)), 0.05, seed)
    return relative_error(true_counts(view, workload), estimated_counts(release, workload))
