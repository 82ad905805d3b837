"""The protocol of JS-reduce's experiments (section 7): views, kinds of knowledge, defenders and adversaries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import polars as pl

from republish.arrays import FloatArray
from republish.datasets import hospital
from republish.grouping import Grouping
from republish.inference import Reasoning
from republish.knowledge import Classes, Extracted, Knowledge, Transitions, learn
from republish.memory.memory import Memory, sight
from republish.metrics import (
    Workload,
    estimated_counts,
    global_certainty_penalty,
    relative_error,
    true_counts,
)
from republish.microdata import Microdata
from republish.papers.releases import generated, read_views
from republish.papers.study import Row, Scale
from republish.publishers import JSReduce, Mondrian, Publisher
from republish.release.release import build_release
from republish.requirements import LDiversity, TCloseness
from republish.schema import Schema
from republish.secret import Secret
from republish.verify.similarity import spread_of

TERMINAL = ("deceased", "discharged")
DIVERSITY, CLOSENESS, BT, PAPERS, OURS = (
    "l-diversity",
    "t-closeness",
    "(B,t)-privacy",
    "JS-reduce",
    "JS-reduce (ours)",
)
STRICT, RELAXED = "strict Mondrian", "relaxed Mondrian"
DK, IE, SPM, FEWER, FEWEST = "DK", "IE", "SPM", "SPM, 1/5 of the corpus", "SPM, 1/25 of the corpus"
SNAPSHOT, ONE_STEP, FULL = "snapshot", "1 step", "full (2 and more steps)"
REACHES = {SNAPSHOT: SNAPSHOT, ONE_STEP: ONE_STEP, DK: FULL}
SHARES = {SPM: 1.0, FEWER: 0.2, FEWEST: 0.04}
SHOWN, ALL = "published rows", "all rows, 1 for one left out"
OMEGA, EXACT = "omega (the paper's)", "exact"
RECREATED, FITTED = "recreated", "fitted"
SELECTIVITIES = (0.01, 0.02, 0.05, 0.1, 0.2)
SECRET = Secret.from_text("papers " * 8)


@dataclass(frozen=True)
class SeriesSize:
    """How many views of how many rows, and how many queries of each selectivity are put to a release.

    The hospital series is that of the `preset`.
    """

    views: int
    rows: int
    queries: int
    preset: str = RECREATED

    def limit(self, j: float) -> float:
        """A limit j of the paper in bits."""
        return in_bits(j, self.preset)


def in_bits(j: float, preset: str) -> float:
    """A limit j of a paper that does not say of which logarithm: natural where the series was fitted, else binary."""
    return j if preset == RECREATED else j / math.log(2)


def unit_of(preset: str) -> str:
    """What a limit j is counted in on a series."""
    return "bits" if preset == RECREATED else "nats"


class Rival(NamedTuple):
    """What a technique that the paper compares with asks of groups, and which Mondrian makes them."""

    asks: str
    mondrian: str


def under(name: str, mondrian: str) -> str:
    """A technique or a line with the Mondrian that it is of."""
    return f"{name}, {mondrian}"


ASKED = (DIVERSITY, CLOSENESS, BT)
RIVALS: Mapping[str, Rival] = {
    under(asks, mondrian): Rival(asks, mondrian) for mondrian in (STRICT, RELAXED) for asks in ASKED
}
"""The techniques the paper compares with, by name; it does not say which Mondrian makes their groups."""
SIZES = {"full": SeriesSize(24, 5000, 10_000), "quick": SeriesSize(24, 1000, 1000)}


def size_of(scale: Scale, preset: str = RECREATED) -> SeriesSize:
    """The size of a scale."""
    return replace(SIZES["quick" if scale.quick else "full"], preset=preset)


@dataclass(frozen=True)
class HospitalViews:
    """The views of the series with pseudonyms, their schema, and the knowledge that they were drawn from."""

    views: tuple[Microdata, ...]
    schema: Schema
    knowledge: Knowledge


@dataclass(frozen=True, eq=False)
class Incremental(Extracted):
    """IE: sequences counted over everybody, as Alg. 5 does, beside a prior that is known by class."""

    def knowledge(self, counts: Transitions, values: pl.Series) -> Knowledge:
        """What the counts say, those of the present view included."""
        keys = counts.table.columns[:-1]
        everybody = counts.table.with_columns(pl.lit(0, pl.Int32).alias("class"))
        pooled = everybody.group_by(keys).agg(pl.col("count").sum()).sort(keys)
        counted = Transitions(counts.order, pooled).to_knowledge(values, Classes.everyone())
        assert self.prior is not None
        return by_class(counted, self.prior.aligned(values))


def by_class(counted: Knowledge, known: Knowledge) -> Knowledge:
    """What is known, with what was counted over everybody as sequential part."""
    assert counted.sequential is not None
    table = np.repeat(counted.sequential[:1], known.classes.count, axis=0)
    return replace(known, sequential=table, order=counted.order)


@lru_cache(maxsize=2)
def series(size: SeriesSize, seed: int) -> HospitalViews:
    """The hospital series, read as it would be for publication; what never occurred is excluded, as Alg. 5 says."""
    with generated(hospital(size.views, size.rows, seed, size.preset)) as data:
        assert data.knowledge is not None
        views = read_views(data.views, data.schema, SECRET)
    return HospitalViews(views, data.schema, replace(data.knowledge, unseen="zero"))


@lru_cache(maxsize=8)
def knowledge_of(kind: str, size: SeriesSize, seed: int) -> Knowledge | Extracted:
    """DK: what the series is drawn from. IE: counted in its own views. SPM: in others drawn from the same."""
    known = series(size, seed).knowledge
    if kind == DK:
        return known
    if kind == IE:
        return Incremental(2, known.classes, TERMINAL, prior=known)
    rows = max(1, round(size.rows * SHARES[kind]))
    corpus = hospital(size.views, rows, seed + 92, size.preset).views
    counted = learn(corpus, series(size, seed).schema, Classes.everyone(), 2, terminal=TERMINAL)
    return by_class(counted.aligned(known.values), known)


def publisher_of(technique: str, knowledge: Knowledge | Extracted, j: float = 0.6) -> Publisher:
    """A technique with the bold parameters of Table 5."""
    if technique == PAPERS:
        return JSReduce.as_published(k=3, t=0.5, j=j, knowledge=knowledge)
    if technique == OURS:
        return JSReduce(k=3, t=0.5, j=j, knowledge=knowledge)
    asks, mondrian = RIVALS[technique]
    if asks == BT:
        from republish.requirements.bt_privacy import BTPrivacy

        return Mondrian(k=2, bt=BTPrivacy(b=0.5, t=0.8), strict=mondrian == STRICT)
    required = LDiversity(2) if asks == DIVERSITY else TCloseness(0.8)
    return Mondrian(k=2, require=(required,), strict=mondrian == STRICT)


def adversaries(kinds: tuple[str, ...], size: SeriesSize, seed: int) -> dict[tuple[str, str], Reasoning]:
    """By kind of knowledge and posterior: the paper's adversary of every kind, and ours who knows all."""
    found = {}
    for kind in kinds:
        steps = {SNAPSHOT: 0, ONE_STEP: 1}.get(kind)
        known = knowledge_of(kind if steps is None else DK, size, seed)
        found[kind, OMEGA] = Reasoning(known, "omega", steps, "product")
    found[DK, EXACT] = Reasoning(knowledge_of(DK, size, seed))
    return found


