"""Orders of rows in which those with close quasi-identifiers are close: what order-based publishers cut."""

from __future__ import annotations

from republish.orders._view import ORDERS, row_order
from republish.orders.hilbert import hilbert_keys, hilbert_order
from republish.orders.nearest import nearest_point_next

__all__ = ["ORDERS", "hilbert_keys", "hilbert_order", "nearest_point_next", "row_order"]
