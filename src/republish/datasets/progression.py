"""How the patients of the hospital series fall ill, get worse, get better and leave.

A Markov model of order two over 19 results of an examination: 17 stages of four diseases, and the two
ends `deceased` and `discharged`. The yearly and daily rates come from the medical literature (docs/data-hospital.md
names the sources); what the literature does not say is a named constant below. The model is exact: the
tables it builds are those from which the series is drawn and those that are written as knowledge.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

DISEASES: Final = {
    "liver disease": ("liver F0", "liver F1", "liver F2", "liver F3", "liver F4"),
    "HIV": ("HIV 500+", "HIV 200-499", "HIV under 200", "HIV AIDS"),
    "Alzheimer disease": ("Alzheimer mild", "Alzheimer moderate", "Alzheimer severe"),
    "sepsis": ("sepsis recovery", "sepsis SIRS", "sepsis manifest", "sepsis severe", "sepsis shock"),
}
"""The stages of each disease, the mildest first."""

STAGES: Final = tuple(stage for stages in DISEASES.values() for stage in stages)
DECEASED: Final = "deceased"
DISCHARGED: Final = "discharged"
VALUES: Final = (*STAGES, DECEASED, DISCHARGED)
"""The domain of the sensitive column; a code is a position in it."""

NONE: Final = len(STAGES)
"""The code of "no value yet", in the place of the second-last value."""

AGE_BREAKS: Final = (45, 55, 65, 75)
WEIGHT_BREAKS: Final = (60, 70, 80, 90)
GENDERS: Final = ("F", "M")
CLASSES: Final = tuple(product(range(3), range(2), range(3)))
"""The 18 classes: band of age, gender, band of weight; the number of a class is its position."""

# Yearly moves of a stage: to other stages, and to death. The rest of a year's people stay.
_YEARLY: Final[dict[str, dict[str, float]]] = {
    "liver F0": {"liver F1": 0.117},
    "liver F1": {"liver F2": 0.085},
    "liver F2": {"liver F3": 0.120},
    "liver F3": {"liver F4": 0.116},
    "liver F4": {DECEASED: 0.039},
    "HIV 500+": {"HIV 200-499": 0.41, "HIV under 200": 0.08, DECEASED: 0.02},
    "HIV 200-499": {"HIV under 200": 0.26, DECEASED: 0.04},
    "HIV under 200": {"HIV AIDS": 0.19},
    "HIV AIDS": {DECEASED: 0.25},
    "Alzheimer mild": {"Alzheimer moderate": 0.158, "Alzheimer severe": 0.013, DECEASED: 0.055},
    "Alzheimer moderate": {"Alzheimer mild": 0.07, "Alzheimer severe": 0.214, DECEASED: 0.215},
    "Alzheimer severe": {DECEASED: 0.480},
}

# Daily moves of sepsis, in the order of its stages, then deceased, discharged. The two mildest rows are ours.
_SEPSIS_DAILY: Final = np.array(
    [
        [0.840, 0.030, 0.000, 0.000, 0.000, 0.000, 0.130],
        [0.230, 0.690, 0.080, 0.000, 0.000, 0.000, 0.000],
        [0.000, 0.255, 0.650, 0.090, 0.000, 0.005, 0.000],
        [0.000, 0.000, 0.285, 0.680, 0.026, 0.009, 0.000],
        [0.000, 0.000, 0.000, 0.311, 0.610, 0.079, 0.000],
        [0.000, 0.000, 0.000, 0.000, 0.000, 1.000, 0.000],
        [0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 1.000],
    ]
)


@dataclass(frozen=True)
class Course:
    """How illnesses go on from one examination to the next.

    Who is asked to come every week is not the average of a cohort: the disease of those people moves. So moves between
    stages of a chronic disease are `pace` times the cohorts' weekly ones; deaths are not. `discharge` is the chance
    that an examination of a chronic patient ends in it. With the chance `unrelated` an examination has nothing to do
    with those before: its result is drawn as at first sight. After two results of different diseases the next one
    follows the `older` of them with that chance.
    """

    pace: float = 16.0
    discharge: float = 0.053
    unrelated: float = 0.0
    older: float = 0.0


COURSES: Final = {"recreated": Course(), "fitted": Course(8.0, 0.05, 0.15, 0.9)}
"""The model made from the literature alone, and one whose course was fitted to the numbers that JS-reduce reports."""

# How fast the disease of a class moves, against the average: by band of age, gender, band of weight.
_PACE_OF_AGE: Final = (0.85, 1.0, 1.2)
_PACE_OF_GENDER: Final = (0.92, 1.08)
_PACE_OF_WEIGHT: Final = (0.95, 1.0, 1.1)


@dataclass(frozen=True)
class _Tilt:
    """What the step before makes of the odds of the next: factors, normalised afterwards."""

    onward: float
    stay: float
    back: float
    death: float
    discharge: float


# First examination; got worse; stayed; got better. What has just moved goes on in the same direction.
_TILT_FIRST: Final = _Tilt(1.0, 1.0, 1.0, 1.0, 1.0)
_TILT_WORSE: Final = _Tilt(6.0, 1.0, 0.2, 2.0, 0.3)
_TILT_SAME: Final = _Tilt(0.4, 1.0, 0.4, 0.8, 1.1)
_TILT_BETTER: Final = _Tilt(0.2, 1.0, 4.0, 0.5, 1.8)

# First results: share of each disease, then of its stages, then what a class makes of the disease.
_SHARE: Final = {"liver disease": 0.28, "HIV": 0.22, "Alzheimer disease": 0.18, "sepsis": 0.32}
_FIRST_STAGE: Final = {
    "liver disease": (0.26, 0.26, 0.20, 0.16, 0.12),
    "HIV": (0.34, 0.32, 0.22, 0.12),
    "Alzheimer disease": (0.48, 0.34, 0.18),
    "sepsis": (0.08, 0.34, 0.32, 0.17, 0.09),
}
_SHARE_OF_AGE: Final = {
    "liver disease": (1.05, 1.1, 0.85),
    "HIV": (1.4, 1.0, 0.65),
    "Alzheimer disease": (0.6, 1.0, 1.45),
    "sepsis": (0.9, 1.0, 1.1),
}
_SHARE_OF_GENDER: Final = {
    "liver disease": (0.9, 1.1),
    "HIV": (0.8, 1.2),
    "Alzheimer disease": (1.2, 0.8),
    "sepsis": (1.0, 1.0),
}
_SHARE_OF_WEIGHT: Final = {
    "liver disease": (0.85, 1.0, 1.2),
    "HIV": (1.2, 1.0, 0.85),
    "Alzheimer disease": (1.1, 1.0, 0.9),
    "sepsis": (0.95, 1.0, 1.05),
}
# A later stage is likelier at first sight in an older class: factor for each stage further on.
_LATER_OF_AGE: Final = (0.88, 1.0, 1.12)
# Some people are examined once: discharged at once, or brought in dying.
_FIRST_DISCHARGED: Final = 0.050
_FIRST_DECEASED: Final = 0.008


@dataclass(frozen=True)
class Progression:
    """The exact distributions of the series, by class; every row that can occur sums to one.

    `prior[c, s]` is the chance that the first result of a person of class `c` is `s`.
    `sequential[c, b, a, s]` is the chance that the next result is `s` after the last result `a` and the one
    before it, `b` (`NONE` where `a` was the first). Contexts that cannot occur are rows of zeros.
    """

    prior: Floats
    sequential: Floats


@cache
def progression(course: Course = COURSES["recreated"]) -> Progression:
    """The disease model of the hospital series, as read-only arrays."""
    m = len(VALUES)
    prior = np.zeros((len(CLASSES), m))
    sequential = np.zeros((len(CLASSES), NONE + 1, NONE, m))
    for c, bands in enumerate(CLASSES):
        prior[c] = _first_results(bands)
        base = _examination_step(bands, course)
        for last in range(NONE):
            sequential[c, NONE, last] = _tilted(base, last, _TILT_FIRST)
            for before in np.flatnonzero(base[:, last]):
                sequential[c, before, last] = _tilted(base, last, _tilt(int(before), last))
    if course.unrelated:
        sequential = _with_unrelated(prior, sequential, course)
    prior.flags.writeable = False
    sequential.flags.writeable = False
    return Progression(prior, sequential)


def _with_unrelated(prior: Floats, sequential: Floats, course: Course) -> Floats:
    """The same where examinations may have nothing to do with each other, so that any result may follow any other."""
    alone = sequential[:, NONE]
    unseen = ~sequential.any(axis=-1, keepdims=True)
    found = np.where(unseen, alone[:, np.newaxis], sequential)
    disease = np.repeat(np.arange(len(DISEASES)), [len(stages) for stages in DISEASES.values()])
    before, last = np.nonzero(disease[:, np.newaxis] != disease)
    found[:, before, last] = course.older * alone[:, before] + (1 - course.older) * alone[:, last]
    mixed: Floats = (1 - course.unrelated) * found + course.unrelated * prior[:, np.newaxis, np.newaxis]
    return mixed


def class_of(age: Codes, gender: Codes, weight: Codes) -> Codes:
    """The class of each person, from ages, positions in `GENDERS` and weights."""
    age_band = np.searchsorted(AGE_BREAKS, age, side="right") - 1
    weight_band = np.searchsorted(WEIGHT_BREAKS, weight, side="right") - 1
    return (age_band * 2 + gender) * 3 + weight_band


def _first_results(bands: tuple[int, int, int]) -> Floats:
    age, gender, weight = bands
    p = np.zeros(len(VALUES))
    for disease, stages in DISEASES.items():
        share = _SHARE[disease] * _SHARE_OF_AGE[disease][age]
        share *= _SHARE_OF_GENDER[disease][gender] * _SHARE_OF_WEIGHT[disease][weight]
        stage = np.array(_FIRST_STAGE[disease]) * _LATER_OF_AGE[age] ** np.arange(len(stages))
        first = VALUES.index(stages[0])
        p[first : first + len(stages)] = share * stage / stage.sum()
    p *= (1 - _FIRST_DISCHARGED - _FIRST_DECEASED) / p.sum()
    p[VALUES.index(DECEASED)] = _FIRST_DECEASED
    p[VALUES.index(DISCHARGED)] = _FIRST_DISCHARGED
    return p


def _examination_step(bands: tuple[int, int, int], course: Course) -> Floats:
    """From one result to the next before the history is looked at: stages x values, rows sum to one."""
    age, gender, weight = bands
    pace = _PACE_OF_AGE[age] * _PACE_OF_GENDER[gender] * _PACE_OF_WEIGHT[weight]
    step = np.zeros((NONE, len(VALUES)))
    for stage, moves in _YEARLY.items():
        row = VALUES.index(stage)
        leaving = sum(moves.values())
        weekly = 1 - (1 - leaving) ** (1 / 52)
        for target, p in moves.items():
            of_cohort = weekly * p / leaving
            step[row, VALUES.index(target)] = pace * of_cohort * (1 if target == DECEASED else course.pace)
        step[row, VALUES.index(DISCHARGED)] = course.discharge
        step[row, row] = 1 - step[row].sum()
    stages = [VALUES.index(stage) for stage in DISEASES["sepsis"]]
    targets = [*stages, VALUES.index(DECEASED), VALUES.index(DISCHARGED)]
    step[np.ix_(stages, targets)] = _sepsis_week(pace)
    return step


def _sepsis_week(pace: float) -> Floats:
    """Seven days of sepsis; what the class's pace adds to worsening and death, staying loses."""
    n = len(DISEASES["sepsis"])
    day = _SEPSIS_DAILY.copy()
    day[:n, : n + 1] *= np.where(np.triu(np.ones((n, n + 1)), 1) > 0, pace, 1.0)
    diagonal = np.arange(n)
    day[diagonal, diagonal] += 1 - day[:n].sum(axis=1)
    return np.linalg.matrix_power(day, 7)[:n]


def _tilt(before: int, last: int) -> _Tilt:
    if before == last:
        return _TILT_SAME
    return _TILT_WORSE if before < last else _TILT_BETTER


def _tilted(base: Floats, last: int, tilt: _Tilt) -> Floats:
    # Stages of one disease stand in the order of severity and no disease turns into another, so a
    # comparison of codes is a comparison of severity.
    factors = np.full(len(VALUES), tilt.onward)
    factors[:last] = tilt.back
    factors[last] = tilt.stay
    factors[VALUES.index(DECEASED)] = tilt.death
    factors[VALUES.index(DISCHARGED)] = tilt.discharge
    p: Floats = base[last] * factors
    p /= p.sum()
    return p
