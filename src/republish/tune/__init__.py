"""Which publisher, with which parameters: a search over both for the least loss below a limit of risk (extra `tune`).

optuna is loaded by a search, not by this package: what was found can be read without it.
"""

from __future__ import annotations

from republish.tune.choice import chosen_policy, init_command, require_free, write_policy
from republish.tune.frontier import LIMITS, Point, Tuned, choose, frontier, nearest
from republish.tune.recommend import Recommendation, recommend
from republish.tune.recommended_gate import recommended_gate
from republish.tune.run import COMPROMISED, SearchSettings, kept, tune

__all__ = [
    "COMPROMISED",
    "LIMITS",
    "Point",
    "Recommendation",
    "SearchSettings",
    "Tuned",
    "choose",
    "chosen_policy",
    "frontier",
    "init_command",
    "kept",
    "nearest",
    "recommend",
    "recommended_gate",
    "require_free",
    "tune",
    "write_policy",
]