def published(
    views: HospitalViews, publisher: Publisher, minds: Mapping[tuple[str, str], Reasoning], queries: int = 0
) -> list[Row]:
    """Publish the series and attack it release by release.

    Rows are of several kinds (`what`): an `attack` has `gain` and `confidence` for a release, an adversary and a
    posterior; a `release` has `left_out`; a `penalty` is that `of` some rows; an `error` that of the queries of one
    selectivity; a `spread` has I, see `republish.verify.check.Spread`, and `left_out`.
    A release without rows gives an adversary nothing to gain, and has no row of an attack.
    """
    memory = Memory.empty()
    remembered = dict.fromkeys(minds, Memory.empty())
    rows: list[Row] = []
    for number, view in enumerate(views.views, start=1):
        grouping = publisher.publish(view, memory, np.random.default_rng(0))
        rows += _spread(view, grouping, publisher, memory, number)
        seen = sight(view, np.zeros(view.rows, np.uint64), grouping.group + 1, number, memory)
        memory = publisher.remember(view, grouping, memory.merged(seen))
        rows += _useful(view, grouping, number, queries)
        for (kind, posterior), mind in minds.items():
            thoughts = mind.thoughts(mind.respondents(view), remembered[kind, posterior])
            shown = grouping.group >= 0
            found = mind.inferred(thoughts, grouping.group, grouping.group[shown], view.codes[shown]).p
            remembered[kind, posterior] = mind.remembered(
                thoughts, found, remembered[kind, posterior].merged(seen)
            )
            if shown.any():
                gain, confidence = scored(view, grouping, found)
                about: Row = {"what": "attack", "release": number, "adversary": kind, "posterior": posterior}
                about["reach"] = REACHES.get(kind, "")
                rows.append({**about, "gain": gain, "confidence": confidence})
    return rows


def _spread(
    view: Microdata, grouping: Grouping, publisher: Publisher, memory: Memory, number: int
) -> list[Row]:
    """I, by how many bits the priors of everyone in the view diverge, and the share of rows left out."""
    if publisher.reasoning is None:
        return []
    prior = publisher.reasoning.thoughts(publisher.reasoning.respondents(view), memory).prior
    share = 100 * grouping.suppressed / view.rows
    return [{"what": "spread", "release": number, "spread": spread_of(prior).bits, "left_out": share}]


def scored(view: Microdata, grouping: Grouping, posterior: FloatArray) -> tuple[float, float]:
    """The average adversary gain (7.2) and the average confidence in the true value, of the published rows."""
    shown = grouping.group >= 0
    group, codes = grouping.group[shown], view.codes[shown]
    held = np.zeros((grouping.groups, len(view.values)))
    np.add.at(held, (group, codes), 1)
    share = held[group, codes] / held.sum(axis=1)[group]
    p = posterior[shown, codes]
    gain = np.divide(p - share, 1 - share, out=np.zeros_like(p), where=share < 1)
    return float(gain.mean()), float(p.mean())


def _useful(view: Microdata, grouping: Grouping, number: int, queries: int) -> list[Row]:
    release, _ = build_release(view, grouping, SECRET, number)
    left_out = grouping.suppressed
    shown = left_out < view.rows
    rows: list[Row] = [
        {"what": "release", "left_out": 100 * left_out / view.rows},
        {"what": "penalty", "of": ALL, "value": global_certainty_penalty(release, left_out)},
    ]
    if shown:
        rows.append({"what": "penalty", "of": SHOWN, "value": global_certainty_penalty(release)})
    for selectivity in SELECTIVITIES if queries else ():
        asked = Workload.random(view, queries, len(view.axes), selectivity, seed=number)
        true = true_counts(view, asked)
        estimated = estimated_counts(release, asked) if shown else np.zeros(len(true))
        error = 100 * relative_error(true, estimated).median
        rows.append({"what": "error", "selectivity": round(100 * selectivity), "error": error})
    return [row | {"release": number} for row in rows]
