"""Attacks without group membership: quasi-identifiers are matched; series of other tools are read so."""
