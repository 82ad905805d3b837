"""One way to make every attack: what is attacked, by whom, by which attack; the result can always be summed up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from republish.arrays import BoolArray
from republish.attacks.adversary import KNOWN, Adversary
from republish.attacks.believing.beliefs import plain_register
from republish.attacks.believing.register import Register, granted_view, register_of
from republish.attacks.choose import Means
from republish.attacks.confidence import BeliefResult
from republish.attacks.history import History, history_of
from republish.attacks.identity import IdentityResult, ToldApart, exchanged
from republish.attacks.linear import certainly
from republish.attacks.registry import (
    BELIEVES,
    EXCLUDES,
    IDENTIFIES,
    MATCHES,
    RETRACES,
    SWAPS,
    function,
    kind_of,
    names,
)
from republish.attacks.results import AttackResult, Findings
from republish.attacks.source import Source
from republish.attacks.summary import Summary
from republish.errors import PolicyError
from republish.inference import Reasoning
from republish.publishers.contract import Forming

if TYPE_CHECKING:
    from republish.attacks.matching.sightings import MatchedView
    from republish.attacks.replaying.replay import Replay
    from republish.attacks.retracing.traces import Trace
    from republish.series import Series

Result = AttackResult | BeliefResult | IdentityResult
_NEEDS_TRUTH = "true values are needed to tell the adversary those of compromised people; give truth"


@dataclass(frozen=True)
class Target:
    """What is attacked: a history, and where they are at hand the classes and quasi-identifiers of its people.

    `traces` hold the raw views for attacks by who knows how people were put together, `replay` the publisher for those
    that publish again.
    """

    history: History
    register: Register | None = None
    sightings: tuple[MatchedView, ...] | None = None
    traces: tuple[Trace, ...] | None = None
    replay: Replay | None = None

    @property
    def forming(self) -> Forming | None:
        """How people of the last release were put together that says so."""
        return next((one.forming for one in (self.traces or ())[::-1] if one.forming is not None), None)

    @property
    def has_views(self) -> bool:
        return self.sightings is not None or self.traces is not None

    def until(self, release: int) -> Target:
        """What could be attacked when a release (1, 2, ...) was the last one."""
        return Target(
            self.history.until(release),
            None if self.register is None else self.register.until(release),
            None if self.sightings is None else self.sightings[:release],
            None if self.traces is None else self.traces[:release],
            self.replay,
        )


def target_of(
    published: Source | History,
    adversary: Adversary,
    attacks: Sequence[str],
    truth: Sequence[pl.DataFrame] | None = None,
    views: Sequence[Any] | None = None,
) -> Target:
    """A series with all that these attacks need of it.

    `truth` replaces the true values that a series keeps: frames as `granted_view` makes them, or with the columns
    person and code where no attack needs classes. `views` are the raw views, for attacks that match quasi-identifiers.
    """
    if isinstance(published, History):
        return Target(published)
    published = published.snapshot()
    history = history_of(published, truth)
    ways = {kind_of(name).way for name in attacks}
    register, sightings, traces, replay = None, None, None, None
    if BELIEVES in ways and adversary.knowledge is not None:
        register = register_of(published, history, adversary.knowledge.classes, truth)
    if ways & {MATCHES, IDENTIFIES} and views is not None:
        from republish.attacks.matching.sightings import sightings_of

        sightings = sightings_of(published, history, views)
    if ways & {RETRACES, SWAPS} and views is not None:
        from republish.attacks.retracing.traces import traces_of

        traces = traces_of(published, history, views)
    if SWAPS in ways and views is not None:
        from republish.attacks.replaying.replay import Replay

        replay = Replay(published.publisher, published.secret())
    return Target(history, register, sightings, traces, replay)


def target_with_views(
    series: Series, adversary: Adversary, attacks: Sequence[str], views: Sequence[Any] | None
) -> Target:
    """A series with codes, and classes where her knowledge needs them, of everyone in its raw views, if given."""
    if not views:
        return target_of(series, adversary, attacks)
    known, numbered = adversary.knowledge, list(enumerate(views, start=1))
    if known is None or not set(attacks) & set(names(BELIEVES)):
        truth = [series.true_codes(number, view) for number, view in numbered]
    else:
        truth = [granted_view(series, number, view, known.classes) for number, view in numbered]
    return target_of(series, adversary, attacks, truth, views)


def run(
    target: Target, adversary: Adversary, name: str, m: int | None = None, certain: bool = False
) -> Result:
    """What one attack finds out about everyone it was not told of.

    Where only what is `certain` is asked for, probabilities may be rough, which is much faster.
    """
    Means(adversary, target.has_views, forming=target.forming).require([name])
    if kind_of(name).way == BELIEVES:
        return _believed(target, adversary, name)
    if kind_of(name).way == SWAPS:
        assert target.replay is not None
        swapped: IdentityResult = function(name)(target.replay, [one.view for one in target.traces or ()])
        return swapped
    history = attacked(target.history, name)
    known = adversary.known(history)
    if known.any() and history.truth is None:
        raise PolicyError(_NEEDS_TRUTH)
    if adversary.event_lists and history.events is None:
        raise PolicyError("this history holds no event lists; add them or set event_lists=False")
    granted = history if adversary.event_lists else replace(history, events=None)
    if kind_of(name).way == IDENTIFIES:
        identified: IdentityResult = function(name)(granted, target.sightings, m)
        return identified
    if kind_of(name).uses_known and kind_of(name).way != RETRACES:
        granted = granted.knowing_forgotten()
    findings = _found(replace(target, history=granted), adversary, name, known, certain)
    nobody = np.zeros(history.people, dtype=np.bool_)
    least = history.diversity if m is None else m
    spared = known if kind_of(name).uses_known else nobody
    result = AttackResult.of(name, findings, least, spared)
    return replace(result, unclear=findings.unclear(spared))


def attacked(history: History, name: str) -> History:
    """What an attack looks at: snapshots, where batches have clocks of their own and values are excluded."""
    excludes = kind_of(name).way == EXCLUDES
    return history.snapshots if excludes and history.snapshots is not None else history


def over_time(
    target: Target,
    adversary: Adversary,
    name: str,
    progress: Callable[[int, int], None] | None = None,
    last: Result | None = None,
) -> tuple[Summary, ...]:
    """The summary of what the attack finds after each release: see `results_over_time`."""
    return tuple(one.summary for one in results_over_time(target, adversary, name, progress, last))


def results_over_time(
    target: Target,
    adversary: Adversary,
    name: str,
    progress: Callable[[int, int], None] | None = None,
    last: Result | None = None,
) -> Iterator[Result]:
    """What the attack finds after each release: of everyone so far, by an adversary who has no later release.

    She knows the same people all the time, and all values of the series from the start. After the last release she has
    them all: give that result as `last` where it is at hand, and it is not made again.
    """
    releases = target.history.releases
    if kind_of(name).way == SWAPS:  # later releases change nothing in what is found of earlier ones
        last = last or run(target, adversary, name)
    for release in range(1, releases + 1):
        if isinstance(last, IdentityResult) and isinstance(last.overall, ToldApart):
            yield exchanged(last.releases[:release])
        else:
            made = last if release == releases else None
            yield made or run(target.until(release), adversary, name)
        if progress is not None:
            progress(release, releases)


def attack(
    published: Source | History,
    adversary: Adversary | None = None,
    attacks: Sequence[str] | None = None,
    truth: Sequence[pl.DataFrame] | None = None,
    m: int | None = None,
    views: Sequence[Any] | None = None,
) -> tuple[Result, ...]:
    """What each attack finds out about everyone it was not told of: one of the results in `Result` each.

    Without names, all attacks that exclude values, or that match people to groups where the adversary must. `m` is the
    number of candidates that should be left to everyone; by default what each release alone seems to promise, the
    fewest distinct values of any group, or people of any cell where rows are sought. `truth` replaces the true values
    that a series keeps, `views` are raw views for attacks that match quasi-identifiers.
    """
    adversary = informed(adversary or Adversary(), published)
    by_default = names(EXCLUDES) if adversary.membership == KNOWN else names(MATCHES)
    chosen = by_default if attacks is None else list(attacks)
    for name in chosen:
        kind_of(name)
    target = target_of(published, adversary, chosen, truth, views)
    return tuple(run(target, adversary, name, m) for name in chosen)


def attack_beliefs(
    published: Source | History,
    adversary: Adversary | None = None,
    truth: Sequence[pl.DataFrame] | None = None,
    register: Register | None = None,
    name: str = "beliefs",
) -> BeliefResult:
    """How sure an adversary is of true values who knows how values follow each other.

    Without knowledge of her own she has that of the series. `truth` are frames as `granted_view` makes them. Of a
    history the `register` says who is of which class, where the knowledge has several.
    """
    adversary = informed(adversary or Adversary(), published)
    if adversary.knowledge is None:
        raise PolicyError(
            "a belief attack needs knowledge of how values follow each other, and the series has none; give knowledge"
        )
    if register is None:
        return _believed(target_of(published, adversary, [name], truth), adversary, name)
    history = published if isinstance(published, History) else history_of(published, truth)
    return _believed(Target(history, register), adversary, name)


def informed(adversary: Adversary, published: Source | History) -> Adversary:
    """The adversary with the knowledge that a series' publisher takes her to have, unless she has some of her own."""
    if adversary.knowledge is not None or isinstance(published, History) or published.reasoning is None:
        return adversary
    return replace(adversary, knowledge=published.reasoning.knowledge)


def _found(target: Target, adversary: Adversary, name: str, known: BoolArray, certain: bool) -> Findings:
    kind, make = kind_of(name), function(name)
    found: Findings
    if kind.way == MATCHES:
        found = make(target.history, target.sightings, known)
    elif kind.way == RETRACES:
        found = make(target.history, target.traces, known)
    elif kind.gives_up and certain:
        found = certainly(target.history, known)
    elif kind.uses_known:
        found = make(target.history, known, adversary.cascade)
    else:
        found = make(target.history)
    return found


def _believed(target: Target, adversary: Adversary, name: str) -> BeliefResult:
    history, register = target.history, target.register
    assert adversary.knowledge is not None
    reasoning = Reasoning(
        adversary.knowledge, adversary.posterior, adversary.steps, cascade=adversary.cascading
    )
    told = adversary.told(history)
    if told is not None and history.truth is None:
        raise PolicyError(_NEEDS_TRUTH)
    if not adversary.event_lists:
        register = None if register is None else register.published(history)
    elif history.events is not None:
        register = (register or plain_register(history, reasoning)).with_events(history.events)
    found: BeliefResult = function(name)(history, reasoning, register, told)
    return found
