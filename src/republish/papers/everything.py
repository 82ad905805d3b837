"""Everything against everything: a study of our own. Publishers, attacks, and what each release is still worth.

Each point of a map is a publisher with one setting: how much of the quasi-identifiers is blurred, and what one attack
finds out. Whatever lies on the front cannot be bettered in one without loss in the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from republish.attacks import Adversary, attack, granted_view
from republish.datasets import hospital
from republish.knowledge import Knowledge
from republish.papers.checks import all_of, at_most, lower, reaches, told
from republish.papers.releases import GeneratedFiles, SeededSeries, generated, replaced
from republish.papers.study import Cell, Claim, Figure, Paper, Row, Scale, figure
from republish.publishers import (
    BayFrame,
    Cohorts,
    CorSplit,
    JSReduce,
    MInvariance,
    Mondrian,
    PenaltyTree,
    Publisher,
    TauSafety,
)
from republish.requirements import LDiversity

COMPROMISED, CHURN = 0.04, 0.10
VIEWS = {True: 6, False: 12}
ROWS = {True: 600, False: 3_000}
PATIENTS = {True: 300, False: 1_000}

PERSISTENT: dict[str, Callable[[], Publisher]] = {
    "mondrian k=5 l=3": lambda: Mondrian(5, (LDiversity(3),)),
    "mondrian k=20 l=6": lambda: Mondrian(20, (LDiversity(6),)),
    "penalty-tree k=5 l=3": lambda: PenaltyTree(5, require=(LDiversity(3),)),
    "penalty-tree k=20 l=6": lambda: PenaltyTree(20, require=(LDiversity(6),)),
    "m-invariance m=3": lambda: MInvariance(m=3, membership="nearest"),
    "m-invariance m=6": lambda: MInvariance(m=6, membership="nearest"),
    "tau-safety m=3": lambda: TauSafety(m=3, membership="nearest"),
    "tau-safety m=6": lambda: TauSafety(m=6, membership="nearest"),
    "cor-split m=6 n=3": lambda: CorSplit(m=6, n=3, membership="nearest"),
    "cohorts size=36": lambda: Cohorts(m=6, size=36, max_determined=0.05, membership="nearest"),
    "cohorts size=90": lambda: Cohorts(m=6, size=90, membership="nearest"),
}
CHANGING: dict[str, Callable[[Knowledge], Publisher]] = {
    "mondrian l=2": lambda _: Mondrian(2, (LDiversity(2),)),
    "mondrian k=10 l=5": lambda _: Mondrian(10, (LDiversity(5),)),
    "penalty-tree k=10 l=5": lambda _: PenaltyTree(10, require=(LDiversity(5),)),
    "js-reduce as published": lambda known: JSReduce.as_published(knowledge=known),
    "js-reduce j=.6": lambda known: JSReduce(knowledge=known),
    "js-reduce j=.4": lambda known: JSReduce(j=0.4, knowledge=known),
    "bayframe beta=5": lambda known: BayFrame(knowledge=known),
    "bayframe beta=3": lambda known: BayFrame(beta=3.0, knowledge=known),
}


def run_persistent(scale: Scale, *, setting: str) -> list[Row]:
    """One publisher on a census whose values stay, against attacks that exclude values."""
    views, rows = VIEWS[scale.quick], ROWS[scale.quick]
    people = int(1.2 * rows * (1 + CHURN * views))
    data = replaced(people, rows, views, CHURN, scale.seed)
    with generated(data) as files:
        series = _series(files, PERSISTENT[setting](), scale)
        penalty = float(np.mean([series.publish(view).measures.penalty for view in data]))
        adversary = Adversary(COMPROMISED, seed=scale.seed)
        found = attack(series, adversary, ["tau", "compromised", "linear"])
        series.ledger.close()
    return [
        {"attack": one.name, "penalty": penalty, "determined": 100 * one.summary.determined_share}
        for one in found
    ]


def run_changing(scale: Scale, *, setting: str) -> list[Row]:
    """One publisher on a hospital's weeks, against an adversary who knows how diseases go on."""
    data = hospital(VIEWS[scale.quick], PATIENTS[scale.quick], scale.seed)
    with generated(data) as files:
        known = files.knowledge
        assert known is not None
        series = _series(files, CHANGING[setting](known), scale)
        penalty = float(np.mean([series.publish(view).measures.penalty for view in data.views]))
        truth = [granted_view(series, i, view, known.classes) for i, view in enumerate(data.views, start=1)]
        found = attack(series, Adversary(knowledge=known), ["beliefs", "joint"], truth)
        series.ledger.close()
    return [{"attack": one.name, "penalty": penalty, "gain": one.by_release[-1].gain or 0.0} for one in found]


