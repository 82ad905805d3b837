"""What an adversary infers from groups: posteriors, revised beliefs, and what she knows of single people."""

from republish.inference._kernels.chains import CHANGED, STAYED, UNTOLD
from republish.inference.compromise import Compromised, cascaded
from republish.inference.groups import Groups
from republish.inference.posterior import LIMIT, METHODS, Posteriors, group_posteriors, posterior
from republish.inference.reasoning import CASCADES, FULL, Reasoning, Respondents, Thoughts, last_values
from republish.inference.revision import FORMS, Revision

__all__ = [
    "CASCADES",
    "CHANGED",
    "FORMS",
    "FULL",
    "LIMIT",
    "METHODS",
    "STAYED",
    "UNTOLD",
    "Compromised",
    "Groups",
    "Posteriors",
    "Reasoning",
    "Respondents",
    "Revision",
    "Thoughts",
    "cascaded",
    "group_posteriors",
    "last_values",
    "posterior",
]
