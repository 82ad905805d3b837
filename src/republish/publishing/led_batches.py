"""Whether a draft of value-blind batches lists everyone where quasi-identifiers, numbers of people and chance lead."""

from __future__ import annotations

from republish.arrays import IntArray
from republish.grouping import Grouping
from republish.memory.memory import Memory
from republish.microdata import Microdata
from republish.publishers import Publisher
from republish.verify.check import Check
from republish.verify.zones import led_by_zones


def led_batches(
    publisher: Publisher, view: Microdata, memory: Memory, grouping: Grouping, listed: IntArray | None
) -> tuple[Check, ...]:
    """The check of a whole release whose publisher looks at no value; `listed` is everyone's batch, 0 for none."""
    terms = publisher.batch_terms(view)
    if terms is None or grouping.snapshots is None or listed is None:
        return ()
    return (led_by_zones(view, listed, memory, grouping.snapshots.zones.frame(), terms),)
