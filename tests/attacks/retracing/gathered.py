"""Small series whose groups were gathered, and what gathering means, spelled out."""

from __future__ import annotations

from itertools import permutations, product
from math import inf, prod

import numpy as np
import polars as pl

from republish.attacks.retracing.places import crowd_of
from republish.attacks.retracing.precedence import Crowd
from republish.microdata import Microdata, read_view
from republish.schema import Category, Number, Schema
from republish.secret import Secret

SECRET = Secret.from_text("ab" * 32)
SCHEMA = Schema(
    identifier="id", quasi_identifiers=[Number("age"), Category("town")], sensitive=Category("ill")
)
ILL = ("cold", "flu", "gout", "hiv")


def people(count: int, values: int, seed: int, missing: float = 0.0) -> pl.DataFrame:
    """People whose sensitive values are equally frequent."""
    rng = np.random.default_rng(seed)
    age = [None if rng.random() < missing else int(a) for a in rng.integers(18, 99, count)]
    town = [None if rng.random() < missing else str(t) for t in rng.choice(list("abc"), count)]
    ill = [ILL[i % values] for i in range(count)]
    return pl.DataFrame(
        {"id": [f"p{i}" for i in range(count)], "age": age, "town": town, "ill": ill},
        schema_overrides={"age": pl.Int64},
    )


def read(frame: pl.DataFrame) -> Microdata:
    return read_view(frame, SCHEMA).pseudonymous(SECRET)


def two_views(view: Microdata, each: int) -> tuple[Microdata, Microdata]:
    """So many people of each value, and the others."""
    rows = [np.flatnonzero(view.codes == code) for code in np.unique(view.codes)]
    first = np.sort(np.concatenate([one[:each] for one in rows]))
    return view.only(first), view.only(np.setdiff1d(np.arange(view.rows), first))


def crowd(groups: int, values: int, seed: int, nobodys: int = 0, known: float = 0.0) -> Crowd:
    """Entries of a bucket, group by group; rows of nobody have any value but the first."""
    rng = np.random.default_rng(seed)
    row = np.arange(groups * values)
    other = np.flatnonzero(row % values > 0)
    row[rng.choice(other, nobodys, replace=False)] = -1
    return crowd_of(read(people(groups * values, values, seed, 0.1)), row, rng.random(len(row)) < known)


def apart(crowd: Crowd, entries: list[int], e: int) -> float:
    """The square of the distance of an entry to the middle of others."""
    if not crowd.real[e]:
        return inf
    there, total = [i for i in entries if crowd.real[i]], 0.0
    for a in range(crowd.number.shape[1]):
        x = crowd.number[e, a]
        known = [crowd.number[i, a] for i in there if crowd.number[i, a] != -inf]
        if x == -inf:
            total += (len(known) / len(there)) ** 2
        else:
            part = abs(x * len(known) - sum(known)) + len(there) - len(known)
            total += (part / len(there)) ** 2
    for a in range(crowd.leaf.shape[1]):
        total += (sum(crowd.apart[crowd.leaf[e, a], crowd.leaf[i, a]] for i in there) / len(there)) ** 2
    return total


def comes_before(crowd: Crowd, world: np.ndarray) -> np.ndarray:
    """How many entries of group h are nearer to group g than its own, `[g, h]`."""
    n, w = world.shape
    found = np.zeros((n, n), dtype=int)
    for g, h, p in product(range(n), range(n), range(1, w)):
        before = list(world[g, :p])
        found[g, h] += apart(crowd, before, world[h, p]) < apart(crowd, before, world[g, p]) - 1e-9
    return found


def orders(found: np.ndarray) -> int:
    """In how many orders every group comes after those that must come before it."""
    n = len(found)
    return sum(
        not any(found[order[i], order[j]] for i in range(n) for j in range(i + 1, n))
        for order in permutations(range(n))
    )


def weights(crowd: Crowd, world: np.ndarray) -> np.ndarray:
    """Pairs of a world and an order, by who has which value; all worlds are tried."""
    n, w = world.shape
    found = np.zeros((n * w, w))
    ways = [
        [
            tried
            for tried in permutations(group)
            if crowd.real[tried[0]] and all(tried[p] == e for p, e in enumerate(group) if crowd.fixed[e])
        ]
        for group in world.tolist()
    ]
    assert prod(map(len, ways)) < 5000
    for chosen in product(*ways):
        tried = np.array(chosen)
        found[tried, np.arange(w)] += orders(comes_before(crowd, tried))
    return found
