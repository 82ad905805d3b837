"""What an adversary is granted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from republish.arrays import BoolArray
from republish.attacks.believing.beliefs import Told
from republish.attacks.history import History
from republish.errors import PolicyError
from republish.knowledge import Extracted, Knowledge

KNOWN, MATCHED = "known", "matched"
MEMBERSHIPS = (KNOWN, MATCHED)
_KINDS: dict[Any, tuple[type, ...]] = {
    "float": (int, float),
    "bool": (bool,),
    "int": (int,),
    "str": (str,),
    "int | None": (int, type(None)),
}


@dataclass(frozen=True)
class Adversary:
    """What an adversary is granted beyond the releases and their respondents.

    `compromised` is the chance of each person to be known to her, drawn with `seed`, or the people themselves: numbers
    in the history, or pseudonyms of the series. She knows every value such a person ever had. With `event_lists`
    she knows when each person came, changed, left and came back; without, no two appearances can be linked. With
    `cascade` people whom she determines are known to her from then on; without, she stops where Cor-Split's definitions
    do.

    The rest is for the belief attack: her `knowledge`, how she makes posteriors, and the last values she looks at
    (`steps`: `None` for as many as the knowledge has, 0 for each release alone). There a share of `compromised`
    people is drawn anew in every release; of each she knows the present value with the confidence `certainty`, which
    enters the prior or, with `cascading="posterior"`, the posterior (BayFrame, section 4.4).

    With `membership="matched"` she does not know who is in which group, and looks for the groups that fit a person's
    quasi-identifiers.
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
    membership: str = KNOWN

    def __post_init__(self) -> None:
        if isinstance(self.compromised, (int, float)):
            if not 0 <= self.compromised <= 1:
                raise PolicyError(f"compromised must be a share from 0 to 1; found {self.compromised}")
        else:
            object.__setattr__(self, "compromised", tuple(self.compromised))
        if not _is_whole(self.seed):
            raise PolicyError(f"seed must be a whole number from 0 on; found {self.seed}")
        if not 0 <= self.certainty <= 1:
            raise PolicyError(f"certainty must be a confidence from 0 to 1; found {self.certainty}")
        if self.membership not in MEMBERSHIPS:
            raise PolicyError(f"membership must be {' or '.join(MEMBERSHIPS)}; found {self.membership}")

    def known(self, history: History) -> BoolArray:
        people = self._people(history)
        return people if history.bearer is None else people[history.bearer]

    def _people(self, history: History) -> BoolArray:
        """Whom she knows, each once."""
        if isinstance(self.compromised, (int, float)):
            return np.random.default_rng(self.seed).random(history.real) < self.compromised
        given: list[int | str] = list(self.compromised)
        known = np.zeros(history.real, dtype=np.bool_)
        people = _numbers(given, history) if any(isinstance(one, str) for one in given) else given
        numbers = np.array(people, dtype=np.int64)
        if len(numbers) and (numbers.min() < 0 or numbers.max() >= history.real):
            raise PolicyError(f"compromised people must be numbers from 0 to {history.real - 1}")
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


@dataclass(frozen=True)
class AdversaryOptions:
    """What an adversary is granted, as a command, a gate or a request writes it down; she is made of it here alone.

    The settings of `Adversary` with nobody named, and without knowledge, which is read from elsewhere.
    """

    compromised: float = 0.0
    event_lists: bool = True
    seed: int = 0
    cascade: bool = True
    posterior: str = "exact"
    steps: int | None = None
    certainty: float = 1.0
    cascading: str = "prior"
    membership: str = KNOWN

    @classmethod
    def among(cls, settings: Mapping[str, Any]) -> AdversaryOptions:
        """Those of these settings that an adversary has; what is not there, or `None`, is as by default."""
        given = {item.name: settings.get(item.name) for item in fields(cls)}
        return cls(**{name: value for name, value in given.items() if value is not None})

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any]) -> AdversaryOptions:
        """What somebody asked for; refused where it is no setting, of a wrong type or out of range."""
        kinds = {item.name: _KINDS[item.type] for item in fields(cls)}
        unknown = sorted(set(settings) - set(kinds))
        if unknown:
            raise PolicyError(
                f"an adversary has no setting {', '.join(unknown)}; she may have {', '.join(kinds)}"
            )
        for name, value in settings.items():
            if not isinstance(value, kinds[name]) or (isinstance(value, bool) and bool not in kinds[name]):
                expected = " or ".join(kind.__name__ for kind in kinds[name])
                raise PolicyError(f"{name} of an adversary must be {expected}")
        options = cls(**settings)
        options.adversary()
        return options

    def adversary(self, knowledge: Knowledge | Extracted | None = None) -> Adversary:
        return Adversary(**asdict(self), knowledge=knowledge)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 0)


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
