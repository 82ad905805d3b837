"""All benchmarks: ratios to a reference in the same run, absolute figures beside them."""

from __future__ import annotations

import sys

from bench import beliefs, generators, mondrian, orders, penalty_tree, publish, releases, serial

full = "--full" in sys.argv
generators.main()
mondrian.main(full)
orders.main(full)
penalty_tree.main(full)
publish.main(full)
serial.main(full)
releases.main()
beliefs.main(full)
