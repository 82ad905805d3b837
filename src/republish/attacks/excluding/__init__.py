"""Attacks that exclude values: by intersection, events, compromised people, correlations and differences."""
