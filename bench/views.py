"""The series that publishers are compared on: generated ones, snapshots of UCI Adult, and the real panel of wages."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import republish as rp
from republish.attacks.replaying.replay import Replay
from republish.attacks.replaying.swap import swap_test
from republish.datasets import census, hospital
from republish.secret import Secret

BLIND = {
    "census": {"batches": "closed", "size": 60, "n": 6, "m": 4},
    "calm census": {"batches": "closed", "size": 60, "n": 6, "m": 4},
    "hospital": {"batches": "open", "size": 300, "n": 5, "m": 4},
    "adult": {"batches": "closed", "size": 60, "n": 5, "m": 2},
    "wages": {"batches": "open", "size": 60, "n": 5, "m": 3},
}
"""How value-blind batches are made on each series."""


@dataclass(frozen=True)
class Views:
    """The raw views of a series, one file each, their schema, and what is known of how values follow each other."""

    name: str
    files: list[Path]
    schema: rp.Schema
    knowledge: Any = None


def generated(name: str, folder: Path, seed: int = 7) -> Views:
    """A generated series in files."""
    churn = 0.02 if name == "calm census" else 0.1
    made = (
        hospital(24, 5_000, seed)
        if name == "hospital"
        else census(people=60_000, rows=6_000, views=12, insert=churn, delete=churn, seed=seed)
    )
    made.write(folder)
    schema = rp.read_schema(folder / "schema.toml")
    known = folder / "knowledge"
    knowledge = rp.read_knowledge(known, schema) if known.exists() else None
    return Views(name, sorted((folder / "views").iterdir()), schema, knowledge)


def adult(folder: Path, views: int = 8, rows: int = 6_000, churn: float = 0.1) -> Views:
    """Snapshots of UCI Adult: every view replaces some of its people by others of the file."""
    source = Path(os.environ["REPUBLISH_ADULT"])
    people = pl.read_csv(source / "adult.csv", separator=",").with_row_index("person")
    chance, there = np.random.default_rng(7), np.arange(rows)
    folder.mkdir()
    columns = ["person", "age", "sex", "race", "marital-status", "education", "native-country", "occupation"]
    for number in range(1, views + 1):
        people[there].select(columns).write_csv(folder / f"{number:03d}.csv")
        stay = chance.random(rows) >= churn
        fresh = np.setdiff1d(np.arange(people.height), there)
        there = np.concatenate([there[stay], chance.choice(fresh, rows - int(stay.sum()), replace=False)])
    trees = {
        name: source / f"adult_hierarchy_{name}.csv"
        for name in ("marital-status", "education", "native-country")
    }
    quasi = [
        rp.Number("age"),
        rp.Category("sex"),
        rp.Category("race"),
        *(rp.Category(name, hierarchy=rp.read_hierarchy(file)) for name, file in trees.items()),
    ]
    return Views("adult", sorted(folder.iterdir()), rp.Schema("person", quasi, "occupation"))


def wages() -> Views:
    """The real panel of wages, seven years."""
    source = Path(os.environ["REPUBLISH_WAGES"])
    flags = ("sex", "black", "married", "south", "city", "union", "bluecollar")
    quasi = [rp.Number("experience"), rp.Number("education"), *(rp.Category(name) for name in flags)]
    wage = rp.Ordered("wage", order=tuple(f"w{i:02d}" for i in range(1, 11)))
    return Views("wages", sorted(source.glob("*.csv")), rp.Schema("person", quasi, wage))


def told_apart(views: Views, publisher: Any, pairs: int) -> list[str]:
    """Of how many pairs who exchanged their values an adversary tells who is who, in the first two releases.

    Of the second one, of all pairs and of newcomers.
    """
    secret, known, first = Secret.from_text("ab" * 32), None, []
    for file in views.files[:2]:
        view = rp.read_view(file, views.schema, known)
        known = view.values
        first.append(view.pseudonymous(secret))
    found = swap_test(Replay(publisher, secret), first, pairs)
    return [
        f"{one.told_apart} of {one.pairs}"
        + (f" (newcomers {one.new_told_apart} of {one.new_pairs})" if one.new_pairs < one.pairs else "")
        for one in found
    ]
