"""`tune`: publishers and parameters that keep an adversary below a limit at the least loss."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from republish.attacks import Adversary, AdversaryOptions, Means, without_views
from republish.errors import PolicyError
from republish.ledger.files import sync_folder
from republish.secret import Secret
from republish.tune.frontier import LIMITS, Tuned
from republish.tune.search import SearchPlan, search, study_name
from republish.tune.space import Extent, extent_of, suitable
from republish.tune.trial import Bench
from republish.tune.views import read_views

if TYPE_CHECKING:
    from republish.knowledge import Extracted, Knowledge
    from republish.series import Series

FOLDER = "tune"
COMPROMISED = 0.04
"""The share of people whom the adversary knows, where neither the call nor the gate says."""
_ATTACKS = {"max_gain": ("beliefs", "joint"), "max_determined": ("tau", "linear")}


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """How a search goes about it.

    Without `publishers`, all that protect a series. `trials` is how many points are tried, with those of
    earlier calls.
    `compromised` is by default that of the gate, else 0.04. `knowledge` is what the adversary knows and publishers
    reckon with, by default that of the series. `sample` keeps about so many rows a view. Counterfeits do not enter the
    penalty; with more of them than `max_counterfeits`, a share of the rows, a point is not feasible. Without `attacks`,
    beliefs and joint for a limit on the gain, tau and linear for one on the share determined.
    """

    publishers: Sequence[str] | None = None
    trials: int = 60
    compromised: float | None = None
    knowledge: Knowledge | Extracted | None = None
    sample: int | None = None
    max_counterfeits: float = 0.25
    attacks: Sequence[str] | None = None
    seed: int = 0


def tune(
    series: Series,
    views: Sequence[Any],
    limits: Mapping[str, float],
    settings: SearchSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Tuned:
    """Try publishers and parameters on raw views, oldest first; the frontier of penalty and risk, and what to choose.

    The series gives schema, requirements, knowledge and gate; nothing is published in it. Study and frontier are kept
    in `private/tune`, and the same call goes on where an earlier one was stopped. `limits` is one of
    `{"max_gain": 0.1}` and `{"max_determined": 0.01}`.

    Raises:
        PolicyError: a setting is out of range, or risk cannot be measured.
        ViewError, SchemaError: a view cannot be read; nothing was tried.
    """
    asked = settings or SearchSettings()
    limit = _one_limit(limits)
    publishers = suitable(asked.publishers, series.policy.form is not None)
    bench, extent = _bench(series, views, limit, asked)
    plan = SearchPlan(publishers, extent, asked.trials, asked.seed, asked.publishers is not None)
    folder, name = _folder(series.root), study_name(bench, plan)
    tuned: Tuned | None = None
    for points in search(bench, plan, name, folder, progress or (lambda _done, _all: None)):
        tuned = Tuned(
            {limit: float(limits[limit])},
            tuple(points),
            datetime.now(UTC).isoformat(timespec="seconds"),
            name,
            asked.trials,
            _granted(bench),
        )
        _keep(folder, tuned)
    assert tuned is not None
    return tuned


def kept(series: Series) -> list[Tuned]:
    """The frontiers of all searches on a series, the newest last; files that cannot be read are left out."""
    found = []
    for path in sorted((series.root / "private" / FOLDER).glob("*.json")):
        try:
            found.append(Tuned.from_dict(json.loads(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return sorted(found, key=lambda tuned: tuned.made_at)


def _one_limit(limits: Mapping[str, float]) -> str:
    if len(limits) != 1 or next(iter(limits)) not in LIMITS:
        raise PolicyError(f"a search needs exactly one limit: {' or '.join(LIMITS)}")
    name, limit = next(iter(limits.items()))
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 <= limit <= 1:
        raise PolicyError(f"{name} must be a number from 0 to 1")
    return name


def _bench(series: Series, views: Sequence[Any], limit: str, asked: SearchSettings) -> tuple[Bench, Extent]:
    """What every trial is made on, checked; and the ranges that it leaves open."""
    policy = replace(series.in_force, schema=series.schema)
    if policy.schema.sensitive is None:
        raise PolicyError(
            "a search measures what is found out of sensitive values, and the schema has no sensitive column"
        )
    for name, number, least in (("trials", asked.trials, 1), ("seed", asked.seed, 0)):
        if isinstance(number, bool) or not isinstance(number, int) or number < least:
            raise PolicyError(f"{name} must be a whole number from {least} on")
    most = asked.max_counterfeits
    if isinstance(most, bool) or not isinstance(most, int | float) or most < 0:
        raise PolicyError("max_counterfeits must be a share of the rows from 0 on")
    known = policy.knowledge if asked.knowledge is None else asked.knowledge
    adversary = _adversary(series, asked, known)
    attacks = tuple(_ATTACKS[limit] if asked.attacks is None else asked.attacks)
    _require_attacks(attacks, adversary)
    secret = _secret(series.secret(), asked.seed)
    read = read_views(views, policy.schema, secret, asked.sample)
    share = adversary.compromised
    assert isinstance(share, int | float)
    extent = extent_of(policy, read.values, read.rows, share)
    return Bench(policy, read.frames, secret, adversary, attacks, limit, known, most), extent


def _adversary(series: Series, asked: SearchSettings, known: Knowledge | Extracted | None) -> Adversary:
    """The adversary of the gate, where the series has one, and with what was asked for."""
    gate = series.gate
    share = asked.compromised
    if share is not None and (
        isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < 1
    ):
        raise PolicyError("compromised must be a share from 0 to below 1")
    if gate is None:
        return AdversaryOptions(COMPROMISED if share is None else float(share)).adversary(known)
    hers = gate.adversaries(known)[0]
    return hers if share is None else replace(hers, compromised=float(share))


def _require_attacks(attacks: tuple[str, ...], adversary: Adversary) -> None:
    possible = without_views()
    if not attacks or any(name not in possible for name in attacks):
        raise PolicyError(f"the attacks of a search must be among {', '.join(possible)}")
    Means(adversary).require(attacks)


def _secret(secret: Secret, seed: int) -> Secret:
    """A secret of the search's own: temporary series show nothing that could be joined with the real one."""
    label = f"tune/{seed}".encode()
    return Secret(hashlib.blake2b(label, key=secret.key, digest_size=32, person=b"republish-tune").digest())


def _folder(root: Path) -> Path:
    folder = root / "private" / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _keep(folder: Path, tuned: Tuned) -> None:
    """Write the frontier beside the study, all of it or nothing."""
    path = folder / f"frontier-{tuned.study}.json"
    fresh = path.with_suffix(".new")
    fresh.touch(mode=0o600)
    fresh.write_text(json.dumps(tuned.as_dict(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    fresh.replace(path)
    sync_folder(folder)


def _granted(bench: Bench) -> dict[str, Any]:
    """What the adversary was granted; of her knowledge only that she has some."""
    her = bench.adversary
    return {
        "attacks": list(bench.attacks),
        "compromised": her.compromised,
        "event_lists": her.event_lists,
        "cascade": her.cascade,
        "seed": her.seed,
        "knowledge": her.knowledge is not None,
        "views": len(bench.views),
        "rows": sum(view.height for view in bench.views),
    }
