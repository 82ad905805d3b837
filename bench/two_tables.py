"""One table against two: what an analyst gets, and what a register-holder finds; the tables of docs/frontier.md.

`python -m bench.two_tables [census] [hospital] [adult] [wages] [speed]` publishes each series in the ledger under every
publisher and form, then measures the last release and attacks all of them. `adult` and `wages` need
`REPUBLISH_ADULT` and `REPUBLISH_WAGES`, the folders of these data. Times are those of all publishes together.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

import republish as rp
from republish.attacks.run import run, target_of
from republish.datasets import census, hospital
from republish.metrics import Workload, relative_error, true_counts
from republish.metrics.boxes import aligned
from republish.publishing.plausibility import MEANT

SELECTIVITIES = (0.01, 0.05, 0.1)
QUERIES = 5_000
HEADING = (
    "| series | publisher | form | penalty | QIs only, 1 / 5 / 10 % | QIs + value, 1 / 5 / 10 % | information kept | "
    "isolated | absent excluded | faked | without value | seconds |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True)
class Views:
    """The raw views of a series, one file each, their schema, and what is known of how values follow each other."""

    name: str
    files: list[Path]
    schema: rp.Schema
    knowledge: Any = None


def generated(name: str, folder: Path) -> Views:
    """A generated series in files."""
    made = (
        census(people=60_000, rows=6_000, views=12, insert=0.1, delete=0.1)
        if name == "census"
        else hospital(24, 5_000, 7)
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


def publishers(views: Views) -> Iterator[tuple[rp.TwoTables | None, Any]]:
    """What is compared: each publisher in one table and in two, its parameters those that suit the form."""
    m = {"census": 6, "hospital": 4, "adult": 4, "wages": 3}[views.name]
    two = rp.TwoTables(k=5)
    yield None, rp.Mondrian(k=5, require=(rp.LDiversity(m),))
    yield None, rp.TauSafety(m=m)
    yield two, rp.TauSafety(m=m, compromised=0.04)
    if views.name != "wages":
        yield None, rp.Cohorts(m=m)
        yield two, rp.Cohorts(m=m, zone=600)
    if views.knowledge is not None:
        yield None, rp.JSReduce(knowledge=views.knowledge)
        yield two, rp.JSReduce(knowledge=views.knowledge, crowd=150.0)


def published(views: Views, form: rp.TwoTables | None, publisher: Any, folder: Path) -> str:
    """One line of the table."""
    series = rp.Series.create(folder, views.schema, publisher, seed=7, one_table=True, form=form)
    began, done = time.perf_counter(), []
    for file in views.files:
        try:
            done.append(series.publish(file, meant=MEANT))
        except rp.CannotPublish:
            where = "two tables" if form else "one table"
            return f"| {views.name} | {publisher.name} | {where} | refuses release {len(done) + 1} |"
    seconds, last = time.perf_counter() - began, len(views.files)
    release = series.release(last)
    view = aligned(rp.read_view(views.files[-1], views.schema, series.known_values()), release.people)
    errors = {
        sensitive: " ".join(
            f"{_error(release, view, share, sensitive):.3f}".lstrip("0") for share in SELECTIVITIES
        )
        for sensitive in (False, True)
    }
    kept = rp.measure(release, view, queries=0).information_kept
    isolated, excluded = _identified(series, views)
    rows = sum(one.rows for one in done)
    faked = sum(one.counterfeits for one in done) / rows
    without = sum(one.suppressed for one in done) / rows
    return (
        f"| {views.name} | {publisher.name} | {'two tables' if form else 'one table'} | "
        f"{done[-1].measures.penalty:.3f} | {errors[False]} | {errors[True]} | {kept:.2f} | "
        f"{isolated:.2%} | {excluded:.2%} | {faked:.1%} | {without:.1%} | {seconds:.0f} |"
    )


def _error(release: Any, view: rp.Microdata, selectivity: float, sensitive: bool) -> float:
    dimensions = min(2, len(view.axes))
    workload = Workload.random(view, QUERIES, dimensions, selectivity, 5, sensitive=sensitive)
    return relative_error(true_counts(view, workload), release.count_many(workload).expected).median


def _identified(series: rp.Series, views: Views) -> tuple[float, float]:
    """At the last release: who is isolated by all cells that were hers, and which absent people no cell admits."""
    adversary, names = rp.Adversary(), ("linkage", "presence")
    target = target_of(series, adversary, names, views=views.files)
    linked, present = (run(target, adversary, name).releases[-1] for name in names)
    return linked.alone, present.shown_absent


def speed(rows: int = 1_000_000, releases: int = 5) -> None:
    """Publishing many rows in one table and in two, in one run."""
    print(f"\npublish of {rows:,} rows, {releases} releases, Mondrian k=10:")
    taken = {}
    with TemporaryDirectory() as folder:
        made = census(people=int(rows * 1.5), rows=rows, views=releases, insert=0.05, delete=0.05)
        made.write(Path(folder) / "data")
        schema = rp.read_schema(Path(folder) / "data" / "schema.toml")
        for name, form in (("one table", None), ("two tables", rp.TwoTables(k=10))):
            root = Path(folder) / name.replace(" ", "-")
            series = rp.Series.create(root, schema, rp.Mondrian(k=10), one_table=True, form=form)
            began = time.perf_counter()
            for view in sorted((Path(folder) / "data" / "views").iterdir()):
                series.publish(view)
            taken[name] = time.perf_counter() - began
            print(f"  {name:10} {taken[name]:7.1f} s")
    print(f"  two tables / one table {taken['two tables'] / taken['one table']:.2f} (at most 2)")


def main(names: list[str]) -> None:
    """All tables, or those that are named."""
    print(HEADING)
    for name in [one for one in names or ["census", "hospital", "adult", "wages"] if one != "speed"]:
        with TemporaryDirectory() as folder:
            place = Path(folder) / "data"
            if name in ("adult", "wages") and f"REPUBLISH_{name.upper()}" not in os.environ:
                print(f"| {name} | left out: REPUBLISH_{name.upper()} does not name its folder |")
                continue
            views = (
                adult(place) if name == "adult" else wages() if name == "wages" else generated(name, place)
            )
            for number, (form, publisher) in enumerate(publishers(views)):
                print(published(views, form, publisher, Path(folder) / f"series{number}"), flush=True)
    if not names or "speed" in names:
        speed()


if __name__ == "__main__":
    main(sys.argv[1:])
