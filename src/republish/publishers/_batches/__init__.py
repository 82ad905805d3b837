"""How value-blind batches are made, joined and renewed."""
