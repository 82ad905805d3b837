"""What an analyst estimates from a release beyond counts: tables of two columns, and regressions."""

from __future__ import annotations

from republish.estimates.compare import compare_regressions
from republish.estimates.crosstab import Crosstab, crosstab
from republish.estimates.regression import Regression, regress

__all__ = ["Crosstab", "Regression", "compare_regressions", "crosstab", "regress"]
