"""Who is determined over 24 releases by solving all of them together: four publishers, three churns, three adversaries.

`python -m bench.withstand [--rows 6000] [--out DIR]` publishes census series with fixed seeds and attacks each: after
several numbers of releases with 4 % of people compromised, after the last also with 1 and 10 %. Shares are of people
who are not compromised. docs/attacks-measured.md has the table and the picture.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from republish import Cohorts, CorSplit, MInvariance, TauSafety, read_schema
from republish.attacks import History, history_of
from republish.attacks.excluding.candidates import sizes
from republish.attacks.linear import Budget, linear
from republish.datasets import census
from republish.inference.determination import escape_risk
from republish.memory.cohort_stays import NOBODY, TIED, Stays
from republish.papers.pictures import draw
from republish.papers.releases import SeededSeries
from republish.papers.study import Figure, Lines
from republish.publishers import Publisher

PUBLISHERS: dict[str, Publisher] = {
    "m-invariance": MInvariance(m=6, membership="nearest"),
    "tau-safety": TauSafety(m=6, membership="nearest"),
    "cor-split": CorSplit(m=6, n=3, membership="nearest"),
    "cohorts": Cohorts(m=6, membership="nearest"),
}
CHURN = (0.05, 0.10, 0.33)
COMPROMISED = (0.01, 0.04, 0.10)
RELEASES = (3, 6, 10, 15, 24)
QUICK = Budget(chains=1, moves=1, sweeps=2)  # probabilities are not asked for


def run(name: str, churn: float, rows: int, folder: Path, last_only: bool) -> dict[str, object]:
    """One series, published and attacked."""
    people = int(rows * (1 + churn * RELEASES[-1]) * 1.2)
    data = census(
        people=people, rows=rows, views=RELEASES[-1], insert=churn, delete=churn, update=0, reinsert=0, seed=7
    )
    where = folder / f"{name}-{churn}"
    census(people=2_000, rows=100, views=1).write(where / "data")
    series = SeededSeries.create(
        where / "s", read_schema(where / "data" / "schema.toml"), PUBLISHERS[name], seed=1
    )
    start = time.perf_counter()
    done = [series.publish(view) for view in data]
    published = time.perf_counter() - start
    history = history_of(series)
    found: dict[str, dict[int, float]] = {}
    start = time.perf_counter()
    for share, releases in itertools.product(COMPROMISED, RELEASES):
        if (share == COMPROMISED[1] and not last_only) or releases == RELEASES[-1]:
            found.setdefault(f"{share:g}", {})[releases] = determined(history.until(releases), share)
    bound, without = {}, {}
    if isinstance(PUBLISHERS[name], Cohorts):
        stays = Stays.of_frame(series.memory().counts)
        bound = {f"{share:g}": escape_risk(stays, share).share for share in COMPROMISED}
        without = {f"{share:g}": without_way(stays, share) for share in COMPROMISED}
    series.ledger.close()
    return {
        "publisher": name,
        "churn": churn,
        "rows": rows,
        "found": found,
        "bound": bound,
        "without_way": without,
        "counterfeits": float(np.mean([d.counterfeits / (d.rows + d.counterfeits) for d in done])),
        "penalty": float(np.mean([d.measures.penalty for d in done])),
        "seconds_published": published,
        "seconds_attacked": time.perf_counter() - start,
    }


def determined(history: History, share: float) -> float:
    """The share of people who are not compromised and have a life with one value left."""
    known = np.random.default_rng(1).random(history.people) < share
    findings = linear(history, known, budget=QUICK)
    lives = findings.unknowns.person[findings.unknowns.of_appearance]
    one = sizes(findings.sets)[findings.unknowns.of_appearance] == 1
    there, found = np.zeros((2, history.people), dtype=np.bool_)
    there[lives] = True
    found[lives[one]] = True
    return float(found[there & ~known].mean())


def without_way(stays: Stays, share: float, draws: int = 5) -> float:
    """The share of people without a way out, over several draws of compromised people: at most these are determined."""
    found = []
    for number in range(draws):
        known = np.random.default_rng(number).random(stays.count) < share
        fixed = known[stays.person] & (stays.bearer != NOBODY)
        risk = escape_risk(replace(stays, bearer=np.where(fixed, TIED, stays.bearer)), 0.0).of_stay
        others = (stays.bearer != NOBODY) & ~fixed
        stuck = np.unique(stays.person[others & (risk > 0)])
        found.append(len(stuck) / len(np.unique(stays.person[others])))
    return float(np.mean(found))


def draw_found(results: list[dict[str, Any]], churn: float, path: Path) -> None:
    """Draw who is determined after how many releases at one churn, a line a publisher."""
    share = f"{COMPROMISED[1]:g}"
    points = {
        result["publisher"]: (
            [int(releases) for releases in result["found"][share]],
            100 * np.array(list(result["found"][share].values())),
        )
        for result in results
        if result["churn"] == churn and len(result["found"][share]) > 1
    }
    title = f"the linear attack, {COMPROMISED[1]:.0%} compromised, {churn:.0%} of people exchanged each time"
    labels = ("releases", "people determined exactly (% of the others)")
    draw(Figure("Determined", title, "", "", "", "", labels, ()), Lines(points), path, quick=False)


def say(result: dict[str, object]) -> None:
    """One line for each adversary."""
    print(
        f"{result['publisher']:<13} churn {result['churn']:.0%}: counterfeits {result['counterfeits']:.2%}, penalty "
        f"{result['penalty']:.3f}, published {result['seconds_published']:.0f} s, attacked "
        f"{result['seconds_attacked']:.0f} s",
        flush=True,
    )
    for share, by in result["found"].items():  # type: ignore[attr-defined]
        shares = "  ".join(f"{n}: {part:.2%}" for n, part in by.items())
        proved = result["bound"].get(share)  # type: ignore[attr-defined]
        print(
            f"   {float(share):>4.0%} compromised, determined after {shares}"
            + (f"; proved at most {proved:.2%}" if proved else ""),
            flush=True,
        )


def main() -> None:
    """Everything, or the publishers and churns asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=6_000)
    parser.add_argument("--publishers", default=",".join(PUBLISHERS))
    parser.add_argument("--churn", default=",".join(map(str, CHURN)))
    parser.add_argument("--last-only", action="store_true", help="attack after the last release alone")
    parser.add_argument("--out", type=Path, default=Path("withstand"))
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    file = chosen.out / "withstand.json"
    results = json.loads(file.read_text()) if file.exists() else []
    with tempfile.TemporaryDirectory() as name:
        for churn, publisher in itertools.product(
            map(float, chosen.churn.split(",")), chosen.publishers.split(",")
        ):
            result = run(publisher, churn, chosen.rows, Path(name), chosen.last_only)
            say(result)
            results = [
                r
                for r in results
                if (r["publisher"], r["churn"], r["rows"]) != (publisher, churn, chosen.rows)
            ]
            results.append(result)
            file.write_text(json.dumps(results, indent=1))
            if churn == CHURN[1] and not chosen.last_only:
                draw_found(results, churn, chosen.out / "withstand.png")


if __name__ == "__main__":
    main()
