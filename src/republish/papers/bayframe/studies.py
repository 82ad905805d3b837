"""The computations behind the figures, a cell a series."""

from __future__ import annotations

import math
from dataclasses import replace

from republish.inference import Reasoning
from republish.papers.bayframe.data import Serial, bkseq, changing_adult
from republish.papers.bayframe.frameworks import (
    Attacker,
    UnderCloseness,
    compromised,
    nothing,
    releases,
)
from republish.papers.study import Cell, Row, Scale
from republish.publishers import BayFrame, JSReduce
from republish.publishers.bayframe import LARGEST

SIZES = {"full": (24, 4000), "quick": (24, 2000)}
"""Releases and rows of each."""
RECREATED = "recreated"
STEPS = {1: "FDTMM", 2: "SDTMM"}
SIGMAS = (0.1, 0.01)
CASCADES = ("prior", "posterior")
RANGES: dict[str, tuple[float, ...]] = {
    "k": (2, 3, 4, 6, 8),
    "j": (0.2, 0.4, 0.6, 0.8),
    "beta": (3, 5, 7, 10),
    "certainty": (0.5, 0.6, 0.7, 0.8, 0.9),
}
EXACT = "BayFrame(FDTMM), exact posteriors (ours)"


def _size(scale: Scale) -> tuple[int, int]:
    return SIZES["quick" if scale.quick else "full"]


def _hospital(scale: Scale, preset: str) -> Serial:
    return bkseq(*_size(scale), scale.seed, preset)


def _limit(preset: str, j: float = 0.6) -> float:
    """A limit J in bits: of the series that was fitted it is one of natural logarithms."""
    return j if preset == RECREATED else j / math.log(2)


def run_frameworks(scale: Scale, *, framework: str, steps: int, preset: str = RECREATED) -> list[Row]:
    """A framework under k=3, t=0.5, J=0.6, nobody compromised: figures 3, 9 and 10."""
    series = _hospital(scale, preset)
    known, name = series.knowledge, STEPS[steps]
    if framework == "js-reduce":
        rows = releases(series, JSReduce.as_published(j=_limit(preset), knowledge=known, steps=steps))
        return [{**row, "line": f"JS-reduce({name})"} for row in rows]
    j = _limit(preset)
    publisher = _estimator(series, steps, j) if framework == "estimator" else _bkaa(series, steps, j)
    exact = {"exact": Attacker(Reasoning(known), nothing)} if framework == "bkaa" and steps == 1 else {}
    rows = releases(series, publisher, attackers=exact)
    lines = [{**row, "line": f"BayFrame({name})"} for row in rows]
    # The same releases, with nothing but the gain of another adversary to show.
    others: list[Row] = [
        {"release": row["release"], "gain": row["gain_exact"], "line": EXACT}
        for row in rows
        if "gain_exact" in row
    ]
    return lines + others


def run_compromised(scale: Scale, *, k: int, preset: str = RECREATED) -> list[Row]:
    """An adversary who knows a tenth of the people of each release, of which the publisher is not told: figure 4."""
    series = _hospital(scale, preset)
    publisher = BayFrame.as_published(k=k, j=_limit(preset), knowledge=series.knowledge)
    told = compromised(0.1, 0.9, scale.seed)
    reasoning = Reasoning(series.knowledge, "bayes", 1, "chained", "posterior", LARGEST)
    rows = releases(series, publisher, attackers={"told": Attacker(reasoning, told)})
    found = []
    for row in rows:
        for line, end in ((f"BayFrame, k={k}", ""), (f"BayFrame+Compromised, k={k}", "_told")):
            one: Row = {"release": row["release"], "line": line}
            found.append(one | {y: row[y + end] for y in ("gain", "others") if y + end in row})
    # Figure 4b compares with all records.
    found += [
        {"release": row["release"], "line": f"the same, all records, k={k}", "others": row["gain_told"]}
        for row in rows
        if "gain_told" in row
    ]
    return found


