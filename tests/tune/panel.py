"""A panel of a few hundred people over eight years: skewed values, leavers, returners, newcomers, changes."""

from __future__ import annotations

import numpy as np
import polars as pl

from republish import Category, Number, Schema

SCHEMA = Schema("person", (Category("sex"), Number("age"), Category("town")), Category("diagnosis"))
SHARES = (0.3, 0.2, 0.14, 0.11, 0.08, 0.07, 0.05, 0.03, 0.02)


def panel(people: int = 500, years: int = 8, seed: int = 3) -> list[pl.DataFrame]:
    """One view a year."""
    rng, pool = np.random.default_rng(seed), 2 * people
    sex, born, town = (rng.integers(low, high, pool) for low, high in ((0, 2), (1940, 2000), (0, 12)))
    value = rng.choice(len(SHARES), pool, p=SHARES)
    here, known, views = np.arange(pool) < people, people, []
    for year in range(years):
        if year:
            gone = here & (rng.random(pool) < 0.06)
            back = ~here & (np.arange(pool) < known) & (rng.random(pool) < 0.2)
            here = (here & ~gone) | back
            new = max(0, min(people - int(here.sum()), pool - known))
            here[known : known + new] = True
            known += new
            value = np.where(rng.random(pool) < 0.08, rng.choice(len(SHARES), pool, p=SHARES), value)
        rows = np.flatnonzero(here)
        views.append(
            pl.DataFrame(
                {
                    "person": [f"P{row:04d}" for row in rows],
                    "sex": ["fm"[code] for code in sex[rows]],
                    "age": 2010 + year - born[rows],
                    "town": [f"T{code:02d}" for code in town[rows]],
                    "diagnosis": [f"D{code}" for code in value[rows]],
                }
            )
        )
    return views
