"""Compiled loops of publishers, and the distances they go by."""
