"""Interleaved keys against bit strings written by hand and by a slow twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from republish.spatial.keys import cyclic_turns, interleave, key_order
from spatial.layouts import naive_key, text


def test_the_bit_string_of_the_source() -> None:
    """Section 3.5.2, where the second coordinate must read 0110 to give the string that is printed."""
    keys = interleave(np.array([[0b10], [0b0110], [0b110]], dtype=np.uint32), np.array([2, 4, 3]))
    assert text(keys[:, 0], 9) == "101" + "011" + "10" + "0"
    assert int(text(keys[:, 0], 9), 2) == 0b101011100


def test_dimensions_take_turns_until_their_bits_are_used_up() -> None:
    assert cyclic_turns(np.array([2, 0, 4, 1])).tolist() == [0, 2, 3, 0, 2, 2, 2]


def test_no_bits_no_turns() -> None:
    assert cyclic_turns(np.array([0, 0])).tolist() == []
    assert interleave(np.zeros((2, 3), np.uint32), np.array([0, 0])).tolist() == [[0, 0, 0]]


@given(st.lists(st.integers(0, 31), min_size=1, max_size=15), st.integers(0, 1000))
def test_keys_equal_their_slow_twin(bits, seed) -> None:
    rng = np.random.default_rng(seed)
    cells = np.array([rng.integers(0, 1 << b, 4) for b in bits], dtype=np.uint32)
    keys = interleave(cells, np.array(bits))
    for row in range(4):
        expected = naive_key(cells[:, row], bits) if max(bits) else ""
        assert text(keys[:, row], sum(bits)) == expected
        assert set(text(keys[:, row], 64 * len(keys))[sum(bits) :]) <= {"0"}


def test_fifteen_dimensions_need_more_than_one_word() -> None:
    assert interleave(np.zeros((15, 2), np.uint32), np.full(15, 16)).shape == (4, 2)


@pytest.mark.parametrize("rows", [1, 50, 5000])
@pytest.mark.parametrize("values", [2, 10**6])
def test_rows_are_ordered_by_all_words(rows, values) -> None:
    rng = np.random.default_rng(rows)
    keys = rng.integers(0, values, (3, rows)).astype(np.uint64)
    keys[0] //= np.uint64(max(1, values // 3))
    order = key_order(keys)
    assert sorted(order.tolist()) == list(range(rows))
    found = [tuple(keys[:, row].tolist()) for row in order]
    assert found == sorted(found)
