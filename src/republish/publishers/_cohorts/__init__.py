"""How cohorts change from one release to the next."""
