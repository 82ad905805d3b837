"""Adversaries that read a published series, and what each of them finds out.

They see the releases and who is in which group; event lists and some people's values are granted to them. True
values are used to score them and for nothing else. No attack ever excludes a true value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from republish.attacks._register import Register, granted_view, register_of
from republish.attacks._sureness import BeliefResult, Believed, Sureness
from republish.attacks.beliefs import Told, beliefs
from republish.attacks.compromised import compromised
from republish.attacks.historical import Correlation, correlations, historical, historical_once
from republish.attacks.history import History, Table, history_of
from republish.attacks.intersection import intersection
from republish.attacks.measures import SeriesMeasures, measure_series
from republish.attacks.results import AttackResult, Exposure, Findings
from republish.attacks.tau import tau
from republish.errors import PolicyError
from republish.inference import Reasoning
from republish.knowledge import Extracted, Knowledge
from republish.series import Series
from republish.types import BoolArray

__all__ = [
    "ATTACKS",
    "Adversary",
    "AttackResult",
    "BeliefResult",
    "Believed",
    "Correlation",
    "Exposure",
    "Findings",
    "History",
    "Register",
    "SeriesMeasures",
    "Sureness",
    "Table",
    "Told",
    "attack",
    "attack_beliefs",
    "beliefs",
    "correlations",
    "granted_view",
    "historical_once",
    "history_of",
    "measure_series",
    "register_of",
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

    The rest is for the belief attack: her `knowledge`, how she makes posteriors, and the last values she looks at
    (`steps`: `None` for as many as the knowledge has, 0 for each release alone). There a share of `compromised`
    people is drawn anew in every release; of each she knows the present value with the confidence `certainty`, which
    enters the prior or, with `cascading="posterior"`, the posterior (BayFrame, section 4.4).
    """

    compromised: float | Iterable[int] | Iterable[str] = 0.0
    event_lists: bool = True
    seed: int = 0
    cascade: bool = True
    knowledge: Knowledge | Extracted | None = None
    posterior: str = "exact"
    steps: int | None = None
    certainty: float = 1.0
    cascading: str = "prior"

    def __post_init__(self) -> None:
        if isinstance(self.compromised, (int, float)):
            if not 0 <= self.compromised <= 1:
                raise PolicyError(f"compromised must be a share from 0 to 1; found {self.compromised}")
        else:
            object.__setattr__(self, "compromised", tuple(self.compromised))
        if not 0 <= self.certainty <= 1:
            raise PolicyError(f"certainty must be a confidence from 0 to 1; found {self.certainty}")

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

    def told(self, history: History) -> Told | None:
        """Whom the belief attack tells her of in each release, `None` for nobody."""
        shape = history.releases, history.people
        if not isinstance(self.compromised, (int, float)):
            people = np.broadcast_to(self.known(history), shape)
        else:
            people = np.random.default_rng(self.seed).random(shape) < self.compromised
        return Told(people, self.certainty) if people.any() else None


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


def attack_beliefs(
    published: Series | History,
    adversary: Adversary | None = None,
    truth: Sequence[pl.DataFrame] | None = None,
    register: Register | None = None,
) -> BeliefResult:
    """How sure an adversary is of true values who knows how values follow each other.

    Without knowledge of her own she has that of the series. `truth` are frames as `granted_view` makes them. Of a
    history the `register` says who is of which class, where the knowledge has several.
    """
    adversary = adversary or Adversary()
    knowledge = adversary.knowledge
    if knowledge is None and isinstance(published, Series) and published.reasoning is not None:
        knowledge = published.reasoning.knowledge
    if knowledge is None:
        raise PolicyError(
            "the belief attack needs knowledge of how values follow each other, and the series has none; give knowledge"
        )
    reasoning = Reasoning(knowledge, adversary.posterior, adversary.steps, cascade=adversary.cascading)
    history = published if isinstance(published, History) else history_of(published, truth)
    if isinstance(published, Series) and register is None:
        register = register_of(published, history, knowledge.classes, truth)
    told = adversary.told(history)
    if told is not None and history.truth is None:
        raise PolicyError(
            "true values are needed to tell the adversary those of compromised people; give truth"
        )
    if register is not None and not adversary.event_lists:
        register = register.published(history)
    return beliefs(history, reasoning, register, told)


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
