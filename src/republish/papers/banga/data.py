"""The tables of the thesis, generated anew, and UCI Adult where it is given; and who makes groups of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from republish.arrays import FloatArray
from republish.datasets.population import draw_people
from republish.errors import PolicyError
from republish.memory.memory import Memory
from republish.microdata import Microdata, read_view
from republish.papers.study import Scale
from republish.publishers.banga import BangA
from republish.publishers.mondrian import Mondrian
from republish.publishers.penalty_tree import PenaltyTree
from republish.publishers.rplus_tree import RPlusTree
from republish.release.release import Release, build_release
from republish.schema import Category, Number, Schema
from republish.secret import Secret

if TYPE_CHECKING:
    from republish.grouping import Grouping

MILLION = 1_000_000
VOTERS = 54_803
M = 5  # rows of a block and entries of a page in the thesis

BANGA, PENALTY, RPLUS, MONDRIAN = "BangA", "penalty tree", "R+-tree", "Mondrian"

Publisher = BangA | PenaltyTree | RPlusTree | Mondrian
MAKERS: Final[Mapping[str, Callable[[int], Publisher]]] = MappingProxyType(
    {
        BANGA: BangA,
        PENALTY: PenaltyTree,
        RPLUS: RPlusTree,
        MONDRIAN: Mondrian,
    }
)
"""Groups of k rows, each made for this k. BangA's are cuts of a dendrogram over blocks of 5, as in the thesis."""

QUICK_SHARE = 10  # a quick run takes one row of so many
_SECRET = Secret.from_text("the same for every figure of this study")
_VALUES = 10_000  # of a column of customers


def about(line: str) -> str:
    """How a claim names a line: what the thesis claims is of BangA; our own publisher is asked for the same."""
    return line if line == BANGA else f"our {line}"


def rows_at(scale: Scale, full: int) -> int:
    """How many rows a generated table of `full` rows has at this scale."""
    return full // QUICK_SHARE if scale.quick else full


def voters(scale: Scale) -> Microdata:
    """Age, zipcode and salary; the vote is sensitive."""
    rows, rng = rows_at(scale, VOTERS), np.random.default_rng([scale.seed, 1])
    people = draw_people(rows, rng)
    raised = 1 + np.minimum(people.age.astype(np.float64) - 17, 35) / 50
    salary = (np.exp(rng.normal(10, 0.5, rows)) * raised).round(-2)
    return _view(
        {"age": people.age, "zipcode": _zipcodes(rows, rng), "salary": salary}, rng.integers(0, 4, rows)
    )


def adults(scale: Scale) -> Microdata:
    """Age, zipcode and level of education; income is sensitive."""
    rows, rng = rows_at(scale, MILLION), np.random.default_rng([scale.seed, 2])
    people = draw_people(rows, rng)
    columns: dict[str, NDArray[Any]] = {
        "age": people.age,
        "zipcode": _zipcodes(rows, rng),
        "education": people.education,
    }
    return _view(columns, people.income)


def customers(scale: Scale, columns: int = 7, *, clustered: bool = False, share: float = 1.0) -> Microdata:
    """The first `share` of customers: whole numbers below 10,000, every column evenly by itself or in clusters."""
    rows, rng = rows_at(scale, MILLION), np.random.default_rng([scale.seed, 3, clustered])
    if clustered:
        centres = rng.random((20, columns)) * _VALUES
        found = rng.normal(centres[rng.integers(0, 20, rows)], _VALUES / 25).round()
        points = found.clip(0, _VALUES - 1).T
    else:
        points = rng.integers(0, _VALUES, (columns, rows)).astype(np.float64)
    codes, first = rng.integers(0, 19, rows), round(rows * share)
    return _view({f"q{q}": part[:first] for q, part in enumerate(points)}, codes[:first])


def uci_adult(scale: Scale) -> Microdata:
    """UCI Adult: age, level of education, and `fnlwgt` in the place of a zipcode; occupation is sensitive."""
    if scale.adult is None:
        raise PolicyError("UCI Adult must be given for this study; none was; give --adult")
    path = Path(scale.adult)
    table = pl.read_csv(path / "adult.csv" if path.is_dir() else path, infer_schema=False)
    table.columns = [name.strip() for name in table.columns]
    quasi = ("age", "fnlwgt", "education-num")
    table = table.select(pl.col(*quasi, "occupation").str.strip_chars())
    return read_view(table, Schema(None, [Number(name) for name in quasi], Category("occupation")))


def released(view: Microdata, grouping: Grouping) -> Release:
    """What is published of these groups."""
    return build_release(view, grouping, _SECRET, 1)[0]


def published(view: Microdata, method: str, k: int) -> Release:
    """What a method publishes of a view for this k."""
    grouping = MAKERS[method](k).publish(view, Memory.empty(), np.random.default_rng(0))
    return released(view, grouping)


def _zipcodes(rows: int, rng: np.random.Generator) -> FloatArray:
    """Zipcodes around 300 towns, the n-th of them with one n-th of the people of the first."""
    shares = 1 / np.arange(1, 301)
    towns = rng.uniform(10_000, 99_000, 300)
    home = rng.choice(300, rows, p=shares / shares.sum())
    return rng.normal(towns[home], 50).round()


def _view(columns: Mapping[str, NDArray[Any]], codes: NDArray[Any]) -> Microdata:
    frame = pl.DataFrame(dict(columns)).with_columns(value=pl.Series(codes).cast(pl.String))
    return read_view(frame, Schema(None, [Number(name) for name in columns], Category("value")))
