"""Event lists: derived literally, by a naive twin, and always in the grammar."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish.errors import PolicyError
from republish.memory.event_lists import (
    ABSENT,
    IMPOSSIBLE,
    LETTERS,
    THERE,
    Appearances,
    Events,
    events_of,
    states_of,
)

Track = list[tuple[int, int] | None]
"""What a person has in each release: sensitive code and quasi-identifiers, None where absent."""


def derive(tracks: list[Track]) -> Events:
    releases = []
    for i in range(len(tracks[0]) if tracks else 0):
        there = [(person, track[i]) for person, track in enumerate(tracks) if track[i] is not None]
        releases.append(
            Appearances(
                np.array([person for person, _ in there], dtype=np.int32),
                np.array([cell[0] for _, cell in there if cell], dtype=np.int32),
                np.array([cell[1] for _, cell in there if cell], dtype=np.uint64),
            )
        )
    return events_of(len(tracks), releases)


def naive(track: Track) -> tuple[str, list[int], list[int]]:
    """The event list, the life and the lifespan of every release, one person at a time."""
    letters, lives, runs = [], [], []
    life = run = -1
    last: tuple[int, int] | None = None
    before: tuple[int, int] | None = None
    for now in track:
        if now is None:
            letters.append("d" if before is not None else "_")
            lives.append(ABSENT)
            runs.append(ABSENT)
        else:
            if last is None:
                letters.append("i")
            elif before is None:
                letters.append("r")
            else:
                letters.append("u" if now != last else "_")
            life += last is None or now[0] != last[0]
            run += before is None or now[0] != before[0]
            lives.append(life)
            runs.append(run)
            last = now
        before = now
    return ",".join(letters), lives, runs


A, B = (0, 7), (1, 7)
A_MOVED = (0, 8)


@pytest.mark.parametrize(
    "track, text, lives",
    [
        ([A, A, B, None, B], "i,_,u,d,r", [0, 0, 1, -1, 1]),
        ([A, None, A], "i,d,r", [0, -1, 0]),
        ([A, None, B], "i,d,r", [0, -1, 1]),
        ([A, A_MOVED], "i,u", [0, 0]),
        ([None, A, None, None], "_,i,d,_", [-1, 0, -1, -1]),
        ([A, B, A], "i,u,u", [0, 1, 2]),
        ([None, None], "_,_", [-1, -1]),
        ([A, None, A, None, None], "i,d,r,d,_", [0, -1, 0, -1, -1]),
    ],
)
def test_the_event_list_and_the_lives_of_one_person(track: Track, text: str, lives: list[int]) -> None:
    events = derive([track])
    assert events.text(0) == text
    assert events.life[0].tolist() == lives


def test_a_sensitive_update_is_told_from_a_move() -> None:
    events = derive([[A, B], [A, A_MOVED], [A, (1, 8)], [A, A]])
    assert events.sensitive_updates[:, 1].tolist() == [True, False, True, False]
    assert events.quasi_identifier_updates[:, 1].tolist() == [False, True, True, False]


def test_external_updates_are_told_from_internal_ones() -> None:
    events = derive([[A, B, None, B]])
    assert events.external.tolist() == [[True, False, True, False]]
    assert events.internal.tolist() == [[False, True, False, True]]


def test_coming_back_with_the_same_value_starts_a_lifespan_but_no_life() -> None:
    events = derive([[A, None, A, A]])
    assert events.run.tolist() == [[0, -1, 1, 1]]
    assert events.life.tolist() == [[0, -1, 0, 0]]


GRAMMAR = re.compile(r"_*(i[_u]*(d_*(r[_u]*d_*)*(r[_u]*)?)?)?")
"""Equation 4.1 of the thesis, corrected."""


def coded(text: str) -> np.ndarray:
    letters = text.replace(",", "")
    return np.array([[LETTERS.index(letter) for letter in letters]], dtype=np.int8).reshape(1, len(letters))


def is_valid(text: str) -> bool:
    return not (states_of(coded(text)) == IMPOSSIBLE).any()


@pytest.mark.parametrize("text", ["", "_", "i", "_,i,u,_", "i,_,u,d,r", "i,d,r,d,_", "i,d,_,_,r,u,d,r,_"])
def test_valid_event_lists(text: str) -> None:
    assert is_valid(text)


@pytest.mark.parametrize(
    "text", ["d", "u", "r", "i,i", "i,r", "i,d,d", "i,d,i", "i,d,u", "_,u", "i,r,_", "d,i"]
)
def test_invalid_event_lists(text: str) -> None:
    assert not is_valid(text)


CELL = st.none() | st.tuples(st.integers(0, 2), st.integers(0, 1))


@given(
    st.integers(0, 7).flatmap(
        lambda n: st.lists(st.lists(CELL, min_size=n, max_size=n), min_size=1, max_size=6)
    )
)
def test_every_derived_list_is_the_naive_one_and_valid(tracks: list[Track]) -> None:
    events = derive(tracks)
    for person, track in enumerate(tracks):
        text, lives, runs = naive(track)
        assert events.text(person) == text
        assert is_valid(text)
        assert (states_of(events.event)[person] == THERE).tolist() == [cell is not None for cell in track]
        assert events.life[person].tolist() == lives
        assert events.run[person].tolist() == runs


@given(st.text(alphabet=LETTERS, max_size=7))
@settings(max_examples=300)
def test_the_grammar_accepts_what_a_person_can_live_through(letters: str) -> None:
    assert is_valid(letters) == (GRAMMAR.fullmatch(letters) is not None)


def one(person: list[int], code: list[int]) -> Appearances:
    return Appearances(
        np.array(person, dtype=np.int32), np.array(code), np.zeros(len(person), dtype=np.uint64)
    )


@pytest.mark.parametrize(
    "people, release, message",
    [
        (2, one([0, 0], [1, 1]), "twice"),
        (1, one([1], [0]), "outside 0 to 0"),
        (2, one([0, 1], [1]), "equally long"),
    ],
)
def test_impossible_appearances_are_refused(people: int, release: Appearances, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        events_of(people, [release])
