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
from numba import njit

from republish.attacks.candidates import Unknowns, intersected, lives
from republish.attacks.history import LEFT_OUT, History, Table
from republish.errors import CannotPublish, PolicyError
from republish.events import Appearances, events_of
from republish.grouping import Grouping
from republish.microdata import Microdata
from republish.types import BoolArray, FloatArray, IntArray

LIMIT = 20_000
MOST_LIVES = 60
_STEPS = 100
_COUNTED = 50  # times the limit: so far inputs are counted to say how many there are
PRIORS = ("even", "published")
SURE = 1.0 - 1e-9


class Rerun(Protocol):
    """A publisher that starts from nothing: its grouping of the last view, after it grouped the earlier ones so."""

    def __call__(
        self, views: Sequence[Microdata], earlier: Sequence[Grouping], rng: np.random.Generator
    ) -> Grouping:
        """The grouping of `views[-1]`; `earlier` holds those of the other views."""
        ...


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
        """Refuse options that mean nothing."""
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
        """A JSON document of the figures."""
        figures = asdict(replace(self, confidence=np.zeros(0)))
        return {"attack": figures.pop("name"), **{k: v for k, v in figures.items() if k != "confidence"}}


@dataclass(frozen=True)
class Tried:
    """All inputs that fit the groups, one row each with the value of every life, and their weights before and after."""

    case: _Case
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
    case = _Case.of(views, published, known)
    unknown = int(np.count_nonzero(~case.known))
    if unknown > MOST_LIVES:
        raise PolicyError(
            f"every input is tried of at most {MOST_LIVES} unknown values, and here are {unknown:,}; take fewer people "
            "or releases"
        )
    worlds, count = case.worlds(options.limit)
    if count > options.limit:
        least = "at least " if count >= _COUNTED * options.limit else ""
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


@dataclass(frozen=True)
class _Case:
    """A small series: the life behind every row of every view, and what the lives are known for."""

    views: tuple[Microdata, ...]
    groupings: tuple[Grouping, ...]
    unknowns: Unknowns
    life: tuple[IntArray, ...]
    truth: IntArray
    published: BoolArray
    left_out: BoolArray
    known: BoolArray
    domain: IntArray

    @classmethod
    def of(
        cls,
        views: Sequence[Microdata],
        groupings: Sequence[Grouping],
        known: Callable[[History], BoolArray] | None,
    ) -> _Case:
        _require(views, groupings)
        people = [view.people for view in views if view.people is not None]
        everyone, number = np.unique(np.concatenate(people), axis=0, return_inverse=True)
        person = np.split(number.ravel(), np.cumsum([view.rows for view in views])[:-1])
        codes = [view.codes.astype(np.int64) for view in views]
        tables = [_table(*parts) for parts in zip(person, codes, groupings, strict=True)]
        # Quasi-identifiers are hers to look up; whether they changed plays no part here.
        seen = [Appearances(p, c, p.astype(np.uint64)) for p, c in zip(person, codes, strict=True)]
        events = events_of(len(everyone), seen)
        history = History.of(len(everyone), len(views[-1].values), tables, events, codes)
        unknowns = lives(history)
        assert history.events is not None
        first = np.searchsorted(unknowns.person, np.arange(history.people))
        life = tuple(first[p] + history.events.life[p, i] for i, p in enumerate(person))
        truth, domain = np.zeros(unknowns.count, np.int64), np.full(unknowns.count, history.values)
        published, left_out = np.zeros((2, unknowns.count), dtype=np.bool_)
        for own, code, grouping, view in zip(life, codes, groupings, views, strict=True):
            truth[own] = code
            domain[own] = np.minimum(domain[own], len(view.values))
            published[own[grouping.group != LEFT_OUT]] = True
            left_out[own[grouping.group == LEFT_OUT]] = True
        granted = np.zeros(history.people, dtype=np.bool_) if known is None else known(history)
        facts = truth, published, left_out, granted[unknowns.person], domain
        return cls(tuple(views), tuple(groupings), unknowns, life, *facts)

    def worlds(self, limit: int) -> tuple[IntArray, int]:
        """At most `limit` inputs that fit the groups, and how many there are, counted no further than need be."""
        history = self.history
        bits = intersected(self.unknowns).astype("<u8").view(np.uint8)
        can = np.unpackbits(bits, axis=1, bitorder="little")[:, : history.values].astype(np.bool_)
        can &= np.arange(history.values) < self.domain[:, None]
        can[self.known] = self.truth[self.known, None] == np.arange(history.values)
        left = np.zeros((history.groups, history.values), dtype=np.int64)
        owner = np.repeat(np.arange(history.groups), np.diff(history.value_start))
        left[owner, history.value_code] = history.value_count
        places = self.unknowns.previous, self.unknowns.place_start, self.unknowns.place
        found: tuple[IntArray, int] = _worlds(can, *places, left, limit, _COUNTED * limit)
        return found

    @property
    def history(self) -> History:
        """The releases as everyone reads them."""
        return self.unknowns.history

    def counts(self) -> FloatArray:
        """How many published rows hold each value."""
        history = self.history
        return np.bincount(history.value_code, history.value_count, history.values).astype(np.float64)

    def weights(self, worlds: IntArray, prior: str) -> FloatArray:
        """How likely each input is beforehand, up to a factor."""
        if prior == "even":
            return np.ones(len(worlds))
        counts = self.counts() + 1.0
        weight: FloatArray = np.prod((counts / counts.sum())[worlds[:, ~self.published]], axis=1)
        return weight

    def inputs(self, world: IntArray) -> list[Microdata]:
        """The views as they would be with these values."""
        return [
            replace(view, codes=world[own].astype(view.codes.dtype))
            for view, own in zip(self.views, self.life, strict=True)
        ]


