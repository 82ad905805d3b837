"""Attacks that run the publisher again on every input that could lie behind a small series."""
