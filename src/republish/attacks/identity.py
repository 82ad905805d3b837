"""What attacks found that seek no value: whose row is whose, who is in a release, who of two has which; no names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.attacks.summary import Summary, highest, summed
from republish.hooks import html_of


@dataclass(frozen=True)
class Linked:
    """How far people can be followed by what releases show of them without values.

    Of `people` whom a table shows: `alone`, the share of whom nobody else fits all cells that were theirs while their
    quasi-identifiers stayed the same; `below_k`, the share with whom fewer than k fit; `median_left` who fit. Of those
    with a batch: `median_batches` they may be in, to whoever knows their quasi-identifiers and in which releases they
    are, and `one_batch`, the share with a single one. By insensitive cells: `unique_cells`, the share whose cells
    nobody else of a release has; of those in several releases `same_cells`, the share whose cells never change, and
    `followed_by_cells`, whose never change and are always unique. `None` where there are none to count.
    """

    people: int
    k: int
    alone: float
    below_k: float
    median_left: float
    median_batches: float | None
    one_batch: float | None
    unique_cells: float | None
    same_cells: float | None
    followed_by_cells: float | None


@dataclass(frozen=True)
class Presence:
    """What releases tell a register-holder of who is in them; her register is everyone who was ever in the series.

    Of `absent` people, `shown_absent` is the share whom no cell admits; of `present` ones `shown_present` the share in
    whose cells there are as many rows as the register has people. `mean_present` and `mean_absent` are her mean
    probability that they are present: rows of their cell over people of the register in it.
    """

    present: int
    absent: int
    shown_present: float
    shown_absent: float
    mean_present: float
    mean_absent: float

    @property
    def surely_present(self) -> float:
        """`shown_present`, but 0 where nobody of the register is ever absent: there it is no news who is present."""
        return self.shown_present if self.absent else 0.0


@dataclass(frozen=True)
class Cracked:
    """How many rows of their groups may still be people's, after those are cracked that cannot be.

    Of `people`: `fewest_left` rows of anyone, `below_k` the share with fewer than k, `one_value` the share whose rows
    that are left have the same value, and `median_left` rows.
    """

    people: int
    k: int
    fewest_left: int | None
    below_k: float
    one_value: float
    median_left: float


@dataclass(frozen=True)
class Corresponding(Cracked):
    """By comparing counts of neighbouring releases, and the shares with fewer than k by each of the three ways.

    `forward` is of people who are in the next release too, `cross` of those who were in the last, `backward` of those
    who are new while data only grew; `None` where there are none.
    """

    forward: float | None
    cross: float | None
    backward: float | None


@dataclass(frozen=True)
class Traced(Cracked):
    """By following rows through all releases.

    `intersection` is the share with fewer than k by counts alone, `difference` that of people who are new while data
    only grew, by rows that are not new; `None` where there are none.
    """

    intersection: float
    difference: float | None


@dataclass(frozen=True)
class ToldApart:
    """Of so many `pairs` of people whose values were exchanged, the share whom somebody tells apart.

    She knows the program and everything but which of two values is whose: the publisher makes other groups if the two
    are exchanged.
    """

    pairs: int
    told_apart: float


Identity = Linked | Presence | Corresponding | Traced | ToldApart
IDENTITIES: dict[str, type[Identity]] = {
    "linkage": Linked,
    "presence": Presence,
    "bcf": Corresponding,
    "tracing": Traced,
    "swap": ToldApart,
}
"""The figures of every attack that seeks no value."""


class Verdicts(NamedTuple):
    """Of people in releases: who, in which (0, 1, ...), how likely the truth is to her, and whether it is certain."""

    person: IntArray
    release: IntArray
    confidence: FloatArray
    certain: BoolArray

    def summaries(self, people: int, releases: int) -> tuple[Summary, tuple[Summary, ...], FloatArray]:
        """Of all, everyone once and at the worst; of each release; and the highest confidence of everyone."""
        each = [self.release == i for i in range(releases)]
        parts = tuple(summed(self.confidence[here], self.certain[here], None) for here in each)
        risk = highest(people, self.person, self.confidence)
        there = np.isfinite(risk)
        ever = highest(people, self.person, self.certain.astype(np.float64)) > 0
        return summed(risk[there], ever[there], None), parts, np.where(there, risk, np.nan)


@dataclass(frozen=True)
class IdentityResult:
    """What an attack found that seeks no value: its own figures of all releases and of each, and a summary.

    In the summary somebody is `determined` whose row or presence is certain, and confidence is the
    adversary's probability of the true row or of the truth about presence; there is no gain. `risk` holds each person's
    highest confidence, nan for who was not attacked.
    """

    name: str
    overall: Identity
    releases: tuple[Identity, ...]
    summary: Summary
    by_release: tuple[Summary, ...]
    risk: FloatArray = field(repr=False)

    @classmethod
    def of(
        cls,
        name: str,
        overall: Identity,
        releases: Sequence[Identity],
        verdicts: Verdicts,
        people: int,
    ) -> IdentityResult:
        """The result with its summaries made."""
        return cls(name, overall, tuple(releases), *verdicts.summaries(people, len(releases)))

    @property
    def label(self) -> str:
        """What the attack is called in tables."""
        return self.name

    _repr_html_ = html_of("attack_html")

    def as_dict(self) -> dict[str, Any]:
        """A JSON document of the figures; nothing in it belongs to a single person."""
        return {
            "attack": self.name,
            "summary": asdict(self.summary),
            "overall": asdict(self.overall),
            "releases": [{"release": i, **asdict(part)} for i, part in enumerate(self.releases, 1)],
        }


def exchanged(parts: Sequence[Identity]) -> IdentityResult:
    """The result of pairs exchanged in each release; in the summary a pair counts as one of the people.

    A pair is `determined` that is told apart; of the others she is as sure as of a coin.
    """
    releases = [part for part in parts if isinstance(part, ToldApart)]
    apart = [np.arange(part.pairs) < round(part.told_apart * part.pairs) for part in releases]
    every = np.concatenate([np.zeros(0, dtype=np.bool_), *apart])
    each = tuple(summed(np.where(one, 1.0, 0.5), one, None) for one in apart)
    overall = summed(np.where(every, 1.0, 0.5), every, None)
    figures = ToldApart(len(every), mean(every))
    return IdentityResult("swap", figures, tuple(releases), overall, each, np.zeros(0))


def mean(items: FloatArray | BoolArray) -> float:
    """The mean, or share; 0 where there are none."""
    return float(items.mean()) if len(items) else 0.0


def middle(items: IntArray | FloatArray) -> float:
    """The median; 0 where there are none."""
    return float(np.median(items)) if len(items) else 0.0
