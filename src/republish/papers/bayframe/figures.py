"""The figures of the experimental section, and what the paper says of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from republish.papers.bayframe.checks import (
    alike,
    alike_maps,
    cheaper,
    drops_then_stays,
    during,
    ends_lower,
    lower,
    narrower,
    wider_gap,
)
from republish.papers.bayframe.studies import CASCADES, SIGMAS
from republish.papers.checks import all_of, at_most, falls, grows
from republish.papers.study import Axis, Claim, Figure, Value, figure

Where = Mapping[str, Value | tuple[Value, ...]]

RELEASE, GAIN = ("release", "release"), ("gain", "mean gain of knowledge (0 to 1)")
GCP, RL = ("gcp", "GCP (penalties summed over 4,000 records)"), ("rl", "RL (linked records of 4,000)")
ADULT = "UCI Adult: give --adult or set REPUBLISH_ADULT"
EVERYWHERE = (
    "at every release that publishes anything under both; in shape: on average over them; cannot be judged with fewer "
    "than 6 of them (3 in a part of the series)"
)
LEVELS = "at those of ten levels of RL near which both have a release (cannot be judged with fewer than five)"
TREND = "from the least to the greatest GCP, at three quarters of all pairs of releases; in shape: end to end"

JS1, JS2 = "JS-reduce(FDTMM)", "JS-reduce(SDTMM)"
BAY1, BAY2 = "BayFrame(FDTMM)", "BayFrame(SDTMM)"
FOUR = (JS1, BAY1, JS2, BAY2)
CASCADED = tuple(f"BayFrame+{cascade.title()}, sigma={sigma:g}" for cascade in CASCADES for sigma in SIGMAS)
CASCADE, NAME = "cascading", "BayFrame with cascading"
ONE_STEP: Where = {"data": "bkseq", "steps": 1}
TWO_STEPS: Where = {"data": "bkseq", "steps": 2}
ON_ADULT: Where = {"data": "adult"}
PRIOR1, PRIOR01, POSTERIOR1, POSTERIOR01 = CASCADED
TOLD = {
    steps: [f"{name}({steps})" for name in ("JS-reduce+Prior", "BayFrame+Prior", "BayFrame+Posterior")]
    for steps in ("FDTMM", "SDTMM")
}
_LOWER_GAIN = Claim(
    "BayFrame's gain lies below that of JS-reduce, with one step of knowledge and with two.",
    EVERYWHERE,
    all_of(lower(BAY1, JS1), lower(BAY2, JS2)),
)
_HIGHER_SIGMA = Claim(
    "More compromised records mean more gain: sigma = 0.1 lies above sigma = 0.01.",
    EVERYWHERE,
    all_of(lower(PRIOR01, PRIOR1), lower(POSTERIOR01, POSTERIOR1)),
)
_PRIOR_ABOVE = Claim(
    "Cascading through the prior leaves more gain than cascading through the posterior, at the same sigma.",
    EVERYWHERE,
    all_of(lower(POSTERIOR1, PRIOR1), lower(POSTERIOR01, PRIOR01)),
)


def _over_time(name: str, title: str, study: str, *claims: Claim, **how: Any) -> Figure:
    return figure(name, title, study, RELEASE, GAIN, *claims, **how)


def _map(name: str, title: str, study: str, *claims: Claim, needs: str = "", **how: Any) -> Figure:
    """An R-U map; on Bkseq most releases lie near RL 0, so that axis is logarithmic above 1."""
    log = "" if needs else "symlog"
    return figure(name, title, study, GCP, RL, *claims, points=True, log=log, needs=needs, **how)


def _tradeoff(*names: str) -> Claim:
    return Claim(
        "The more is lost, the fewer records can be linked: RL falls as GCP rises, in every framework.",
        TREND,
        all_of(*(falls(name) for name in names)),
    )


def _narrow(js_gcp: str, bayframe_gcp: str, bayframe_rl: str) -> Claim:
    return Claim(
        f"With two steps JS-reduce stays in a small part of the map, GCP {js_gcp} and RL 750 to 850, while BayFrame "
        f"has GCP {bayframe_gcp} and RL {bayframe_rl}.",
        "widths of the ranges, not their ends: both of JS-reduce are narrower than BayFrame's; in shape: one of them",
        narrower(JS2, BAY2),
    )


def _alike(one: str, other: str, says: str) -> Claim:
    return Claim(
        says,
        f"GCP differs by at most 400 of 4,000 on average {LEVELS}; in shape: by 800",
        alike_maps(one, other, 400.0),
    )


def _estimator() -> tuple[Figure, ...]:
    rows: Where = {"framework": ("js-reduce", "estimator")}
    title = "the two estimators under one privacy model"
    as_much = Claim(
        "Against JS-reduce two steps of knowledge gain at least as much as one.", EVERYWHERE, lower(JS1, JS2)
    )
    no_dearer = Claim(
        "At each level of RL BayFrame (FDTMM) costs no more GCP than JS-reduce (FDTMM).",
        f"give or take 5 % {LEVELS}; in shape: on average",
        cheaper(BAY1, JS1),
    )
    narrow = _narrow("200 to 450", "200 to 3,850", "50 to 850")
    return (
        _over_time("Fig. 3a", f"{title}, gain", "frameworks", _LOWER_GAIN, as_much, where=rows),
        _map("Fig. 3b", f"{title}, R-U map", "frameworks", _tradeoff(*FOUR), no_dearer, narrow, where=rows),
    )


def _compromised() -> tuple[Figure, ...]:
    plain, told = [[f"{name}, k={k}" for k in (3, 8)] for name in ("BayFrame", "BayFrame+Compromised")]
    raised = Claim(
        "Compromised records raise the gain, for k = 3 and for k = 8.",
        EVERYWHERE,
        all_of(*(lower(a, b) for a, b in zip(plain, told, strict=True))),
    )
    early = Claim(
        "In the first five releases the gain for k = 8 lies below that for k = 3.",
        EVERYWHERE,
        all_of(*(during(lower(pair[1], pair[0], 3), 1, 5) for pair in (plain, told))),
    )
    late = Claim(
        "After release 16 it is the other way round.",
        EVERYWHERE,
        all_of(*(during(lower(pair[0], pair[1], 3), 17, 24) for pair in (plain, told))),
    )
    spread = Claim(
        "Compromised records raise the gain over all records more than over those not compromised.",
        EVERYWHERE,
        all_of(*(lower(one, f"the same, all records, k={k}") for one, k in zip(told, (3, 8), strict=True))),
    )
    others = Claim(
        "Compromised records also raise the gain on the records that are not compromised.",
        EVERYWHERE,
        raised.check,
    )
    tenth = "a tenth of the records compromised, gain"
    return (
        _over_time("Fig. 4a", f"{tenth} over all records", "compromised", raised, early, late),
        figure(
            "Fig. 4b", f"{tenth} over the others", "compromised", RELEASE, ("others", GAIN[1]), others, spread
        ),
    )


def _cascading_gain() -> tuple[Figure, ...]:
    rising = Claim(
        "The gain grows over the first releases.",
        "from release 1 to 6, at three quarters of all pairs; in shape: end to end",
        all_of(*(during(grows(name), 1, 6) for name in CASCADED)),
    )
    ending = Claim(
        "Later, after release 18 above all, the gain comes down again.",
        "the mean after release 18 is below the mean up to it; in shape: below the highest value up to it; "
        "cannot be judged where nothing is published on one side",
        all_of(*(ends_lower(name, 18) for name in CASCADED)),
    )
    gap = Claim(
        "Prior and posterior cascading are further apart for sigma = 0.1 than for 0.01.",
        "mean difference of the two lines, prior above posterior; in shape: by size alone; cannot be judged with "
        "fewer than 6 releases of either pair",
        wider_gap((PRIOR1, POSTERIOR1), (PRIOR01, POSTERIOR01)),
    )
    similar = Claim(
        "With two steps, posterior cascading gives much the same gain for both sigma.",
        "the lines differ by at most 0.02 on average; in shape: by 0.04",
        alike(POSTERIOR1, POSTERIOR01, 0.02),
    )
    low = Claim(
        "On Adult, where all occupations are as likely to follow, the gain falls within two releases and then stays "
        "below 0.06.",
        "from release 3 on every line is below its first value and at most 0.06; in shape: at most 0.12",
        drops_then_stays(CASCADED, 0.06),
    )
    ordered = (_HIGHER_SIGMA, _PRIOR_ABOVE)
    early = (rising, ending, *ordered, gap)
    return (
        _over_time("Fig. 5a", f"{NAME}, FDTMM, gain", CASCADE, *early, where=ONE_STEP),
        _over_time("Fig. 5b", f"{NAME}, SDTMM, gain", CASCADE, *ordered, similar, where=TWO_STEPS),
        _over_time("Fig. 6", f"{NAME}, Adult, gain", CASCADE, low, where=ON_ADULT, needs=ADULT),
    )


def _cascading_tradeoff() -> tuple[Figure, ...]:
    costlier = Claim(
        "At each level of RL more is lost for sigma = 0.1 than for 0.01.",
        f"give or take 5 % {LEVELS}; in shape: on average",
        all_of(cheaper(PRIOR01, PRIOR1), cheaper(POSTERIOR01, POSTERIOR1)),
    )
    both = "At the same sigma both ways of cascading trade RL for GCP alike"
    broader = Claim(
        "With two steps and cascading through the prior, sigma = 0.1 covers a broader range of GCP than 0.01.",
        "its ranges of GCP and of RL are broader; in shape: one of them is",
        narrower(PRIOR01, PRIOR1),
    )
    similar = _alike(
        POSTERIOR1,
        POSTERIOR01,
        "With two steps, cascading through the posterior trades RL for GCP alike for both sigma.",
    )
    traded = (
        _tradeoff(*CASCADED),
        _alike(PRIOR1, POSTERIOR1, f"{both} (0.1)."),
        _alike(PRIOR01, POSTERIOR01, f"{both} (0.01)."),
        costlier,
    )
    return (
        _map("Fig. 7a", f"{NAME}, FDTMM, R-U map", CASCADE, *traded, where=ONE_STEP),
        _map("Fig. 7b", f"{NAME}, SDTMM, R-U map", CASCADE, similar, broader, where=TWO_STEPS),
        # The paper says that Adult confirms what Fig. 7a shows.
        _map("Fig. 8", f"{NAME}, Adult, R-U map", CASCADE, *traded, where=ON_ADULT, needs=ADULT),
    )


def _compared() -> tuple[Figure, ...]:
    rows: Where = {"framework": ("js-reduce", "bkaa")}
    pairs = [(lines[0], other) for lines in TOLD.values() for other in lines[1:]]
    plain = "JS-reduce and BayFrame, nobody compromised"
    told = "JS-reduce and BayFrame with cascading, sigma = 0.1"
    same = _alike(BAY1, JS1, "With one step both trade RL for GCP alike.")
    narrow = _narrow("200 to 400", "200 to 3,500", "100 to 850")
    below_it = Claim(
        "BayFrame's gain lies below that of JS-reduce, whichever way of cascading and however many steps.",
        EVERYWHERE,
        all_of(*(lower(other, js) for js, other in pairs)),
    )
    traded = [_alike(js, other, f"{js} and {other} trade RL for GCP alike.") for js, other in pairs]
    return (
        _over_time("Fig. 9a", f"{plain}, gain", "frameworks", _LOWER_GAIN, where=rows),
        _map("Fig. 9b", f"{plain}, R-U map", "frameworks", same, narrow, where={**rows, "line": FOUR}),
        figure(
            "Fig. 10",
            "records left out of each release",
            "frameworks",
            RELEASE,
            ("suppressed", "records left out (of 4,000)"),
            Claim(
                "Both leave out at most 13 of 4,000 records of any release (0.32 %).",
                "at most 13 in every release; in shape: at most 20",
                all_of(at_most(JS1, 13, 20), at_most(BAY1, 13, 20)),
            ),
            where={"framework": ("js-reduce", "bkaa"), "steps": 1, "line": (JS1, BAY1)},
        ),
        _over_time("Fig. 11a", f"{told}, gain", "told", below_it),
        _map("Fig. 11b", f"{told}, R-U map", "told", *traded),
    )


def _ranges() -> tuple[Figure, ...]:
    line = "BayFrame+Prior(FDTMM), sigma=0.01"

    def one(parameter: str, said: str, y: Axis, says: str, up: bool = False) -> Figure:
        claim = Claim(
            says + " The paper names the range and shows no numbers for it.",
            "from the least to the greatest value, at three quarters of all pairs; in shape: end to end",
            grows(line) if up else falls(line),
        )
        title = f"{y[1].split(' (', maxsplit=1)[0]} over the range of {said}, mean of all releases"
        where = {"parameter": parameter}
        return figure(f"Table 12, {said}", title, "range", ("value", said), y, claim, where=where)

    surer = "The surer outsiders are of compromised records, the higher the gain."
    return (
        one("k", "k", RL, "Larger groups are harder to link: RL falls with k."),
        one("j", "J", GCP, "A looser limit on divergence costs less: GCP falls with J."),
        one("beta", "beta", GCP, "A looser limit on shares costs less: GCP falls with beta."),
        one("certainty", "CR", GAIN, surer, up=True),
    )


FIGURES = (
    *_estimator(),
    *_compromised(),
    *_cascading_gain(),
    *_cascading_tradeoff(),
    *_compared(),
    *_ranges(),
)
