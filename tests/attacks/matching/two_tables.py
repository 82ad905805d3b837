"""Small random series in two tables: batches at random, cells of neighbours, some people without a batch."""

from __future__ import annotations

import numpy as np
import polars as pl

from publishers.test_contract import SCHEMA, SECRET, people
from republish import read_view
from republish.attacks import History, Table
from republish.attacks.history import _rows
from republish.attacks.matching.sightings import MatchedView
from republish.grouping import Grouping
from republish.memory.event_lists import Appearances, events_of
from republish.release.two_tables import build_two_tables

VALUES = ("flu", "cold", "hiv", "none", "asthma")


def two_table_series(
    seed: int, rows: int = 14, releases: int = 3, missing: float = 0.1
) -> tuple[History, list[MatchedView]]:
    """A history and what is seen of it; some people change their value, some their age, some are absent."""
    rng = np.random.default_rng(seed)
    frame = people(rows, seed % 997, missing).with_columns(pl.col("dx").fill_null("none"))
    values, parts = None, []
    for _ in range(releases):
        ill, old = rng.random(rows) < 0.15, rng.random(rows) < 0.1
        frame = frame.with_columns(
            dx=pl.when(pl.Series(ill)).then(pl.Series(rng.choice(VALUES, rows))).otherwise("dx"),
            age=pl.when(pl.Series(old)).then(pl.col("age") + 1).otherwise("age"),
        )
        view = read_view(frame.filter(pl.Series(rng.random(rows) < 0.8)), SCHEMA, values).pseudonymous(SECRET)
        values = view.values
        batch = rng.integers(0, max(1, view.rows // 4), view.rows)
        batch = np.unique(batch, return_inverse=True)[1]
        fake = rng.integers(0, batch.max(initial=0) + 1, 2).astype(np.int32)
        alone = np.bincount(batch)[batch] > 1
        batch[np.flatnonzero(alone & (rng.random(view.rows) < 0.1))[:1]] = -1
        cell = np.empty(view.rows, dtype=np.int32)
        cell[np.argsort(view.points[0], kind="stable")] = np.minimum(
            np.arange(view.rows) // 3, max(0, view.rows // 3 - 1)
        )
        codes = rng.integers(0, len(values), 2).astype(np.int32)
        batches = Grouping(batch.astype(np.int32), fake, codes)
        parts.append((view, *build_two_tables(view, batches, Grouping(cell), SECRET, len(parts))))
    assert values is not None
    everyone = np.unique(np.concatenate([view.people for view, _, _ in parts]), axis=0)
    tables, appearances, truth, sightings = [], [], [], []
    for view, release, placed in parts:
        assert view.people is not None
        person = np.array(
            [np.flatnonzero((everyone == p).all(axis=1))[0] for p in view.people], dtype=np.int64
        )
        tables.append(Table(person, placed.group.astype(np.int64) - 1, *_rows(release.values, values)))
        appearances.append(Appearances(person, view.codes.astype(np.int64), view.row_digests(SECRET)))
        truth.append(view.codes.astype(np.int64))
        sightings.append(MatchedView.of(release, view, person, placed.cell.astype(np.int64)))
    events = events_of(len(everyone), appearances)
    return History.of(len(everyone), len(values), tables, events, truth), sightings
