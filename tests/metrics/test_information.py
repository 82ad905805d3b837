"""Mutual information, and how much of it a release keeps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from metrics.twins import numbers, publish
from republish.metrics.information import information_kept, mutual_information


def test_independent_rows_and_columns_say_nothing_of_each_other() -> None:
    assert mutual_information(np.array([[1.0, 2.0], [2.0, 4.0]])) == pytest.approx(0.0)
    assert mutual_information(np.zeros((2, 2))) == 0.0


def test_one_column_a_row_says_everything() -> None:
    assert mutual_information(np.array([[3.0, 0.0], [0.0, 3.0]])) == pytest.approx(math.log(2))


def test_exact_cells_keep_all_and_one_group_nothing() -> None:
    view = numbers([0, 1, 2, 3], ["flu", "flu", "gout", "gout"])
    assert information_kept(publish(view, [0, 1, 2, 3]).release, view) == pytest.approx(1.0)
    assert information_kept(publish(view, [0, 0, 0, 0]).release, view) == pytest.approx(0.0)


def test_a_column_that_says_nothing_has_nothing_to_keep() -> None:
    view = numbers([0, 1, 0, 1], ["flu", "flu", "gout", "gout"])
    assert information_kept(publish(view, [0, 0, 0, 0]).release, view) is None
