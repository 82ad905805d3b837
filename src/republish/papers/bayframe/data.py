"""The two series of the experiments: the hospital series in the place of Bkseq, and Adult made to change."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl

from republish.datasets import hospital
from republish.errors import ViewError
from republish.knowledge import Bands, Classes, Knowledge, Listed
from republish.microdata import Microdata, read_view
from republish.papers.releases import generated, read_views
from republish.schema import Category, Number, Ordered, Schema
from republish.secret import Secret

SECRET = Secret.from_text("experiments of bayframe")
AGE_BREAKS = (17, 37, 57, 100)
_COLUMNS = ("age", "education", "education-num", "sex", "occupation")


@dataclass(frozen=True)
class Serial:
    """Views with pseudonyms, and what the adversary knows."""

    views: tuple[Microdata, ...]
    knowledge: Knowledge


@lru_cache(maxsize=1)
def bkseq(views: int, rows: int, seed: int, preset: str = "recreated") -> Serial:
    """The hospital series, with the distributions it was drawn from as knowledge."""
    with generated(hospital(views, rows, seed, preset)) as data:
        assert data.knowledge is not None
        return Serial(read_views(map(pl.read_csv, data.views), data.schema, SECRET), data.knowledge)


@lru_cache(maxsize=1)
def changing_adult(path: Path, views: int, rows: int, seed: int) -> Serial:
    """Adult as a series: from view to view a tenth leaves, a tenth comes, and a tenth is given any occupation.

    The prior is counted in the whole table, by classes of age, gender and education; of what follows what the
    adversary knows nothing: all occupations are as likely.
    """
    table = _adult(path)
    levels = table.unique(["education", "education-num"]).sort("education-num")["education"].to_list()
    occupations = sorted(table["occupation"].unique().to_list())
    schema = Schema(
        "id",
        [
            Number("age", domain=(AGE_BREAKS[0], AGE_BREAKS[-1] - 1)),
            Category("sex", domain=("Female", "Male")),
            Ordered("education", order=tuple(levels)),
        ],
        Category("occupation", domain=tuple(occupations)),
    )
    series = read_views(_changed(table, occupations, views, rows, seed), schema, SECRET)
    classes = _classes(levels)
    m = len(occupations)
    whole = read_view(table.drop("education-num"), schema)
    prior = np.zeros((classes.count, m))
    np.add.at(prior, (classes.of(whole), whole.codes), 1.0)
    prior /= prior.sum(axis=1, keepdims=True)
    uniform = np.full((classes.count, 1, m, m), 1 / m)
    return Serial(series, Knowledge(whole.values, classes, prior, uniform, order=1))


def _adult(path: Path) -> pl.DataFrame:
    file = path / "adult.csv" if path.is_dir() else path
    table = pl.read_csv(file, infer_schema=False)
    table.columns = [name.strip() for name in table.columns]
    absent = [name for name in _COLUMNS if name not in table.columns]
    if absent:
        raise ViewError(f"Adult must have the columns {', '.join(_COLUMNS)}; {', '.join(absent)} is missing")
    texts = table.select(pl.col(name).str.strip_chars() for name in _COLUMNS)
    known = texts.filter(~pl.any_horizontal(pl.col(name) == "?" for name in _COLUMNS))
    return known.with_columns(
        pl.col("age").cast(pl.Int64), pl.col("education-num").cast(pl.Int64)
    ).with_row_index("id")


def _classes(levels: list[str]) -> Classes:
    """Three bands of age, both genders, and three of education: as many classes as the hospital has."""
    thirds = tuple(tuple(part.tolist()) for part in np.array_split(np.array(levels), 3))
    return Classes(
        (
            Bands("age", AGE_BREAKS),
            Listed("sex", ("Female", "Male")),
            Listed("education", thirds, ("low", "middle", "high")),
        )
    )


def _changed(
    table: pl.DataFrame, occupations: list[str], views: int, rows: int, seed: int
) -> list[pl.DataFrame]:
    rng = np.random.default_rng(seed)
    step = rows // 10
    drawn = rng.permutation(table.height)
    needed = rows + (views - 1) * step
    if needed > table.height:
        raise ViewError(
            f"{views} views of {rows} rows need {needed} rows of Adult; found {table.height}, lower one"
        )
    code = {name: place for place, name in enumerate(occupations)}
    held = np.array([code[name] for name in table["occupation"].to_list()])
    names = pl.Series(occupations)
    present, found = drawn[:rows], []
    for number in range(views):
        if number:
            mixed = rng.permutation(present)
            updated = mixed[step : 2 * step]  # of those who stay
            held[updated] = rng.integers(0, len(occupations), len(updated))
            first = rows + (number - 1) * step
            present = np.concatenate([mixed[step:], drawn[first : first + step]])
        here = np.sort(present)
        found.append(
            table[here].drop("education-num").with_columns(names.gather(held[here]).alias("occupation"))
        )
    return found
