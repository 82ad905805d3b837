"""A whole series weighed together: messages between people and groups, and what is remembered for it."""
