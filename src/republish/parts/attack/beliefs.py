"""The belief attack in parts: what she believes of a person travels between her bucket and the shards of her groups.

Release by release a bucket sends everyone in it, with the belief, to the shard of the group; there the values of the
group turn beliefs into posteriors, which revise them; and they go back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import BoolArray, IntArray
from republish.attacks.adversary import Adversary
from republish.attacks.believing.beliefs import groups_of, inferred, revision_of
from republish.attacks.believing.register import UNKNOWN
from republish.attacks.confidence import looked_at, signed_gain
from republish.attacks.summary import SURE, Summary, joined, scored, shares, summed
from republish.errors import PolicyError
from republish.inference import FULL, UNTOLD, Compromised, Reasoning, Revision, cascaded
from republish.knowledge import Extracted, Transitions
from republish.memory.memory import KEY, people_of
from republish.parts.attack.history import CLASS, MEMBER, SEEN, VALUES, AttackLayout, Shard, numbered
from republish.parts.attack.known_people import Known
from republish.parts.blocks import Block, Mover, fact, spread, table_block, table_of, tables_of
from republish.parts.counts import COUNT, ROWS, add_counts, spread_counts
from republish.parts.pseudonymize import bucket_of

BELIEF, STATE, START = "belief", "state", "start"
"""People with beliefs on their way to shards; beliefs in their bucket; and those before the first release."""
_RELEASE, _GROUP, _CODE, _TOLD, _BELIEF, _CHANGED = "release", "group", "code", "told", "belief", "changed"
_SCORES = ("risk", "gain")


@dataclass(frozen=True)
class BeliefsInParts:
    """What the belief attack found: the summaries of a `BeliefResult`, and nothing of a single person."""

    posterior: str
    steps: int | None
    by_release: tuple[Summary, ...]
    summary: Summary
    name: str = "beliefs"

    @property
    def label(self) -> str:
        return looked_at(self.steps)

    def as_dict(self) -> dict[str, Any]:
        return {
            "attack": self.name,
            "posterior": self.posterior,
            "steps": FULL if self.steps is None else self.steps,
            "summary": asdict(self.summary),
            "releases": [{"release": i, **asdict(part)} for i, part in enumerate(self.by_release, 1)],
        }


def beliefs_in_parts(
    mover: Mover[Any],
    layout: AttackLayout,
    read: Any,
    seen: Sequence[Any],
    adversary: Adversary,
    known: Known | None,
) -> BeliefsInParts:
    """How sure she is of true values who knows how values follow each other.

    `read` are the blocks of all files, `seen` those with everyone's appearances.
    """
    assert adversary.knowledge is not None
    if adversary.knowledge.gaps == "count":
        raise PolicyError(
            "in parts beliefs are attacked by knowledge that skips gaps, and this counts them; attack without --engine"
        )
    reasoning = Reasoning(
        adversary.knowledge, adversary.posterior, adversary.steps, cascade=adversary.cascading
    )
    source, count, tasks = reasoning.knowledge, len(layout.releases), max(1, layout.tasks)
    order = source.start().order if isinstance(source, Extracted) else None
    sorting = partial(sort_appearances, count, adversary.event_lists, order, layout.buckets)
    people = mover.keep(mover.exchange(seen, [SEEN], layout.buckets, sorting))
    values = mover.keep(mover.map(read, [VALUES], partial(mark_values, layout)))
    counted = (
        [] if order is None else mover.facts(mover.exchange([people], [COUNT], layout.buckets, add_counts))
    )
    states: list[Any] = []
    releases = []
    for i, revision in enumerate(_revisions(layout, reasoning, counted)):
        step = Step(layout, reasoning, revision, i, known, adversary.certainty)
        kinds = [f"{SEEN} {i}", STATE if i else START]
        sent = mover.keep(
            mover.exchange([people, *states], kinds, layout.buckets, partial(send_beliefs, step))
        )
        back = mover.keep(
            mover.exchange([values, sent], [f"{VALUES} {i}", BELIEF], tasks, partial(revise_beliefs, step))
        )
        releases.append(joined(mover.facts(back)))
        for old in states:
            mover.forget(old)
        states = [sent, back]
    if not states:
        return BeliefsInParts(adversary.posterior, adversary.steps, (), joined([]))
    found = mover.facts(mover.exchange(states, [STATE], layout.buckets, sum_up))
    return BeliefsInParts(adversary.posterior, adversary.steps, tuple(releases), joined(found))


def _revisions(
    layout: AttackLayout, reasoning: Reasoning, counted: Sequence[pl.DataFrame]
) -> Iterator[Revision]:
    """How she revises beliefs, release by release; knowledge of the views themselves grows with them."""
    source = reasoning.knowledge
    if not isinstance(source, Extracted):
        revision = revision_of(source.aligned(layout.values), reasoning) if layout.releases else None
        for _ in layout.releases:
            assert revision is not None
            yield revision
        return
    counts = source.start()
    for i in range(len(layout.releases)):
        fresh = [part.filter(pl.col(_RELEASE) == i).drop(_RELEASE) for part in counted]
        counts = counts.plus(*(part.rename({ROWS: "count"}) for part in fresh))
        yield revision_of(source.knowledge(counts, layout.values), reasoning)


def mark_values(layout: AttackLayout, blocks: Sequence[Block]) -> Iterator[Block]:
    """The task that marks published values with their release, so that a release can be asked for alone."""
    for block in blocks:
        yield block._replace(kind=f"{VALUES} {layout.release_of(block.to)}")


def sort_appearances(
    releases: int, events: bool, order: int | None, tasks: int, blocks: Sequence[Block]
) -> Iterator[Block]:
    """The task that sorts the appearances of a bucket by release, and counts what followed what, where it is asked.

    Without `events` nothing is known of who was left out, and of whose value changed.

    The people of the bucket, of whom nothing is believed yet; their appearances; and the counts.
    """
    seen, bucket = tables_of(blocks, SEEN), blocks[0].to
    people, place = numbered(people_of(seen))
    yield table_block(
        pl.DataFrame(
            {
                **{key: np.ascontiguousarray(people[:, i]) for i, key in enumerate(KEY)},
                **{score: np.full(len(people), -np.inf) for score in _SCORES},
                "ever": np.zeros(len(people), dtype=np.bool_),
            }
        ),
        bucket,
        START,
    )
    past = np.full((len(people), order or 0), UNKNOWN)
    seen = seen.with_columns(pl.Series("number", place)).sort(_RELEASE, maintain_order=True)
    differs = (pl.col(_CODE) != pl.col(_CODE).shift().over("number")).cast(pl.Int8).fill_null(UNTOLD)
    seen = seen.with_columns((differs if events else pl.lit(UNTOLD, pl.Int8)).alias(_CHANGED))
    for i in range(releases):
        here = seen.filter((pl.col(_RELEASE) == i) & ((pl.col(_GROUP) > 0) | events))
        yield table_block(here.select("number", _GROUP, _CODE, CLASS, _CHANGED), bucket, f"{SEEN} {i}")
        if order is not None:
            who, code, classes = (here[n].cast(pl.Int64).to_numpy() for n in ("number", _CODE, CLASS))
            table = Transitions.empty(order).add(classes, list(np.ascontiguousarray(past[who].T)), code).table
            past[who, 1:], past[who, 0] = past[who, :-1], code
            counts = table.rename({"count": ROWS}).with_columns(pl.lit(i, pl.Int64).alias(_RELEASE))
            yield from spread_counts(counts, tasks)


@dataclass(frozen=True)
class Step:
    """One release (0, 1, ...): how she revises beliefs there, and of whom she is told."""

    layout: AttackLayout
    reasoning: Reasoning
    revision: Revision
    release: int
    known: Known | None
    certainty: float

    @property
    def last(self) -> bool:
        return self.release + 1 == len(self.layout.releases)

    def beliefs(self, frame: pl.DataFrame) -> Any:
        """The belief in every person of a table; all 0 in strangers."""
        found = np.zeros((frame.height, self.revision.width), dtype=np.float32)
        if _BELIEF in frame.columns:
            there = frame[_BELIEF].is_not_null().to_numpy()
            found[there] = frame[_BELIEF].drop_nulls().to_numpy().reshape(-1, self.revision.width)
        return found

    def revised(self, frame: pl.DataFrame, posterior: Any) -> pl.DataFrame:
        if self.last or not self.revision.width:
            return frame
        changed = frame[_CHANGED].to_numpy()
        after = self.revision.observed(_whole(frame, CLASS), self.beliefs(frame), posterior, changed)
        return frame.with_columns(pl.Series(_BELIEF, after))

    def prior(self, frame: pl.DataFrame) -> Any:
        return self.revision.prior(_whole(frame, CLASS), self.beliefs(frame), frame[_CHANGED].to_numpy())

    def entries(self, frame: pl.DataFrame) -> Compromised | None:
        """What she is told of people in a table; `None` where it is nothing."""
        row = np.flatnonzero(frame[_TOLD].to_numpy())
        codes = _whole(frame, _CODE)[row]
        return Compromised(row, codes, np.full(len(row), self.certainty)) if len(row) else None


def _whole(frame: pl.DataFrame, name: str) -> IntArray:
    return frame[name].cast(pl.Int64).to_numpy()


_FLEETING = ("number", _GROUP, _CODE, CLASS, _TOLD, _CHANGED)


def send_beliefs(step: Step, blocks: Sequence[Block]) -> Iterator[Block]:
    """The task of one bucket and release: everyone in it to the shard of her group.

    People with beliefs; of who was left out the belief moves on without a posterior.
    """
    bucket = blocks[0].to
    everyone = pl.concat(
        [table_of(block) for block in blocks if block.kind in (STATE, START)], how="diagonal_relaxed"
    ).sort(*KEY)
    told: BoolArray = np.zeros(everyone.height, dtype=np.bool_)
    if step.known is not None:
        told = step.known.among(bucket, people_of(everyone), step.release)
    everyone = everyone.with_columns(pl.Series(_TOLD, told)).with_row_index("number")
    everyone = everyone.with_columns(pl.col("number").cast(pl.Int64))
    seen = tables_of(blocks, f"{SEEN} {step.release}")
    away = everyone.join(seen, "number", "anti")
    yield table_block(away.drop("number", _TOLD), bucket, STATE)
    here = everyone.join(seen, "number", "inner", maintain_order="left")
    out = here.filter(pl.col(_GROUP) == 0)
    if out.height:
        prior, entries = step.prior(out), step.entries(out)
        moved = step.revised(out, prior if entries is None else cascaded(prior, entries))
        yield table_block(moved.drop(_FLEETING), bucket, STATE)
    shown = here.filter(pl.col(_GROUP) > 0)
    yield from spread(shown, step.layout.releases[step.release].tasks(_whole(shown, _GROUP)), BELIEF)


def revise_beliefs(step: Step, blocks: Sequence[Block]) -> Iterator[Block]:
    """The task of one shard: the posteriors of the members of its groups.

    The summary of the shard; and everyone with the belief after the release, to her bucket.
    """
    marked = {BELIEF: MEMBER, f"{VALUES} {step.release}": VALUES}
    if not any(block.kind == BELIEF for block in blocks):
        return
    shard = Shard.of([block._replace(kind=marked[block.kind]) for block in blocks], len(step.layout.values))
    history, members = shard.history, shard.members
    assert history.truth is not None
    found = inferred(
        step.prior(members), groups_of(history, 0), history.person, step.reasoning, step.entries(members)
    )
    p = found.p[history.person, history.truth]
    gain = signed_gain(p, shares(history, history.truth))
    secret = ~members[_TOLD].to_numpy()[history.person]
    yield fact(scored(history, p, p >= SURE, gain, secret).overall)
    new = {score: np.full(members.height, -np.inf) for score in _SCORES}
    for score, figures in zip(_SCORES, (p, gain), strict=True):
        new[score][history.person[secret]] = figures[secret]
    ever = members["ever"].to_numpy() | (new["risk"] >= SURE)
    after = step.revised(members, found.p).with_columns(
        *(pl.Series(s, np.maximum(members[s].to_numpy(), new[s])) for s in _SCORES), pl.Series("ever", ever)
    )
    yield from spread(after.drop(_FLEETING), bucket_of(after[KEY[0]].to_numpy(), step.layout.buckets), STATE)


def sum_up(blocks: Sequence[Block]) -> Iterator[Block]:
    """The task that sums up the people of a bucket, everyone with the worst."""
    state = tables_of(blocks, STATE)
    attacked = state.filter(pl.col("risk") > -np.inf)
    risk, gain, ever = (attacked[name].to_numpy() for name in (*_SCORES, "ever"))
    yield fact(summed(risk, ever, gain))
