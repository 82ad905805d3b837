"""The probabilities of Cor-Split's analysis, and the degree that n-Choose takes from them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from republish.errors import PolicyError
from republish.publishers.breach import breach_probability, n_choose

TRIALS = 200_000


def close(share: float, chance: NDArray[np.float64], trials: int = TRIALS) -> bool:
    """Whether a share of that many trials lies within three standard errors of its probability."""
    expected = float(chance)
    return abs(share - expected) <= 3 * math.sqrt(expected * (1 - expected) / trials)


def excluded_by_compromised(
    rng: np.random.Generator, p: float, releases: int, shape: tuple[int, ...]
) -> NDArray[np.bool_]:
    """Whether the tuple with a given false value is compromised in one of the groups (Lemma 1)."""
    return np.asarray((rng.random((*shape, releases)) < p).any(axis=-1))


def excluded_by_correlation(
    rng: np.random.Generator, p: float, releases: int, m: int, n: int, shape: tuple[int, ...]
) -> NDArray[np.bool_]:
    """Whether all n people of a correlated set are compromised and have another value (Lemma 2)."""
    sets = releases * (m // n)
    compromised = rng.random((*shape, sets, n)) < p
    another = rng.integers(0, m, (*shape, sets, n)) != 0
    excluded: NDArray[np.bool_] = (compromised & another).all(axis=-1).any(axis=-1)
    return excluded


@pytest.mark.parametrize(("p", "releases"), [(0.04, 6), (0.1, 3)])
def test_the_compromised_part_is_the_chance_of_lemma_1(p: float, releases: int) -> None:
    rng = np.random.default_rng(1)
    share = excluded_by_compromised(rng, p, releases, (TRIALS,)).mean()
    assert close(share, breach_probability(p, releases, 6, 3).compromised_part)


@pytest.mark.parametrize(("p", "releases", "m", "n"), [(0.1, 3, 6, 1), (0.2, 3, 6, 2), (0.3, 2, 4, 3)])
def test_the_historical_part_is_the_chance_of_lemma_2(p: float, releases: int, m: int, n: int) -> None:
    rng = np.random.default_rng(2)
    share = excluded_by_correlation(rng, p, releases, m, n, (TRIALS,)).mean()
    assert close(share, breach_probability(p, releases, m, n).historical_part)


@pytest.mark.parametrize(("p", "releases", "m", "n"), [(0.2, 4, 3, 1), (0.15, 5, 4, 2)])
def test_a_breach_is_the_exclusion_of_all_false_values(p: float, releases: int, m: int, n: int) -> None:
    rng = np.random.default_rng(3)
    trials = 60_000
    shape = (trials, m - 1)
    excluded = excluded_by_compromised(rng, p, releases, shape) | excluded_by_correlation(
        rng, p, releases, m, n, shape
    )
    assert close(excluded.all(axis=1).mean(), breach_probability(p, releases, m, n).probability, trials)


def test_the_parts_combine_as_in_figure_3() -> None:
    found = breach_probability(0.04, 24, 6, np.arange(1, 7))
    together = 1 - (1 - found.compromised_part) * (1 - found.historical_part)
    assert found.probability == pytest.approx(together**5)


def test_parameters_are_broadcast() -> None:
    found = breach_probability(0.04, np.arange(1, 25)[:, None], 6, [1, 2, 3])
    assert found.probability.shape == found.compromised_part.shape == found.historical_part.shape == (24, 3)
    assert (np.diff(found.probability, axis=0) > 0).all()
    assert (np.diff(found.probability, axis=1) < 0).all()


def test_nobody_compromised_means_no_breach() -> None:
    assert breach_probability(0.0, 24, 6, 1).probability == 0


@pytest.mark.parametrize(("releases", "n", "reached"), [(24, 3, 0.0956), (21, 2, 0.0806)])
def test_n_choose_of_the_experiments(releases: int, n: int, reached: float) -> None:
    """Section 5 says n = 3 for both; the function of Fig. 3 gives 2 for L = 21."""
    assert n_choose(0.04, releases, 6, 0.1) == n
    assert breach_probability(0.04, releases, 6, n).probability == pytest.approx(reached, abs=5e-5)
    assert breach_probability(0.04, releases, 6, n - 1).probability >= 0.1


def test_figure_2c_at_its_right_edge() -> None:
    """Below .15 with n = 2 and below .1 with n = 3, as section 3.3 reads the plot."""
    assert (breach_probability(0.04, 24, 6, [2, 3]).probability < [0.15, 0.1]).all()


def test_a_limit_that_no_degree_keeps_is_refused_with_a_remedy() -> None:
    with pytest.raises(PolicyError, match="raise m, publish everyone less often"):
        n_choose(0.3, 24, 3, 0.01)


@pytest.mark.parametrize(
    ("p", "releases", "m", "n"),
    [
        (-0.1, 1, 2, 1),
        (1.1, 1, 2, 1),
        (float("nan"), 1, 2, 1),
        (0.1, 0, 2, 1),
        (0.1, 1.5, 2, 1),
        (0.1, 1, 1, 1),
        (0.1, 1, 2, 0),
        (0.1, 1, 2, 3),
        (0.1, 1, 3, 1.5),
    ],
)
def test_parameters_out_of_range_are_refused(p: float, releases: float, m: int, n: float) -> None:
    with pytest.raises(PolicyError, match="must be a"):
        breach_probability(p, releases, m, n)


@pytest.mark.parametrize(
    "wrong",
    [{"m": "6"}, {"p": "x"}, {"h": "much"}, {"L": None}, {"m": float("inf")}, {"m": 2.5}, {"m": [6, 7]}],
)
def test_what_is_no_number_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(PolicyError, match=f"{next(iter(wrong))} must be"):
        n_choose(**{"p": 0.04, "L": 24, "m": 6, "h": 0.1, **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("h", [0.0, -1.0, 1.5])
def test_a_limit_must_be_a_probability(h: float) -> None:
    with pytest.raises(PolicyError, match="h must lie"):
        n_choose(0.04, 24, 6, h)
