"""Section 5.3 of the thesis, which proposes tau-safe BangA and tau-safe angelization, under the protocol of chapter 4.

The thesis measures neither. That angelization makes a release more useful it says, and this is judged as its claim. Of
tau-safe BangA it says that BangA's efficiency and effectiveness make it a candidate, and that updates may cost both:
that it is no worse than tau-safety is an expectation of our own.
"""

from __future__ import annotations

from republish.papers.checks import below
from republish.papers.study import Axis, Claim, Figure, Value, figure
from republish.papers.tau_safety.measurements import ANGEL, BANGA, RATE, TAU, M

COUNTERFEITS = "Section 5.3, counterfeits"
"""The figure that is shown only where values are scarce: elsewhere hardly any are needed."""
_SHOWN = (TAU, BANGA, ANGEL)
_M, _TIME = ("m", "m"), ("release", "release")
_ASKED = "mean relative error [%]"


def _figure(name: str, title: str, x: Axis, y: Axis, where: dict[str, Value], *claims: Claim) -> Figure:
    study = "cost" if y[0] == "seconds" else "series"
    return figure(name, title, study, x, y, *claims, where={**where, "publisher": _SHOWN})


def _substantially(what: str) -> Claim:
    return Claim(
        f"Angelization makes a tau-safe release substantially more useful: {what}.",
        "at every m at most half that of tau-safety; in shape if so on average",
        below(ANGEL, TAU, 0.5),
    )


def _effective(what: str) -> Claim:
    return Claim(
        f"Our own: BangA is effective for dynamic data too, no worse than tau-safety: {what}.",
        "at every m at most that of tau-safety; in shape if so on average",
        below(BANGA, TAU),
        own=True,
    )


PERSPECTIVES = (
    _figure(
        "Section 5.3, penalty",
        "Certainty penalty of the tenth release",
        _M,
        ("penalty", "certainty penalty [share of the domain]"),
        {"rate": RATE, "tenth": True},
        _substantially("certainty penalty"),
        _effective("certainty penalty"),
    ),
    _figure(
        "Section 5.3, counts",
        "Error of counts by quasi-identifiers, tenth release",
        _M,
        ("error", _ASKED),
        {"rate": RATE, "tenth": True},
        _substantially("counts"),
        _effective("counts"),
    ),
    _figure(
        "Section 5.3, counts with occupation",
        "Error of counts by quasi-identifiers and value, tenth release",
        _M,
        ("value_error", _ASKED),
        {"rate": RATE, "tenth": True},
        _substantially("counts with the value"),
        _effective("counts with the value"),
    ),
    _figure(
        "Section 5.3, update rate",
        "Error of counts by quasi-identifiers and value, tenth release, by update rate (m = 6)",
        ("rate", "internal updates a release, of 60,000 rows at first"),
        ("value_error", _ASKED),
        {"m": M, "tenth": True},
        Claim(
            "Our own: tau-safe BangA stays useful, however many quasi-identifiers are updated.",
            "its error is at every rate at most that of tau-safety; in shape if so on average",
            below(BANGA, TAU),
            own=True,
        ),
    ),
    _figure(
        COUNTERFEITS,
        "Counterfeits over time (m = 6)",
        _TIME,
        ("counterfeits", "counterfeits [% of the release's values]"),
        {"m": M, "rate": RATE},
        Claim(
            "Places of deleted people are held by new records or counterfeits, as in tau-safety.",
            "tau-safe BangA needs nowhere more of them; in shape if so on average",
            below(BANGA, TAU),
        ),
        Claim(
            "Our own: two tables keep the same signatures and need no more counterfeits.",
            "nowhere more than tau-safety; in shape if so on average",
            below(ANGEL, TAU),
            own=True,
        ),
    ),
    _figure(
        "Section 5.3, time",
        "Time for the tenth release, by m",
        _M,
        ("seconds", "time [s]"),
        {"rate": RATE},
        Claim(
            "Our own: BangA is efficient for dynamic data too, no slower than tau-safety.",
            "at every m it takes at most the time of tau-safety; in shape if so on average",
            below(BANGA, TAU),
            own=True,
        ),
    ),
)
