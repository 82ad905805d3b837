"""What a limit against an adversary who weighs all releases costs: `withstand` of js-reduce on the hospital series.

`python -m bench.joint [--rows 1500] [--releases 24] [--bits 0.5] [--events]` publishes the series in memory, seed 7,
weighs all releases with the joint attack's own rounds, and prints a column of the table in docs/joint.md; `--bits 0` is
the publisher's default.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from bench.frontier import Series, penalty, prepared
from republish.grouping import Grouping
from republish.inference.joint.messages import Sighting, together
from republish.inference.joint.withstand import sighting, with_changes
from republish.inference.revision import Revision
from republish.memory.memory import Memory, sight
from republish.publishers import JSReduce


def published(series: Series, publisher: JSReduce) -> list[Grouping]:
    """The groups of every view; a line each with what is left out and the seconds of the processor so far."""
    memory, made = Memory.empty(), []
    for number, view in enumerate(series.views, 1):
        grouping = publisher.publish(view, memory, np.random.default_rng(0))
        seen = sight(view, np.zeros(view.rows, np.uint64), grouping.group + 1, number, memory)
        memory = publisher.remember(view, grouping, memory.merged(seen))
        made.append(grouping)
        print(
            f"{number:>3}: {grouping.groups} groups, {grouping.suppressed} left out, {time.process_time():.0f} s",
            flush=True,
        )
    return made


def seen(series: Series, made: list[Grouping]) -> tuple[list[Sighting], int]:
    """The releases as she sees them, and how many people there are."""
    revision = Revision(series.knowledge.aligned(series.views[-1].values))
    _, number = np.unique(np.concatenate([view.people for view in series.views]), axis=0, return_inverse=True)  # type: ignore[arg-type]
    bounds = np.cumsum([view.rows for view in series.views])[:-1]
    found = []
    for view, grouping, person in zip(
        series.views[: len(made)], made, np.split(number.ravel(), bounds), strict=False
    ):
        shown, group = grouping.group >= 0, grouping.group.astype(np.int64)
        classes = series.knowledge.classes.of(view)
        found.append(
            sighting(person, classes, revision, group, group[shown], view.codes[shown].astype(np.int64))
        )
    return found, int(number.max()) + 1


def weighed(series: Series, sightings: list[Sighting], people: int) -> str:
    """Gain, mean confidence, and shares of published rows above .5 and .9."""
    found = together(sightings, people)
    p, f = [], []
    for one, view, posterior in zip(sightings, series.views, found.posteriors, strict=False):
        codes = view.codes[one.row]
        p.append(posterior.p[one.row, codes])
        sizes, group = (
            np.diff(one.groups.member_start),
            np.repeat(np.arange(one.groups.total), one.groups.members),
        )
        count: Any = np.zeros((one.groups.total, posterior.p.shape[1]))
        np.add.at(count, (group, codes), 1)
        f.append(count[group, codes] / sizes[group])
    mine, share = np.concatenate(p), np.concatenate(f)
    gain = np.divide(mine - share, 1 - share, out=np.zeros_like(mine), where=share < 1)
    above = f"{(mine > 0.5).mean():.3f}, above .9 {(mine > 0.9).mean():.3f}"
    return f"gain {gain.mean():.3f}, confidence {mine.mean():.3f}, above .5 {above}"


def main() -> None:
    """One series, one setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_500)
    parser.add_argument("--releases", type=int, default=24)
    parser.add_argument("--bits", type=float, default=0.5)
    parser.add_argument("--events", action="store_true")
    chosen = parser.parse_args()
    series = prepared(24, chosen.rows)
    series.views[chosen.releases :] = []
    events = True if chosen.events else None
    publisher = JSReduce(knowledge=series.knowledge, withstand=chosen.bits, event_lists=events)
    start, used = time.perf_counter(), time.process_time()
    made = published(series, publisher)
    wall, used = time.perf_counter() - start, time.process_time() - used
    out = np.array([one.suppressed / len(one.group) for one in made])
    costs = np.array(
        [
            penalty(view, one.group) if one.groups else 1.0
            for view, one in zip(series.views, made, strict=True)
        ]
    )
    print(f"left out {out.mean():.2%}, worst {out.max():.2%}, whole views {(out == 1).sum()}")
    print(f"penalty: first {costs[0]:.3f}, mean {costs.mean():.3f}, worst {costs.max():.3f}")
    print(f"{wall:.0f} s, {used:.0f} s of processor")
    sightings, people = seen(series, made)
    print("joint attack:", weighed(series, sightings, people))
    codes = [view.codes for view in series.views]
    print("with event lists:", weighed(series, with_changes(sightings, codes, people), people))


if __name__ == "__main__":
    main()
