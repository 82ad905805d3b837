"""Which columns a table has, what role each plays, how its values compare, and how columns are named."""

from __future__ import annotations

from republish.schema.schema import Category, Date, Number, Ordered, Schema, read_schema

__all__ = ["Category", "Date", "Number", "Ordered", "Schema", "read_schema"]
