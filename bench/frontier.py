"""Gain, penalty and suppression of orders and cuts on the hospital series: what docs/frontier.md reports.

`python -m bench.frontier` publishes 24 views of 5,000 rows in memory under each variant, and attacks them with the
exact knowledge (posterior `exact`, full history). Two of the variants are no part of the product: an order that also
follows beliefs, and a repair of groups by swaps.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from republish.datasets import hospital
from republish.grouping import Grouping
from republish.inference import Compromised, Reasoning
from republish.kernels import kernel
from republish.knowledge import Extracted, Knowledge, learn, read_knowledge
from republish.memory.memory import Memory, sight
from republish.microdata import Microdata, read_view
from republish.orders import hilbert_order
from republish.publishers import BayFrame, JSReduce, Mondrian
from republish.publishers._ordered import publisher as _in_order
from republish.publishers._ordered.cuts import divergence, entropies
from republish.requirements import LDiversity, TCloseness
from republish.schema import Schema, read_schema
from republish.secret import Secret

Told = Callable[[Microdata, int], Microdata] | None
TERMINAL = ("deceased", "discharged")


@dataclass(frozen=True)
class Series:
    """Views with pseudonyms, their schema, and the knowledge they were drawn from."""

    views: list[Microdata]
    schema: Schema
    knowledge: Knowledge


def prepared(views: int = 24, rows: int = 5000, seed: int = 7) -> Series:
    """The hospital series in memory."""
    with TemporaryDirectory() as folder:
        hospital(views, rows, seed).write(Path(folder))
        schema = read_schema(Path(folder) / "schema.toml")
        knowledge = read_knowledge(Path(folder) / "knowledge", schema)
        assert isinstance(knowledge, Knowledge)
        secret, values, found = Secret.from_text("frontier " * 8), None, []
        for file in sorted((Path(folder) / "views").glob("*.csv")):
            found.append(read_view(file, schema, values).pseudonymous(secret))
            values = found[-1].values
    return Series(found, schema, knowledge)


def published(
    series: Series, publisher: Any, adversary: Reasoning, told: Told = None
) -> np.ndarray[Any, Any]:
    """Per release: signed gain, penalty, share left out, mean confidence, share above .9, rows a group, absolute gain.

    `told` says what outsiders know of single people; the defender knows it too. Gains are of the others.
    """
    memory, mind, rows = Memory.empty(), Memory.empty(), []
    for number, raw in enumerate(series.views, start=1):
        view = raw if told is None else told(raw, number)
        grouping = publisher.publish(view, memory, np.random.default_rng(0))
        seen = sight(view, np.zeros(view.rows, np.uint64), grouping.group + 1, number, memory)
        memory = publisher.remember(view, grouping, memory.merged(seen))
        thoughts = adversary.thoughts(adversary.respondents(view), mind)
        shown = grouping.group >= 0
        codes = np.concatenate([view.codes[shown], grouping.counterfeit_code])
        groups = np.concatenate([grouping.group[shown], grouping.counterfeit_group])
        posterior = adversary.inferred(thoughts, grouping.group, groups, codes).p
        mind = adversary.remembered(thoughts, posterior, mind.merged(seen))
        rows.append(_scored(view, grouping, posterior))
    return np.array(rows)


def _scored(view: Microdata, grouping: Grouping, posterior: Any) -> tuple[float, ...]:
    shown = grouping.group >= 0
    if not shown.any():
        return 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0
    left_out = float((~shown).mean())
    size = shown.sum() / grouping.groups
    group, codes = grouping.group[shown], view.codes[shown]
    held = np.zeros((grouping.groups, len(view.values)))
    np.add.at(held, (group, codes), 1)
    share = held[group, codes] / held.sum(axis=1)[group]
    p = posterior[shown, codes]
    if view.compromised is not None:
        others = ~np.isin(np.flatnonzero(shown), view.compromised.row)
        p, share = p[others], share[others]
    gain = np.divide(p - share, 1 - share, out=np.zeros_like(p), where=share < 1)
    return (
        float(gain.mean()),
        penalty(view, grouping.group),
        left_out,
        float(p.mean()),
        float((p > 0.9).mean()),
        size,
        float(np.abs(gain).mean()),
    )


def compromised(sigma: float, certainty: float) -> Told:
    """Each release anew, each person with chance sigma is known to have the true value with that certainty."""

    def told(view: Microdata, number: int) -> Microdata:
        rows = np.flatnonzero(np.random.default_rng((11, number)).random(view.rows) < sigma)
        entries = Compromised(rows, view.codes[rows].astype(np.int64), np.full(len(rows), certainty))
        return replace(view, compromised=entries)

    return told


def penalty(view: Microdata, group: Any) -> float:
    """The certainty penalty of numbers and binary categories, as in the hospital series."""
    low = np.array([axis.low for axis in view.axes])
    span = np.array([axis.high - axis.low for axis in view.axes])
    order = np.argsort(group, kind="stable")
    order = order[group[order] >= 0]
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    x = ((view.points.T - low) / span)[order]
    extent = np.maximum.reduceat(x, starts) - np.minimum.reduceat(x, starts)
    sizes = np.diff(np.append(starts, len(order)))
    return float((extent.mean(axis=1) @ sizes + np.count_nonzero(group < 0)) / len(group))


@contextmanager
def belief_order(series: Series, publisher: JSReduce, weight: float) -> Iterator[None]:
    """Rows along a Hilbert curve whose last axis is the main direction in which beliefs differ."""
    original, thought = _in_order.row_order, {}

    def remember(view: Microdata, memory: Memory, thoughts: Any, *rest: Any) -> Grouping:
        thought[id(view)] = thoughts.prior
        return cut(view, memory, thoughts, *rest)

    def order(view: Microdata, _: str) -> Any:
        roots = np.sqrt(thought[id(view)])
        roots -= roots.mean(axis=0)
        main = np.linalg.svd(roots, full_matrices=False)[0][:, 0]
        rank = np.argsort(np.argsort(main, kind="stable"))
        low = np.array([axis.low for axis in view.axes])
        high = np.array([axis.high for axis in view.axes])
        scaled = (view.points - low[:, None]) / (high - low)[:, None]
        return hilbert_order(np.vstack([scaled, weight * rank / len(rank)]), np.zeros(4), np.ones(4), 6)

    from republish.publishers import js_reduce

    cut = js_reduce.cut_in_order
    js_reduce.cut_in_order, _in_order.row_order = remember, order
    try:
        yield
    finally:
        js_reduce.cut_in_order, _in_order.row_order = cut, original


@dataclass(frozen=True)
class Swapped:
    """JS-reduce whose groups are repaired: neighbours exchange people as long as the sum of divergences falls."""

    inner: JSReduce
    rounds: int = 2

    def publish(self, view: Microdata, memory: Memory, rng: Any) -> Grouping:
        """The groups after the swaps."""
        grouping = self.inner.publish(view, memory, rng)
        prior = self.inner.reasoning.thoughts(self.inner.reasoning.respondents(view), memory).prior
        low = np.array([axis.low for axis in view.axes])
        span = np.array([axis.high - axis.low for axis in view.axes])
        x = ((view.points.T - low) / span).copy()
        line = _in_order.row_order(view, "hilbert")
        group = _swapped(
            grouping.group[line].astype(np.int64), prior[line], entropies(prior[line]), x[line], self.rounds
        )
        found = np.empty_like(grouping.group)
        found[line] = group
        return Grouping(found)

    def remember(self, view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
        """What the publisher remembers."""
        return self.inner.remember(view, grouping, memory)


@kernel
def _swapped(group, prior, entropy, x, rounds):  # type: ignore[no-untyped-def]
    """Groups along a line after swaps between neighbours, each lowering divergence plus penalty."""
    group = group.copy()
    for _ in range(rounds):
        for g in range(group.max()):
            mine, yours = np.flatnonzero(group == g), np.flatnonzero(group == g + 1)
            if len(mine) < 2 or len(yours) < 2:
                continue
            best = _cost(prior, entropy, x, mine) + _cost(prior, entropy, x, yours)
            for a in range(max(0, len(mine) - 8), len(mine)):
                for b in range(min(8, len(yours))):
                    mine[a], yours[b] = yours[b], mine[a]
                    now = _cost(prior, entropy, x, mine) + _cost(prior, entropy, x, yours)
                    if now < best - 1e-9:
                        best = now
                        group[mine[a]], group[yours[b]] = g, g + 1
                    else:
                        mine[a], yours[b] = yours[b], mine[a]
    return group


@kernel
def _cost(prior, entropy, x, rows):  # type: ignore[no-untyped-def]
    total, bits = np.zeros(prior.shape[1]), 0.0
    low, high = np.full(x.shape[1], np.inf), np.full(x.shape[1], -np.inf)
    for i in rows:
        total += prior[i]
        bits += entropy[i]
        low, high = np.minimum(low, x[i]), np.maximum(high, x[i])
    return len(rows) * (divergence(total, bits, len(rows)) + (high - low).mean())


def row(name: str, found: np.ndarray[Any, Any], seconds: float) -> None:
    """One line of the table."""
    gain, cost, out = found[:, 0], found[:, 1], found[:, 2]
    print(
        f"| {name} | {gain.max():.3f} | {cost.mean():.3f} | {cost[0]:.3f} | {cost.max():.3f} | {out.max():.2%} | "
        f"{found[:, 3].mean():.3f} | {found[:, 4].max():.1%} | {found[:, 5].mean():.0f} | {seconds:.1f} |",
        flush=True,
    )


def cascades() -> None:
    """Print what compromised records give away, under BayFrame as published and ours."""
    series = prepared()
    known = series.knowledge
    heads = ("G bayes, first", "worst", "last", "gain exact, worst", "penalty, mean", "left out, worst")
    print(f"| variant | {' | '.join(heads)} |")
    print("|---|---|---|---|---|---|---|")
    for sigma in (0.0, 0.01, 0.1):
        for cascade in ("prior", "posterior"):
            for name, publisher in (
                ("1-step", BayFrame.as_published(knowledge=known, cascade=cascade)),
                ("2-step", BayFrame.as_published(knowledge=known, steps=2, cascade=cascade)),
                ("ours", BayFrame(knowledge=known, cascade=cascade)),
                ("js-reduce as published", JSReduce.as_published(knowledge=known, steps=1)),
            ):
                if name.startswith("js") and cascade == "posterior":
                    continue
                told = compromised(sigma, 0.9) if sigma else None
                steps = {"1-step": 1, "2-step": 2}.get(name)
                form = "chained" if steps else "joint"
                paper = published(series, publisher, Reasoning(known, "bayes", steps, form, cascade), told)
                exact = published(series, publisher, Reasoning(known, cascade=cascade), told)
                print(
                    f"| {name}, sigma {sigma:g}, {cascade} | {paper[0, 6]:.4f} | {paper[:, 6].max():.4f} | "
                    f"{paper[-1, 6]:.4f} | {exact[:, 0].max():.3f} | {exact[:, 1].mean():.3f} | "
                    f"{exact[:, 2].max():.1%} |",
                    flush=True,
                )


def main() -> None:
    """Print the tables."""
    series = prepared()
    known = series.knowledge
    adversary = Reasoning(known)
    print(
        "| variant | gain, worst | penalty, mean | first | worst | left out, worst | confidence | above .9 | rows | s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")

    def measured(name: str, publisher: Any, attack: Reasoning = adversary) -> None:
        begin = time.perf_counter()
        row(name, published(series, publisher, attack), time.perf_counter() - begin)

    def ours(**settings: Any) -> JSReduce:
        return JSReduce(knowledge=known, **settings)

    measured("the paper's: greedy", JSReduce.as_published(knowledge=known))
    measured("greedy, full history, exact", ours(cut="greedy", crowd=0.0, keep=0.0, rest="suppress"))
    measured("optimal cut", ours(crowd=0.0, keep=0.0))
    measured("optimal cut, keep", ours(crowd=0.0))
    measured("optimal cut, crowd", ours(keep=0.0))
    measured("**default**: optimal cut, crowd 32, keep 2", ours())
    for crowd, keep in ((16.0, 2.0), (24.0, 2.0), (48.0, 2.0), (32.0, 1.0), (32.0, 4.0)):
        measured(f"crowd {crowd:g}, keep {keep:g}", ours(crowd=crowd, keep=keep))
    for j in (0.4, 0.8, 1.0):
        measured(f"j {j:g}", ours(j=j))
    measured("j 0.8, crowd 24", ours(j=0.8, crowd=24.0))
    measured("t 0.4", ours(t=0.4))
    measured("k 40 alone, no crowd", ours(k=40, crowd=0.0))
    measured("order nearest", ours(order="nearest"))
    for weight in (0.25, 1.0):
        publisher = ours()
        with belief_order(series, publisher, weight):
            measured(f"belief-aware order, weight {weight:g}", publisher)
    measured("repair by swaps", Swapped(ours()))
    for posterior in ("omega", "sinkhorn"):
        measured(f"defender infers by {posterior}", ours(posterior=posterior))
    for name, source in sources(series).items():
        measured(f"defender knows {name}", JSReduce(knowledge=source))
    for name, requirement in (("l=2", LDiversity(2)), ("t=0.8", TCloseness(0.8)), ("t=0.5", TCloseness(0.5))):
        for posterior in ("omega", "exact"):
            measured(
                f"Mondrian {name}, adversary {posterior}",
                Mondrian(2, (requirement,)),
                Reasoning(known, posterior),
            )


def sources(series: Series) -> dict[str, Knowledge | Extracted]:
    """What a defender who has no exact knowledge may use."""
    classes = series.knowledge.classes
    corpus: Callable[[int], Any] = lambda rows: list(hospital(24, rows, 99).views)  # noqa: E731
    return {
        "IE": Extracted(2, classes, TERMINAL),
        "IE without classes": Extracted(),
        "SPM of 5,000 rows": learn(corpus(5000), series.schema, classes, 2, terminal=TERMINAL),
        "SPM of 1,000 rows": learn(corpus(1000), series.schema, classes, 2, terminal=TERMINAL),
        "SPM of 1,000 rows, 1 step": learn(corpus(1000), series.schema, classes, 1, terminal=TERMINAL),
    }


if __name__ == "__main__":
    cascades() if "--cascades" in sys.argv else main()
