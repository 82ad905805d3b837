"""Adversaries that read a published series, and what each of them finds out.

They see the releases and who is in which group; event lists and some people's values are granted to them. True
values are used to score them and for nothing else. No attack ever excludes a true value.
"""

from __future__ import annotations

from republish.attacks.adversary import MEMBERSHIPS, Adversary, AdversaryOptions
from republish.attacks.believing.beliefs import Told, beliefs
from republish.attacks.believing.register import Register, granted_view, register_of
from republish.attacks.choose import Choice, Means, obstacle, with_knowledge, with_views, without_views
from republish.attacks.confidence import BeliefResult, Believed, Sureness
from republish.attacks.excluding.historical import Correlation, correlations, historical_once
from republish.attacks.history import History, history_of
from republish.attacks.identity import (
    IDENTITIES,
    Corresponding,
    Cracked,
    Identity,
    IdentityResult,
    Linked,
    Presence,
    ToldApart,
    Traced,
)
from republish.attacks.registry import (
    BELIEVES,
    EXCLUDES,
    IDENTIFIES,
    KINDS,
    MATCHES,
    REPLAYS,
    RETRACES,
    SWAPS,
    names,
)
from republish.attacks.results import AttackResult, Exposure, Findings, Unclear
from republish.attacks.run import (
    Result,
    Target,
    attack,
    attack_beliefs,
    informed,
    over_time,
    results_over_time,
    run,
    target_of,
    target_with_views,
)
from republish.attacks.series_measures import SeriesMeasures, measure_series
from republish.attacks.summary import Summary
from republish.attacks.tables import Table

__all__ = [
    "ATTACKS",
    "BELIEVES",
    "EXCLUDES",
    "IDENTIFIES",
    "IDENTITIES",
    "KINDS",
    "MATCHES",
    "MEMBERSHIPS",
    "REPLAYS",
    "RETRACES",
    "SWAPS",
    "Adversary",
    "AdversaryOptions",
    "AttackResult",
    "BeliefResult",
    "Believed",
    "Choice",
    "Correlation",
    "Corresponding",
    "Cracked",
    "Exposure",
    "Findings",
    "History",
    "Identity",
    "IdentityResult",
    "Linked",
    "Means",
    "Presence",
    "Register",
    "Result",
    "SeriesMeasures",
    "Summary",
    "Sureness",
    "Table",
    "Target",
    "Told",
    "ToldApart",
    "Traced",
    "Unclear",
    "attack",
    "attack_beliefs",
    "beliefs",
    "correlations",
    "granted_view",
    "historical_once",
    "history_of",
    "informed",
    "measure_series",
    "names",
    "obstacle",
    "over_time",
    "register_of",
    "results_over_time",
    "run",
    "target_of",
    "target_with_views",
    "with_knowledge",
    "with_views",
    "without_views",
]

ATTACKS = tuple(names(EXCLUDES))
"""The attacks that exclude values from groups, from what they need least to know to what they need most."""
