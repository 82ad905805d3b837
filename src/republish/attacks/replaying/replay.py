"""A publisher in a series that is kept in memory alone: what it would publish of other inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from republish.arrays import IntArray
from republish.errors import PolicyError
from republish.grouping import Grouping
from republish.memory.memory import Memory, sight
from republish.microdata import Microdata, read_view, sensitive_codes
from republish.publishers import Publisher
from republish.release.release import Release
from republish.secret import Secret, pseudonym_texts

if TYPE_CHECKING:
    from republish.series import Series


@dataclass(frozen=True)
class Replay:
    """Publishes the last of some views after the earlier ones were grouped so; nothing is written."""

    publisher: Publisher
    secret: Secret

    def __call__(
        self, views: Sequence[Microdata], earlier: Sequence[Grouping], rng: np.random.Generator
    ) -> Grouping:
        memory = Memory.empty()
        for number, (view, grouping) in enumerate(zip(views[:-1], earlier, strict=True), start=1):
            seen = sight(view, view.row_digests(self.secret), grouping.group + 1, number, memory)
            memory = self.publisher.remember(view, grouping, memory.merged(seen))
        return self.publisher.publish(views[-1], memory, rng)


def replay_of(series: Series, views: Sequence[Any]) -> tuple[Replay, list[Microdata], list[Grouping]]:
    """What `input_enumeration.try_inputs` needs of a published series and its raw views, one a release.

    The regions of nested groups are not stored with their exact ends, so they play no part: the adversary is granted a
    little less than she sees.

    Raises:
        PolicyError: batches are value-blind, so that there are no choices by value.
    """
    series = series.snapshot()
    if "value-blind" in series.policy.promises["series"]:
        raise PolicyError(
            "minimality and suppression ask what a publisher's choices say of values, and value-blind batches are made "
            "without them: inputs that differ in values lead to the same batches, which the swap test shows. Leave "
            "these two attacks out"
        )
    secret, read, groupings = series.secret(), [], []
    for number, raw in enumerate(views, start=1):
        view = read_view(raw, series.schema, series.values_at(number)).pseudonymous(secret)
        assert view.people is not None
        seen = (
            pseudonym_texts(view.people)
            .to_frame()
            .join(series.membership(number), on="person", how="left", maintain_order="left")
        )
        group = seen["group"].cast(pl.Int64).fill_null(0).to_numpy() - 1
        read.append(view)
        groupings.append(_with_counterfeits(view, group, series.release(number).values))
    return Replay(series.policy.publisher, secret), read, groupings


def _with_counterfeits(view: Microdata, group: IntArray, release: Release) -> Grouping:
    """The grouping of a release: rows that nobody of the view has are counterfeits."""
    sensitive = view.schema.sensitive
    assert sensitive is not None
    codes, values = sensitive_codes(release.rest[sensitive.name], sensitive, view.values)
    kept = group >= 0
    rows = np.zeros((release.group_count, len(values)), dtype=np.int64)
    np.add.at(rows, (release.group.astype(np.int64) - 1, codes), 1)
    np.subtract.at(rows, (group[kept], view.codes[kept]), 1)
    of, code = np.nonzero(rows > 0)
    times = rows[of, code]
    return Grouping(
        group.astype(np.int32), np.repeat(of, times).astype(np.int32), np.repeat(code, times).astype(np.int32)
    )