def _require(views: Sequence[Microdata], groupings: Sequence[Grouping]) -> None:
    if not views or len(views) != len(groupings):
        raise PolicyError(
            f"inputs need a view for every release; there are {len(views)} and {len(groupings)}"
        )
    if any(view.people is None for view in views):
        raise PolicyError("inputs need views with pseudonyms; make them with view.pseudonymous(secret)")
    if views[0].schema.sensitive is None:
        raise PolicyError("attacks seek sensitive values and these views have no sensitive column")
    last = views[-1].values
    if any(not view.values.equals(last[: len(view.values)]) for view in views):
        raise PolicyError("each view must be read with the sensitive values of the one before it")


def _table(person: IntArray, code: IntArray, grouping: Grouping) -> Table:
    group, kept = grouping.group.astype(np.int64), grouping.group != LEFT_OUT
    row_group = np.concatenate([group[kept], grouping.counterfeit_group])
    return Table(person, group, row_group, np.concatenate([code[kept], grouping.counterfeit_code]))


def _likelihoods(rerun: Rerun, case: _Case, worlds: IntArray, options: Options) -> FloatArray:
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
        spelled = [
            text + low[g].tobytes() + high[g].tobytes() + int(level[g]).to_bytes(4, "little")
            for g, text in enumerate(spelled)
        ]
    named = sorted((int(first[g]), text) for g, text in enumerate(spelled))
    number = np.where(group >= 0, first[group] if groups else group, LEFT_OUT).astype(np.int64)
    return (number.tobytes(), *(text for _, text in named))


@njit(cache=True)
def _worlds(can, previous, place_start, place, left, limit, most):  # type: ignore[no-untyped-def]
    """Assignments of a value to every life that leave no group with too few rows; stored up to `limit`.

    Depth first: life after life takes each of its values in turn. Counting ends at `most`.
    """
    lives, values = can.shape
    worlds = np.empty((limit, lives), np.int64)
    chosen = np.full(lives, -1, np.int64)
    count, at, steps = 0, 0, 0
    while at >= 0 and count < most:
        steps += 1
        if steps > _STEPS * most:  # dead ends can outnumber the worlds by far
            return worlds[: min(count, limit)].copy(), most
        if at == lives:
            if count < limit:
                worlds[count] = chosen
            count += 1
            at -= 1
            continue
        old = chosen[at]
        if old >= 0:
            for j in range(place_start[at], place_start[at + 1]):
                left[place[j], old] += 1
        code = old + 1
        while code < values:
            fits = can[at, code] and (previous[at] < 0 or chosen[previous[at]] != code)
            for j in range(place_start[at], place_start[at + 1]):
                fits = fits and left[place[j], code] > 0
            if fits:
                break
            code += 1
        if code == values:
            chosen[at] = -1
            at -= 1
            continue
        chosen[at] = code
        for j in range(place_start[at], place_start[at + 1]):
            left[place[j], code] -= 1
        at += 1
    return worlds[: min(count, limit)].copy(), count
