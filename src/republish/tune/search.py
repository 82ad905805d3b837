"""The search: optuna draws candidates, every one is tried, and the study is kept so that a search can go on."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import republish
from republish.errors import PolicyError
from republish.ledger.lock import hold
from republish.tune.frontier import Point
from republish.tune.space import Candidate, Extent, draw, references
from republish.tune.trial import Bench, attempt

if TYPE_CHECKING:
    import optuna

Progress = Callable[[int, int], None]
STUDY = "study.db"
_POINT = "point"
_WORST = (1.0, 1.0)  # nothing feasible is worse: a sampler keeps away from there
_DRAWS = 5  # times as many points are drawn as should be tried, for some are drawn again
_RANDOM = 8  # so many candidates, beside the references, are drawn blindly


@dataclass(frozen=True)
class SearchPlan:
    """Which publishers are tried, in which ranges, how often, and from which seed.

    `named` is true where somebody chose the publishers.
    """

    publishers: tuple[str, ...]
    extent: Extent
    trials: int
    seed: int
    named: bool


def load_optuna() -> Any:
    """optuna, silent; PolicyError where it is not installed."""
    try:
        import optuna
    except ImportError:
        raise PolicyError(
            "the search needs optuna; install it with `pip install 'republish[tune]'`"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def study_name(bench: Bench, plan: SearchPlan) -> str:
    """What tells one search from another: all that a trial depends on, but neither limit nor number of trials."""
    adversary = {key: value for key, value in vars(bench.adversary).items() if key != "knowledge"}
    known = [None if one is None else one.digest() for one in (bench.knowledge, bench.adversary.knowledge)]
    said = {
        "policy": bench.start.digest(),
        "views": [_digest(bench, view) for view in bench.views],
        "adversary": adversary,
        "knowledge": known,
        "attacks": bench.attacks,
        "limit": bench.limit,
        "counterfeits": bench.max_counterfeits,
        "publishers": (plan.publishers, plan.named),
        "seed": plan.seed,
        "tool": republish.__version__,
    }
    text = json.dumps(said, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _digest(bench: Bench, view: Any) -> str:
    """A keyed digest of a view: what is private stays so, even in a file name."""
    cells = view.write_ipc(None).getvalue()
    return hashlib.blake2b(cells, key=bench.secret.key, digest_size=16).hexdigest()


def search(
    bench: Bench, plan: SearchPlan, name: str, folder: Path, progress: Progress
) -> Iterator[list[Point]]:
    """Go on with a study until so many points were tried; after each draw, and at the start, all points so far.

    A point that is drawn again is not tried again and does not count; a small space may be exhausted before.

    A search that was stopped at any moment, even killed, goes on as if it had not been.
    """
    optuna, extent = load_optuna(), plan.extent
    first = references(plan.publishers, bench.start, extent, plan.named)
    with hold(folder / "lock", "tune"), _study(optuna, folder, name) as study:
        for left in folder.glob("trial-*"):
            shutil.rmtree(left, ignore_errors=True)
        _give_up(optuna, study)
        tried = {_key(point): point for point in points_of(study)}
        done = len(study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,)))
        progress(len(tried), plan.trials)
        yield list(tried.values())
        while len(tried) < plan.trials and done < _DRAWS * plan.trials:
            study.sampler = optuna.samplers.TPESampler(
                seed=_seed(plan.seed, done), n_startup_trials=len(first) + _RANDOM
            )
            trial = study.ask()
            drawn = (
                first[done]
                if done < len(first)
                else draw(trial, plan.publishers, extent, bench.start.publisher.require)
            )
            candidate = drawn.plain
            point = tried.get(_key(candidate)) or attempt(bench, candidate, folder)
            tried[_key(candidate)] = point
            trial.set_user_attr(_POINT, point.as_dict())
            study.tell(trial, _told(point))
            done += 1
            progress(min(len(tried), plan.trials), plan.trials)
            yield list(tried.values())


def _told(point: Point) -> tuple[float, float]:
    """Loss and risk as the sampler is told them; an error of counts above 1 is as bad as no release."""
    if not point.feasible:
        return _WORST
    loss, risk = point.figures
    return min(loss, _WORST[0]), risk


def _seed(seed: int, number: int) -> int:
    """A seed for every trial, so that the draws after an interruption are those that would have been."""
    return int.from_bytes(hashlib.blake2b(f"{seed}/{number}".encode(), digest_size=4).digest(), "big")


def _key(one: Candidate | Point) -> str:
    return json.dumps([one.publisher, one.parameters, one.require], sort_keys=True)


@contextmanager
def _study(optuna: Any, folder: Path, name: str) -> Iterator[optuna.Study]:
    """The study of that name, kept in a file that only its owner may read."""
    path = folder / STUDY
    path.touch(mode=0o600)
    storage = optuna.storages.RDBStorage(f"sqlite:///{path}", skip_compatibility_check=False)
    try:
        yield optuna.create_study(
            storage=storage, study_name=name, directions=["minimize", "minimize"], load_if_exists=True
        )
    finally:
        storage.remove_session()
        storage.engine.dispose()


def _give_up(optuna: Any, study: optuna.Study) -> None:
    """A trial that was under way when the search was stopped counts as never made."""
    for trial in study.get_trials(deepcopy=False):
        if not trial.state.is_finished():
            study.tell(trial.number, state=optuna.trial.TrialState.FAIL)


def points_of(study: optuna.Study) -> list[Point]:
    """Every point that was tried, once, in the order of the trials."""
    found: dict[str, Point] = {}
    for trial in study.get_trials(deepcopy=False):
        if _POINT in trial.user_attrs and trial.values is not None:
            point = Point.from_dict(trial.user_attrs[_POINT])
            found.setdefault(_key(point), point)
    return list(found.values())
