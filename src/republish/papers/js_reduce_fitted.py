"""The studies of JS-reduce on the fitted hospital series, see `republish.papers.fitted`."""

from __future__ import annotations

from republish.papers import js_reduce
from republish.papers.fitted import fitted

PAPER = fitted(js_reduce.PAPER)
