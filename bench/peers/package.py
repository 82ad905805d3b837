"""Runs one package on a CSV and prints seconds, memory, penalty and rows suppressed as JSON. Needs pandas alone.

`python package.py NAME CSV K`. This file is run in the environment of the package, where republish is not installed.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable

import pandas as pd

QUASI = ["age", "birthplace", "education", "gender"]
SENSITIVE = "income"
RUNS, FIRST = 3, 500


def anjana(frame: pd.DataFrame, k: int) -> pd.DataFrame:
    """Full-domain generalization over intervals of 2, 4, 8 ... numbers; at most 10 % of the rows suppressed."""
    from anjana.anonymity import k_anonymity

    levels = {}
    for name in QUASI:
        column, width, made = frame[name].to_numpy(), 1, {0: frame[name].to_numpy()}
        while width <= column.max():
            width *= 2
            low = column // width * width
            made[len(made)] = [f"[{one}, {one + width})" for one in low]
        levels[name] = made
    return k_anonymity(frame, ["person"], QUASI, k, 10, levels)


def anonypy(frame: pd.DataFrame, k: int) -> pd.DataFrame:
    """Mondrian."""
    import anonypy as package

    made = package.Preserver(frame.drop(columns="person"), QUASI, SENSITIVE).anonymize_k_anonymity(k)
    found = pd.DataFrame(made)
    for name in QUASI:
        found[name] = found[name].map(lambda cell: cell[0] if isinstance(cell, list) else cell)
    return found.loc[found.index.repeat(found["count"])]


def anonypyx(frame: pd.DataFrame, k: int) -> pd.DataFrame:
    """Mondrian."""
    from anonypyx import Anonymiser

    made = Anonymiser(
        frame.drop(columns="person"),
        k=k,
        feature_columns=QUASI,
        sensitive_column=SENSITIVE,
        generalisation_strategy="human-readable",
    ).anonymise()
    return made.loc[made.index.repeat(made["count"])]


def ends(cells: pd.Series) -> tuple[pd.Series, pd.Series]:
    """The lowest and the highest number of `7`, `[4-7]`, `4-7` and `[4, 8)`."""
    text = cells.astype(str)
    found = text.str.extract(r"(\d+)(?:\.0)?(?:\s*(?:-|,)\s*(\d+))?").astype(float)
    high = found[1].fillna(found[0]) - text.str.endswith(")")
    return found[0], high


def penalty(published: pd.DataFrame, frame: pd.DataFrame) -> float:
    """What cells leave open, averaged over rows and quasi-identifiers; 1 for a row that is left out."""
    total = 0.0
    for name in QUASI:
        low, high = ends(published[name])
        low, high = low.clip(lower=frame[name].min()), high.clip(upper=frame[name].max())
        total += float((high - low).sum()) / float(frame[name].max() - frame[name].min())
    left_out = len(frame) - len(published)
    return (total / len(QUASI) + left_out) / len(frame)


def timed(work: Callable[[], object]) -> float:
    """The seconds that something takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def checked(frame: pd.DataFrame) -> dict[str, float]:
    """Seconds in which pycanon finds k, l and t of a table."""
    from pycanon import anonymity

    return {
        "k": timed(lambda: anonymity.k_anonymity(frame, QUASI)),
        "l": timed(lambda: anonymity.l_diversity(frame, QUASI, [SENSITIVE])),
        "t": timed(lambda: anonymity.t_closeness(frame, QUASI, [SENSITIVE])),
    }


def main(name: str, path: str, k: int) -> dict[str, object]:
    """Everything that is measured of a package."""
    if name == "pycanon":
        return {"checks": checked(pd.read_csv(path, dtype=str))}
    frame, anonymize = pd.read_csv(path), globals()[name]
    anonymize(frame.head(FIRST).reset_index(drop=True), k)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, made = [], []
    for _ in range(RUNS):
        made.clear()
        seconds.append(timed(lambda: made.append(anonymize(frame.copy(), k))))
    published = made[0]
    return {
        "seconds": seconds,
        "mebibytes": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
        "penalty": penalty(published, frame),
        "suppressed": len(frame) - len(published),
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
