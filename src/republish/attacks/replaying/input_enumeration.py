"""What a publisher's own choices give away: minimality and suppression, by trying all inputs of a small series.

She knows the publisher and its parameters, as everybody may. So she asks of every input that could lie behind what was
published whether the publisher would have published just this. An input that it would have treated otherwise is out:
groups that were joined although smaller ones would have done for some values speak against those values (minimality,
Wong et al., VLDB 2007), and so does a row left out that need not have been (JS-reduce, section 6.3).

An input gives a value to every life in every view. What is held fixed, that is granted to her: who is in which view
and with which quasi-identifiers, also whoever was left out; event lists; who is in which group; the list of values
of each view; the values of known people; the order of rows inside a view, which settles ties. The seed is not
granted: how likely an input makes a release is the share of `draws` seeds under which it is made. With one draw, which
is enough for publishers that leave nothing to chance, this is exact; else it is an estimate, and an input may be ruled
out by bad luck. Inputs are alike beforehand, or weighed by how frequent the values of unpublished lives are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from republish.arrays import BoolArray, FloatArray, IntArray
from republish.attacks.history import History
from republish.attacks.replaying.small_series import COUNTED, Case
from republish.attacks.tables import LEFT_OUT
from republish.errors import CannotPublish, PolicyError
from republish.grouping import Grouping
from republish.microdata import Microdata

LIMIT = 20_000
MOST_LIVES = 60
PRIORS = ("even", "published")
SURE = 1.0 - 1e-9


class Rerun(Protocol):
    """A publisher that starts from nothing: its grouping of the last view, after it grouped the earlier ones so."""

    def __call__(
        self, views: Sequence[Microdata], earlier: Sequence[Grouping], rng: np.random.Generator
    ) -> Grouping: ...


@dataclass(frozen=True)
class Options:
    """How inputs are tried: seeds a release, the most inputs, and what is thought of lives that were never published.

    `prior` is "even", or "published" for shares of values among all published rows, each value counted once more.
    """

    draws: int = 1
    limit: int = LIMIT
    prior: str = "even"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.draws < 1 or self.limit < 1:
            raise PolicyError("at least one seed and one input must be tried")
        if self.prior not in PRIORS:
            raise PolicyError(f"the prior is one of {', '.join(PRIORS)}; found {self.prior!r}")


@dataclass(frozen=True)
class Sure:
    """How many lives she is certain of, and her confidence, the probability of the true value."""

    determined: int
    mean_confidence: float
    worst_confidence: float

    @classmethod
    def of(cls, p: FloatArray) -> Sure:
        """The figures of some lives; all 0 where there are none."""
        return cls(
            int(np.count_nonzero(p >= SURE)), *((float(p.mean()), float(p.max())) if len(p) else (0.0, 0.0))
        )


@dataclass(frozen=True)
class Inferred:
    """What the publisher's choices add to what the groups say of some lives; nothing in it belongs to one person.

    `before` is without a thought of the publisher, `after` with it; `gain` is the mean of (after - before) / (1 -
    before), 0 where she was certain before. `mean_share` is the mean share of the true values among all published
    rows. Of `inputs` that fit the groups, `kept` ones make the same releases. `confidence` is an array for those who
    may see it.
    """

    name: str
    inputs: int
    kept: int
    draws: int
    lives: int
    before: Sure
    after: Sure
    gain: float
    mean_share: float
    confidence: FloatArray = field(repr=False)

    def as_dict(self) -> dict[str, Any]:
        figures = asdict(replace(self, confidence=np.zeros(0)))
        return {"attack": figures.pop("name"), **{k: v for k, v in figures.items() if k != "confidence"}}


@dataclass(frozen=True)
class Tried:
    """All inputs that fit the groups, one row each with the value of every life, and their weights before and after."""

    case: Case
    worlds: IntArray
    before: FloatArray
    after: FloatArray
    draws: int

    def posterior(self, after: bool = True) -> FloatArray:
        """The probability of every value of every life."""
        weight = self.after if after else self.before
        values = range(self.case.history.values)
        shares: FloatArray = (
            np.stack([weight @ (self.worlds == code) for code in values], axis=1) / weight.sum()
        )
        return shares

    def minimality(self) -> Inferred:
        """What the publisher's choices say of everyone who was published."""
        return self._inferred("minimality", self.case.published)

    def suppression(self) -> Inferred:
        """What being left out says of everyone who was."""
        return self._inferred("suppression", self.case.left_out)

    def _inferred(self, name: str, which: BoolArray) -> Inferred:
        which = which & ~self.case.known
        truth = self.case.truth[which]
        before, after = (self.posterior(late)[which, truth] for late in (False, True))
        gain = np.divide(after - before, 1.0 - before, out=np.zeros_like(after), where=before < SURE)
        share = self.case.counts()[truth] / max(self.case.counts().sum(), 1.0)
        means = [float(part.mean()) if len(truth) else 0.0 for part in (gain, share)]
        kept = int(np.count_nonzero(self.after))
        counts = len(self.worlds), kept, self.draws, len(truth)
        return Inferred(name, *counts, Sure.of(before), Sure.of(after), means[0], means[1], after)


