"""A whole series checked in parts."""
