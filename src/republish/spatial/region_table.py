"""The regions of an index between two releases: a table of cell keys and scales in which no row is.

Regions found for one view serve the next as long as its values lie on the same scales. Where they do not, because a
category has other values, values are missing where none were, or numbers have left their domain, there is nothing to
go on from and the index is built anew.

Where blocks may hold a single row a region may be the cell of a single person, without name or pseudonym: the table
is private, and erased when anybody is forgotten.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np
import polars as pl

from republish.arrays import FloatArray
from republish.microdata import Microdata
from republish.spatial.bang.bang_file import BangIndex, index_of_arrays
from republish.spatial.cube import Cube, LinearScale

_OUTSIDE = 0.01
_COARSER = 4.0
_ROWS = ("block", "keys")


def regions_table(index: BangIndex, view: Microdata) -> pl.DataFrame:
    """Return the regions and scales of an index as a table of one line; rows are left out."""
    arrays = {name: array for name, array in index.arrays().items() if name not in _ROWS}
    columns = {name: pl.Series(name, array.ravel()).implode() for name, array in arrays.items()}
    return pl.DataFrame({**columns, "labels": pl.Series([_labels(view)])})


def stored_regions(table: pl.DataFrame, cube: Cube, view: Microdata) -> BangIndex | None:
    """Return the index without rows that a table holds, None where it does not fit the view.

    Args:
        table: as `regions_table` wrote it.
        cube: the cube that an index of this view would be built in.
        view: the view to come.
    """
    if table["labels"][0] != _labels(view):
        return None
    arrays = {name: table[name][0].to_numpy() for name in table.columns if name != "labels"}
    words = max(1, -(-len(arrays["turns"]) // 64))
    arrays["prefix"] = arrays["prefix"].reshape(words, -1)
    arrays |= {"block": np.zeros(0, dtype=np.int32), "keys": np.zeros((words, 0), dtype=np.uint64)}
    index = index_of_arrays(arrays)
    scales = zip(index.cube.scales, cube.scales, view.points, strict=True)
    return index if all(_fits(*pair) for pair in scales) else None


def _labels(view: Microdata) -> str:
    """Return a digest of what the positions of categories and ordered values mean."""
    meaning = [
        (axis.column.name, axis.labels, axis.hierarchy and axis.hierarchy.labels) for axis in view.axes
    ]
    return hashlib.blake2b(json.dumps(meaning).encode(), digest_size=16).hexdigest()


def _fits(old: LinearScale, new: LinearScale, values: FloatArray) -> bool:
    """Return whether values can be told apart on an old scale about as well as on a new one."""
    if new.gaps and not old.gaps:
        return False
    if old.breaks.size or new.breaks.size:
        return np.array_equal(old.breaks, new.breaks) and np.array_equal(old.place, new.place)
    bits = old.bits - old.gaps
    if bits == 0:
        return new.bits == new.gaps
    if old.step > _COARSER * new.step:
        return False
    high = old.low + old.step * (1 << bits)
    known = ~np.isneginf(values)
    outside = np.count_nonzero(known & ((values < old.low) | (values > high)))
    return bool(outside <= _OUTSIDE * len(values))
