"""Whether a draft of value-blind batches lists everyone where quasi-identifiers, numbers of people and chance lead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from republish.publishers.value_blind import ValueBlind
from republish.verify.check import Check
from republish.verify.zones import BatchTerms, led_by_zones

if TYPE_CHECKING:
    from republish.arrays import IntArray
    from republish.publishers import Publisher
    from republish.publishing.steps import Piece


def led_batches(publisher: Publisher, piece: Piece, listed: IntArray | None) -> tuple[Check, ...]:
    """The check of a piece that is the whole release, where its publisher looks at no value."""
    snapshots = piece.grouping.snapshots
    if not isinstance(publisher, ValueBlind) or snapshots is None or listed is None:
        return ()
    terms = BatchTerms(publisher.batches == "closed", publisher.size, publisher.axis_weights(piece.view))
    return (led_by_zones(piece.view, listed, piece.memory, snapshots.zones.frame(), terms),)
