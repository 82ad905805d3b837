"""Figures 3.9 to 3.11: how much of the data is left at every k, on generated adults and on UCI Adult."""

from __future__ import annotations

from collections.abc import Callable

from republish.metrics import discernibility, global_certainty_penalty, kl_divergence
from republish.microdata import Microdata
from republish.papers.banga.checks import gap_grows, saves, saves_above_least
from republish.papers.banga.data import (
    BANGA,
    MAKERS,
    MONDRIAN,
    PENALTY,
    RPLUS,
    about,
    adults,
    published,
    uci_adult,
)
from republish.papers.checks import all_of, below, grows
from republish.papers.study import Cell, Claim, Row, Scale, figure

SIZES = (5, 10, 20, 50, 100, 1000, 10_000)
GENERATED, UCI = "generated adults", "UCI Adult"
_VIEWS: dict[str, Callable[[Scale], Microdata]] = {GENERATED: adults, UCI: uci_adult}
NEEDS_ADULT = "UCI Adult: give --adult or set REPUBLISH_ADULT"


def run_quality(scale: Scale, *, table: str, method: str, k: int) -> list[Row]:
    """Penalty, discernibility a row and divergence of the groups that are made for one k."""
    view = _VIEWS[table](scale)
    if k > view.rows:
        return []
    release = published(view, method, k)
    return [
        {
            "penalty": global_certainty_penalty(release),
            "alike": discernibility(release) / view.rows,
            "divergence": kl_divergence(release, view),
        }
    ]


def cells(scale: Scale) -> list[Cell]:
    """A cell a table, method and k; without UCI Adult those of the generated table."""
    tables = (GENERATED, UCI) if scale.adult is not None else (GENERATED,)
    return [
        Cell("banga-quality", run_quality, {"table": table, "method": method, "k": k})
        for table in tables
        for method in MAKERS
        for k in SIZES
    ]


def _claims_of(line: str, measure: str, share: float) -> tuple[Claim, ...]:
    return (
        Claim(
            f"{about(line)} has less {measure} than the R+-tree at every k.",
            "At most that of the R+-tree at every k; in shape if on average.",
            below(line, RPLUS),
            own=line != BANGA,
        ),
        Claim(
            f"At k = 100 {about(line)} has {share:.0%} less {measure} than the R+-tree.",
            f"At least {share:.0%} less at k = 100; in shape if less at all.",
            saves(line, RPLUS, 100, share),
            own=line != BANGA,
        ),
        Claim(
            f"The larger k, the more {measure}, for {about(line)} and the R+-tree alike.",
            "Rises from first to last k and in three quarters of all pairs of k; in shape if from first to last.",
            all_of(grows(line), grows(RPLUS)),
            own=line != BANGA,
        ),
    )


def _of_discernibility(line: str) -> tuple[Claim, ...]:
    return (
        Claim(
            f"In discernibility the gap between the R+-tree and {about(line)} widens with k.",
            f"The ratio of the R+-tree to {line} rises from first to last k and in three quarters of all pairs of k; "
            "in shape if from first to last.",
            gap_grows(line, RPLUS),
            own=line != BANGA,
        ),
        Claim(
            f"Above the least possible value, k a row, the discernibility of {about(line)} is 48 % better at k = 100.",
            "At least 48 % less above k = 100 than the R+-tree; in shape if less at all.",
            saves_above_least(line, RPLUS, 100, 0.48),
            own=line != BANGA,
        ),
    )


def _claims(column: str, measure: str, share: float) -> tuple[Claim, ...]:
    """What is claimed of one measure, of BangA and then of our own publisher."""
    return tuple(
        claim
        for line in (BANGA, PENALTY)
        for claim in (
            *_claims_of(line, measure, share),
            *(_of_discernibility(line) if column == "alike" else ()),
        )
    )


_MEASURES = (
    ("Fig. 3.9", "divergence", "KL-divergence", "KL-divergence (nats)", 0.09),
    ("Fig. 3.10", "penalty", "certainty penalty", "certainty penalty (share of the domain, mean)", 0.05),
    ("Fig. 3.11", "alike", "discernibility", "discernibility (rows alike, mean a row)", 0.08),
)

FIGURES = tuple(
    figure(
        f"{name}, {table}",
        f"{measure} by k",
        "banga-quality",
        ("k", "k (rows)"),
        (column, label),
        *_claims(column, measure, share),
        line="method",
        where={"table": table, "method": (BANGA, RPLUS, MONDRIAN, PENALTY)},
        log="x" if column == "divergence" else "xy",
        needs=NEEDS_ADULT if table == UCI else "",
    )
    for name, column, measure, label, share in _MEASURES
    for table in (UCI, GENERATED)
)
