"""The same rows, the same k: this tool beside the Python packages that anonymize or check one table.

`python -m bench.peers [--rows 5000 30000]` makes an environment for each package, in bench/out/peers, and
runs all of them one after the other on the same made-up census, every quasi-identifier a number. Each is timed from a
data frame in memory to the published one, three times after a small first run, in a process of its own; penalty is
recomputed from what is published, by the same lines for everyone. Packages that do not install are named and left out.
"""
