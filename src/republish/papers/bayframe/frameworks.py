"""Publishes a series by the frameworks that the paper compares, and measures every release as it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from republish.arrays import BoolArray, FloatArray
from republish.attacks.confidence import absolute_gain
from republish.grouping import SUPPRESSED, Grouping
from republish.inference import Compromised, Reasoning, last_values
from republish.memory.memory import Memory, sight
from republish.metrics.linkage import nearest_linkage
from republish.metrics.penalty import global_certainty_penalty
from republish.microdata import Microdata
from republish.papers.bayframe.data import SECRET, Serial
from republish.papers.study import Row
from republish.publishers import BayFrame, JSReduce
from republish.publishers.bayframe import LARGEST
from republish.release.release import build_release

PER = 4000
"""Sums over the rows are given for views of so many rows, as the paper's are."""


@dataclass(frozen=True)
class UnderCloseness(JSReduce):
    """BayFrame under the requirements of JS-reduce: t-closeness in the place of beta-likeness."""

    cascade: str = "prior"

    @cached_property
    def reasoning(self) -> Reasoning:
        steps = last_values(self.steps)
        return Reasoning(self.knowledge, "bayes", steps, self.form, self.cascade, LARGEST)


@dataclass(frozen=True)
class Attacker:
    """An adversary beside the publisher's own: how she thinks, and what she is told."""

    reasoning: Reasoning
    told: Callable[[Microdata, int], Microdata]


def compromised(sigma: float, certainty: float, seed: int) -> Callable[[Microdata, int], Microdata]:
    """In every release anew each person is compromised with chance sigma: the true value, that certain."""

    def told(view: Microdata, number: int) -> Microdata:
        if not sigma:
            return view
        rows = np.flatnonzero(np.random.default_rng((seed, 11, number)).random(view.rows) < sigma)
        known = Compromised(rows, view.codes[rows].astype(np.int64), np.full(len(rows), certainty))
        return replace(view, compromised=known)

    return told


def nothing(view: Microdata, _: int) -> Microdata:
    """The view as it is: nobody is compromised."""
    return view


def releases(
    series: Serial,
    publisher: BayFrame | JSReduce,
    told: Callable[[Microdata, int], Microdata] = nothing,
    attackers: dict[str, Attacker] | None = None,
) -> list[Row]:
    """A row a release: GCP, RL and suppressed rows a view of 4,000, and the gain of each adversary.

    `gain` is that of the publisher's own adversary, `gain_NAME` of another, `others_...` the same over rows of which
    none of them was told anything. Where nothing is published there is no gain.
    """
    others = attackers or {}
    minds = dict.fromkeys(("", *others), Memory.empty())
    found = []
    for number, raw in enumerate(series.views, start=1):
        view = told(raw, number)
        grouping = publisher.publish(view, minds[""], np.random.default_rng(0))
        row = {"release": number, **_usefulness(view, grouping)}
        seen_by = {"": view, **{name: one.told(raw, number) for name, one in others.items()}}
        secret = np.ones(view.rows, dtype=np.bool_)
        for one in seen_by.values():
            if one.compromised is not None:
                secret[one.compromised.row] = False
        for name, mine in seen_by.items():
            mind = others[name].reasoning if name else publisher.reasoning
            minds[name], p = _thought(mind, mine, grouping, minds[name], number)
            row |= _gains(mine, grouping, p, secret, name)
        found.append(row)
    return found


def _thought(
    reasoning: Reasoning, view: Microdata, grouping: Grouping, memory: Memory, number: int
) -> tuple[Memory, FloatArray]:
    """What somebody remembers after a release, and the posteriors of everyone in it."""
    thoughts = reasoning.thoughts(reasoning.respondents(view), memory)
    shown = grouping.group != SUPPRESSED
    p = reasoning.inferred(thoughts, grouping.group, grouping.group[shown], view.codes[shown]).p
    seen = sight(view, np.zeros(view.rows, np.uint64), grouping.group + 1, number, memory)
    return reasoning.remembered(thoughts, p, memory.merged(seen)), p


def _gains(view: Microdata, grouping: Grouping, p: FloatArray, secret: BoolArray, name: str) -> Row:
    """The mean gain of equation 8 over published rows, and over those of which nothing was told."""
    shown = grouping.group != SUPPRESSED
    if not shown.any():
        return {}
    group, codes = grouping.group[shown], view.codes[shown]
    held = np.zeros((grouping.groups, len(view.values)))
    np.add.at(held, (group, codes), 1.0)
    gain = absolute_gain(p[shown, codes], held[group, codes] / held.sum(axis=1)[group])
    end = f"_{name}" if name else ""
    row: Row = {f"gain{end}": float(gain.mean())}
    if secret[shown].any():
        row[f"others{end}"] = float(gain[secret[shown]].mean())
    return row


def _usefulness(view: Microdata, grouping: Grouping) -> Row:
    """GCP, RL and suppressed rows, for 4,000 rows."""
    release, membership = build_release(view, grouping, SECRET, 1)
    left_out = int(grouping.suppressed)
    return {
        "gcp": PER * global_certainty_penalty(release, left_out),
        "rl": PER * nearest_linkage(release, view, membership),
        "suppressed": PER * left_out / view.rows,
    }
