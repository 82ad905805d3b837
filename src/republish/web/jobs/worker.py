"""A process that does one job after another: `python -m republish.web.jobs.worker`, started by `jobs`.

A line of JSON on standard input is a task, lines on standard output say how it goes. When standard input ends, the
desk is gone and this process ends at once, whatever it is doing: the ledger is built for that.
"""

from __future__ import annotations

import ctypes
import json
import os
import queue
import resource
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from republish.errors import REPORT_IT, RepublishError, fault_of
from republish.sources.panics import is_panic

if TYPE_CHECKING:
    from republish.series import Series

Say = Callable[[dict[str, Any]], None]
CHANGED = "the series has changed since the trial run; run it again"
_PR_SET_PDEATHSIG = 1
_MOST_KB = 2**20  # a process that has grown beyond a gigabyte gives it back by ending


def publish(task: dict[str, Any], say: Say) -> dict[str, Any]:
    """Publish a view, or try to; a dry run that the gate would refuse says so."""
    from republish.publishing.maker import STEPS
    from republish.publishing.migration import note_since
    from republish.series import Series
    from republish.web.uploads.columns import require_known

    head = ""

    def step(name: str) -> None:
        nonlocal head
        base = name.partition(":")[0]
        said = {"step": name, "done": STEPS.index(base) if base in STEPS else 0, "of": len(STEPS)}
        if not head:  # the lock is held from before the first step on
            head = require_head(series, task.get("expected_head"))
            said["before"] = len(series.records)
        say(said)

    series = Series.open(task["root"])
    known = len(series.ledger.entries())
    with closing(series.ledger):
        require_known(series.schema, Path(task["view"]))
        done = series.publish(
            Path(task["view"]),
            as_of=task.get("as_of"),
            dry_run=task["kind"] == "dry-run",
            progress=step,
            meant=task.get("meant", ()),
            expect_anyway=task.get("expect_anyway"),
            truth=[Path(one) for one in task.get("truth", ())],
            hold_newcomers=task.get("hold_newcomers", False),
            corrects=task.get("corrects"),
        )
        note = note_since(series, known)
    result = done.as_dict()
    del result["folder"]
    result |= {"number": done.number, "head": head, "upload_digest": task.get("digest")}
    result |= {} if note is None else {"note": note}
    result["committed"] = task["kind"] == "publish"
    if done.gate is not None and not done.gate.passed:
        words = "; ".join(
            [*(breach.sentence() for breach in done.gate.breaches), *filter(None, [done.remedy])]
        )
        return {
            "refused": f"the gate would refuse this release: {words}",
            "kind": "LimitBroken",
            "result": result,
        }
    return {"result": result}


def require_head(series: Series, expected: str | None) -> str:
    """The head of the ledger; `Changed` where it is not the one that was expected.

    The step that brings a series of an earlier version to the newest form is no change.
    """
    from republish.publishing.migration import MIGRATE
    from republish.web import Changed

    head: str = series.ledger.head.digest
    changes = [entry.digest for entry in series.ledger.entries() if entry.kind != MIGRATE]
    if expected not in (None, head, changes[-1]):
        raise Changed(CHANGED)
    return head


def attack(task: dict[str, Any], say: Say) -> dict[str, Any]:
    """Attack a series and keep what is found beside it."""
    from republish.attacks import AdversaryOptions
    from republish.attacks.assessments import assess, keep
    from republish.series import Series

    series = Series.open(task["root"])
    with closing(series.ledger):
        say({"step": "reading the releases", "done": 0, "of": 0})
        found = assess(
            series,
            AdversaryOptions(**task["adversary"]).adversary(),
            task["attacks"],
            lambda done, of: say({"step": "attacking", "done": done, "of": of}),
            [Path(one) for one in task.get("truth", ())] or None,
        )
        keep(series, found)
    return {"result": found.as_dict()}


TASKS: dict[str, Callable[[dict[str, Any], Say], dict[str, Any]]] = {
    "dry-run": publish,
    "publish": publish,
    "attack": attack,
}


def outcome_of(task: dict[str, Any], say: Say) -> dict[str, Any]:
    """Do a task; what is refused or fails becomes words, in which no cell is quoted."""
    try:
        return TASKS[task["kind"]](task, say)
    except RepublishError as problem:
        outcome = "refused" if problem.exit_code == 1 else "failed"
        return {outcome: str(problem), "kind": type(problem).__name__}
    except BaseException as problem:
        if not isinstance(problem, Exception) and not is_panic(problem):
            raise
        return {"failed": f"an unforeseen {fault_of(problem)}. {REPORT_IT}", "kind": "Unforeseen"}


def _listen(source: IO[bytes], tasks: queue.SimpleQueue[dict[str, Any]]) -> None:
    for line in source:
        tasks.put(json.loads(line))
    os._exit(0)


def end_with_parent() -> None:
    """Let the system kill this process when the desk dies, even while it cannot read; Linux alone can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> None:
    """Work until standard input ends."""
    end_with_parent()
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever a library prints is no line of ours

    def say(line: dict[str, Any]) -> None:
        out.write(json.dumps(line, default=str) + "\n")
        out.flush()

    tasks: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, tasks), daemon=True).start()
    for name in ("publishing.run", "attacks.assessments", "attacks"):  # before there is work
        import_module(f"republish.{name}")
    while True:
        found = outcome_of(tasks.get(), say)
        last = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > _MOST_KB
        say({"end": found, "last": last})
        if last:
            return


if __name__ == "__main__":
    main()
