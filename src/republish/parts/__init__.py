"""Where the work runs: in this process, or on the machines of a Spark cluster.

A release of a large view is made in parts. Rows travel as Arrow blocks between tasks, each task runs the same
publishers, kernels and checks as one process does, and only counts come back. `spark.py` moves blocks with Spark,
`in_process.py` in this process; what is done with them is the same:

    view -> survey -> pseudonyms, memory -> counts -> routes -> groups, part by part -> files and checks, shard by shard

A *bucket* holds people by pseudonym, a *part* rows that may share a group, a *shard* whole groups: one file each.
"""

from __future__ import annotations

from republish.parts.engine import Engine
from republish.parts.in_process import Here
from republish.parts.spark import Spark

__all__ = ["Engine", "Here", "Spark"]
