"""All benchmarks: ratios to a reference in the same run, absolute figures beside them."""

from __future__ import annotations

import sys

from bench import beliefs, generators, large, mondrian, orders, penalty_tree, publish, releases, serial

full = "--full" in sys.argv
generators.main()
mondrian.main(full)
orders.main(full)
penalty_tree.main(full)
publish.main(full)
serial.main(full)
if full:
    large.main()
releases.main()
beliefs.main(full)
