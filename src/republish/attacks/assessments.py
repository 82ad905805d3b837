"""What attacks found over a series, kept beside it: figures that belong to nobody in particular."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from republish.errors import LedgerError, PolicyError
from republish.ledger import Entry
from republish.ledger.files import sync_folder, write, writing

if TYPE_CHECKING:
    from republish.attacks import Adversary, Identity, Summary, Target
    from republish.series import Series

_CHANGES = ("release", "adopt", "forget")  # entries after which attacks may find something else
_FOLDER = "assessments"


@dataclass(frozen=True)
class Assessment:
    """What attacks found after each release, by an adversary who had no later one.

    `head` is the digest of the ledger's last entry when it was made. `found[name][i]` is what an attack finds of
    everyone in the releases 1 to i + 1. `left_out` says why an attack was not made, `unclear` what one with a budget
    did not get to the end of after the last release. `identities` is what those found that seek no value, in figures of
    their own; they are not among `found`. `spread[name][i]` counts the same people as `found` by her confidence in
    their true value (`republish.attacks.summary.spread`), `by_release[name][i]` is what she finds of those in release
    i + 1 once all are out; older assessments have neither.
    """

    made_at: str
    head: str
    releases: int
    adversary: dict[str, Any]
    found: dict[str, tuple[Summary, ...]]
    left_out: dict[str, str]
    unclear: dict[str, Any]
    identities: dict[str, tuple[Identity, ...]] = field(default_factory=dict)
    spread: dict[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    by_release: dict[str, tuple[Summary, ...]] = field(default_factory=dict)

    @property
    def strongest(self) -> str | None:
        """The attack that found most after the last release, `None` where none sought values."""
        from republish.attacks.summary import ranked

        return next(iter(ranked(self.found)), None)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Assessment:
        """The assessment that a document holds; ValueError where it holds none."""
        from republish.attacks import IDENTITIES, Summary

        def summaries(key: str, default: Any = None) -> dict[str, tuple[Summary, ...]]:
            parts = document[key] if default is None else document.get(key, default)
            return {
                str(name): tuple(Summary(**figures) for figures in after) for name, after in parts.items()
            }

        try:
            found, by_release = summaries("found"), summaries("by_release", {})
            spread = {
                str(name): tuple(tuple(map(int, people)) for people in after)
                for name, after in document.get("spread", {}).items()
            }
            identities = {  # older ones have none
                str(name): tuple(IDENTITIES[name](**figures) for figures in after)
                for name, after in document.get("identities", {}).items()
            }
            made = cls(
                str(document["made_at"]),
                str(document["head"]),
                int(document["releases"]),
                dict(document["adversary"]),
                found,
                dict(document["left_out"]),
                dict(document["unclear"]),
                identities,
                spread,
                by_release,
            )
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError("this is not an assessment") from error
        every: list[tuple[Any, ...]] = [*found.values(), *identities.values(), *by_release.values()]
        if any(len(after) != made.releases for after in [*every, *spread.values()]) or not made.releases:
            raise ValueError("an assessment must have figures of every attack after every release")
        figures = [value for after in every for part in after for value in asdict(part).values()]
        counts = [value for doubt in made.unclear.values() for value in dict(doubt).values()]
        if not all(value is None or isinstance(value, int | float) for value in [*figures, *counts]):
            raise ValueError("what an assessment found must be numbers")
        return made

    def is_current(self, series: Series) -> bool:
        """Whether nothing happened to the series since that could change what is found."""
        return self.holds_at(series.ledger.entries())

    def holds_at(self, entries: Sequence[Entry]) -> bool:
        """Whether it is still true of a series with these entries."""
        later = False
        for entry in reversed(entries):
            if entry.digest == self.head:
                return not later
            later |= entry.kind in _CHANGES
        return False


def assess(
    series: Series,
    adversary: Adversary,
    names: Sequence[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    views: Sequence[Any] | None = None,
) -> Assessment:
    """Make attacks on a series as it was after each release; nothing is written.

    Args:
        series: the series.
        adversary: what she is granted; without knowledge of her own she has that of the series' publisher.
        names: the attacks. Without them all that exclude values, those that weigh them where there is knowledge, and
            with views those that seek no value.
        progress: told how many releases of all attacks are done, and how many there are.
        views: the raw view of every release, for knowledge with classes of its own and for attacks that look people
            up by their quasi-identifiers.

    Raises:
        PolicyError: there is nothing to attack, or an attack that was named cannot be made.
        LedgerError: the series went on in the meantime.
    """
    from republish.attacks import (
        IdentityResult,
        Means,
        informed,
        results_over_time,
        run,
        with_views,
        without_views,
    )
    from republish.attacks.summary import spread

    stored = series.snapshot()
    head, releases = stored.ledger.head.digest, len(stored.records)
    if not releases:
        raise PolicyError("there is nothing to attack yet; publish a first view")
    hers = informed(adversary, stored)
    if views is not None and len(views) != releases:
        raise PolicyError(f"one raw view a release is needed: {releases} releases, {len(views)} views")
    means = Means(hers, views is not None, after_each=True, forming=stored.publisher.forming)
    wanted, left_out = means.choose(names, without_views() if views is None else with_views())
    target = _target(stored, views, hers, wanted, left_out if names is None else None)
    if series.ledger.head.digest != head:
        raise LedgerError("the series went on while it was read; repeat the attack")
    found: dict[str, tuple[Summary, ...]] = {}
    by_release: dict[str, tuple[Summary, ...]] = {}
    spreads: dict[str, tuple[tuple[int, ...], ...]] = {}
    identities: dict[str, tuple[Identity, ...]] = {}
    unclear = {}
    of = len(wanted) * releases
    for number, name in enumerate(wanted):

        def further(done: int, _all: int, before: int = number * releases) -> None:
            if progress is not None:
                progress(before + done, of)

        if progress is not None:
            progress(number * releases, of)
        last = run(target, hers, name)
        after = results_over_time(target, hers, name, further, last)
        if isinstance(last, IdentityResult):
            identities[name] = tuple(one.overall for one in after if isinstance(one, IdentityResult))
        else:
            pairs = [(one.summary, spread(one.risk)) for one in after]
            found[name], spreads[name] = (tuple(part) for part in zip(*pairs, strict=True))
            by_release[name] = last.by_release
        doubt = getattr(last, "unclear", None)
        if doubt is not None:
            unclear[name] = asdict(doubt)
    granted = _granted(hers, adversary.knowledge is not None)
    made_at = datetime.now(UTC).isoformat()
    return Assessment(
        made_at, head, releases, granted, found, left_out, unclear, identities, spreads, by_release
    )


def keep(series: Series, assessment: Assessment) -> Path:
    """Keep an assessment beside the series; return where."""
    folder = series.root / "private" / _FOLDER
    stamp = "".join(filter(str.isalnum, assessment.made_at[:19]))
    path = folder / f"{stamp}-{secrets.token_hex(4)}.json"
    part = path.with_suffix(".part")
    text = json.dumps(assessment.as_dict(), indent=1)
    with writing("the assessment could not be kept", "the series is as it was"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            write(part, text.encode())
            part.rename(path)
        finally:
            part.unlink(missing_ok=True)
        sync_folder(folder)
    return path


def kept(series: Series) -> list[Assessment]:
    """All assessments that were kept, the newest last; files that hold none are passed over."""
    found = []
    for path in sorted((series.root / "private" / _FOLDER).glob("*.json")):
        try:
            found.append(Assessment.from_dict(json.loads(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError):
            continue
    return sorted(found, key=lambda one: one.made_at)


def _target(
    series: Series,
    views: Sequence[Any] | None,
    adversary: Adversary,
    wanted: list[str],
    left_out: dict[str, str] | None,
) -> Target:
    """What is attacked; with `left_out`, attacks that need classes which are not at hand go there."""
    from republish.attacks import BELIEVES, target_with_views
    from republish.attacks import names as names_of

    try:
        return target_with_views(series, adversary, wanted, views)
    except PolicyError as problem:
        believers = [name for name in wanted if name in names_of(BELIEVES)]
        others = [name for name in wanted if name not in believers]
        if left_out is None or not believers or not others:
            raise
        target = target_with_views(series, adversary, others, views)
        wanted[:] = others
        left_out.update(dict.fromkeys(believers, str(problem)))
        return target


def _granted(adversary: Adversary, own: bool) -> dict[str, Any]:
    """What she was granted, with nobody named: of people given one by one only the number."""
    share = adversary.compromised
    return {
        "compromised": float(share) if isinstance(share, (int, float)) else {"people": len(list(share))},
        "event_lists": adversary.event_lists,
        "cascade": adversary.cascade,
        "membership": adversary.membership,
        "seed": int(adversary.seed),
        "knowledge": adversary.knowledge is not None,
        "own_knowledge": own,
        "knowledge_digest": None if adversary.knowledge is None else adversary.knowledge.digest(),
        "posterior": adversary.posterior,
        "steps": adversary.steps,
        "certainty": adversary.certainty,
    }
