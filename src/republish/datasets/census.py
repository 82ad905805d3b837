"""A census table that changes from view to view: people come, leave, change and come back.

Re-creates the dynamic tables of the Cor-Split experiments (section 5) and the protocol of the tau-safety
thesis (section 4.6.1) over people drawn at random. docs/data.md says what differs from the originals.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NotRequired, Protocol, TypedDict

import numpy as np
import polars as pl
from numpy.typing import NDArray

from republish.datasets.layout import hierarchy_csv, identifiers, labels, schema_toml, write_series
from republish.datasets.population import (
    AGES,
    BIRTHPLACE_PATHS,
    BIRTHPLACES,
    EDUCATION,
    GENDERS,
    INCOME,
    People,
    draw_people,
)
from republish.datasets.thesis import ThesisColumns
from republish.errors import PolicyError


class Experiment(TypedDict):
    """The arguments of `census` that a published experiment fixes."""

    rows: int
    views: int
    insert: float
    delete: float
    update: float
    reinsert: float
    columns: NotRequired[str]


_THESIS: Final = Experiment(rows=60_000, views=20, insert=5000, delete=3000, update=4000, reinsert=1000)
PRESETS: Final[Mapping[str, Experiment]] = MappingProxyType(
    {
        "tau-safety": _THESIS,
        "thesis": Experiment(**_THESIS, columns="thesis"),
        "cor-split": Experiment(rows=200_000, views=21, insert=0.1, delete=0.1, update=0, reinsert=0),
        "cor-split-33": Experiment(rows=60_000, views=24, insert=0.33, delete=0.33, update=0, reinsert=0),
    }
)
"""Arguments that follow the papers' protocols: `census(**PRESETS["cor-split"], seed=1)`."""


Persons = NDArray[np.int64]


@dataclass(frozen=True)
class Turnover:
    """How many people change from one view to the next."""

    insert: int
    delete: int
    update: int
    reinsert: int


class PeopleColumns(Protocol):
    """The columns of a table: who the people are, how they change, what a view shows of them, its schema."""

    ages: tuple[int, int]
    texts: Mapping[str, str]

    def draw(self, count: int, rng: np.random.Generator) -> Any: ...

    def change(self, people: Any, who: Persons, rng: np.random.Generator) -> None: ...

    def table(self, people: Any, number: Persons, present: Persons) -> pl.DataFrame: ...


@dataclass(frozen=True)
class CensusSeries:
    """A series whose views are made one at a time, each time the same; `changes` holds for every step.

    From one view to the next, in this order and all at random: `delete` people leave; `update` of those who
    stay and are not of the highest age change; `reinsert` of those who had left in an earlier step come back (as
    many as there are, so none in the second view), every second one changed, the others exactly as they left;
    `insert` people who were never seen arrive. How somebody changes the `columns` say.
    """

    people: int
    rows: int
    views: int
    changes: Turnover
    seed: int
    columns: str = "census"

    @property
    def schema_toml(self) -> str:
        return COLUMNS[self.columns].texts["schema.toml"]

    def __len__(self) -> int:
        return self.views

    def __iter__(self) -> Iterator[pl.DataFrame]:
        rng, columns = np.random.default_rng(self.seed), COLUMNS[self.columns]
        people = columns.draw(self.people, rng)
        number = rng.permutation(self.people) + 1
        register = _Register(np.arange(self.rows), np.arange(0), self.rows)
        for view in range(self.views):
            if view > 0:
                register = register.next(self.changes, people, columns, rng)
            yield columns.table(people, number, register.present)

    def write(self, folder: str | Path) -> None:
        """Write `views/001.csv` and on, `schema.toml` and hierarchies where the columns have some."""
        write_series(Path(folder), self, COLUMNS[self.columns].texts)


@dataclass(frozen=True)
class _Register:
    """Who is present, who has left, and from which person on nobody has been seen.

    People are drawn independently, so taking them in the order of their positions is a random choice.
    """

    present: Persons
    left: Persons
    unseen: int

    def next(
        self, changes: Turnover, people: Any, columns: PeopleColumns, rng: np.random.Generator
    ) -> _Register:
        """The register of the following view; those who change are changed in `people`."""
        order = rng.permutation(self.present)
        deleted, stay = order[: changes.delete], order[changes.delete :]
        columns.change(people, stay[people.age[stay] < columns.ages[1]][: changes.update], rng)
        pool = rng.permutation(self.left)
        back, left = pool[: changes.reinsert], pool[changes.reinsert :]
        columns.change(people, back[1::2], rng)
        unseen = self.unseen + changes.insert
        arrived = np.arange(self.unseen, unseen)
        return _Register(np.concatenate([stay, back, arrived]), np.concatenate([left, deleted]), unseen)


