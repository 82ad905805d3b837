"""Posteriors of one group, one estimator a file, and the chains that joint inference passes messages along."""
