"""Releases that another tool made before the series began: who is where in them, and what is kept of them."""
