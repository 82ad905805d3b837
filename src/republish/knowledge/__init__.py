"""What an adversary knows of people before a release: how likely a value is, and how values follow each other."""

from __future__ import annotations

from republish.knowledge.classes import Bands, Classes, Listed
from republish.knowledge.corpus import learn
from republish.knowledge.extraction import Extracted
from republish.knowledge.files import read_knowledge
from republish.knowledge.kernel import kernel_prior
from republish.knowledge.knowledge import Knowledge
from republish.knowledge.transitions import Transitions

__all__ = [
    "Bands",
    "Classes",
    "Extracted",
    "Knowledge",
    "Listed",
    "Transitions",
    "kernel_prior",
    "learn",
    "read_knowledge",
]
