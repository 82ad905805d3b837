"""Attacks on data that only grow: which rows of a release may be which rows of the next."""