def minimality(
    rerun: Rerun, views: Sequence[Microdata], published: Sequence[Grouping], options: Options | None = None
) -> Inferred:
    """What the publisher's choices say of everyone who was published; see `try_inputs`."""
    return try_inputs(rerun, views, published, options).minimality()


def suppression(
    rerun: Rerun, views: Sequence[Microdata], published: Sequence[Grouping], options: Options | None = None
) -> Inferred:
    """What being left out says of everyone who was; see `try_inputs`."""
    return try_inputs(rerun, views, published, options).suppression()


def try_inputs(
    rerun: Rerun,
    views: Sequence[Microdata],
    published: Sequence[Grouping],
    options: Options | None = None,
    known: Callable[[History], BoolArray] | None = None,
) -> Tried:
    """Every input that could lie behind these releases, and how likely the publisher makes them of it.

    `views` are the true ones, with pseudonyms, each read with the values of the one before; `known` says of the
    history's people whose values she knows, such as `Adversary(0.1).known`.

    Raises:
        PolicyError: there are more inputs than the limit, or none makes these releases.
    """
    options = options or Options()
    case = Case.of(views, published, known)
    unknown = int(np.count_nonzero(~case.known))
    if unknown > MOST_LIVES:
        raise PolicyError(
            f"every input is tried of at most {MOST_LIVES} unknown values, and here are {unknown:,}; take fewer people "
            "or releases"
        )
    worlds, count = case.worlds(options.limit)
    if count > options.limit:
        least = "at least " if count >= COUNTED * options.limit else ""
        raise PolicyError(
            f"at most {options.limit:,} inputs can be tried, and {least}{count:,} fit these releases; take fewer "
            "people or releases, grant more known people, or raise the limit"
        )
    before = case.weights(worlds, options.prior)
    after = before * _likelihoods(rerun, case, worlds, options)
    if not after.any():
        raise PolicyError(
            f"none of {len(worlds):,} inputs makes these releases under {options.draws} seeds; give more draws, or the "
            "publisher and the parameters that they were made with"
        )
    return Tried(case, worlds, before, after, options.draws)


def _likelihoods(rerun: Rerun, case: Case, worlds: IntArray, options: Options) -> FloatArray:
    """How likely the publisher makes all these releases of each input."""
    shown = [_shown(v.codes, g) for v, g in zip(case.views, case.groupings, strict=True)]
    likely = np.ones(len(worlds))
    known: dict[bytes, tuple[float, Grouping | None]] = {}  # inputs that begin alike are tried once
    for w, world in enumerate(worlds):
        views = case.inputs(world)
        earlier: list[Grouping] = []
        for number in range(len(views)):
            so_far = views[: number + 1]
            key = b"".join(view.codes.tobytes() for view in so_far)
            if key not in known:
                known[key] = _chance(rerun, so_far, earlier, shown[number], options)
            share, grouping = known[key]
            likely[w] *= share
            if grouping is None:
                break
            earlier.append(grouping)
    return likely


def _chance(
    rerun: Rerun, views: list[Microdata], earlier: list[Grouping], shown: tuple[bytes, ...], options: Options
) -> tuple[float, Grouping | None]:
    """The share of seeds under which the last view is published as it was, and the grouping that does so."""
    made, found = 0, None
    for draw in range(options.draws):
        rng = np.random.default_rng([options.seed, len(views), draw])
        try:
            grouping = rerun(views, earlier, rng)
        except CannotPublish:
            continue
        if _shown(views[-1].codes, grouping) == shown:
            made, found = made + 1, found or grouping
    return made / options.draws, found


def _shown(codes: IntArray, grouping: Grouping) -> tuple[bytes, ...]:
    """What a grouping shows: who is in a group with whom, the values and the region of each; not its numbers."""
    group, groups = grouping.group, grouping.groups
    first = np.full(groups, len(group), dtype=np.int64)  # a group is known by its first row
    np.minimum.at(first, group[group >= 0], np.flatnonzero(group >= 0))
    rows = np.concatenate([group, grouping.counterfeit_group]).astype(np.int64)
    values = np.concatenate([codes, grouping.counterfeit_code]).astype(np.int64)
    counts = np.zeros((groups, int(values.max(initial=-1)) + 1), dtype=np.int64)
    np.add.at(counts, (rows[rows >= 0], values[rows >= 0]), 1)
    spelled = [row[: int(np.flatnonzero(row).max(initial=-1)) + 1].tobytes() for row in counts]
    if grouping.regions is not None:
        low, high, level = grouping.regions
        levels = np.zeros(groups, dtype=np.int64) if level is None else level
        spelled = [
            text + low[g].tobytes() + high[g].tobytes() + int(levels[g]).to_bytes(4, "little")
            for g, text in enumerate(spelled)
        ]
    named = sorted((int(first[g]), text) for g, text in enumerate(spelled))
    number = np.where(group >= 0, first[group] if groups else group, LEFT_OUT).astype(np.int64)
    return (number.tobytes(), *(text for _, text in named))
