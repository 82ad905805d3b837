"""Both distributions against those of scipy."""

from __future__ import annotations

import math

import pytest
from scipy.special import gammainc, stdtrit

from republish.estimates.distributions import gamma_share, t_quantile


@pytest.mark.parametrize("shape", [0.5, 1.0, 2.5, 20.0, 500.0, 40_000.0])
@pytest.mark.parametrize("ratio", [0.01, 0.5, 0.9, 0.99, 1.0, 1.01, 1.1, 2.0, 10.0])
def test_share_of_the_gamma_distribution(shape: float, ratio: float) -> None:
    assert gamma_share(shape, ratio * shape) == pytest.approx(gammainc(shape, ratio * shape), abs=1e-10)


def test_nothing_is_below_zero_and_all_below_infinity() -> None:
    assert [gamma_share(2.0, x) for x in (-1.0, 0.0, math.inf, math.nan)] == [0.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("freedom", [1, 2, 5, 38, 39, 1_000, 100_000])
@pytest.mark.parametrize("share", [0.9, 0.975, 0.995])
def test_quantile_of_student_s_t(freedom: int, share: float) -> None:
    assert t_quantile(freedom, share) == pytest.approx(stdtrit(freedom, share), rel=1e-9)
