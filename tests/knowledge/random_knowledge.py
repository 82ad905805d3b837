"""Random knowledge for tests."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import strategies as st

from republish.knowledge import Classes, Knowledge, Listed

TWO = Classes((Listed("sex", ("F", "M")),))


def random_knowledge(
    seed: int, m: int = 3, order: int = 2, gaps: float = 0.3, terminal: tuple[int, ...] = ()
) -> Knowledge:
    """Dirichlet rows over m values in two classes; some contexts are never seen, none after terminal values."""
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.ones(m), 2)
    table = rng.dirichlet(np.ones(m), (2, *[m + 1] * (order - 1), m))
    table[rng.random(table.shape[:-1]) < gaps] = 0
    table[..., list(terminal), :] = 0
    values = pl.Series("result", [f"v{code}" for code in range(m)])
    return Knowledge(values, TWO, prior, table.reshape(2, -1, m, m), order, terminal)


Knowledges = st.builds(
    random_knowledge,
    st.integers(0, 2**32),
    st.integers(2, 3),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.3, 0.9]),
)
