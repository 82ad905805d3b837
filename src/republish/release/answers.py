"""What every release is asked, whatever its form; rooms above know the answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from republish.hooks import answer_of

if TYPE_CHECKING:
    from republish.estimates import Crosstab, Regression
    from republish.queries import Count, Counts, Workload


class Answering:
    """Counts, tables and regressions of a release."""

    def count(self, where: str = "", suppressed: int = 0) -> Count:
        """How many people match a condition such as `age between 40 and 50 and gender = 'F'`.

        An estimate with bounds that hold for certain; see `republish.queries`. `suppressed` is the number of
        rows that the release leaves out, as `about.json` says; it only matters for `upper_in_view`.
        """
        found: Count = answer_of("republish.queries:count")(self, where, suppressed)
        return found

    def count_many(self, queries: Sequence[str] | Workload) -> Counts:
        """The answers to many conditions, or to a workload of `republish.metrics`, as arrays."""
        found: Counts = answer_of("republish.queries:count_many")(self, queries)
        return found

    def crosstab(self, column: str, bins: Sequence[str | float] | None = None, **options: Any) -> Crosstab:
        """The expected table of a quasi-identifier, in bins, by sensitive value; see `republish.estimates.crosstab`."""
        found: Crosstab = answer_of("republish.estimates:crosstab")(self, column, bins, **options)
        return found

    def regress(self, formula: str, method: str = "auto") -> Regression:
        """The coefficients of a formula such as `salary ~ age + gender`; see `republish.estimates.regress`."""
        found: Regression = answer_of("republish.estimates:regress")(self, formula, method)
        return found
