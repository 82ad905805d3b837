"""What the Cor-Split studies compute: the probabilities of the paper, and series published under its protocol."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray, WordArray
from republish.attacks import History, historical_once, measure_series
from republish.attacks.excluding.candidates import intersected, sizes
from republish.attacks.excluding.compromised import compromised, starting_sets
from republish.attacks.excluding.historical import correlated_groups, exclude_once, historical
from republish.attacks.results import Findings
from republish.datasets import PRESETS, census
from republish.datasets.census import Experiment
from republish.metrics import Workload, estimated_counts, relative_error, true_counts
from republish.papers.releases import Trail, history_of_all, publish_all, replaced
from republish.papers.study import Row, Scale
from republish.publishers import CorSplit, MInvariance, Publisher
from republish.publishers.breach import breach_probability

P, M, N, LONGEST = 0.04, 6, 3, 24
PEOPLE = 600_000
SELECTIVITIES = (0.01, 0.02, 0.04, 0.06, 0.08, 0.10)
PUBLISHERS: dict[str, Publisher] = {
    "m-invariance": MInvariance(m=M, membership="nearest"),
    "Cor-Split": CorSplit(m=M, n=N, membership="nearest"),
}
SCENARIOS = {"cor-split": "10 % replaced", "cor-split-33": "33 % replaced"}


@dataclass(frozen=True)
class CorSplitScale:
    """How much is computed: one part of the paper's rows is taken, and so many queries and draws."""

    part: int
    queries: int
    attacked_rows: int
    draws: int
    views: int | None = None


FULL = CorSplitScale(part=1, queries=10_000, attacked_rows=20_000, draws=3)
QUICK = CorSplitScale(part=10, queries=2_000, attacked_rows=1_500, draws=5)


def sizes_of(scale: Scale) -> CorSplitScale:
    """The sizes of a scale."""
    return QUICK if scale.quick else FULL


def run_analysis(scale: Scale) -> list[Row]:
    """The probabilities of section 3 over the number of releases; they need no data, so `scale` does not matter."""
    del scale
    releases = np.arange(1, LONGEST + 1)
    rows: list[Row] = []
    for p in (0.01, 0.02, 0.04, 0.08):
        parts = breach_probability(p, releases, M, N).compromised_part
        rows += [
            {"line": f"p = {p:g}", "releases": int(i), "compromised": float(y)}
            for i, y in zip(releases, parts, strict=True)
        ]
    for n in (1, 2, 3):
        found = breach_probability(P, releases, M, n)
        rows += [
            {"line": f"n = {n}", "releases": int(i), "historical": float(hc), "breach": float(pb)}
            for i, hc, pb in zip(releases, found.historical_part, found.probability, strict=True)
        ]
    return rows


def run_attacked(scale: Scale, *, publisher: str) -> list[Row]:
    """How often the inferences of sections 2.2 and 2.3 exclude values, and lay one open, in a published series.

    As in the analysis, only people count who are in all releases and are not compromised themselves.
    """
    size = sizes_of(scale)
    views = size.views or LONGEST
    people = round(size.attacked_rows * (1 + 0.1 * views))
    data = replaced(people, size.attacked_rows, views, 0.1, scale.seed)
    history = history_of_all(publish_all(data, PUBLISHERS[publisher], scale.seed))
    rows: list[Row] = []
    for releases in sorted({*range(4, views + 1, 4), views}):
        for draw in range(size.draws):
            known = np.random.default_rng([scale.seed, draw]).random(history.people) < P
            rows += _attacked(history.until(releases), known, publisher)
    return rows


def run_scenario(scale: Scale, *, publisher: str, preset: str) -> list[Row]:
    """A series under the protocol of section 5: unsafe groups, counterfeits, query error of the last release."""
    size = sizes_of(scale)
    protocol: Experiment = {**PRESETS[preset], "rows": PRESETS[preset]["rows"] // size.part}
    protocol["views"] = size.views or protocol["views"]
    trail, counterfeits = Trail(), []
    data = census(PEOPLE // size.part, **protocol, seed=scale.seed)
    for one in publish_all(data, PUBLISHERS[publisher], scale.seed):
        trail.add(one)
        counterfeits.append(one.counterfeits)
    last = trail.last
    assert last is not None
    rows: list[Row] = [
        {
            "line": f"{publisher}, {SCENARIOS[preset]}",
            "release": number,
            "unsafe": 100 * (part.hc_unsafe or 0) / part.groups,
            "counterfeits": added,
        }
        for number, (added, part) in enumerate(
            zip(counterfeits, measure_series(trail.history(), N).releases, strict=True), 1
        )
    ]
    for selectivity in SELECTIVITIES:
        asked = Workload.random(last.view, size.queries, len(last.view.axes), selectivity, seed=scale.seed)
        error = relative_error(true_counts(last.view, asked), estimated_counts(last.release, asked))
        rows.append({"line": publisher, "selectivity": 100 * selectivity, "error": 100 * error.median})
    return rows


def _attacked(history: History, known: BoolArray, publisher: str) -> list[Row]:
    """One draw of compromised people: false values that they exclude, and people of whom one value is left."""
    alone = compromised(history, known, cascade=False)
    target = _targets(history, known)
    start = _candidates(alone, intersected(alone.unknowns))[target]
    left = _candidates(alone, alone.sets)[target]
    releases = history.releases
    rows: list[Row] = [
        {
            "line": f"p = {P:g}, measured under {publisher}",
            "releases": releases,
            "compromised": _mean((start - left) / np.maximum(start - 1, 1)),
        }
    ]
    found = {"once": historical_once(history, known), "again and again": historical(history, known)}
    if publisher == "Cor-Split":
        found["compromised sets alone"] = _by_compromised_sets(alone, known)
    else:
        del found["again and again"]  # much the same line
    for how, one in found.items():
        laid_open = _candidates(one, one.sets)[target] == 1
        rows.append(
            {"line": f"{publisher}, measured, {how}", "releases": releases, "breach": _mean(laid_open)}
        )
    return rows


def _by_compromised_sets(alone: Findings, known: BoolArray) -> Findings:
    """What Lemma 2 counts: a correlation excludes a value only where everyone on its other side is compromised.

    `historical_once` follows Definition 4: what compromised tuples excluded for people on the other side counts too.
    """
    unknowns, history = alone.unknowns, alone.unknowns.history
    before = starting_sets(unknowns, known)
    sets = before.copy()
    exclude_once(correlated_groups(unknowns), unknowns.of_appearance, history.member_start, before, sets)
    return Findings.even(unknowns, sets & alone.sets)


def _targets(history: History, known: BoolArray) -> BoolArray:
    """Who is in all releases and not compromised."""
    everywhere: BoolArray = np.bincount(history.person, minlength=history.people) == history.releases
    return everywhere & ~known


def _candidates(found: Findings, sets: WordArray) -> IntArray:
    """How many candidates everyone has in the last life she lived."""
    unknowns = found.unknowns
    left = np.zeros(unknowns.history.people, dtype=np.int64)
    left[unknowns.history.person] = sizes(sets)[unknowns.of_appearance]
    return left


def _mean(part: FloatArray | BoolArray) -> float:
    return float(np.mean(part)) if len(part) else 0.0
