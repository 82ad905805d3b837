"""The studies of BayFrame on the fitted hospital series, see `republish.papers.fitted`."""

from __future__ import annotations

from republish.papers import bayframe
from republish.papers.fitted import fitted

PAPER = fitted(bayframe.PAPER)
