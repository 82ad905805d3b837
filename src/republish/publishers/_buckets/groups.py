"""From buckets to groups of one entry of each value, by halving or around running means."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from republish.grouping import Grouping
from republish.microdata import Microdata
from republish.publishers._buckets.buckets import Buckets
from republish.publishers._buckets.partition import Stacks, gather_groups, halve
from republish.publishers._kernels.geometry import geometry


def halved(view: Microdata, buckets: Buckets) -> Grouping:
    """Return the groups that repeated halving along the best quasi-identifier leaves."""
    row = buckets.row.copy()
    halve(geometry(view), row, _stacks(buckets), 1)
    return replace(buckets, row=row).grouping(view.rows)


def gathered(view: Microdata, buckets: Buckets, limit: int, rng: np.random.Generator) -> Grouping:
    """Return groups gathered around random rows, in parts of at most `limit` groups cut by halving."""
    row, space, stacks = buckets.row.copy(), geometry(view), _stacks(buckets)
    parts = halve(space, row, stacks, limit)
    gather_groups(space, row, stacks, parts, rng.random(int(buckets.heights.sum())))
    return replace(buckets, row=row).grouping(view.rows)


def _stacks(buckets: Buckets) -> Stacks:
    return Stacks(buckets.starts, buckets.heights, np.diff(buckets.sig_offsets))
