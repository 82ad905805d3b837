"""R+-tree: groups are the leaves of a bulk-loaded spatial index (Iwuchukwu and Naughton, VLDB 2007)."""
