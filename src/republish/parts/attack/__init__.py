"""Attacks on a series in parts."""
