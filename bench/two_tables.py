"""One table against two: what an analyst gets, and what a register-holder finds; the tables of docs/frontier.md.

`python -m bench.two_tables [census] [hospital] [adult] [wages] [speed] [blind]` publishes each series in the ledger
under every publisher and form, then measures the last release and attacks all of them. `adult` and `wages` need
`REPUBLISH_ADULT` and `REPUBLISH_WAGES`, the folders of these data. Times are those of all publishes together. `blind`
is the table of docs/value-blind.md: value-blind batches on all of them, also on a census of which 2 % come and go.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import republish as rp
from bench.views import BLIND, Views, adult, generated, told_apart, wages
from republish.attacks.run import run, target_of
from republish.datasets import census
from republish.metrics import Workload, relative_error, true_counts
from republish.metrics.boxes import aligned
from republish.publishing.plausibility import MEANT

SELECTIVITIES = (0.01, 0.05, 0.1)
QUERIES = 5_000
PAIRS = 20
HEADING = (
    "| series | publisher | form | penalty | QIs only, 1 / 5 / 10 % | QIs + value, 1 / 5 / 10 % | information kept | "
    "isolated | absent excluded | faked | without value | seconds |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
)


def publishers(views: Views) -> Iterator[tuple[rp.TwoTables | None, Any]]:
    """What is compared: each publisher in one table and in two, its parameters those that suit the form."""
    m = {"census": 6, "hospital": 4, "adult": 4, "wages": 3}[views.name]
    two = rp.TwoTables(k=5)
    yield None, rp.Mondrian(k=5, require=(rp.LDiversity(m),))
    near = "nearest"  # as published; bench.membership compares
    yield None, rp.TauSafety(m=m, membership=near)
    yield two, rp.TauSafety(m=m, compromised=0.04, membership=near)
    if views.name != "wages":
        yield None, rp.Cohorts(m=m, membership=near)
        yield two, rp.Cohorts(m=m, zone=600, membership=near)
    if views.knowledge is not None:
        yield None, rp.JSReduce(knowledge=views.knowledge)
        yield two, rp.JSReduce(knowledge=views.knowledge, crowd=170.0)


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


BLIND_HEADING = (
    "| series | seed | batches | held | waiting or without batch | bound at 4 % (worst person) | determined, linear at "
    "0 / 4 % | confidence, above .9 | joint gain, + events | swap test, releases 1 and 2 | QIs + value, 5 % "
    "| information kept | seconds |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|"
)


def blind(name: str, seed: int, folder: Path) -> str:
    """One line of the table of value-blind batches."""
    made = {"adult": lambda: adult(folder / "data"), "wages": wages}
    views = made.get(name, lambda: generated(name, folder / "data", seed))()
    publisher = rp.ValueBlind(**BLIND[name])
    series = rp.Series.create(folder / "series", views.schema, publisher, seed=7, form=rp.TwoTables(k=5))
    began = time.perf_counter()
    done = [series.publish(file, meant=MEANT) for file in views.files]
    seconds = time.perf_counter() - began
    rows = sum(one.rows for one in done)
    bound = next(c.says for c in done[-1].verification.checks if c.promise.startswith("determined"))
    release = series.release(len(views.files))
    view = aligned(rp.read_view(views.files[-1], views.schema, series.known_values()), release.people)
    kept = rp.measure(release, view, queries=0).information_kept
    return (
        f"| {name} | {seed} | {publisher.batches} {publisher.size}, n={publisher.n} | "
        f"{sum(one.counterfeits for one in done) / rows:.1%} | {sum(one.suppressed for one in done) / rows:.1%} | "
        f"{' ('.join(re.findall(r'[0-9.]+%', bound)[-2:])}) | {_determined(series)} | {_gain(series, views)} | "
        f"{', '.join(told_apart(views, publisher, PAIRS))} | "
        f"{_error(release, view, 0.05, True):.3f} | {kept:.2f} | {seconds:.0f} |"
    )


def _determined(series: rp.Series) -> str:
    """Who is determined by the linear attack without and with compromised people, and how sure she is of others."""
    found = []
    for share in (0.0, 0.04):
        adversary = rp.Adversary(compromised=share)
        found.append(run(target_of(series, adversary, ("linear",)), adversary, "linear"))
    sure, ratio = found[0].summary, " / ".join(f"{one.summary.determined_share:.2%}" for one in found)
    return f"{ratio} | {sure.mean_confidence:.3f}, {sure.above_nine_tenths:.2%}"


def _gain(series: rp.Series, views: Views) -> str:
    """How much an adversary gains who knows how values follow each other; and who also knows who changed when."""
    if views.knowledge is None:
        return "-"
    found = []
    for events in (False, True):
        adversary = rp.Adversary(knowledge=views.knowledge, event_lists=events)
        found.append(run(target_of(series, adversary, ("joint",)), adversary, "joint").summary.gain)
    return ", ".join("-" if gain is None else f"{gain:.3f}" for gain in found)


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
    for name in [
        one for one in names or ["census", "hospital", "adult", "wages"] if one not in ("speed", "blind")
    ]:
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
    if not names or "blind" in names:
        print(f"\n{BLIND_HEADING}")
        for name in BLIND:
            for seed in (7, 8, 9) if name not in ("adult", "wages") else (7,):
                with TemporaryDirectory() as folder:
                    print(blind(name, seed, Path(folder)), flush=True)
    if not names or "speed" in names:
        speed()


if __name__ == "__main__":
    main(sys.argv[1:])
