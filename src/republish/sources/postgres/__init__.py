"""PostgreSQL as source of views and as sink of releases; loaded only where an address names a database.

`address.py` reads addresses, `source.py` reads views, `sink.py` writes releases.
"""

from __future__ import annotations

SCHEMES = ("postgresql://", "postgresql+psycopg://", "postgres://")


def is_database(source: object) -> bool:
    """Whether this is the address of a PostgreSQL database."""
    return isinstance(source, str) and source.startswith(SCHEMES)
