"""A weekly series of examination results of a hospital, with the exact knowledge of an adversary.

A re-creation of the BKseq data set of JS-reduce (section 7.1), whose files are gone: 24 weekly views of 5,000
rows, about 16,160 people in all, 19 results. docs/data-hospital.md explains the model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final, Self

import numpy as np
import polars as pl

from republish.datasets.layout import hierarchy_csv, identifiers, labels, schema_toml, toml_list, write_series
from republish.datasets.progression import (
    AGE_BREAKS,
    CLASSES,
    COURSES,
    DECEASED,
    DISCHARGED,
    DISEASES,
    GENDERS,
    NONE,
    STAGES,
    VALUES,
    WEIGHT_BREAKS,
    Codes,
    Floats,
    Progression,
    class_of,
    progression,
)
from republish.errors import PolicyError

# Chance that a person who has not left is not examined this week. Septic patients lie in the house and are.
_SKIP: Final = 0.12
_SKIP_OF_STAGE: Final = np.array([0.0 if stage in DISEASES["sepsis"] else _SKIP for stage in STAGES])

_AGES: Final = np.arange(AGE_BREAKS[0], AGE_BREAKS[-1])
_WEIGHTS: Final = np.arange(WEIGHT_BREAKS[0], WEIGHT_BREAKS[-1])
# Men are heavier; both are cut to the domain.
_MEAN_WEIGHT: Final = (70.0, 77.0)
_WEIGHT_SPREAD: Final = 9.0


@dataclass(frozen=True)
class HospitalKnowledge:
    """What an adversary who knows the diseases knows: the distributions the series is drawn from.

    `prior` has a row for each class and value, `sequential` one for each class, context and next value of
    positive probability; `last2` is null where `last1` was the person's first value.
    """

    prior: pl.DataFrame
    sequential: pl.DataFrame
    toml: str

    def texts(self) -> dict[str, str]:
        """The three files of the knowledge folder, by name."""
        return {
            "knowledge.toml": self.toml,
            "prior.csv": self.prior.write_csv(),
            "sequential.csv": self.sequential.write_csv(),
        }


@dataclass(frozen=True)
class HospitalSeries:
    """The views in order, their schema, and the exact knowledge about them."""

    views: tuple[pl.DataFrame, ...]
    schema_toml: str
    knowledge: HospitalKnowledge

    def write(self, folder: str | Path) -> None:
        """Write `views/001.csv` and on, `schema.toml`, `diagnosis.csv` and `knowledge/`."""
        paths = [(stage, disease) for disease, stages in DISEASES.items() for stage in stages]
        paths += [(DECEASED, "end of care"), (DISCHARGED, "end of care")]
        texts = {"schema.toml": self.schema_toml, "diagnosis.csv": hierarchy_csv(paths)}
        texts |= {f"knowledge/{name}": text for name, text in self.knowledge.texts().items()}
        write_series(Path(folder), self.views, texts)


@dataclass(frozen=True)
class _Patients:
    """People and their last two results, as columns of equal length."""

    number: Codes
    age: Codes
    gender: Codes
    weight: Codes
    before: Codes
    last: Codes

    def take(self, rows: Codes) -> Self:
        return type(self)(*(column[rows] for column in vars(self).values()))

    def join(self, other: Self) -> Self:
        both = zip(vars(self).values(), vars(other).values(), strict=True)
        return type(self)(*(np.concatenate(columns) for columns in both))


def hospital(views: int = 24, rows: int = 5000, seed: int = 7, preset: str = "recreated") -> HospitalSeries:
    """A series of weekly views with exactly `rows` people each; the same arguments give the same series.

    Every week those who have not left are examined unless they skip, each with a result drawn from
    `knowledge.sequential`; newcomers, with a result drawn from `knowledge.prior`, fill the view. Who is
    deceased or discharged is shown so once and never again. `preset` is one of `progression.COURSES`: diseases as the
    literature has them, or `fitted` to what JS-reduce reports of its own data.
    """
    if preset not in COURSES:
        raise PolicyError(
            f"the preset of the hospital series is one of {', '.join(COURSES)}; found {preset!r}"
        )
    if views < 1 or rows < 1 or seed < 0:
        raise PolicyError(
            "views and rows must be at least 1 and seed at least 0, not "
            f"views={views}, rows={rows}, seed={seed}."
        )
    rng = np.random.default_rng(seed)
    model = progression(COURSES[preset])
    waiting = _newcomers(model, 0, 0, rng)
    people = 0
    weeks = []
    for _ in range(views):
        comes = rng.random(len(waiting.last)) >= _SKIP_OF_STAGE[waiting.last]
        # A random order, cut at the size of the view, leaves nobody out by seniority.
        order = rng.permutation(np.flatnonzero(comes))[:rows]
        absent = np.setdiff1d(np.arange(len(comes)), order, assume_unique=True)
        arrivals = rows - len(order)
        week = _examined(model, waiting.take(order), rng).join(_newcomers(model, arrivals, people, rng))
        people += arrivals
        weeks.append(week)
        waiting = waiting.take(absent).join(week.take(np.flatnonzero(week.last < NONE)))
    # Numbers were given in the order of arrival; shuffled, an identifier says nothing.
    shuffled = rng.permutation(people) + 1
    known = hospital_knowledge(preset)
    return HospitalSeries(tuple(_table(week, shuffled) for week in weeks), _SCHEMA, known)


@cache
def hospital_knowledge(preset: str = "recreated") -> HospitalKnowledge:
    """The distributions of the model as tables; they depend on no other argument of a series."""
    model = progression(COURSES[preset])
    prior = pl.DataFrame(
        {
            **_class_columns(np.repeat(np.arange(len(CLASSES)), len(VALUES))),
            "value": labels(VALUES, np.tile(np.arange(len(VALUES)), len(CLASSES))),
            "p": model.prior.ravel(),
        }
    )
    # Contexts without a previous value first, then by code: an order, so that files are the same each time.
    by_before = np.roll(np.arange(NONE + 1), 1)
    ordered = model.sequential[:, by_before]
    group, before, last, following = np.nonzero(ordered)
    before = by_before[before]
    sequential = pl.DataFrame(
        {
            **_class_columns(group),
            "last2": labels((*STAGES, ""), before).replace("", None),
            "last1": labels(STAGES, last),
            "next": labels(VALUES, following),
            "p": ordered[np.nonzero(ordered)],
        }
    )
    return HospitalKnowledge(prior, sequential, _KNOWLEDGE)


def _newcomers(model: Progression, count: int, first_number: int, rng: np.random.Generator) -> _Patients:
    # Older people fall ill more often: the chance of an age rises by half over the domain.
    age = rng.choice(_AGES, count, p=_shares(np.linspace(1.0, 1.5, len(_AGES))))
    gender = rng.integers(0, len(GENDERS), count)
    by_gender = [
        rng.choice(_WEIGHTS, count, p=_shares(np.exp(-(((_WEIGHTS - mean) / _WEIGHT_SPREAD) ** 2) / 2)))
        for mean in _MEAN_WEIGHT
    ]
    weight = np.where(gender == 0, *by_gender)
    number = np.arange(first_number, first_number + count)
    result = _draw(model.prior[class_of(age, gender, weight)], rng)
    return _Patients(number, age, gender, weight, np.full(count, NONE), result)


def _examined(model: Progression, patients: _Patients, rng: np.random.Generator) -> _Patients:
    group = class_of(patients.age, patients.gender, patients.weight)
    result = _draw(model.sequential[group, patients.before, patients.last], rng)
    return replace(patients, before=patients.last, last=result)


def _draw(p: Floats, rng: np.random.Generator) -> Codes:
    """One code from each row's distribution."""
    reached = np.cumsum(p, axis=1)
    # Scaled by the row's own sum, so that rounding never leaves a draw beyond the last possible value.
    draws = rng.random(len(p)) * reached[:, -1]
    codes: Codes = (draws[:, np.newaxis] >= reached).sum(axis=1)
    return codes


