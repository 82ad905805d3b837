"""What a series looks like to those who guard it: signatures that could not stay, correlations, counterfeits."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from republish.arrays import IntArray
from republish.attacks.excluding.candidates import lives
from republish.attacks.excluding.historical import same_values
from republish.attacks.history import History
from republish.errors import PolicyError
from republish.inference.hc_safety import hc_unsafe


@dataclass(frozen=True)
class ReleaseMeasures:
    """Figures of one release.

    `vulnerable` counts the people whose signature is not that of their last appearance, because their value was
    modified or they were re-inserted (thesis 4.6.2); `unexplained` those for whom it changed without such a cause.
    `hc_unsafe` counts the groups that are not hc-safe with the degree asked for (Cor-Split section 5); groups of
    people who were forgotten since are not counted. External updates are people inserted for the first time or deleted,
    internal ones updated or re-inserted, with another sensitive value or another quasi-identifier, or both.
    """

    people: int
    groups: int
    counterfeits: int
    external_updates: int
    internal_updates: int
    sensitive_updates: int
    quasi_identifier_updates: int
    vulnerable: int
    unexplained: int
    hc_unsafe: int | None


@dataclass(frozen=True)
class SeriesMeasures:
    """Figures of every release, and the degree of hc-safety they speak of."""

    releases: tuple[ReleaseMeasures, ...]
    degree: int | None

    def as_dict(self) -> dict[str, Any]:
        return {
            "hc_degree": self.degree,
            "releases": [{"release": i, **asdict(part)} for i, part in enumerate(self.releases, 1)],
        }


def measure_series(history: History, degree: int | None = None) -> SeriesMeasures:
    """Vulnerable people, counterfeits and, for a degree of hc-safety, unsafe groups of every release."""
    if history.events is None:
        raise PolicyError("vulnerable people are told by event lists, and this history holds none; add them")
    events = history.events
    happened = {
        "external_updates": events.external,
        "internal_updates": events.internal,
        "sensitive_updates": events.sensitive_updates,
        "quasi_identifier_updates": events.quasi_identifier_updates,
    }
    updates = {name: where.sum(axis=0).tolist() for name, where in happened.items()}
    moved, caused = _changed_signatures(history)
    unsafe = None if degree is None else _unsafe(history, degree)
    release = history.release

    def count(where: IntArray) -> IntArray:
        return np.bincount(where, minlength=history.releases)

    people, vulnerable = count(release), count(release[moved & caused])
    unexplained = count(release[moved & ~caused])
    of_group = np.repeat(np.arange(history.releases), np.diff(history.group_start))
    nobodys = np.bincount(of_group, weights=history.nobodys, minlength=history.releases)
    return SeriesMeasures(
        tuple(
            ReleaseMeasures(
                people=int(people[i]),
                groups=int(history.group_start[i + 1] - history.group_start[i]),
                counterfeits=int(nobodys[i]),
                **{name: counts[i] for name, counts in updates.items()},
                vulnerable=int(vulnerable[i]),
                unexplained=int(unexplained[i]),
                hc_unsafe=None if unsafe is None else int(unsafe[i]),
            )
            for i in range(history.releases)
        ),
        degree,
    )


def _changed_signatures(history: History) -> tuple[np.ndarray[Any, np.dtype[np.bool_]], ...]:
    """Of every appearance: whether its signature differs from the last one's, and whether a new lifespan began."""
    assert history.events is not None
    signature = same_values(history, counted=False)[history.group]
    run = history.events.run[history.person, history.release]
    order = np.lexsort((history.release, history.person))
    again = np.append(False, np.diff(history.person[order]) == 0)[: len(order)]
    moved, caused = np.zeros(len(order), dtype=np.bool_), np.zeros(len(order), dtype=np.bool_)
    moved[order] = again & (np.diff(signature[order], prepend=-1) != 0)
    caused[order] = again & (np.diff(run[order], prepend=-1) != 0)
    return moved, caused


def _unsafe(history: History, degree: int) -> IntArray:
    """Groups of every release that are not hc-safe with this degree, values taken to persist over a life."""
    unknowns = lives(history)
    groups_of = np.zeros((unknowns.count, history.releases), dtype=np.int32)
    groups_of[unknowns.of_appearance, history.release] = history.group + 1
    found = np.zeros(history.releases, dtype=np.int64)
    for i in range(history.releases):
        first, last = history.group_start[i], history.group_start[i + 1]
        starts = history.member_start[first : last + 1]
        here = unknowns.of_appearance[starts[0] : starts[-1]]
        sizes = history.sizes[first:last]
        unsafe = hc_unsafe(starts - starts[0], here, groups_of[:, :i], sizes, degree)
        if history.forgotten is not None:
            unsafe[history.forgotten[(history.forgotten >= first) & (history.forgotten < last)] - first] = (
                False
            )
        found[i] = np.count_nonzero(unsafe)
    return found
