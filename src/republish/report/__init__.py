"""The disclosure report: what was released, what is promised, what adversaries find (extra `report`).

`facts_of` reads the ledger and the policy and opens no table. `make_report` turns facts into one page.
"""

from __future__ import annotations

from republish.report.facts import ReleaseFacts, SeriesFacts, facts_of
from republish.report.make import FORMATS, make_report

__all__ = ["FORMATS", "ReleaseFacts", "SeriesFacts", "facts_of", "make_report"]
