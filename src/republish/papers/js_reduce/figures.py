"""Figures of JS-reduce's section 7, and what the paper says of each."""

from __future__ import annotations

from typing import Any

from republish.papers.checks import Check, all_of, at_most, below, graded, grows, prepared, reaches
from republish.papers.js_reduce.protocol import (
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
)
from republish.papers.js_reduce.studies import LIMIT, SERIES
from republish.papers.study import Claim, Figure, Finding, Lines, Outcome, figure

KINDS = (DK, IE, SPM, FEWER, FEWEST)
GAIN = "adversary gain (0: none, 1: certainty)"
RELEASE = ("release", "release")
_ENOUGH, _TOO_FEW = 6, "; cannot be judged with fewer than 6 releases"


@prepared
def with_enough(lines: Lines, line: str, check: Check) -> Finding:
    """What a check finds, where the line has enough releases: those that publish nothing have no point."""
    releases = len(lines.points[line][0]) if line in lines.points else 0
    if 0 < releases < _ENOUGH:
        return Finding(Outcome.OPEN, f"{line}: {releases} releases publish something; {_ENOUGH} needed")
    return check(lines)


@prepared
def first_at_most(lines: Lines, line: str, limit: float) -> Finding:
    """At the first place the line is at most the limit; in shape up to half as much again."""
    found = float(lines.y(line)[0])
    return graded(found <= limit, found <= 1.5 * limit, f"{line} {found:.3g} at first, limit {limit:g}")


@prepared
def exceeds_by(lines: Lines, line: str, place: int, limit: float) -> Finding:
    """Up to a place the line has exceeded the limit; in shape if it does so later."""
    above = [int(x) for x, y in zip(*lines.points[line], strict=True) if y > limit]
    if not above:
        return Finding(Outcome.FAILS, f"{line} never above {limit:g}, at most {lines.y(line).max():.3g}")
    return graded(above[0] <= place, True, f"{line} above {limit:g} from release {above[0]}")


@prepared
def descends(lines: Lines, line: str, by: float = 0.1) -> Finding:
    """The last value lies below the highest by this share of it; in shape if it lies below at all."""
    values = lines.y(line)
    top, last = float(values.max()), float(values[-1])
    return graded(last <= (1 - by) * top, last < top, f"{line} {top:.3g} at most, {last:.3g} in the end")


@prepared
def close(lines: Lines, one: str, other: str, within: float) -> Finding:
    """On average two lines differ by at most so much; in shape by twice that."""
    first, second = lines.together(one, other)
    off = float(abs(first - second).mean())
    return graded(off <= within, off <= 2 * within, f"{one} and {other} differ by {off:.3g} on average")


@prepared
def rises_little(lines: Lines, line: str, by: float) -> Finding:
    """The last value exceeds the first by at most so much; in shape by twice that."""
    values = lines.y(line)
    rise = float(values[-1] - values[0])
    said = f"{line} from {values[0]:.3g} to {values[-1]:.3g}, {values.max():.3g} at most"
    return graded(rise <= by, rise <= 2 * by, said)


@prepared
def spared(lines: Lines, line: str, limit: float, share: float) -> Finding:
    """Where x is at most the limit, y is at most the share; in shape up to twice the share."""
    held = [y for x, y in zip(*lines.points[line], strict=True) if float(x) <= limit]
    if len(held) < _ENOUGH:
        return Finding(Outcome.OPEN, f"{line}: {len(held)} releases have at most {limit:g}; {_ENOUGH} needed")
    said = f"{line}: {len(held)} releases with at most {limit:g} leave out {max(held):.3g} % at most"
    return graded(max(held) <= share, max(held) <= 2 * share, said)


def _least_blurred(lines: Lines) -> Finding:
    found, best = lines.at(SHOWN, PAPERS), min(lines.at(SHOWN, technique) for technique in RIVALS)
    said = f"{PAPERS} {found:.3g}, the least of the others {best:.3g}"
    return graded(found <= best, found <= 2 * best, said)


def _attack(name: str, title: str, *claims: Claim, line: str = "adversary", **where: Any) -> Figure:
    """Gain over the releases."""
    rows = {"what": "attack", "defender": DK, "posterior": OMEGA, **where}
    return figure(name, title, SERIES, RELEASE, ("gain", GAIN), *claims, line=line, where=rows)


