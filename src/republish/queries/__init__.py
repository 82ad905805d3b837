"""Questions to a release: conditions in a small part of SQL, answered with an estimate and hard bounds."""

from __future__ import annotations

from republish.metrics.queries import Workload
from republish.queries.counts import Count, Counts, count, count_many
from republish.queries.language import parse_condition

__all__ = ["Count", "Counts", "Workload", "count", "count_many", "parse_condition"]
