"""All benchmarks: ratios to a reference in the same run, absolute figures beside them."""

from __future__ import annotations

import sys

from bench import banga, beliefs, generators, mondrian, orders, publish, releases, serial

full = "--full" in sys.argv
generators.main()
mondrian.main(full)
orders.main(full)
banga.main(full)
publish.main(full)
serial.main(full)
releases.main()
beliefs.main(full)