def _figure_3(technique: str) -> Figure:
    kinds = (DK, IE, SPM)
    return _attack(
        f"Fig. 3 {technique}",
        f"what an adversary gains from {technique}, by kind of knowledge",
        Claim(
            "The first release alone gives next to nothing away, whatever the kind of knowledge: less than .1.",
            "at the first release every line is at most .1",
            all_of(*(first_at_most(kind, 0.1) for kind in kinds)),
        ),
        Claim(
            "With every kind of knowledge the gain grows fast over the first 6 to 8 releases and passes .4.",
            "every line exceeds .4 at release 8 or before; in shape if later",
            all_of(*(exceeds_by(kind, 8, 0.4) for kind in kinds)),
        ),
        technique=technique,
        adversary=kinds,
    )


def _figure_4(letter: str, technique: str, *claims: Claim) -> Figure:
    title = f"{technique} against domain knowledge of several lengths"
    return _attack(f"Fig. 4{letter}", title, *claims, line="reach", technique=technique, reach=_REACHES)


def _kept_low(says: str) -> Claim:
    limit = all_of(*(at_most(line, 0.12) for line in _REACHES))
    return Claim(says, f"no value above .12; in shape up to .18{_TOO_FEW}", with_enough(FULL, limit))


def _figure_5(letter: str, defender: str, *claims: Claim) -> Figure:
    title = f"JS-reduce, the defender knows {defender}, against several kinds of adversary"
    return _attack(f"Fig. 5{letter}", title, *claims, technique=PAPERS, defender=defender, adversary=KINDS)


_REACHES = (SNAPSHOT, ONE_STEP, FULL)
_ATTACKED = (
    Claim(
        "Attacks succeed with approximate knowledge too, the better the more steps it looks back.",
        "snapshot nowhere above 1 step, 1 step nowhere above full (2 and more steps); in shape if on average",
        all_of(below(SNAPSHOT, ONE_STEP), below(ONE_STEP, FULL)),
    ),
    Claim(
        "The full knowledge brings a gain above .5.",
        "somewhere .5 is reached; in shape from .33",
        reaches(FULL, 0.5),
    ),
    Claim(
        "Without sequential knowledge (snapshot) the gain is negligible.",
        "at most .05 in every release; in shape up to .1",
        at_most(SNAPSHOT, 0.05, 0.1),
    ),
    Claim(
        "The curves of 1 step and of the snapshot descend, for that knowledge drifts from the truth.",
        "both end a tenth or more below their highest value; in shape if below at all",
        all_of(descends(ONE_STEP), descends(SNAPSHOT)),
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

FIGURES = (
    *(_figure_3(technique) for technique in RIVALS),
    _figure_4("a", DIVERSITY, *_ATTACKED),
    _figure_4("a relaxed", RELAXED, *_ATTACKED),
    _figure_4("b", BT, *_ATTACKED),
    _figure_4(
        "c",
        PAPERS,
        _kept_low(
            "Under JS-reduce the gain stays below .12, however long the series and whatever domain knowledge is used."
        ),
    ),
    _figure_4("c ours", OURS, _kept_low("Our own: the default of this tool keeps the same bound, .12.")),
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
            "all of them pass .6 at release 8 or before; in shape if later",
            all_of(*(exceeds_by(technique, 8, 0.6) for technique in RIVALS)),
        ),
        Claim(
            "JS-reduce leaves the adversary less confident than every other technique.",
            f"nowhere above any of them; in shape if on average{_TOO_FEW}",
            with_enough(PAPERS, all_of(*(below(PAPERS, technique) for technique in RIVALS))),
        ),
        line="technique",
        where={"what": "attack", "defender": DK, "posterior": OMEGA, "adversary": DK},
    ),
    figure(
        "Fig. 7",
        "gain against the limit of divergence (t = 0.5, mean of all releases)",
        LIMIT,
        ("j", "limit j of the Jensen-Shannon divergence (bits)"),
        ("gain", GAIN),
        Claim(
            "The lower the limit of divergence, the lower the gain.",
            "it rises from the lowest j to the highest, three of four pairs of j upwards; in shape if it rises",
            grows(PAPERS),
        ),
        line="technique",
        where={"what": "attack", "posterior": OMEGA},
    ),
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
        ),
        line="technique",
        where={"what": "left out", "technique": (PAPERS, OURS)},
        bars=True,
    ),
    figure(
        "Why the walk stalls",
        "rows left out, by how far beliefs about everyone in the view diverge (DK, every release)",
        SERIES,
        ("spread", "I: entropy of the mean prior less the mean entropy of priors (bits)"),
        ("left_out", "rows left out (% of a view)"),
        Claim(
            "Our own: I of a view, known before it is published, tells whether the paper's walk stalls: not where I is "
            "about j or less.",
            "where I is at most .6, at most 1 % of a view is left out; in shape up to 2 %",
            spared(PAPERS, 0.6, 1.0),
        ),
        line="technique",
        points=True,
        where={"what": "spread", "technique": (PAPERS, OURS), "defender": DK},
    ),
)
