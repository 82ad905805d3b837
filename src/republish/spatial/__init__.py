"""Space: the unit cube of all quasi-identifiers, nested regions that hold the rows, and clusters of them."""

from __future__ import annotations

from republish.spatial.bang.bang_file import BangIndex, Sensitive, bulk_load, index_of_arrays
from republish.spatial.cube import Cube, cells, cube_of
from republish.spatial.dendrogram.dendrogram import Dendrogram, dendrogram_of, densities, neighbours
from republish.spatial.keys import interleave, key_order

__all__ = [
    "BangIndex",
    "Cube",
    "Dendrogram",
    "Sensitive",
    "bulk_load",
    "cells",
    "cube_of",
    "dendrogram_of",
    "densities",
    "index_of_arrays",
    "interleave",
    "key_order",
    "neighbours",
]
