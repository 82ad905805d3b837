"""Adversaries that read a published series, and what each of them finds out.

They see the releases and who is in which group; event lists and some people's values are granted to them. True
values are used to score them and for nothing else. No attack ever excludes a true value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from republish.attacks.compromised import compromised
from republish.attacks.historical import Correlation, correlations, historical
from republish.attacks.history import History, Table, history_of
from republish.attacks.intersection import intersection
from republish.attacks.measures import SeriesMeasures, measure_series
from republish.attacks.results import AttackResult, Exposure, Findings
from republish.attacks.tau import tau
from republish.errors import PolicyError
from republish.series import Series
from republish.types import BoolArray

__all__ = [
    "ATTACKS",
    "Adversary",
    "AttackResult",
    "Correlation",
    "Exposure",
    "Findings",
    "History",
    "SeriesMeasures",
    "Table",
    "attack",
    "correlations",
    "history_of",
    "measure_series",
]

ATTACKS: dict[str, Callable[[History, BoolArray, bool], Findings]] = {
    "intersection": lambda history, _known, _cascade: intersection(history),
    "tau": lambda history, _known, _cascade: tau(history),
    "compromised": compromised,
    "historical": historical,
}
"""Every attack by its name, from what it needs least to know to what it needs most."""

_USES_KNOWN = {"compromised", "historical"}


@dataclass(frozen=True)
class Adversary:
    """What an adversary is granted beyond the releases and their respondents.

    `compromised` is the chance of each person to be known to her, drawn with `seed`, or the people themselves: numbers
    in the history, or pseudonyms of the series. She knows every value such a person ever had. With `event_lists`
    she knows when each person came, changed, left and came back; without, no two appearances can be linked. With
    `cascade` whoever she determines is known to her from then on; without, she stops where Cor-Split's definitions do.
    """

    compromised: float | Iterable[int] | Iterable[str] = 0.0
    event_lists: bool = True
    seed: int = 0
    cascade: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.compromised, (int, float)):
            if not 0 <= self.compromised <= 1:
                raise PolicyError(f"compromised must be a share from 0 to 1; found {self.compromised}")
        else:
            object.__setattr__(self, "compromised", tuple(self.compromised))

    def known(self, history: History) -> BoolArray:
        """Whom she knows."""
        if isinstance(self.compromised, (int, float)):
            return np.random.default_rng(self.seed).random(history.people) < self.compromised
        given: list[int | str] = list(self.compromised)
        known = np.zeros(history.people, dtype=np.bool_)
        people = _numbers(given, history) if any(isinstance(one, str) for one in given) else given
        numbers = np.array(people, dtype=np.int64)
        if len(numbers) and (numbers.min() < 0 or numbers.max() >= history.people):
            raise PolicyError(f"compromised people must be numbers from 0 to {history.people - 1}")
        known[numbers] = True
        return known


def attack(
    published: Series | History,
    adversary: Adversary | None = None,
    attacks: Sequence[str] = tuple(ATTACKS),
    truth: Sequence[pl.DataFrame] | None = None,
    m: int | None = None,
) -> tuple[AttackResult, ...]:
    """What each attack finds out about everyone it was not told of.

    `m` is the number of candidates that should be left to everyone; by default what each release alone seems to
    promise, the fewest distinct values of any group. `truth` replaces the true values that a series keeps.
    """
    adversary = adversary or Adversary()
    unknown = [name for name in attacks if name not in ATTACKS]
    if unknown:
        raise PolicyError(f"there is no attack called {unknown[0]}; there are {', '.join(ATTACKS)}")
    history = published if isinstance(published, History) else history_of(published, truth)
    if adversary.event_lists and history.events is None:
        raise PolicyError("this history holds no event lists; add them or set event_lists=False")
    granted = history if adversary.event_lists else replace(history, events=None)
    known = adversary.known(history)
    if known.any() and history.truth is None:
        raise PolicyError(
            "true values are needed to tell the adversary those of compromised people; give truth"
        )
    nobody = np.zeros(history.people, dtype=np.bool_)
    least = history.diversity if m is None else m
    results = []
    for name in attacks:
        findings = ATTACKS[name](granted, known, adversary.cascade)
        results.append(AttackResult.of(name, findings, least, known if name in _USES_KNOWN else nobody))
    return tuple(results)


def _numbers(pseudonyms: list[int | str], history: History) -> list[int]:
    """The numbers of people given by pseudonym."""
    if history.names is None:
        raise PolicyError("this history has no pseudonyms; give compromised people as numbers")
    index = {name: number for number, name in enumerate(history.names.to_list())}
    missing = sum(one not in index for one in pseudonyms)
    if missing:
        raise PolicyError(
            f"compromised people must be in the series; {missing} of {len(pseudonyms)} never were"
        )
    return [index[str(one)] for one in pseudonyms]
