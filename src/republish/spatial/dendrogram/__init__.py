"""Blocks in a binary tree of clusters, and any k as a cut of that tree (thesis 3.6.1 and 3.6.2)."""
