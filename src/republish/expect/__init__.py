"""What the next view of a series is expected to be, and how one differs from the last."""

from republish.expect.findings import Deviation, compare
from republish.expect.limits import EARLIER, Expect, Limit
from republish.expect.margins import Margins

__all__ = ["EARLIER", "Deviation", "Expect", "Limit", "Margins", "compare"]
