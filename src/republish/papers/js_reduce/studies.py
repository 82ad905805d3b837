"""What is computed for JS-reduce: every series is published once, and attacked by all adversaries of its figures."""

from __future__ import annotations

from republish.papers.js_reduce.protocol import (
    DK,
    FEWER,
    FEWEST,
    IE,
    OMEGA,
    ONE_STEP,
    OURS,
    PAPERS,
    RECREATED,
    RIVALS,
    SNAPSHOT,
    SPM,
    adversaries,
    knowledge_of,
    published,
    publisher_of,
    series,
    size_of,
    under,
)
from republish.papers.study import Cell, Row, Scale

SERIES, LIMIT = "series", "limit"
LIMITS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
MINED = (IE, SPM, FEWER, FEWEST)


def cells(scale: Scale) -> list[Cell]:
    """Every technique with its kinds of knowledge, then the limits of Fig. 7."""
    defenders = [(technique, DK) for technique in RIVALS]
    defenders += [(technique, kind) for technique in (PAPERS, OURS) for kind in (DK, IE, SPM)]
    found = [
        Cell(SERIES, run_series, {"technique": technique, "defender": kind}) for technique, kind in defenders
    ]
    limits = LIMITS[::2] if scale.quick else LIMITS
    return found + [
        Cell(LIMIT, run_limit, {"technique": technique, "j": j})
        for technique in (PAPERS, OURS)
        for j in limits
    ]


def run_series(scale: Scale, *, technique: str, defender: str, preset: str = RECREATED) -> list[Row]:
    """One technique, and what its defender knows, against every kind of adversary."""
    size = size_of(scale, preset)
    kinds: tuple[str, ...] = (DK, *MINED)
    if defender == DK:
        kinds = (SNAPSHOT, ONE_STEP, *kinds)
    if technique in RIVALS:
        kinds = (SNAPSHOT, ONE_STEP, DK, IE, SPM)
    publisher = publisher_of(technique, knowledge_of(defender, size, scale.seed), size.limit(0.6))
    queries = size.queries if defender == DK else 0
    rows = published(series(size, scale.seed), publisher, adversaries(kinds, size, scale.seed), queries)
    if technique in RIVALS:
        rows = [_under(row, RIVALS[technique].mondrian) for row in rows]
    left_out = [float(row["left_out"]) for row in rows if row["what"] == "release"]
    rows.append({"what": "left out", "share": max(left_out)})
    for kind in kinds:
        gains = [row["gain"] for row in rows if row.get("adversary") == kind and row["posterior"] == OMEGA]
        rows.append({"what": "worst", "adversary": kind, "worst": max(map(float, gains), default=0.0)})
    return rows


def _under(row: Row, mondrian: str) -> Row:
    """A row with names of lines for figures that show a rival under either Mondrian."""
    if row["what"] != "attack":
        return row
    return {
        **row,
        "kind": under(str(row["adversary"]), mondrian),
        "steps": under(str(row["reach"]), mondrian),
    }


def run_limit(scale: Scale, *, technique: str, j: float, preset: str = RECREATED) -> list[Row]:
    """JS-reduce with another limit of divergence, against an adversary who knows what the defender knows."""
    size = size_of(scale, preset)
    publisher = publisher_of(technique, knowledge_of(DK, size, scale.seed), size.limit(j))
    minds = adversaries((DK,), size, scale.seed)
    return published(series(size, scale.seed), publisher, minds)
