"""The worked examples of the two papers, to the printed digit, and what the definitions say where they differ."""

from __future__ import annotations

import numpy as np
import pytest

from inference import naive
from republish.inference import Compromised, posterior

ALICE_CAROL = np.array([[0.31, 0.05], [0.02, 0.31]])  # BCM-pos, PNE-pos

CANCER, GERD, DEPRESSION = range(3)
CAYLA, DIOR, ELISA = range(3)
AFTER = {  # Table 7: next value, by the one before: GERD, depression, cancer-II
    "flu": (0.005, 0.001, 0.0001),
    "ulcer": (0.3, 0.01, 0.001),
    "cancer": (0.002, 0.1, 0.6),
    "bronchitis": (0.002, 0.003, 0.002),
    "alzheimer": (0.002, 0.1, 0.002),
    "diabetes": (0.005, 0.001, 0.0001),
}


def revised(*before: str) -> np.ndarray:
    """Example 3: the mean over equally likely values before, in the order cancer-II, GERD, depression."""
    gerd, depression, cancer = np.mean([AFTER[b] for b in before], axis=0)
    return np.array([cancer, gerd, depression])


@pytest.fixture
def group_3() -> np.ndarray:
    """The revised priors of Table 9, unrounded."""
    rows = np.array(
        [revised("bronchitis", "alzheimer", "cancer"), *[revised("ulcer", "flu", "diabetes")] * 2]
    )
    return rows / rows.sum(axis=1, keepdims=True)


def test_equal_priors_give_halves_at_the_first_release() -> None:
    for row in ([0.002, 0.05], [0.0003, 0.2]):
        for method in ("additive", "omega", "sinkhorn", "bp", "exact"):
            assert posterior(np.array([row, row]), [0, 1], method) == pytest.approx(np.full((2, 2), 0.5))


def test_alice_and_carol_at_the_second_release() -> None:
    p = posterior(ALICE_CAROL, [0, 1], "additive")
    assert p == pytest.approx(np.array([[62, 7], [7, 62]]) / 69)
    assert p.round(1).tolist() == [[0.9, 0.1], [0.1, 0.9]]


@pytest.mark.parametrize("method, alice", [("omega", 0.871), ("exact", 0.990)])
def test_other_adversaries_on_alice(method: str, alice: float) -> None:
    assert posterior(ALICE_CAROL, [0, 1], method)[0, 0] == pytest.approx(alice, abs=5e-4)


def test_the_revised_prior_of_cayla_before_it_is_normalised() -> None:
    assert revised("bronchitis", "alzheimer", "cancer")[CANCER] == pytest.approx(0.2013, abs=5e-5)
    assert pytest.approx(0.199, abs=5e-4) == 0.33 * (0.002 + 0.002 + 0.6)


def test_table_9(group_3: np.ndarray) -> None:
    assert group_3[CAYLA] == pytest.approx([0.745, 0.007, 0.25], abs=0.0055)
    assert group_3[DIOR] == pytest.approx([0.0037, 0.96, 0.037], abs=0.005)
    assert group_3[DIOR, CANCER] == pytest.approx(0.0037, abs=5e-5)


def test_table_11_sums_the_rounded_table_9() -> None:
    rounded = np.array([[0.74, 0.007, 0.25], [0.003, 0.96, 0.037], [0.003, 0.96, 0.037]])
    totals = [
        naive.additive(rounded, b) for b in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
    ]
    assert totals == pytest.approx([1.737, 1.737, 0.047, 0.047, 1.213, 1.213])


@pytest.mark.parametrize("order", [[0, 1, 2], [0, 2, 1], [2, 1, 0], [1, 2, 0]])
def test_example_2_whatever_the_codes(group_3: np.ndarray, order: list[int]) -> None:
    p = posterior(group_3[:, order], [0, 1, 2], "bayes")
    expected = np.array([[3, 2, 2], [2, 3, 2], [2, 2, 3]]) / 7  # Table 10, printed .42 and .28
    assert p == pytest.approx(expected[:, order])


BIJECTIONS = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))  # pm0 ... pm5


def theta(known: np.ndarray) -> tuple[list[float], list[float]]:
    """Parameters and expectations in the order of Table 11."""
    a, e = naive.dirichlet(known, [0, 1, 2], BIJECTIONS[0])
    at = [naive.bijections([0, 1, 2]).index(b) for b in BIJECTIONS]
    return list(a[at]), list(e[at])


def test_example_4_as_printed(group_3: np.ndarray) -> None:
    known = np.zeros((3, 3))
    known[DIOR, GERD], known[ELISA, DEPRESSION] = 0.97, 0.95
    a, e = theta(known)
    assert a == pytest.approx([2.92, 1, 1.95, 1, 1, 1.97])
    assert e == pytest.approx([0.3616, 0.0923, 0.1799, 0.0923, 0.0923, 0.1817], abs=5e-5)
    told = Compromised(np.array([DIOR, ELISA]), np.array([GERD, DEPRESSION]), np.array([0.97, 0.95]))
    p = posterior(group_3, [0, 1, 2], "bayes", told)
    assert p[DIOR, GERD] == pytest.approx(e[0] + e[5])
    assert p[ELISA, DEPRESSION] == pytest.approx(e[0] + e[2])
    assert p[CAYLA, CANCER] == pytest.approx(e[0] + e[1])


def test_example_4_by_definition_6(group_3: np.ndarray) -> None:
    """The entry of .02 exceeds its prior and stays; the one of .03 does not and speaks for depression."""
    told = Compromised(
        np.array([DIOR, ELISA, ELISA]), np.array([GERD, CANCER, GERD]), np.array([0.97, 0.02, 0.03])
    )
    known = np.zeros((3, 3))
    known[DIOR, GERD], known[ELISA, DEPRESSION], known[ELISA, CANCER] = 0.97, 0.95, 0.02
    a, e = theta(known)
    assert a == pytest.approx([2.92, 1, 1.95, 1.02, 1, 1.99])
    assert e == pytest.approx([0.3603, 0.0919, 0.1792, 0.0938, 0.0919, 0.1829], abs=5e-5)
    p = posterior(group_3, [0, 1, 2], "bayes", told)
    for person in range(3):
        for value in range(3):
            expected = sum(x for b, x in zip(BIJECTIONS, e, strict=True) if b[person] == value)
            assert p[person, value] == pytest.approx(expected)
