"""Usefulness and one-table risk of a release, each measure in its own file; `measure` gives them all."""

from __future__ import annotations

from republish.metrics.divergence import kl_divergence
from republish.metrics.levels import Levels, achieved_levels
from republish.metrics.linkage import nearest_linkage, record_linkage
from republish.metrics.penalty import (
    average_class_size,
    column_penalties,
    discernibility,
    global_certainty_penalty,
)
from republish.metrics.queries import QueryError, Workload, estimated_counts, relative_error, true_counts
from republish.metrics.risk import THRESHOLDS, Risk, journalist_risk, marketer_risk, prosecutor_risk
from republish.metrics.summary import EXPLANATIONS, Measures, measure

__all__ = [
    "EXPLANATIONS",
    "THRESHOLDS",
    "Levels",
    "Measures",
    "QueryError",
    "Risk",
    "Workload",
    "achieved_levels",
    "average_class_size",
    "column_penalties",
    "discernibility",
    "estimated_counts",
    "global_certainty_penalty",
    "journalist_risk",
    "kl_divergence",
    "marketer_risk",
    "measure",
    "nearest_linkage",
    "prosecutor_risk",
    "record_linkage",
    "relative_error",
    "true_counts",
]
