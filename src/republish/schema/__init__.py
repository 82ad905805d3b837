"""Which columns a table has, what role each plays, how its values compare, and how columns are named."""

from __future__ import annotations

from republish.schema.amendments import Amendments
from republish.schema.columns import KINDS, PUBLISH, Category, Column, Date, Number, Ordered
from republish.schema.dialect import Dialect
from republish.schema.files import read_schema, schema_from_mapping, schema_to_mapping
from republish.schema.schema import DROP_POINT_ZERO, NORMAL_FORMS, ROLES, Schema

__all__ = [
    "DROP_POINT_ZERO",
    "KINDS",
    "NORMAL_FORMS",
    "PUBLISH",
    "ROLES",
    "Amendments",
    "Category",
    "Column",
    "Date",
    "Dialect",
    "Number",
    "Ordered",
    "Schema",
    "read_schema",
    "schema_from_mapping",
    "schema_to_mapping",
]
