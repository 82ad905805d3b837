"""The order of the rows of a view."""

from __future__ import annotations

import numpy as np

from republish.arrays import IntArray
from republish.errors import PolicyError
from republish.microdata import Microdata
from republish.orders.hilbert import hilbert_order
from republish.orders.nearest import nearest_point_next

ORDERS = ("hilbert", "nearest")


def row_order(view: Microdata, order: str = "hilbert") -> IntArray:
    """Return the rows of a view such that rows with close quasi-identifiers are close.

    The domains of the view's axes scale them; a category lies at the position of its leaf.
    """
    if order not in ORDERS:
        raise PolicyError(f"an order must be one of {', '.join(ORDERS)}; found {order!r}")
    low = np.array([axis.low for axis in view.axes], dtype=np.float64)
    high = np.array([axis.high for axis in view.axes], dtype=np.float64)
    if order == "hilbert":
        return hilbert_order(view.points, low, high)
    return nearest_point_next(view.points, low, high)
