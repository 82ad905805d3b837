"""What a group of rows must satisfy, one model a file under its name in the literature."""

from __future__ import annotations

from republish.requirements.alpha_k_anonymity import AlphaKAnonymity
from republish.requirements.base import Requirement, Whole, only_requirements
from republish.requirements.beta_likeness import BetaLikeness
from republish.requirements.bt_privacy import BTPrivacy
from republish.requirements.delta_disclosure import DeltaDisclosure
from republish.requirements.distinct_l_diversity import LDiversity
from republish.requirements.entropy_l_diversity import EntropyLDiversity
from republish.requirements.k_anonymity import KAnonymity
from republish.requirements.m_uniqueness import MUniqueness
from republish.requirements.probabilistic_l_diversity import ProbabilisticLDiversity
from republish.requirements.recursive_diversity import RecursiveDiversity
from republish.requirements.rules import Rules, compile_rules, satisfied
from republish.requirements.t_closeness import TCloseness
from republish.requirements.text import parse_requirements, requirements_text
from republish.requirements.weak_m_uniqueness import WeakMUniqueness

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