def _shares(weights: Floats) -> Floats:
    shares: Floats = weights / weights.sum()
    return shares


def _table(week: _Patients, shuffled: Codes) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "patient": identifiers("H", shuffled[week.number]),
            "age": week.age,
            "gender": labels(GENDERS, week.gender),
            "weight": week.weight,
            "diagnosis": labels(VALUES, week.last),
        }
    ).sort("patient")


def _band_labels(breaks: tuple[int, ...]) -> list[str]:
    return [f"{low}-{high - 1}" for low, high in pairwise(breaks)]


def _class_columns(group: Codes) -> dict[str, pl.Series]:
    age, gender, weight = np.array(CLASSES)[group].T
    return {
        "age": labels(_band_labels(AGE_BREAKS), age),
        "gender": labels(GENDERS, gender),
        "weight": labels(_band_labels(WEIGHT_BREAKS), weight),
    }


_SCHEMA: Final = schema_toml(
    patient={"role": "identifier"},
    age={"role": "quasi-identifier", "kind": "number", "domain": (AGE_BREAKS[0], AGE_BREAKS[-1] - 1)},
    gender={"role": "quasi-identifier", "kind": "category", "domain": GENDERS},
    weight={
        "role": "quasi-identifier",
        "kind": "number",
        "domain": (WEIGHT_BREAKS[0], WEIGHT_BREAKS[-1] - 1),
    },
    diagnosis={"role": "sensitive", "kind": "category", "domain": VALUES, "hierarchy": "diagnosis.csv"},
)

_KNOWLEDGE: Final = f"""\
# A person's class is found from the quasi-identifiers: a number falls in the band whose break it has reached
# (the last break is outside), a category is its own class. Rows of prior.csv and sequential.csv name the
# class by these labels. Sequences are of a person's appearances; weeks without an examination do not count.
sensitive = "diagnosis"
order = 2
prior = "prior.csv"
sequential = "sequential.csv"
terminal = {toml_list((DECEASED, DISCHARGED))}

[classes.age]
breaks = {toml_list(AGE_BREAKS)}
labels = {toml_list(_band_labels(AGE_BREAKS))}

[classes.gender]
values = {toml_list(GENDERS)}

[classes.weight]
breaks = {toml_list(WEIGHT_BREAKS)}
labels = {toml_list(_band_labels(WEIGHT_BREAKS))}
"""
