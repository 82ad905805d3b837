"""One trial: the views published in a temporary series, and an adversary let loose on it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from republish.attacks import BELIEVES, Adversary, AttackResult, attack, granted_view, names
from republish.attacks.replaying.replay import Replay
from republish.attacks.replaying.swap import swap_newcomers
from republish.errors import CannotPublish, LedgerError, PolicyError, RepublishError, fault_of
from republish.expect import EARLIER
from republish.knowledge import Extracted, Knowledge
from republish.memory.memory import Memory
from republish.metrics.queries import query_error
from republish.microdata import read_view
from republish.policy import Policy
from republish.publishers import PUBLISHERS
from republish.publishing.plausibility import MEANT
from republish.publishing.result import Published, ReleaseOptions
from republish.publishing.run import publish
from republish.secret import Secret
from republish.series import Series
from republish.tune.frontier import LIMITS, Point
from republish.tune.space import Candidate, policy_of

_QUERIES = 1_000
_PAIRS = 10


@dataclass(frozen=True)
class Bench:
    """What every candidate is tried on: the policy to start from, the views, the adversary and her attacks.

    `limit` is the name of the limit, which says what risk is. `knowledge` is what publishers take her to know that
    think of one. With more counterfeits than `max_counterfeits`, a share of the rows, a candidate is not feasible.
    """

    start: Policy
    views: tuple[pl.DataFrame, ...]
    secret: Secret
    adversary: Adversary
    attacks: tuple[str, ...]
    limit: str
    knowledge: Knowledge | Extracted | None
    max_counterfeits: float


class _Temporary(Series):
    """A series that draws from a secret of the search, so that the same candidate gives the same releases."""

    given: Secret

    def secret(self) -> Secret:
        return self.given


def attempt(bench: Bench, candidate: Candidate, place: Path) -> Point:
    """What a candidate costs and gives away; infeasible where it cannot publish the views, whatever the reason.

    The series is made in a folder of its own in `place` and removed again.
    """
    folder = Path(tempfile.mkdtemp(prefix="trial-", dir=place))
    try:
        return _tried(bench, candidate, folder / "series")
    except (LedgerError, OSError, MemoryError):  # not the candidate's fault
        raise
    except RepublishError as problem:
        return _infeasible(candidate, str(problem))
    except Exception as problem:  # a fault of ours; its own words may hold cells
        return _infeasible(candidate, f"an unforeseen {fault_of(problem)}; please report it with this line")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _infeasible(candidate: Candidate, why: str) -> Point:
    return Point(
        candidate.publisher,
        candidate.parameters,
        candidate.require,
        protects_series=PUBLISHERS[candidate.publisher].protects_series,
        why=why,
    )


def _tried(bench: Bench, candidate: Candidate, folder: Path) -> Point:
    policy = policy_of(candidate, bench.start, bench.knowledge)
    series = _Temporary.create(
        folder,
        policy.schema,
        policy.publisher,
        seed=policy.seed,
        one_table=policy.one_table,
        gate=policy.gate,
        form=policy.form,
        expect=EARLIER,  # what differs from view to view is no matter here
    )
    assert isinstance(series, _Temporary)
    series.given = bench.secret
    with closing(series.ledger):
        views = bench.views
        done = [
            publish(series, view, ReleaseOptions(meant=MEANT, truth=views[:i], remedies=False))
            for i, view in enumerate(views)
        ]
        rows = np.array([one.rows for one in done], dtype=np.float64)
        counterfeits = _share(done, "counterfeits", rows)
        if counterfeits > bench.max_counterfeits:
            raise CannotPublish(
                f"there would be {counterfeits:.0%} as many counterfeits as rows, and {bench.max_counterfeits:.0%} are "
                "allowed"
            )
        risk, undecided = _risk(bench, series)
        told_apart = _told_apart(bench, series)
        errors = None if policy.form is None else _value_errors(bench, series)
    return Point(
        candidate.publisher,
        candidate.parameters,
        candidate.require,
        penalty=_mean(rows, [one.measures.penalty for one in done]),
        risk=risk,
        feasible=True,
        suppressed=_share(done, "suppressed", rows),
        counterfeits=counterfeits,
        undecided=undecided,
        protects_series=bool(policy.publisher.series_promises),
        value_error=None if errors is None else _mean(rows, errors),
        told_apart=told_apart,
        spread=max((s for one in done for s in _spreads(one)), default=None),
    )


def _told_apart(bench: Bench, series: Series) -> float | None:
    """The share of a few pairs told apart who exchange values in the first release; `None` where there are no pairs."""
    secret, publisher = series.secret(), series.publisher
    view = read_view(bench.views[0], series.schema, series.values_at(1)).pseudonymous(secret)
    start = Memory.empty()
    view = view.without(publisher.waits(view, start))
    seed = series.policy.seed
    try:
        found = swap_newcomers(
            Replay(publisher, secret),
            view,
            start,
            lambda number: secret.generator(seed, number, "publisher"),
            pairs=_PAIRS,
        )
    except CannotPublish:  # as it is; it was published without some rows
        return None
    return found.summary.determined_share if found.summary.people else None


def _spreads(done: Published) -> list[float]:
    """I of a release, where beliefs were checked."""
    return [check.of_view for check in done.verification.checks if check.of_view is not None]


def _value_errors(bench: Bench, series: Series) -> list[float]:
    """The median error of counts with values in every release, all with the same queries."""
    found = []
    for i, raw in enumerate(bench.views, start=1):
        view = read_view(raw, series.schema, series.values_at(i))
        found.append(query_error(series.release(i), view, _QUERIES, 0, sensitive=True).median)
    return found


def _mean(rows: np.ndarray, figures: Sequence[float]) -> float:
    return float(rows @ np.array(figures) / rows.sum()) if rows.sum() else 0.0


def _share(done: Sequence[Published], name: str, rows: np.ndarray) -> float:
    return sum(getattr(one, name) for one in done) / float(rows.sum()) if rows.sum() else 0.0


def _risk(bench: Bench, series: Series) -> tuple[float, float]:
    """What the attack finds that finds most, and the share of people of whom one could not tell."""
    known, truth = bench.adversary.knowledge, None
    if known is not None and set(bench.attacks) & set(names(BELIEVES)):
        truth = [granted_view(series, i, view, known.classes) for i, view in enumerate(bench.views, start=1)]
    results = attack(series, bench.adversary, bench.attacks, truth)
    if any(len(result.risk) and not result.summary.people for result in results):
        raise PolicyError(
            "risk needs people who are not compromised, and all were drawn; take a smaller share"
        )
    by_gain = LIMITS[bench.limit] == "gain"
    figures = [result.summary.gain if by_gain else result.summary.determined_share for result in results]
    undecided = [
        result.unclear.people / max(result.summary.people, 1)
        for result in results
        if isinstance(result, AttackResult) and result.unclear is not None
    ]
    return max(figure or 0.0 for figure in figures), max(undecided, default=0.0)