def census(
    people: int = 600_000,
    rows: int = 60_000,
    views: int = 20,
    *,
    insert: float = 0.05,
    delete: float = 0.05,
    update: float = 0.05,
    reinsert: float = 0.01,
    seed: int = 7,
    columns: str = "census",
) -> CensusSeries:
    """A series whose first view has `rows` of `people` people; the same arguments give the same series.

    `insert`, `delete`, `update` and `reinsert` are per step from view to view: below 1 a share of `rows`,
    rounded; from 1 on a number of people. What cannot be kept up for all views is refused here. `columns` are those of
    a `census`, or of the tau-safety `thesis`.
    """
    if columns not in COLUMNS:
        raise PolicyError(f"columns must be {' or '.join(COLUMNS)}.")
    if people < 1 or rows < 1 or views < 1 or seed < 0:
        raise PolicyError(
            "people, rows and views must be at least 1 and seed at least 0, not "
            f"people={people}, rows={rows}, views={views}, seed={seed}."
        )
    changes = Turnover(
        insert=_people_count("insert", insert, rows),
        delete=_people_count("delete", delete, rows),
        update=_people_count("update", update, rows),
        reinsert=_people_count("reinsert", reinsert, rows),
    )
    _check_supply(people, rows, views, changes)
    return CensusSeries(people, rows, views, changes, seed, columns)


def _people_count(name: str, given: float, rows: int) -> int:
    if not (0 <= given < 1 or (math.isfinite(given) and given >= 1 and given == int(given))):
        raise PolicyError(
            f"{name} must be a share of the rows (from 0, below 1) or a whole number of people, not {given}."
        )
    return int(given) if given >= 1 else round(given * rows)


def _check_supply(people: int, rows: int, views: int, changes: Turnover) -> None:
    """Refuse a series that would run out of people who are unseen or present."""
    needed = rows + (views - 1) * changes.insert
    if needed > people:
        raise PolicyError(
            f"people must be at least {needed} for {rows} rows and {changes.insert} insertions in each of "
            f"{views - 1} steps, not {people}. Ask for more people, fewer views or fewer insertions."
        )
    present, left = rows, 0
    for view in range(2, views + 1):
        back = min(changes.reinsert, left)
        if changes.delete + changes.update > present:
            raise PolicyError(
                f"delete and update together must not exceed the people present, but for view {view} they "
                f"are {changes.delete + changes.update} of {present}. Ask for fewer deletions or updates."
            )
        present += changes.insert + back - changes.delete
        left += changes.delete - back
        if present == 0:
            raise PolicyError(
                f"Every view must hold people, but view {view} would hold none. Ask for fewer deletions."
            )


class CensusColumns:
    """Age, birthplace, education and gender; income.

    Who changes is a year older (95 at most), has by a fair coin one more level of education (the highest at most), and
    an income drawn anew from all ranges alike.
    """

    ages: tuple[int, int] = AGES
    texts: Mapping[str, str] = {
        "schema.toml": schema_toml(
            person={"role": "identifier"},
            age={"role": "quasi-identifier", "kind": "number", "domain": AGES},
            birthplace={
                "role": "quasi-identifier",
                "kind": "category",
                "domain": BIRTHPLACES,
                "hierarchy": "birthplace.csv",
            },
            education={"role": "quasi-identifier", "kind": "ordered", "order": EDUCATION},
            gender={"role": "quasi-identifier", "kind": "category", "domain": GENDERS},
            income={"role": "sensitive", "kind": "ordered", "order": INCOME},
        ),
        "birthplace.csv": hierarchy_csv(BIRTHPLACE_PATHS),
    }

    def draw(self, count: int, rng: np.random.Generator) -> People:
        return draw_people(count, rng)

    def change(self, people: People, who: Persons, rng: np.random.Generator) -> None:
        people.age[who] = np.minimum(people.age[who] + 1, AGES[1])
        schooled = people.education[who] + rng.integers(0, 2, len(who), dtype=np.int16)
        people.education[who] = np.minimum(schooled, len(EDUCATION) - 1)
        people.income[who] = rng.integers(0, len(INCOME), len(who), dtype=np.int16)

    def table(self, people: People, number: Persons, present: Persons) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "person": identifiers("P", number[present]),
                "age": people.age[present].astype(np.int64),
                "birthplace": labels(BIRTHPLACES, people.birthplace[present]),
                "education": labels(EDUCATION, people.education[present]),
                "gender": labels(GENDERS, people.gender[present]),
                "income": labels(INCOME, people.income[present]),
            }
        ).sort("person")


COLUMNS: Final[Mapping[str, PeopleColumns]] = MappingProxyType(
    {"census": CensusColumns(), "thesis": ThesisColumns()}
)
"""What may be in a table of this series."""
