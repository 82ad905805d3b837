"""What the tau-safety studies compute: series under the protocol of section 4.6.1, measured and timed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from republish.attacks import measure_series
from republish.datasets import PRESETS, census
from republish.metrics import (
    Workload,
    discernibility,
    estimated_counts,
    global_certainty_penalty,
    kl_divergence,
    relative_error,
    true_counts,
)
from republish.papers.releases import InMemory, PublishedView, Trail, publish_all
from republish.papers.study import Row, Scale
from republish.publishers import MInvariance, Publisher, TauSafety

M, RATE, SELECTIVITY = 6, 5_000, 0.05
MS = (2, 4, 6, 8, 10)
RATES = (1_000, 3_000, 5_000, 7_000, 9_000)  # internal updates a release of 60,000 rows at first
SELECTIVITIES = (0.01, 0.02, 0.04, 0.06, 0.08, 0.10)
PEOPLE = 160_803
DIMENSIONS = 3  # the thesis has three quasi-identifiers
CENSUS, THESIS = "tau-safety", "thesis"  # presets of the generator
SCARCE = "thesis, scarce"  # of so few rows that many values are rare
FEW = 20
TAU, PLAIN, BASELINE = "tau-safety", "m-invariance", "baseline (critical absences)"
BANGA, ANGEL = "tau-safe BangA", "tau-safe angelization"  # section 5.3


@dataclass(frozen=True)
class TauSafetyScale:
    """How much is computed: one part of the thesis's rows is taken; timings are of the release `tenth`."""

    part: int
    views: int = 20
    tenth: int = 10
    queries: int = 1_000
    repetitions: int = 3


FULL = TauSafetyScale(part=1)
QUICK = TauSafetyScale(part=6)


def sizes_of(scale: Scale) -> TauSafetyScale:
    """The sizes of a scale."""
    return QUICK if scale.quick else FULL


def run_series(scale: Scale, *, publisher: str, m: int, rate: int, data: str) -> list[Row]:
    """Measures of every release; the series of the default parameters goes on to the last release of the protocol."""
    size = sizes_of(scale)
    default = (m, rate) == (M, RATE)
    trail = Trail()
    rows: list[Row] = []
    for one in _published(scale, publisher, m, rate, data, size.views if default else size.tenth):
        tenth = one.number == size.tenth
        same: Row = {"release": one.number, "tenth": tenth, "early": one.number <= size.tenth}
        row: Row = {
            **same,
            "line": publisher,
            "counterfeits": one.counterfeits,
            "penalty": global_certainty_penalty(one.release),
            "discernibility": discernibility(one.release) / len(one.release.group),
        }
        if tenth or (default and (one.number == 1 or one.number % 2 == 0)):
            row["error"] = _error(one, size.queries, SELECTIVITY, scale.seed)
        if tenth:
            row["value_error"] = _error(one, size.queries, SELECTIVITY, scale.seed, sensitive=True)
            row["divergence"] = kl_divergence(one.release, one.view)
        if tenth and default:
            for share in SELECTIVITIES:
                error = _error(one, size.queries, share, scale.seed)
                rows.append({"line": publisher, "selectivity": 100 * share, "error_at": error})
        if publisher == TAU and trail.last is not None:
            absences = _critical_absences(trail.last, one)
            rows.append({**same, "line": BASELINE, "counterfeits": absences})
        trail.add(one)
        rows.append(row)
    return rows + _vulnerable(trail, publisher, size)


def run_cost(scale: Scale, *, publisher: str, m: int, rate: int, data: str) -> list[Row]:
    """Seconds to group and generalize the tenth release, the fastest of some repetitions."""
    size = sizes_of(scale)
    *_, before, last = _published(scale, publisher, m, rate, data, size.tenth)
    seconds, maker = [last.seconds], InMemory(_publisher(publisher, m), scale.seed, _people_k(publisher, m))
    for repetition in range(1, size.repetitions):
        start = time.perf_counter()
        maker.publish(last.view, before.memory, before.made.cuts, repetition)
        seconds.append(time.perf_counter() - start)
    return [{"line": publisher, "seconds": min(seconds)}]


def _published(
    scale: Scale, publisher: str, m: int, rate: int, data: str, views: int
) -> Iterator[PublishedView]:
    """The releases of a series; a fifth of the internal updates are people who come back."""
    part, protocol = sizes_of(scale).part, PRESETS[THESIS if data == SCARCE else data]
    part = max(part, FEW) if data == SCARCE else part
    made = census(
        people=PEOPLE // part,
        rows=protocol["rows"] // part,
        views=views,
        insert=protocol["insert"] // part,
        delete=protocol["delete"] // part,
        update=rate * 4 // 5 // part,
        reinsert=rate // 5 // part,
        seed=scale.seed,
        columns=protocol.get("columns", "census"),
    )
    return publish_all(made, _publisher(publisher, m), scale.seed, _people_k(publisher, m))


def _publisher(name: str, m: int) -> Publisher:
    if name == PLAIN:
        return MInvariance(m=m, membership="nearest")
    if name == ANGEL:
        return TauSafety(m=m, membership="nearest").in_two_tables()
    return TauSafety(m=m, membership="nearest", partition="bang" if name == BANGA else "gathered")


def _people_k(name: str, m: int) -> int | None:
    """How many people look alike in two tables: as many as in a group of one table."""
    return m if name == ANGEL else None


def _error(
    one: PublishedView, queries: int, selectivity: float, seed: int, *, sensitive: bool = False
) -> float:
    """The mean relative error of range queries in percent, over the `sensitive` value too where asked."""
    asked = Workload.random(one.view, queries, DIMENSIONS, selectivity, seed=seed, sensitive=sensitive)
    estimated = estimated_counts(one.made.published, asked)
    return 100 * relative_error(true_counts(one.view, asked), estimated).mean


def _critical_absences(before: PublishedView, now: PublishedView) -> float:
    """Values of groups that somebody stayed of which the next view has fewer (Def. 4.13), in percent of its rows."""
    assert before.view.people is not None
    stays = now.memory.columns["last"][now.memory.find(before.view.people)] == now.number
    goes_on = np.bincount(before.grouping.group[stays], minlength=before.grouping.groups) > 0
    values = len(now.view.values)
    needed = np.bincount(before.view.codes[goes_on[before.grouping.group]], minlength=values)
    there = np.bincount(now.view.codes, minlength=values)
    return 100 * float(np.maximum(needed - there, 0).sum()) / len(now.release.group)


def _vulnerable(trail: Trail, publisher: str, size: TauSafetyScale) -> list[Row]:
    """Records whose signature did not stay because of an internal update, so far, in percent of the first view."""
    parts = measure_series(trail.history()).releases
    found = np.cumsum([part.vulnerable for part in parts])
    return [
        {
            "line": publisher,
            "release": number,
            "tenth": number == size.tenth,
            "vulnerable": 100 * float(so_far) / parts[0].people,
        }
        for number, so_far in enumerate(found, 1)
    ]
