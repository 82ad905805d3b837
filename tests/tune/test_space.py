"""What is drawn of value-blind batches, and where they are tried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from republish.publishers import ValueBlind, make_publisher
from republish.tune.space import Extent, draw, suitable


class Highest:
    """Draws the highest number, or the lowest, and the last choice."""

    def __init__(self, high: bool) -> None:
        self.high = high

    def suggest_int(self, name: str, low: int, high: int, *, log: bool = False) -> int:
        assert low <= high, name
        return high if self.high else low

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float:
        return high if self.high else low

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        return choices[-1]


@pytest.mark.parametrize("high", [False, True])
@pytest.mark.parametrize("rows", [12, 100, 5_000])
def test_whatever_is_drawn_of_value_blind_batches_can_be_made(high: bool, rows: int) -> None:
    extent = Extent(2, 2, values=30, rows=rows, compromised=0.04)
    drawn = draw(Highest(high), ["value-blind"], extent, ())
    made = make_publisher("value-blind", drawn.parameters)
    assert isinstance(made, ValueBlind)
    assert 20 <= made.size <= 600 and made.compromised == 0.04


def test_batches_with_clocks_are_tried_in_two_tables_only_unless_they_are_named() -> None:
    assert "value-blind" not in suitable(None)
    assert "value-blind" in suitable(None, two_tables=True)
    assert suitable(["value-blind"]) == ("value-blind",)
