"""The batches that may be somebody's, against sets of names."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.matching.test_qi_matching import naive_fits, random_series
from attacks.matching.two_tables import two_table_series
from republish.attacks import History
from republish.attacks.excluding.candidates import lives
from republish.attacks.matching.batches_left import batches_left, marks_of
from republish.attacks.matching.sightings import MatchedView
from republish.release.two_tables import TwoTableRelease


def possible(sighting: MatchedView, row: int) -> set[int]:
    """The batches, from 0 on, that lines name which fit somebody."""
    release = sighting.release
    (cells,) = naive_fits(release.people, sighting.points[:, [row]])
    if not isinstance(release, TwoTableRelease):
        return cells
    lines = zip(release.people.group.tolist(), release.batch.tolist(), strict=True)
    return {batch - 1 for cell, batch in lines if batch and cell - 1 in cells}


def naive_batches(history: History, sightings: list[MatchedView]) -> list[int]:
    """Of every appearance how many batches are left at the end of its life."""
    assert history.events is not None
    values = [
        frozenset(history.value_code[history.value_start[g] : history.value_start[g + 1]].tolist())
        for g in range(history.groups)
    ]
    lived: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for a in range(len(history.person)):
        i, person = int(history.release[a]), int(history.person[a])
        key = person, int(history.events.life[person, i])
        lived.setdefault(key, []).append((i, int(history.group[a])))
    kept = all(len({values[g] for _, g in where}) == 1 for where in lived.values())
    left = {}
    for (person, life), where in lived.items():
        allowed, last = None, set()
        for i, _ in sorted(where):
            row = sightings[i].person.tolist().index(person)
            last = {int(history.group_start[i]) + batch for batch in possible(sightings[i], row)}
            here = {values[g] for g in last} if kept else {value for g in last for value in values[g]}
            allowed = here if allowed is None else allowed & here
        assert allowed is not None
        left[person, life] = sum(
            values[g] in allowed if kept else bool(values[g] & allowed)  # type: ignore[operator]
            for g in last
        )
    return [
        left[int(p), int(history.events.life[p, i])]
        for p, i in zip(history.person, history.release, strict=True)
    ]


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=40)
def test_batches_that_lines_name_and_values_allow(seed: int, two: bool) -> None:
    history, sightings = (two_table_series if two else random_series)(seed)
    assert batches_left(history, sightings).tolist() == naive_batches(history, sightings)


@pytest.mark.parametrize("seed", range(8))
def test_where_lives_keep_their_signature_it_is_what_is_known_again(seed: int) -> None:
    history, sightings = two_table_series(seed, releases=1)  # nobody can leave a signature in one release
    assert np.diff(marks_of(lives(history)).start).tolist() == [1] * history.groups
    assert batches_left(history, sightings).tolist() == naive_batches(history, sightings)


def test_lives_are_counted_in_blocks_as_they_are_together(monkeypatch: pytest.MonkeyPatch) -> None:
    history, sightings = two_table_series(3, rows=40)
    whole = batches_left(history, sightings)
    monkeypatch.setattr("republish.attacks.matching.batches_left._BLOCK", 10)
    assert np.array_equal(whole, batches_left(history, sightings))
