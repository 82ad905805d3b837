"""The studies of JS-reduce on the fitted hospital series, see `republish.papers.fitted`."""

from __future__ import annotations

from republish.papers import js_reduce
from republish.papers.fitted import fitted
from republish.papers.js_reduce.protocol import FITTED

PAPER = fitted(js_reduce.paper(FITTED))
