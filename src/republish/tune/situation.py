"""What must be known of a situation to choose a publisher: questions in its own words, and the answers to them.

Command, desk, Python and docs/choose.md ask the same text. What past views tell is answered from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np

from republish.arrays import IntArray
from republish.errors import PolicyError
from republish.microdata import Microdata
from republish.tune.dry_run import people_once, turnover_of

LASTING, GONE = 0.1, 0.02
"""Values last where so few people change theirs from view to view; people stay away where so few rows are returns."""
_SHUFFLES, _SURER, _FEWEST = 20, 0.15, 30  # an order: so much likelier a right guess, among so many changes


@dataclass(frozen=True)
class Question:
    """A question that is answered with yes or no, what follows from either, and whether past views can tell."""

    name: str
    text: str
    yes: str
    no: str
    in_views: bool = True


QUESTIONS = (
    Question(
        "again",
        "Will the same people appear again in a later release?",
        "Releases are made so that all of them together give nobody away.",
        "This is published once: one table, in which each row is protected alone. A second release would be refused.",
    ),
    Question(
        "change",
        "Can a value change for many people, more than one in ten, from one release to the next?",
        "Open batches: a person who changes stays in her batch.",
        "Closed batches, which are exact, where few people come back.",
    ),
    Question(
        "back",
        "Do people come back who had left?",
        "Open batches: a person who comes back is in her batch again.",
        "Closed batches, which are exact, where values last.",
    ),
    Question(
        "order",
        "Is there an order in which values follow each other that an adversary knows, as stages of a disease?",
        "Every candidate is also attacked by an adversary who knows the order; this needs at least two past views.",
        "This adversary is not tested.",
    ),
    Question(
        "one_table",
        "Does the analyst need one table, with a value in every row?",
        "Only publishers of one table are chosen from. They give away more, or fake rows.",
        "Two tables: people with fine quasi-identifiers, and apart from them how often each value occurs in a batch.",
        in_views=False,
    ),
)
"""All that is asked, in this order."""
_WORDS = {"yes": True, "no": False, True: True, False: False}


@dataclass(frozen=True)
class Answers:
    """The answers to `QUESTIONS` by name; `None` where the views shall tell, else what is usual is assumed."""

    again: bool | None = None
    change: bool | None = None
    back: bool | None = None
    order: bool | None = None
    one_table: bool | None = None

    @classmethod
    def from_mapping(cls, given: Mapping[str, Any]) -> Answers:
        """Answers by name, each yes or no.

        Raises:
            PolicyError: there is no such question, or an answer is neither.
        """
        known = [one.name for one in fields(cls)]
        for name, answer in given.items():
            if name.replace("-", "_") not in known:
                raise PolicyError(f"there is no question {name}; there are {', '.join(known)}")
            if answer not in _WORDS:
                raise PolicyError(f"the answer to {name} must be yes or no; say {name}=yes or {name}=no")
        return cls(**{name.replace("-", "_"): _WORDS[answer] for name, answer in given.items()})

    def otherwise(self, usual: Answers) -> Answers:
        """These answers, and those of `usual` where there is none."""
        return Answers(**(asdict(usual) | self.given()))

    def given(self) -> dict[str, bool]:
        """The answers that there are, by name."""
        return {name: answer for name, answer in asdict(self).items() if answer is not None}

    def words(self) -> dict[str, str]:
        """The answers as they are typed."""
        return {name: "yes" if answer else "no" for name, answer in asdict(self).items()}


USUAL = Answers(again=True, change=True, back=True, order=False, one_table=False)
"""What is assumed where nothing tells: what a series needs most."""


def told_by(views: Sequence[Microdata]) -> tuple[Answers, dict[str, str]]:
    """What past views say of the situation, and by which figures; one view says nothing."""
    if len(views) < 2:
        return Answers(), {}
    found = turnover_of(views)
    before, after = _changes(views)
    right, guessed = _predicted(before, after)
    ordered = len(before) >= _FEWEST and right > guessed + _SURER
    answers = Answers(
        again=found.left < 1, change=found.changed > LASTING, back=found.returned > GONE, order=ordered
    )
    why = {
        "again": f"{1 - found.left:.1%} of the people of a view are in the next one",
        "change": f"{found.changed:.1%} of those who stay change their value",
        "back": f"{found.returned:.1%} of the rows are of people who come back",
        "order": f"of {len(before):,} changes, who knows the value before guesses {right:.0%} of those after it, and "
        f"{guessed:.0%} were there no order",
    }
    return answers, why


def _changes(views: Sequence[Microdata]) -> tuple[IntArray, IntArray]:
    """The values before and after every change from one view to the next."""
    pairs: list[tuple[IntArray, IntArray]] = []
    for one, other in pairwise(views):
        (was, row_then), (here, row_now) = people_once(one), people_once(other)
        _, then, now = np.intersect1d(was, here, return_indices=True)
        before, after = one.codes[row_then[then]], other.codes[row_now[now]]
        pairs.append((before[before != after], after[before != after]))
    return np.concatenate([p[0] for p in pairs]), np.concatenate([p[1] for p in pairs])


def _predicted(before: IntArray, after: IntArray) -> tuple[float, float]:
    """How often the likeliest value after each is right, and how often it would be if values followed by chance."""
    if not len(before):
        return 0.0, 0.0
    values = int(max(before.max(), after.max())) + 1

    def right(following: IntArray) -> float:
        table = np.bincount(before.astype(np.int64) * values + following, minlength=values * values)
        return float(table.reshape(values, values).max(axis=1).sum() / len(before))

    chance = np.random.default_rng(0)
    return right(after), float(np.mean([right(chance.permutation(after)) for _ in range(_SHUFFLES)]))
