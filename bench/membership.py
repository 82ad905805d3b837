"""Who is with whom by chance or by distance: what it costs, and what it tells; the table of docs/frontier.md.

`python -m bench.membership [census] [hospital]` runs every publisher that keeps signatures on a generated series (seed
7), nothing written: certainty penalty of the first release and over all, counterfeits over all rows, and in how many of
sixty pairs of release 1, and of sixty of newcomers and as many of others of release 2, the swap test tells two people
of a group apart.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bench.two_tables import generated
from republish import CannotPublish, Microdata, read_view
from republish.attacks.replaying.replay import Replay
from republish.attacks.replaying.swap import swap_test
from republish.memory.memory import Memory, sight
from republish.metrics.penalty import global_certainty_penalty
from republish.publishers import Cohorts, CorSplit, MInvariance, Publisher, TauSafety
from republish.release.release import build_release
from republish.secret import Secret

SECRET = Secret.from_text("ab" * 32)
PAIRS = 60
HEADING = (
    "| series | publisher | membership | zone | penalty, first | mean | counterfeits, first | mean | told apart, "
    "releases 1 and 2 | releases | s |\n|---|---|---|---|---|---|---|---|---|---|---|"
)


def publishers(m: int, pad: bool) -> Iterator[Publisher]:
    """Each as published and by chance, with smaller and larger zones, and in two tables."""
    for membership in ("nearest", "random"):
        yield TauSafety(m, membership=membership)
        yield TauSafety(m, membership=membership, compromised=0.04).in_two_tables()
        yield MInvariance(m, membership=membership)
        yield CorSplit(m, m // 2, pad, membership=membership)
        yield Cohorts(m, membership=membership)
        yield Cohorts(m, membership=membership, zone=600 if membership == "nearest" else 400)
    yield from (TauSafety(m, zone=zone) for zone in (60, 120, 600))


def views_of(name: str) -> list[Microdata]:
    """The views under pseudonyms."""
    with TemporaryDirectory() as folder:
        found, known, views = generated(name, Path(folder) / "data"), None, []
        for file in found.files:
            view = read_view(file, found.schema, known)
            known = view.values
            views.append(view.pseudonymous(SECRET))
    return views


def line(name: str, publisher: Publisher, views: list[Microdata]) -> str:
    """One line of the table."""
    memory, began, penalty, rows, fakes = Memory.empty(), time.perf_counter(), [], [], []
    for number, view in enumerate(views, start=1):
        try:
            made = publisher.publish(view, memory, np.random.default_rng([7, number]))
        except CannotPublish:
            break
        seen = sight(view, view.row_digests(SECRET), made.group + 1, number, memory)
        memory = publisher.remember(view, made, memory.merged(seen))
        penalty.append(global_certainty_penalty(build_release(view, made, SECRET, str(number))[0]))
        rows.append(view.rows)
        fakes.append(made.counterfeits)
    seconds = time.perf_counter() - began
    told = ", ".join(
        f"{one.told_apart} of {one.pairs}" for one in swap_test(Replay(publisher, SECRET), views[:2], PAIRS)
    )
    given = publisher.parameters()
    settings = {name: getattr(publisher, name) for name in ("membership", "zone") if name in given}
    # In two tables people have cells of their own, whatever the batches are.
    whole = isinstance(publisher, TauSafety) and publisher.whole
    blurred = " | ".join("-" if whole else f"{one:.3f}" for one in (penalty[0], np.mean(penalty)))
    return (
        f"| {name} | {publisher.name}{', two tables' if whole else ''} | {settings['membership']} | "
        f"{settings['zone'] or '-'} | {blurred} | {fakes[0] / rows[0]:.1%} | {sum(fakes) / sum(rows):.1%} | {told} | "
        f"{len(rows)} | {seconds:.0f} |"
    )


def main(names: list[str]) -> None:
    """All lines of the series that are named."""
    print(HEADING)
    for name in names or ["census", "hospital"]:
        views = views_of(name)
        for publisher in publishers(6 if name == "census" else 4, pad=name == "hospital"):
            print(line(name, publisher, views), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
