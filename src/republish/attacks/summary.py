"""One summary for every attack, so that attacks can be compared: how many people, how sure, by how much surer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.attacks.history import History
from republish.hooks import html_of

SURE = 1.0 - 1e-9
"""A posterior from here on counts as certainty: what is missing is rounding."""
PARTS = 20
"""Into how many parts confidence is divided where people are counted by it: up to .05, up to .1, ..., up to 1."""


@dataclass(frozen=True)
class Summary:
    """What an attack found of the people it was told nothing of.

    Confidence is the adversary's probability of the true value, of the likeliest one where truth is not given.
    `determined` people have no other value left. `above_nine_tenths` and `above_half` are shares of people.
    `gain` is the mean of (p - f) / (1 - f), 0 where f = 1, with p her confidence and f the share of the value in the
    group; `None` without truth, unless the attack names the value it speaks of.
    """

    people: int
    determined: int
    determined_share: float
    above_nine_tenths: float
    above_half: float
    mean_confidence: float
    worst_confidence: float
    gain: float | None

    _repr_html_ = html_of("summary_html")


class Scored(NamedTuple):
    """The summary of all releases, of each, and every person's highest confidence (nan for who was not attacked)."""

    overall: Summary
    releases: tuple[Summary, ...]
    risk: FloatArray


def scored(
    history: History,
    confidence: FloatArray,
    determined: BoolArray,
    gain: FloatArray | None,
    counted: BoolArray,
) -> Scored:
    """Sum up what is known of every appearance; only `counted` ones enter.

    In a release everyone counts who is in it. Over all releases a person counts once, in each respect with the worst.

    Raises:
        ValueError: a figure of somebody who counts is not a number. That is a fault of the attack; to leave the person
            out would look like safety.
    """
    for name, figure in (("confidence", confidence), ("gain", gain)):
        if figure is not None and not np.isfinite(figure[counted]).all():
            wrong = np.count_nonzero(~np.isfinite(figure[counted]))
            raise ValueError(f"{name} must be a number for everyone who counts; the attack left out {wrong}")
    bounds = np.searchsorted(history.release, np.arange(history.releases + 1))
    releases = []
    for first, last in pairwise(bounds):
        here = np.flatnonzero(counted[first:last]) + first
        who = None if history.bearer is None else history.who[here]
        most = None if gain is None else worst(gain[here], who)
        releases.append(summed(worst(confidence[here], who), worst(determined[here], who), most))
    person = history.who[counted]
    risk = highest(history.real, person, confidence[counted])
    attacked = np.isfinite(risk)
    ever = np.zeros(history.real, dtype=np.bool_)
    ever[person[determined[counted]]] = True
    gains = None if gain is None else highest(history.real, person, gain[counted])[attacked]
    overall = summed(risk[attacked], ever[attacked], gains)
    risk[~attacked] = np.nan
    return Scored(overall, tuple(releases), risk)


def summed(confidence: FloatArray, determined: BoolArray, gain: FloatArray | None) -> Summary:
    """The figures of some people; all 0 where there are none."""
    people = len(confidence)
    if not people:
        return Summary(0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, None if gain is None else 0.0)
    found = int(np.count_nonzero(determined))
    return Summary(
        people=people,
        determined=found,
        determined_share=found / people,
        above_nine_tenths=float((confidence > 0.9).mean()),
        above_half=float((confidence > 0.5).mean()),
        mean_confidence=float(confidence.mean()),
        worst_confidence=float(confidence.max()),
        gain=None if gain is None else float(gain.mean()),
    )


def strength(found: Summary) -> tuple[float, float, float]:
    """What attacks are ranked by: people above .9, the determined among them, then the mean confidence."""
    return found.above_nine_tenths, found.determined_share, found.mean_confidence


def ranked(found: Mapping[str, Sequence[Summary]]) -> list[str]:
    """The names of attacks, the strongest after the last release first."""
    return sorted(found, key=lambda name: strength(found[name][-1]), reverse=True)


def spread(risk: FloatArray) -> tuple[int, ...]:
    """How many people there are by her confidence, in parts to which their upper ends belong; nan is left out."""
    part = np.ceil(PARTS * risk[np.isfinite(risk)] - 1e-9).astype(np.int64) - 1
    return tuple(np.bincount(np.clip(part, 0, PARTS - 1), minlength=PARTS).tolist())


def joined(parts: Sequence[Summary]) -> Summary:
    """The figures of everybody from those of some people each, nobody in two parts; all 0 where there are none."""
    counted = [part for part in parts if part.people]
    if not counted:
        return Summary(0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, parts[0].gain if parts else 0.0)
    people = np.array([part.people for part in counted], dtype=np.float64)
    determined = sum(part.determined for part in counted)

    def mean(figures: list[float]) -> float:
        return float(np.dot(people, figures) / people.sum())

    gains = [part.gain for part in counted if part.gain is not None]
    return Summary(
        people=sum(part.people for part in counted),
        determined=determined,
        determined_share=determined / int(people.sum()),
        above_nine_tenths=mean([part.above_nine_tenths for part in counted]),
        above_half=mean([part.above_half for part in counted]),
        mean_confidence=mean([part.mean_confidence for part in counted]),
        worst_confidence=max(part.worst_confidence for part in counted),
        gain=mean(gains) if len(gains) == len(counted) else None,
    )


def highest(people: int, person: IntArray, figure: FloatArray) -> FloatArray:
    """The highest figure of each person, -inf of who has none."""
    found = np.full(people, -np.inf)
    np.maximum.at(found, person, figure)
    return found


def worst(figure: FloatArray | BoolArray | IntArray, who: IntArray | None) -> Any:
    """The highest figure of everyone in `who`; the figures themselves where everyone is in it once, `None`."""
    if who is None or not len(who):
        return figure
    order = np.argsort(who, kind="stable")
    first = np.flatnonzero(np.append(True, np.diff(who[order]) != 0))
    return np.maximum.reduceat(figure[order], first)


def shares(history: History, code: IntArray) -> FloatArray:
    """The share of a code among the published rows of the group, for every appearance."""
    held = (
        np.repeat(np.arange(history.groups), np.diff(history.value_start)) * history.values
        + history.value_code
    )
    place = np.searchsorted(held, history.group * history.values + code)
    found: FloatArray = history.value_count[place] / history.sizes[history.group]
    return found
