"""Attacks that weigh values by what is known of how they follow each other."""
