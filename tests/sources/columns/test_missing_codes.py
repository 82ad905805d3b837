from __future__ import annotations

import polars as pl
import pytest

from republish.sources.columns.missing_codes import number_codes, text_codes


@pytest.mark.parametrize(
    ("texts", "among_values", "codes"),
    [
        (["a", "NA", "k.A."], False, ["NA", "k.A."]),
        (["a", ".", "N/A"], False, ["N/A", "."]),
        (["+", "-"], False, []),
        (["1", "2", "-", "?"], True, ["?", "-"]),
        (["DE", "FR", "NA"], False, []),  # Namibia
        (["a", "none", "unknown"], False, []),
        (["a", "b"], False, []),
    ],
)
def test_texts_that_mean_missing(texts: list[str], among_values: bool, codes: list[str]) -> None:
    assert text_codes(pl.Series(texts), among_values) == codes


@pytest.mark.parametrize(
    ("numbers", "sure", "perhaps"),
    [
        ([1, 2, 3, -9, -9], ["-9"], []),
        ([1, 2, 3, -9, -9, -8, -8], ["-8", "-9"], []),
        ([1, 2, 3, -9], [], []),  # once is a value
        ([1, -2, -9, -9], [], []),  # others are below zero
        ([20, 90, 999, 999], [], ["999"]),
        ([20, 90, 99, 99], [], []),  # 99 is an age
        ([1, 2, 12, 99, 99], [], ["99"]),
        ([1, 2, 99, 99, 999, 999], [], ["999", "99"]),
        ([-9, -9], [], []),
        ([1, 2, -9, -9, 999, 999], ["-9"], ["999"]),
    ],
)
def test_numbers_that_mean_missing_or_may(numbers: list[int], sure: list[str], perhaps: list[str]) -> None:
    found = number_codes(pl.Series(numbers, dtype=pl.Float64))
    assert (sorted(found[0]), found[1]) == (sorted(sure), perhaps)
