"""Numbers, shares, days and sizes are written in one way each."""

from __future__ import annotations

from typing import Any

import pytest

from republish.show import numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""), (True, "yes"), (12345, "12,345"), (2.0, "2"), (0.0, "0.0000"), (0.25, "0.2500"),
        (999.5, "999.5000"), (1234.5, "1,234"), ("tau", "tau"), (float("nan"), "nan"),
    ],
)  # fmt: skip
def test_a_cell_of_a_table(value: Any, text: str) -> None:
    assert numbers.number(value) == text


@pytest.mark.parametrize(("share", "text"), [(None, "-"), (0.0, "0.0%"), (0.0004, "< 0.1%"), (0.041, "4.1%")])
def test_a_share_that_is_not_zero_does_not_look_like_it(share: float | None, text: str) -> None:
    assert numbers.percent(share) == text


@pytest.mark.parametrize(
    ("count", "text"), [(5, "5 bytes"), (2048, "2 KB"), (3 * 2**20, "3 MB"), (2**30, "1 GB")]
)
def test_a_number_of_bytes(count: int, text: str) -> None:
    assert numbers.size(count) == text


def test_a_day_at_the_desk_and_elsewhere() -> None:
    assert numbers.day("2026-01-05T00:00:00+00:00") == "2026-01-05"
    assert numbers.written_day("2026-01-05T00:00:00+00:00") == "5 Jan 2026"
    assert numbers.written_moment("2026-01-05T14:30:00+00:00") == "5 Jan 2026, 14:30 UTC"
    assert numbers.written_day("some day") == "some day"
