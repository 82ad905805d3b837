"""The people of the census series: five attributes with the domains of the papers' census tables.

The domains have the sizes of the extracts that the field uses (age 79, birthplace 57, education 17, gender 2,
income 50 ranges). The numbers are round figures set by hand so that the table looks like one of a census:
income follows age, education and gender, education follows age and birthplace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int16]

AGES: Final = (17, 95)
GENDERS: Final = ("F", "M")
EDUCATION: Final = (
    "none",
    "grade 1-4",
    "grade 5-6",
    "grade 7-8",
    "grade 9",
    "grade 10",
    "grade 11",
    "grade 12 without diploma",
    "high school",
    "college under 1 year",
    "college without degree",
    "associate occupational",
    "associate academic",
    "bachelor",
    "master",
    "professional",
    "doctorate",
)
"""The 17 levels of education, lowest first."""

_RANGE: Final = 2
INCOME: Final = (*(f"{low:02}k-{low + _RANGE:02}k" for low in range(0, 98, _RANGE)), "98k+")
"""The 50 ranges of income in thousands, lowest first."""

# Country, region, division: places with their weights (millions of people born there).
_BIRTHPLACES: Final[dict[tuple[str, str, str], dict[str, float]]] = {
    ("United States", "Northeast", "New England"): {
        "Connecticut": 2.6, "Maine": 1.2, "Massachusetts": 5.6, "New Hampshire": 0.8, "Rhode Island": 0.9,
        "Vermont": 0.5,
    },
    ("United States", "Northeast", "Middle Atlantic"): {
        "New Jersey": 6.4, "New York": 17.5, "Pennsylvania": 13.0,
    },
    ("United States", "Midwest", "East North Central"): {
        "Illinois": 11.5, "Indiana": 5.6, "Michigan": 9.3, "Ohio": 11.2, "Wisconsin": 5.0,
    },
    ("United States", "Midwest", "West North Central"): {
        "Iowa": 3.3, "Kansas": 2.7, "Minnesota": 4.3, "Missouri": 5.2, "Nebraska": 1.8, "North Dakota": 0.9,
        "South Dakota": 0.9,
    },
    ("United States", "South", "South Atlantic"): {
        "Delaware": 0.5, "District of Columbia": 0.9, "Florida": 6.0, "Georgia": 5.9, "Maryland": 3.5,
        "North Carolina": 6.3, "South Carolina": 3.6, "Virginia": 4.9, "West Virginia": 2.4,
    },
    ("United States", "South", "East South Central"): {
        "Alabama": 4.3, "Kentucky": 4.1, "Mississippi": 3.2, "Tennessee": 4.6,
    },
    ("United States", "South", "West South Central"): {
        "Arkansas": 2.6, "Louisiana": 4.4, "Oklahoma": 3.0, "Texas": 15.0,
    },
    ("United States", "West", "Mountain"): {
        "Arizona": 2.2, "Colorado": 2.3, "Idaho": 1.0, "Montana": 0.9, "Nevada": 0.7, "New Mexico": 1.4,
        "Utah": 1.9, "Wyoming": 0.5,
    },
    ("United States", "West", "Pacific"): {
        "Alaska": 0.3, "California": 19.0, "Hawaii": 0.9, "Oregon": 1.9, "Washington": 3.2,
    },
    ("abroad", "Americas", "North America"): {"Canada": 1.0, "Mexico": 9.5},
    ("abroad", "Americas", "Central and South America"): {"Caribbean": 3.0, "Latin America": 4.0},
    ("abroad", "Old World", "Europe, Africa, Asia"): {"Europe and Africa": 6.0, "Asia and Oceania": 8.5},
}  # fmt: skip

BIRTHPLACES: Final = tuple(place for places in _BIRTHPLACES.values() for place in places)
BIRTHPLACE_PATHS: Final = tuple(
    (place, division, region, country)
    for (country, region, division), places in _BIRTHPLACES.items()
    for place in places
)
"""Each birthplace with its generalizations: division, region, country or abroad."""

_PLACE_WEIGHT: Final = np.array([w for places in _BIRTHPLACES.values() for w in places.values()])
_ABROAD: Final = np.array([path[-1] == "abroad" for path in BIRTHPLACE_PATHS])

# Weights of the levels of education: people born in the country, and abroad.
_EDUCATION_WEIGHT: Final = np.array(
    [
        [0.6, 0.6, 1.2, 4.0, 2.2, 3.2, 3.6, 3.0, 31.0, 7.5, 14.0, 3.5, 3.5, 15.0, 5.0, 1.4, 0.7],
        [4.0, 5.0, 9.0, 5.0, 4.0, 2.5, 2.5, 4.0, 22.0, 4.5, 9.0, 2.5, 2.5, 14.0, 6.0, 2.0, 1.5],
    ]
)
# The highest level a person can have reached at 17, 18 and so on to 26; after that, any.
_HIGHEST_UNTIL: Final = np.array([7, 8, 10, 11, 13, 13, 14, 14, 15, 15])
# People of 17 to 95: level until 55, then a decline.
_AGE_WEIGHT: Final = np.interp(
    np.arange(AGES[0], AGES[1] + 1), [17, 35, 55, 75, 95], [0.9, 1.1, 1.0, 0.5, 0.06]
)

_NO_EARNER: Final = 0.05
_LOG_SPREAD: Final = 0.62


@dataclass(frozen=True)
class People:
    """Attributes of people as columns; all but age are positions in their domain."""

    age: Codes
    birthplace: Codes
    education: Codes
    gender: Codes
    income: Codes


def draw_people(count: int, rng: np.random.Generator) -> People:
    """Independent people; the columns of one person are correlated as the module says."""
    age = AGES[0] + drawn_codes(_AGE_WEIGHT, count, rng)
    birthplace = drawn_codes(_PLACE_WEIGHT, count, rng)
    gender = rng.integers(0, len(GENDERS), count, dtype=np.int16)
    abroad = _ABROAD[birthplace]
    home, away = (drawn_codes(weights, count, rng) for weights in _EDUCATION_WEIGHT)
    highest = np.append(_HIGHEST_UNTIL, len(EDUCATION) - 1)[np.minimum(age - AGES[0], len(_HIGHEST_UNTIL))]
    education = np.minimum(np.where(abroad, away, home), highest).astype(np.int16)
    income = _income(age, education, gender, rng)
    return People(age, birthplace, education, gender, income)


def _income(age: Codes, education: Codes, gender: Codes, rng: np.random.Generator) -> Codes:
    """Log-normal thousands around what age, education and gender give, cut into the ranges."""
    expected = 3.1 + 0.075 * (education - 8) + 0.28 * gender - ((age - 50) / 38.0) ** 2 * 0.65
    thousands = np.exp(expected + _LOG_SPREAD * rng.standard_normal(len(age)))
    thousands[rng.random(len(age)) < _NO_EARNER] = 0
    codes: Codes = np.minimum(thousands // _RANGE, len(INCOME) - 1).astype(np.int16)
    return codes


def drawn_codes(weights: NDArray[np.float64], count: int, rng: np.random.Generator) -> Codes:
    """Positions drawn independently, each as often as its weight says."""
    reached = np.cumsum(weights)
    draws = rng.random(count) * reached[-1]
    codes: Codes = np.searchsorted(reached[:-1], draws, side="right").astype(np.int16)
    return codes
