"""What a publisher's choices say of values in large series: the swap test, for the table of docs/choices.md.

`python -m bench.swap [census] [hospital]` exchanges the values of sixty pairs in release 1, and in release 2 of sixty
pairs of newcomers and as many of others (6,000 and 5,000 rows, seed 7) under every publisher, as its paper describes it
and by default, and publishes again.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import republish as rp
from bench.views import BLIND, Views, generated, told_apart
from republish.publishers import Publisher

PAIRS = 60


def publishers(views: Views) -> Iterator[tuple[str, Publisher]]:
    """What is compared, in the order of the table."""
    m = 6 if views.name == "census" else 4
    for kind in (rp.TauSafety, rp.MInvariance, rp.Cohorts):
        yield f"{kind.name}, nearest (as published)", kind(m=m, membership="nearest")
        yield f"{kind.name}, random (default)", kind(m=m)
    for way, said in (("nearest", "nearest (as published)"), ("random", "random (default)")):
        yield f"cor-split, {said}", rp.CorSplit(m, m // 2, views.name == "hospital", membership=way)
    known = views.knowledge
    if known is not None:
        yield "js-reduce, as published", rp.JSReduce.as_published(knowledge=known)
        yield "js-reduce, default", rp.JSReduce(knowledge=known)
        yield "bayframe, as published", rp.BayFrame.as_published(knowledge=known)
        yield "bayframe, default", rp.BayFrame(knowledge=known)
    yield "mondrian, k = 5", rp.Mondrian(k=5)
    yield f"mondrian, k = 5, l = {m}", rp.Mondrian(k=5, require=(rp.LDiversity(m),))
    yield "value-blind (default)", rp.ValueBlind(**BLIND[views.name])


def main(names: list[str]) -> None:
    """All lines of the series that are named."""
    print("| series | publisher | release 1 | release 2 | s |\n|---|---|---|---|---|")
    for name in names or ["census", "hospital"]:
        with TemporaryDirectory() as folder:
            views = generated(name, Path(folder) / "data")
            for label, publisher in publishers(views):
                began = time.perf_counter()
                try:
                    found = told_apart(views, publisher, PAIRS)
                except rp.CannotPublish:
                    found = ["refused", "-"]
                seconds = time.perf_counter() - began
                print(f"| {name} | {label} | {' | '.join(found)} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
