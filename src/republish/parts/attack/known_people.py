"""Whom an adversary knows, told bucket by bucket: the same people as in a history of everybody."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from republish.arrays import BoolArray, IntArray, WordArray
from republish.attacks.adversary import Adversary
from republish.errors import PolicyError
from republish.memory.memory import KEY
from republish.parts.attack.history import SEEN
from republish.parts.blocks import Block, Mover, fact, tables_of
from republish.secret import pseudonym_texts


def count_people(names: frozenset[str], blocks: Sequence[Block]) -> Iterator[Block]:
    """The task that counts the people of a bucket, and those of some names."""
    seen = tables_of(blocks, SEEN).select(KEY).unique()
    named = pseudonym_texts(seen.to_numpy()).is_in(sorted(names)).sum() if names else 0
    yield fact((blocks[0].to, seen.height, int(named)))


@dataclass(frozen=True)
class Known:
    """Whom an adversary knows; people are numbered by pseudonym, `first[b]` is the first one of bucket b."""

    adversary: Adversary
    first: IntArray
    people: int
    names: frozenset[str]
    numbers: IntArray

    def among(self, bucket: int, people: WordArray, release: int = 0) -> BoolArray:
        """Which of all people of a bucket, sorted, she knows; a share is drawn anew for every release (0, 1, ...)."""
        first, share = int(self.first[bucket]), self.adversary.compromised
        if isinstance(share, (int, float)):
            source = np.random.PCG64(
                self.adversary.seed
            )  # the one of `default_rng`; it can go on from anywhere
            source.advance(release * self.people + first)
            drawn: BoolArray = np.random.Generator(source).random(len(people)) < share
            return drawn
        known = np.isin(np.arange(first, first + len(people)), self.numbers)
        if self.names:
            known |= pseudonym_texts(people).is_in(sorted(self.names)).to_numpy()
        return known


def known_people(mover: Mover[Any], seen: Sequence[Any], buckets: int, adversary: Adversary) -> Known | None:
    """Whom she knows of the people in some blocks; `None` for nobody.

    Raises:
        PolicyError: she is said to know people who are not in the series.
    """
    if not adversary.compromised:
        return None
    given = () if isinstance(adversary.compromised, (int, float)) else tuple(adversary.compromised)
    names = frozenset(one for one in given if isinstance(one, str))
    people, there = np.zeros(buckets, dtype=np.int64), 0
    for bucket, number, named in mover.facts(
        mover.exchange(seen, [SEEN], buckets, partial(count_people, names))
    ):
        people[bucket] = number
        there += named
    if there < len(names):
        raise PolicyError(
            f"compromised people must be in the series; {len(names) - there} of {len(given)} never were"
        )
    numbers = np.array([one for one in given if not isinstance(one, str)], dtype=np.int64)
    everybody = int(people.sum())
    if len(numbers) and (numbers.min() < 0 or numbers.max() >= everybody):
        raise PolicyError(f"compromised people must be numbers from 0 to {everybody - 1}")
    return Known(adversary, np.cumsum(people) - people, everybody, names, numbers)
