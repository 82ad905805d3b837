"""Every publisher against an adversary who knows the program, the calendar and the odds: docs/attacks-measured.md.

`python -m bench.adversary [census] [hospital] [wages] [publisher ...]` publishes each series in the ledger under every
publisher, or under those named (`"tau-safety, nearest"`), as by default and as its paper describes it, and makes every
attack on it. A cell has the share of people determined, the
share above .9 and the mean confidence; of beliefs the gain instead of the first. Who retraces how groups were made
looks at each release alone: at all of them where people are dealt by chance, else, for a release takes minutes, at the
first one. `linear` draws fewer worlds than by default: who is determined is found as thoroughly, confidence is known to
some hundredths. `wages` needs `REPUBLISH_WAGES`, the folder of these data. `seconds` are those of the processor, of all
publishes together.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import republish as rp
from bench.views import BLIND, Views, generated, told_apart, wages
from republish.attacks.linear import Budget, linear
from republish.attacks.results import AttackResult
from republish.attacks.run import Target, attacked, run, target_with_views
from republish.publishers.contract import DEALT
from republish.publishing.plausibility import MEANT

SERIES = ("census", "hospital", "wages")
PAIRS = 60
COMPROMISED = 0.04
TWO = rp.TwoTables(k=5)
ATTACKS: dict[str, tuple[str, dict[str, Any]]] = {
    "intersection": ("intersection", {}),
    "tau": ("tau", {}),
    "linear": ("linear", {}),
    "linear, 4 %": ("linear", {"compromised": COMPROMISED}),
    "gathering": ("gathering", {}),
    "gathering, 4 %": ("gathering", {"compromised": COMPROMISED}),
    "halving": ("halving", {}),
    "halving, 4 %": ("halving", {"compromised": COMPROMISED}),
    "beliefs": ("beliefs", {}),
    "joint": ("joint", {"event_lists": False}),
    "joint + events": ("joint", {}),
}
"""The columns: each an attack and what the adversary is granted."""
RETRACING = ("gathering", "halving")
WORLDS = Budget(chains=2, moves=100_000, sweeps=20, longer=1)


def publishers(views: Views) -> Iterator[tuple[str, rp.TwoTables | None, Any]]:
    """What is compared, in the order of the table."""
    m = {"census": 6, "hospital": 4, "wages": 3}[views.name]
    yield "value-blind", TWO, rp.ValueBlind(**BLIND[views.name])
    made = {"m-invariance": rp.MInvariance, "tau-safety": rp.TauSafety, "cor-split": rp.CorSplit}
    for name, publisher in {**made, "cohorts": rp.Cohorts}.items():
        yield name, None, publisher(m=m)
        yield f"{name}, nearest", None, publisher(m=m, membership="nearest")
    if views.knowledge is not None:
        yield "js-reduce", None, rp.JSReduce(knowledge=views.knowledge)
        yield "js-reduce, two tables", TWO, rp.JSReduce(knowledge=views.knowledge, crowd=170.0)
        yield "bayframe", None, rp.BayFrame(knowledge=views.knowledge)
    yield "mondrian", None, rp.Mondrian(k=5, require=(rp.LDiversity(m),))


def line(views: Views, name: str, form: rp.TwoTables | None, publisher: Any, folder: Path) -> str:
    """One line of the table."""
    series = rp.Series.create(folder, views.schema, publisher, seed=7, one_table=True, form=form)
    began, done, cells = time.process_time(), [], {}
    for file in views.files:
        try:
            done.append(series.publish(file, meant=MEANT))
        except rp.CannotPublish:
            return f"| {views.name} | {name} | refuses release {len(done) + 1} |"
        if len(done) == 1 and not _dealt(publisher):
            paused = time.process_time()
            cells = {
                column: _cell(series, views, column) for column in ATTACKS if column.startswith(RETRACING)
            }
            began += time.process_time() - paused
    seconds, rows = time.process_time() - began, sum(one.rows for one in done)
    shares = [sum(getattr(one, part) for one in done) / rows for part in ("counterfeits", "suppressed")]
    found = [cells.get(column) or _cell(series, views, column) for column in ATTACKS]
    return (
        f"| {views.name} | {name} | {' | '.join(found)} | {', '.join(told_apart(views, publisher, PAIRS))} | "
        f"{done[-1].measures.penalty:.3f} | {shares[0]:.1%} | {shares[1]:.1%} | {seconds:.0f} |"
    )


def _dealt(publisher: Any) -> bool:
    """Whether chance deals people, so that all releases are quickly retraced."""
    return publisher.forming is not None and publisher.forming.rule == DEALT


def _cell(series: rp.Series, views: Views, column: str) -> str:
    """What an attack on the releases so far finds, `-` where it says that it does not apply."""
    attack, granted = ATTACKS[column]
    adversary = rp.Adversary(knowledge=views.knowledge, **granted)
    try:
        target = target_with_views(series, adversary, (attack,), views.files[: len(series.records)])
        made = _solved(target, adversary) if attack == "linear" else run(target, adversary, attack)
    except rp.PolicyError:
        return "-"
    found = made.summary
    first = f"{found.determined_share:.2%}" if attack not in ("beliefs", "joint") else f"{found.gain:.2f}"
    return f"{first}, {found.above_nine_tenths:.1%}, {found.mean_confidence:.2f}"


def _solved(target: Target, adversary: rp.Adversary) -> AttackResult:
    """What `linear` finds, from fewer worlds."""
    history = attacked(target.history, "linear")
    known = adversary.known(history)
    found = linear(history.knowing_forgotten(), known, budget=WORLDS)
    return AttackResult.of("linear", found, history.diversity, known)


def main(names: list[str]) -> None:
    """All lines, or those of the series and publishers that are named."""
    series = [name for name in names if name in SERIES]
    labels = [name for name in names if name not in SERIES]
    columns = [
        "series",
        "publisher",
        *ATTACKS,
        "swap test, releases 1 and 2",
        "penalty",
        "faked",
        "left out",
        "CPU seconds",
    ]
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for name in series or SERIES:
        if name == "wages" and "REPUBLISH_WAGES" not in os.environ:
            print("| wages | left out: REPUBLISH_WAGES does not name its folder |")
            continue
        with TemporaryDirectory() as folder:
            views = wages() if name == "wages" else generated(name, Path(folder) / "data")
            for number, (label, form, publisher) in enumerate(publishers(views)):
                if labels and label not in labels:
                    continue
                print(line(views, label, form, publisher, Path(folder) / f"series{number}"), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
