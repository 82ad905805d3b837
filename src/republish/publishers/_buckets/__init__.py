"""Buckets: the rows of a view by signature; what m-invariance, tau-safety, Cor-Split and cohorts share."""