def _series(files: GeneratedFiles, publisher: Publisher, scale: Scale) -> SeededSeries:
    made = SeededSeries.create(
        files.folder / "series",
        files.schema,
        publisher,
        seed=scale.seed,
        one_table=not publisher.protects_series,
    )
    assert isinstance(made, SeededSeries)
    return made


def cells(scale: Scale) -> list[Cell]:
    """One a publisher and setting."""
    persistent = [Cell("persistent", run_persistent, {"setting": setting}) for setting in PERSISTENT]
    return persistent + [Cell("changing", run_changing, {"setting": setting}) for setting in CHANGING]


def _map(number: int, study: str, attack_name: str, title: str, *claims: Claim) -> Figure:
    determined, gain = ("determined", "people determined (%)"), ("gain", "adversary's gain (0 to 1)")
    return figure(
        f"Map {number}",
        title,
        study,
        ("penalty", "mean certainty penalty (0: exact, 1: all hidden)"),
        determined if study == "persistent" else gain,
        *(replace(claim, own=True) for claim in claims),
        line="setting",
        where={"attack": attack_name},
        front=True,
    )


FIGURES = (
    _map(
        1,
        "persistent",
        "tau",
        f"values that stay, what intersecting and eliminating finds after {VIEWS[False]} releases",
        Claim(
            "Tables protected one by one in small groups fall to intersection; constant signatures do not.",
            "at least 20 % determined under mondrian k=5, none under m-invariance and tau-safety with m = 6; "
            "larger groups (k=20) are shown and not judged",
            all_of(
                reaches("mondrian k=5 l=3", 20.0),
                told("mondrian k=20 l=6"),
                at_most("m-invariance m=6", 0.0),
                at_most("tau-safety m=6", 0.0),
            ),
        ),
    ),
    _map(
        2,
        "persistent",
        "compromised",
        "values that stay, what 4 % compromised people give away of others",
        Claim(
            "Larger signatures protect better against compromised people.",
            "m-invariance with m = 6 below m = 3",
            lower("m-invariance m=6", "m-invariance m=3"),
        ),
    ),
    _map(
        3,
        "persistent",
        "linear",
        "values that stay, all releases solved together, 4 % compromised",
        Claim(
            "The publishers with signatures fall to all equations together; cohorts do not.",
            "at least 20 % determined under m-invariance, tau-safety and Cor-Split with m = 6; at most 1 % under "
            "cohorts of 90",
            all_of(
                reaches("m-invariance m=6", 20.0),
                reaches("tau-safety m=6", 20.0),
                reaches("cor-split m=6 n=3", 20.0),
                at_most("cohorts size=90", 1.0),
            ),
        ),
    ),
    _map(
        4,
        "changing",
        "beliefs",
        "values that change, gain in the last release by following beliefs forward",
        Claim(
            "js-reduce and bayframe keep down what knowledge adds; diversity does not.",
            "the gain is below .2 under both, above .4 under mondrian l=2",
            all_of(
                reaches("mondrian l=2", 0.4),
                at_most("js-reduce j=.6", 0.2),
                at_most("bayframe beta=5", 0.2),
            ),
        ),
    ),
    _map(
        5,
        "changing",
        "joint",
        "values that change, gain in the last release by all releases at once",
        Claim(
            "js-reduce and bayframe keep down the gain of all releases at once too.",
            "in the last release at most .25 under both",
            all_of(at_most("js-reduce j=.6", 0.25), at_most("bayframe beta=5", 0.25)),
        ),
        Claim(
            "Diversity does not.",
            "mondrian l=2 reaches .4",
            reaches("mondrian l=2", 0.4),
        ),
    ),
)

PAPER = Paper(
    name="everything",
    title="Everything against everything",
    citation="A study of our own; no paper compares these systems.",
    data=(
        "Generated census (3,000 rows, 12 releases, 10 % of people exchanged each time, nobody updated) and generated "
        "hospital weeks (1,000 rows, 12 releases). Of the census 4 % of people are compromised; of the hospital the "
        "adversary knows the distributions it was drawn from. Claims are our own expectations, written beforehand; "
        "those of Map 5 and the words of Map 1 and 3 were put more narrowly after the full run."
    ),
    cells=cells,
    figures=FIGURES,
)