def run_cascading(
    scale: Scale, *, data: str, steps: int, sigma: float, cascade: str, preset: str = RECREATED
) -> list[Row]:
    """BayFrame with cascading, k=3, beta=5, J=0.6, CR=0.9: figures 5 to 8."""
    series = _hospital(scale, preset)
    if data == "adult":
        assert scale.adult is not None
        series = changing_adult(scale.adult, *_size(scale), scale.seed)
    known, j = series.knowledge, _limit(preset)
    publisher = BayFrame.as_published(j=j, knowledge=known, steps=steps, cascade=cascade)
    line = f"BayFrame+{cascade.title()}, sigma={sigma:g}"
    return [{**row, "line": line} for row in releases(series, publisher, compromised(sigma, 0.9, scale.seed))]


def run_told(scale: Scale, *, framework: str, steps: int, cascade: str, preset: str = RECREATED) -> list[Row]:
    """A framework under k=3, t=0.5, J=0.6, sigma=0.1, CR=0.9: figure 11."""
    series = _hospital(scale, preset)
    publisher: JSReduce = (
        JSReduce.as_published(j=_limit(preset), knowledge=series.knowledge, steps=steps)
        if framework == "JS-reduce"
        else _bkaa(series, steps, _limit(preset), cascade)
    )
    line = f"{framework}+{cascade.title()}({STEPS[steps]})"
    return [{**row, "line": line} for row in releases(series, publisher, compromised(0.1, 0.9, scale.seed))]


def run_range(scale: Scale, *, parameter: str, value: float, preset: str = RECREATED) -> list[Row]:
    """BayFrame with prior-based cascading, FDTMM, sigma=0.01, one parameter set: table 12. Means over releases."""
    series = _hospital(scale, preset)
    settings = {"k": 3.0, "beta": 5.0, "j": 0.6, "certainty": 0.9} | {parameter: value}
    publisher = BayFrame.as_published(
        int(settings["k"]), settings["beta"], _limit(preset, settings["j"]), series.knowledge, 1, "prior"
    )
    told = compromised(0.01, settings["certainty"], scale.seed)
    rows = releases(series, publisher, told)
    return [{**row, "line": "BayFrame+Prior(FDTMM), sigma=0.01"} for row in rows]


def _estimator(series: Serial, steps: int, j: float) -> UnderCloseness:
    """JS-reduce with BayFrame's posteriors in the place of its own."""
    published = UnderCloseness.as_published(j=j, knowledge=series.knowledge, steps=steps)
    return replace(published, posterior="bayes")


def _bkaa(series: Serial, steps: int, j: float, cascade: str = "prior") -> UnderCloseness:
    return UnderCloseness(
        j=j,
        crowd=0.0,
        keep=0.0,
        order="nearest",
        cut="greedy",
        posterior="bayes",
        steps=steps,
        form="chained",
        against="view",
        cascade=cascade,
        knowledge=series.knowledge,
    )


def cells(scale: Scale) -> list[Cell]:
    """All computations; those on Adult only where it is given."""
    found = [
        Cell("frameworks", run_frameworks, {"framework": framework, "steps": steps})
        for framework in ("js-reduce", "estimator", "bkaa")
        for steps in STEPS
    ]
    found += [Cell("compromised", run_compromised, {"k": k}) for k in (3, 8)]
    places = [("bkseq", 1), ("bkseq", 2)] + ([("adult", 1)] if scale.adult else [])
    found += [
        Cell("cascading", run_cascading, {"data": data, "steps": steps, "sigma": sigma, "cascade": cascade})
        for data, steps in places
        for cascade in CASCADES
        for sigma in SIGMAS
    ]
    found += [
        Cell("told", run_told, {"framework": framework, "steps": steps, "cascade": cascade})
        for steps in STEPS
        for framework, cascade in (("JS-reduce", "prior"), ("BayFrame", "prior"), ("BayFrame", "posterior"))
    ]
    found += [
        Cell("range", run_range, {"parameter": parameter, "value": value})
        for parameter, values in RANGES.items()
        for value in values
    ]
    return found
