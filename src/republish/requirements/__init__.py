"""What a group of rows must satisfy, one family of models a file under its name in the literature."""

from __future__ import annotations

from republish.requirements.base import Requirement, Rules, Whole, only_requirements
from republish.requirements.beta_likeness import BetaLikeness
from republish.requirements.bt_privacy import BTPrivacy
from republish.requirements.delta_disclosure import DeltaDisclosure
from republish.requirements.k_anonymity import AlphaKAnonymity, KAnonymity
from republish.requirements.l_diversity import (
    EntropyLDiversity,
    LDiversity,
    ProbabilisticLDiversity,
    RecursiveDiversity,
)
from republish.requirements.m_uniqueness import MUniqueness, WeakMUniqueness
from republish.requirements.rules import compile_rules, satisfied
from republish.requirements.t_closeness import TCloseness
from republish.requirements.text import parse_requirements, requirements_text

__all__ = [
    "AlphaKAnonymity",
    "BTPrivacy",
    "BetaLikeness",
    "DeltaDisclosure",
    "EntropyLDiversity",
    "KAnonymity",
    "LDiversity",
    "MUniqueness",
    "ProbabilisticLDiversity",
    "RecursiveDiversity",
    "Requirement",
    "Rules",
    "TCloseness",
    "WeakMUniqueness",
    "Whole",
    "compile_rules",
    "only_requirements",
    "parse_requirements",
    "requirements_text",
    "satisfied",
]
