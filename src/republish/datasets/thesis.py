"""The columns of the tau-safety thesis (section 4.6.1): three numbers of 94, 5 and 127 values, 50 occupations.

The thesis took age, capital-gain, fnlwgt and occupation from Adult and says how many values each has, not how often
each occurs. The shares here are set by hand: twenty occupations are common and the others ever rarer, the rarest has
about one person in 50,000, so that values are scarce; none is too common for groups of ten different ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from republish.datasets.layout import identifiers, labels, schema_toml
from republish.datasets.population import Codes, drawn_codes

AGES: Final = (27, 120)
GAINS: Final = (0, 4)  # bands
WEIGHTS: Final = (1, 127)  # in tens of thousands
OCCUPATIONS: Final = tuple(f"occupation {number:02}" for number in range(1, 51))

_COMMON: Final = 20
_RAREST: Final = 2_000  # times rarer than a common one
_AGE_WEIGHT: Final = np.interp(
    np.arange(AGES[0], AGES[1] + 1), [27, 45, 65, 90, 120], [1.0, 1.1, 0.8, 0.2, 0.01]
)
_GAIN_WEIGHT: Final = np.array([80.0, 9.0, 6.0, 3.0, 2.0])
_WEIGHT_WEIGHT: Final = np.interp(
    np.arange(WEIGHTS[0], WEIGHTS[1] + 1), [1, 19, 40, 127], [0.4, 1.0, 0.25, 0.005]
)
_OCCUPATION_WEIGHT: Final = _RAREST ** -np.interp(
    np.arange(1, len(OCCUPATIONS) + 1), [_COMMON, len(OCCUPATIONS)], [0, 1]
)


@dataclass(frozen=True)
class ThesisPeople:
    """Attributes of people as columns; all but age are positions in their domain."""

    age: Codes
    capital_gain: Codes
    fnlwgt: Codes
    occupation: Codes


class ThesisColumns:
    """Age, capital_gain and fnlwgt; occupation.

    Who changes is a year older (120 at most); each of the others is by a fair coin drawn anew, all values alike.
    """

    ages: tuple[int, int] = AGES
    texts: Mapping[str, str] = {
        "schema.toml": schema_toml(
            person={"role": "identifier"},
            age={"role": "quasi-identifier", "kind": "number", "domain": AGES},
            capital_gain={"role": "quasi-identifier", "kind": "number", "domain": GAINS},
            fnlwgt={"role": "quasi-identifier", "kind": "number", "domain": WEIGHTS},
            occupation={"role": "sensitive", "kind": "category", "domain": OCCUPATIONS},
        )
    }

    def draw(self, count: int, rng: np.random.Generator) -> ThesisPeople:
        """Independent people with independent columns."""
        age = AGES[0] + drawn_codes(_AGE_WEIGHT, count, rng)
        others = (_GAIN_WEIGHT, _WEIGHT_WEIGHT, _OCCUPATION_WEIGHT)
        return ThesisPeople(age, *(drawn_codes(weights, count, rng) for weights in others))

    def change(self, people: ThesisPeople, who: NDArray[np.int64], rng: np.random.Generator) -> None:
        people.age[who] = np.minimum(people.age[who] + 1, AGES[1])
        sizes = (GAINS[1] - GAINS[0] + 1, WEIGHTS[1] - WEIGHTS[0] + 1, len(OCCUPATIONS))
        for column, size in zip((people.capital_gain, people.fnlwgt, people.occupation), sizes, strict=True):
            anew = who[rng.random(len(who)) < 0.5]
            column[anew] = rng.integers(0, size, len(anew), dtype=np.int16)

    def table(
        self, people: ThesisPeople, number: NDArray[np.int64], present: NDArray[np.int64]
    ) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "person": identifiers("P", number[present]),
                "age": people.age[present].astype(np.int64),
                "capital_gain": GAINS[0] + people.capital_gain[present].astype(np.int64),
                "fnlwgt": WEIGHTS[0] + people.fnlwgt[present].astype(np.int64),
                "occupation": labels(OCCUPATIONS, people.occupation[present]),
            }
        ).sort("person")
