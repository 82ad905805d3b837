"""Figures of JS-reduce's section 7, and what the paper says of each."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from republish.papers.checks import Check, all_of, at_most, below, best_of, graded, grows, reaches
from republish.papers.js_reduce.checks import (
    ENOUGH,
    close,
    descends,
    exceeds_by,
    first_at_most,
    rises_little,
    spared,
    with_enough,
)
from republish.papers.js_reduce.protocol import (
    ASKED,
    BT,
    DIVERSITY,
    DK,
    EXACT,
    FEWER,
    FEWEST,
    FULL,
    IE,
    OMEGA,
    ONE_STEP,
    OURS,
    PAPERS,
    RELAXED,
    RIVALS,
    SHOWN,
    SNAPSHOT,
    SPM,
    STRICT,
    in_bits,
    under,
    unit_of,
)
from republish.papers.js_reduce.studies import LIMIT, SERIES
from republish.papers.study import Claim, Figure, Finding, Lines, figure

KINDS = (DK, IE, SPM, FEWER, FEWEST)
GAIN = "adversary gain (0: none, 1: certainty)"
RELEASE = ("release", "release")
_TOO_FEW = f"; cannot be judged with fewer than {ENOUGH} releases"
_BY_EITHER = "; judged by strict or relaxed Mondrian, whichever agrees more"


def _least_blurred(lines: Lines) -> Finding:
    found, best = lines.at(SHOWN, PAPERS), min(lines.at(SHOWN, technique) for technique in RIVALS)
    said = f"{PAPERS} {found:.3g}, the least of the others {best:.3g}"
    return graded(found <= best, found <= 2 * best, said)


def _attack(name: str, title: str, *claims: Claim, line: str = "adversary", **where: Any) -> Figure:
    """Gain over the releases."""
    rows = {"what": "attack", "defender": DK, "posterior": OMEGA, **where}
    return figure(name, title, SERIES, RELEASE, ("gain", GAIN), *claims, line=line, where=rows)


def _either(checks: Callable[[str], list[Check]]) -> Check:
    """What is found of rivals under strict Mondrian or under relaxed, since the paper does not say which it has."""
    return best_of({mondrian: all_of(*checks(mondrian)) for mondrian in (STRICT, RELAXED)})


def _under_both(asks: str) -> tuple[str, ...]:
    return tuple(under(asks, mondrian) for mondrian in (STRICT, RELAXED))


def _figure_3(asks: str) -> Figure:
    kinds = (DK, IE, SPM)
    return _attack(
        f"Fig. 3 {asks}",
        f"what an adversary gains from {asks}, by kind of knowledge",
        Claim(
            "The first release alone gives next to nothing away, whatever the kind of knowledge: less than .1.",
            f"at the first release every line is at most .1{_BY_EITHER}",
            _either(lambda mondrian: [first_at_most(under(kind, mondrian), 0.1) for kind in kinds]),
        ),
        Claim(
            "With every kind of knowledge the gain grows fast over the first 6 to 8 releases and passes .4.",
            f"every line exceeds .4 at release 8 or before; in shape if later{_BY_EITHER}",
            _either(lambda mondrian: [exceeds_by(under(kind, mondrian), 8, 0.4) for kind in kinds]),
        ),
        line="kind",
        technique=_under_both(asks),
        adversary=kinds,
    )


def _figure_4(letter: str, *claims: Claim, of: str, line: str = "reach", **rows: Any) -> Figure:
    title = f"{of} against domain knowledge of several lengths"
    rows = {"technique": of, "reach": _REACHES, **rows}
    return _attack(f"Fig. 4{letter}", title, *claims, line=line, **rows)


def _kept_low(says: str, own: bool = False) -> Claim:
    limit = all_of(*(at_most(line, 0.12) for line in _REACHES))
    return Claim(says, f"no value above .12; in shape up to .18{_TOO_FEW}", with_enough(FULL, limit), own=own)


def _figure_5(letter: str, defender: str, *claims: Claim) -> Figure:
    title = f"JS-reduce, the defender knows {defender}, against several kinds of adversary"
    return _attack(f"Fig. 5{letter}", title, *claims, technique=PAPERS, defender=defender, adversary=KINDS)


_REACHES = (SNAPSHOT, ONE_STEP, FULL)
_ATTACKED = (
    Claim(
        "Attacks succeed with approximate knowledge too, the better the more steps it looks back.",
        "snapshot nowhere above 1 step, 1 step nowhere above full (2 and more steps); in shape if on average"
        + _BY_EITHER,
        _either(lambda of: [below(under(a, of), under(b, of)) for a, b in pairwise(_REACHES)]),
    ),
    Claim(
        "The full knowledge brings a gain above .5.",
        f"somewhere .5 is reached; in shape from .33{_BY_EITHER}",
        _either(lambda of: [reaches(under(FULL, of), 0.5)]),
    ),
    Claim(
        "Without sequential knowledge (snapshot) the gain is negligible.",
        f"at most .05 in every release; in shape up to .1{_BY_EITHER}",
        _either(lambda of: [at_most(under(SNAPSHOT, of), 0.05, 0.1)]),
    ),
    Claim(
        "The curves of 1 step and of the snapshot descend, for that knowledge drifts from the truth.",
        f"both end a tenth or more below their highest value; in shape if below at all{_BY_EITHER}",
        _either(lambda of: [descends(under(reach, of)) for reach in (ONE_STEP, SNAPSHOT)]),
    ),
)
_ACCURACY = Claim(
    "The more accurate the adversary's knowledge, the higher the gain: DK above all that is mined.",
    f"no mined line above DK in any release; in shape if on average{_TOO_FEW}",
    with_enough(DK, all_of(*(below(kind, DK) for kind in KINDS[1:]))),
)
_WORST_CASE = Claim(
    "Even an adversary who knows more than the defender gains less than .25.",
    f"no value above .25; in shape up to .375{_TOO_FEW}",
    with_enough(DK, all_of(*(at_most(kind, 0.25) for kind in KINDS))),
)

_GAINS = (
    *(_figure_3(asks) for asks in ASKED),
    _figure_4("a", *_ATTACKED, of=DIVERSITY, line="steps", technique=_under_both(DIVERSITY)),
    _figure_4("b", *_ATTACKED, of=BT, line="steps", technique=_under_both(BT)),
    _figure_4(
        "c",
        _kept_low(
            "Under JS-reduce the gain stays below .12, however long the series and whatever domain knowledge is used."
        ),
        of=PAPERS,
    ),
    _figure_4(
        "c ours", _kept_low("Our own: the default of this tool keeps the same bound, .12.", own=True), of=OURS
    ),
    figure(
        "Fig. 4 exact",
        "what the Omega-estimate does not see (DK, mean of all releases)",
        SERIES,
        ("technique", "technique"),
        ("gain", GAIN),
        Claim(
            "Our own: the Omega-estimate under-reports; an adversary with exact posteriors gains more.",
            "omega nowhere above exact; in shape if on average",
            below(OMEGA, EXACT),
            own=True,
        ),
        line="posterior",
        where={"what": "attack", "defender": DK, "adversary": DK},
        bars=True,
    ),
    _figure_5(
        "a",
        DK,
        Claim(
            "With domain knowledge on both sides the defence is very effective: below .12 as in Fig. 4c.",
            f"DK nowhere above .12; in shape up to .18{_TOO_FEW}",
            with_enough(DK, at_most(DK, 0.12)),
        ),
        _ACCURACY,
        Claim(
            "The smaller the corpus, the lower the gain.",
            f"1/25 nowhere above 1/5, 1/5 nowhere above the whole corpus; in shape if on average{_TOO_FEW}",
            with_enough(DK, all_of(below(FEWEST, FEWER), below(FEWER, SPM))),
        ),
        Claim(
            "Knowledge extracted from the data themselves (IE) gains about as much as SPM.",
            f"they differ by at most .03 on average; in shape by .06{_TOO_FEW}",
            with_enough(DK, close(IE, SPM, 0.03)),
        ),
    ),
    _figure_5("b", IE, _ACCURACY, _WORST_CASE),
    _figure_5("c", SPM, _ACCURACY, _WORST_CASE),
    figure(
        "Fig. 5 ours",
        "our default, by what defender and adversary know (worst release)",
        SERIES,
        ("defender", "knowledge of the defender"),
        ("worst", GAIN),
        Claim(
            "Our own: whatever is known on either side, the default stays below the paper's .25.",
            "no release above .25; in shape up to .375",
            all_of(*(at_most(kind, 0.25) for kind in KINDS)),
            own=True,
        ),
        line="adversary",
        where={"what": "worst", "technique": OURS, "adversary": KINDS},
        bars=True,
    ),
    figure(
        "Fig. 6",
        "confidence in the true value, domain knowledge on both sides",
        SERIES,
        RELEASE,
        ("confidence", "mean probability of the true value"),
        Claim(
            "Under JS-reduce the confidence does not grow noticeably with the length of the series.",
            f"from the first to the last release it rises by at most .1; in shape by .2{_TOO_FEW}",
            with_enough(PAPERS, rises_little(PAPERS, 0.1)),
        ),
        Claim(
            "Under the other techniques values are predicted with high confidence after a few releases.",
            f"all of them pass .6 at release 8 or before; in shape if later{_BY_EITHER}",
            _either(lambda mondrian: [exceeds_by(under(asks, mondrian), 8, 0.6) for asks in ASKED]),
        ),
        Claim(
            "JS-reduce leaves the adversary less confident than every other technique.",
            f"nowhere above any of them; in shape if on average{_TOO_FEW}",
            with_enough(PAPERS, all_of(*(below(PAPERS, technique) for technique in RIVALS))),
        ),
        line="technique",
        where={"what": "attack", "defender": DK, "posterior": OMEGA, "adversary": DK},
    ),
)

_COSTS = (
    figure(
        "Fig. 8a",
        "global certainty penalty (mean of all releases)",
        SERIES,
        ("technique", "technique"),
        ("value", "penalty (0: exact, 1: nothing said)"),
        Claim(
            "JS-reduce blurs less than the other techniques, whose Mondrian was not made for quality.",
            "over the published rows its penalty is at most that of each of them; in shape up to twice as much",
            _least_blurred,
            "the paper says that the Mondrian it compares with was not made for quality, and gives no k; ours stops at "
            "two rows, and 1,800 combinations of age, gender and weight are all but single cells to it.",
        ),
        line="of",
        where={"what": "penalty", "defender": DK},
        bars=True,
    ),
    figure(
        "Fig. 8b",
        "median error of count queries (mean of all releases)",
        SERIES,
        ("selectivity", "expected selectivity (% of the rows)"),
        ("error", "median relative error (%)"),
        Claim(
            "The median error under JS-reduce is very low, also for very selective queries.",
            "at most 10 % at every selectivity; in shape up to 20 %",
            at_most(PAPERS, 10.0, 20.0),
        ),
        line="technique",
        where={"what": "error", "defender": DK},
    ),
    figure(
        "Suppressed rows",
        "worst release, by what the defender knows",
        SERIES,
        ("defender", "knowledge of the defender"),
        ("share", "rows left out (% of a view)"),
        Claim(
            "JS-reduce leaves out at most 12 of 5,000 rows of a release (less than .25 %).",
            "at most .25 % in every release; in shape up to 1 %",
            at_most(PAPERS, 0.25, 1.0),
        ),
        Claim(
            "Our own: the default of this tool keeps to that.",
            "at most .25 % in every release; in shape up to 1 %",
            at_most(OURS, 0.25, 1.0),
            own=True,
        ),
        line="technique",
        where={"what": "left out", "technique": (PAPERS, OURS)},
        bars=True,
    ),
)


def _figure_7(preset: str) -> Figure:
    return figure(
        "Fig. 7",
        "gain against the limit of divergence (t = 0.5, mean of all releases)",
        LIMIT,
        ("j", f"limit j of the Jensen-Shannon divergence ({unit_of(preset)})"),
        ("gain", GAIN),
        Claim(
            "The lower the limit of divergence, the lower the gain.",
            "it rises from the lowest j to the highest, three of four pairs of j upwards; in shape if it rises",
            grows(PAPERS),
        ),
        line="technique",
        where={"what": "attack", "posterior": OMEGA},
    )


def _why_it_stalls(preset: str) -> Figure:
    limit = in_bits(0.6, preset)
    return figure(
        "Why the walk stalls",
        "rows left out, by how far beliefs about everyone in the view diverge (DK, every release)",
        SERIES,
        ("spread", "I: entropy of the mean prior less the mean entropy of priors (bits)"),
        ("left_out", "rows left out (% of a view)"),
        Claim(
            "Our own: I of a view, known before it is published, tells whether the paper's walk stalls: not where I is "
            "about j or less.",
            f"where I is at most j, {limit:.3g} bits, at most 1 % of a view is left out; in shape up to 2 %",
            spared(PAPERS, limit, 1.0),
            own=True,
        ),
        line="technique",
        points=True,
        where={"what": "spread", "technique": (PAPERS, OURS), "defender": DK},
    )


def figures(preset: str) -> tuple[Figure, ...]:
    """The figures of a hospital series: in what unit the limit j is depends on it."""
    return (*_GAINS, _figure_7(preset), *_COSTS, _why_it_stalls(preset))
