"""How releases, series and results look: numbers, notebooks, pictures."""
