from __future__ import annotations

import numpy as np
import pytest

from republish.datasets.progression import (
    CLASSES,
    COURSES,
    DISEASES,
    NONE,
    STAGES,
    VALUES,
    class_of,
    progression,
)


def value(name: str) -> int:
    return VALUES.index(name)


def test_the_domain_has_seventeen_stages_and_two_ends() -> None:
    assert [len(stages) for stages in DISEASES.values()] == [5, 4, 3, 5]
    assert len(VALUES) == 19
    assert VALUES[-2:] == ("deceased", "discharged")


def test_there_are_eighteen_classes() -> None:
    assert len(set(CLASSES)) == 18


def test_prior_rows_sum_to_one() -> None:
    assert np.abs(progression().prior.sum(axis=1) - 1).max() < 1e-9


def test_sequential_rows_sum_to_one_where_they_can_occur() -> None:
    sums = progression().sequential.sum(axis=-1)
    assert np.abs(sums[sums > 0] - 1).max() < 1e-9


def test_nothing_is_negative() -> None:
    assert progression().prior.min() >= 0
    assert progression().sequential.min() >= 0


def test_every_stage_has_a_row_for_a_person_seen_once() -> None:
    assert (progression().sequential[:, NONE].sum(axis=-1) > 0).all()


def test_exactly_the_contexts_that_can_occur_have_rows() -> None:
    sequential = progression().sequential
    # Whatever comes back to a stage came there by a step of positive probability.
    steps = sequential[:, NONE, :, :NONE] > 0
    rows = sequential[:, :NONE].sum(axis=-1) > 0
    assert np.array_equal(steps, rows)


def test_no_disease_turns_into_another() -> None:
    disease = np.array([d for d, stages in enumerate(DISEASES.values()) for _ in stages])
    across = disease[:, np.newaxis] != disease
    assert progression().sequential[:, NONE, :, :NONE].sum(axis=0)[across].max() == 0


def test_a_week_of_a_yearly_rate_is_its_root_at_the_pace_of_the_examined() -> None:
    # Class of pace 1 x .92 x 1; F0 to F1 is .117 a year, sixteen times as fast in those who are examined.
    group = CLASSES.index((1, 0, 1))
    weekly = 1 - (1 - 0.117) ** (1 / 52)
    p = progression().sequential[group, NONE, value("liver F0"), value("liver F1")]
    assert p == pytest.approx(16 * 0.92 * weekly, rel=1e-9)


def test_deaths_of_the_chronically_ill_keep_the_pace_of_the_cohorts() -> None:
    group = CLASSES.index((1, 0, 1))
    weekly = 1 - (1 - 0.480) ** (1 / 52)
    p = progression().sequential[group, NONE, value("Alzheimer severe"), value("deceased")]
    assert p == pytest.approx(0.92 * weekly, rel=1e-9)


def test_a_week_of_sepsis_is_seven_days() -> None:
    day = np.zeros((7, 7))
    day[0, [0, 1, 6]] = 0.840, 0.030, 0.130
    day[1, [0, 1, 2]] = 0.230, 0.690, 0.080
    day[2, [1, 2, 3, 5]] = 0.255, 0.650, 0.090, 0.005
    day[3, [2, 3, 4, 5]] = 0.285, 0.680, 0.026, 0.009
    day[4, [3, 4, 5]] = 0.311, 0.610, 0.079
    day[5, 5] = day[6, 6] = 1
    pace = 0.92
    for stage in range(5):
        worse = day[stage, stage + 1 : 6].sum()
        day[stage, stage + 1 : 6] *= pace
        day[stage, stage] += worse * (1 - pace)
    week = day @ day @ day @ day @ day @ day @ day
    codes = [value(stage) for stage in DISEASES["sepsis"]] + [value("deceased"), value("discharged")]
    ours = progression().sequential[CLASSES.index((1, 0, 1)), NONE][codes[:5]][:, codes]
    assert np.abs(ours - week[:5]).max() < 1e-12


@pytest.mark.parametrize("disease", ["liver disease", "HIV", "sepsis"])
def test_who_has_just_got_worse_goes_on_faster_than_who_was_stable(disease: str) -> None:
    mild, middle, later = (value(stage) for stage in DISEASES[disease][:3])
    sequential = progression().sequential
    worse = sequential[:, mild, middle, later]
    stable = sequential[:, middle, middle, later]
    assert (worse > 2 * stable).all()


def test_older_classes_get_worse_faster() -> None:
    move = progression().sequential[:, NONE, value("HIV 500+"), value("HIV 200-499")]
    young, old = CLASSES.index((0, 0, 0)), CLASSES.index((2, 0, 0))
    assert move[old] / move[young] == pytest.approx(1.2 / 0.85)


def test_classes_are_bands_of_ten_years_and_ten_kilos() -> None:
    age = np.array([45, 54, 55, 64, 65, 74])
    gender = np.array([0, 1, 0, 1, 0, 1])
    weight = np.array([60, 69, 70, 79, 80, 89])
    bands = [CLASSES[c] for c in class_of(age, gender, weight)]
    assert bands == [(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 1), (2, 0, 2), (2, 1, 2)]


def test_the_tables_cannot_be_changed_by_mistake() -> None:
    with pytest.raises(ValueError, match="read-only"):
        progression().prior[0, 0] = 1


def test_no_stage_is_missing_from_the_first_results() -> None:
    assert progression().prior[:, : len(STAGES)].min() > 0.005


FITTED = COURSES["fitted"]


def test_in_the_fitted_course_any_result_may_follow_any_other_living_pair() -> None:
    sequential = progression(FITTED).sequential
    assert np.abs(sequential.sum(axis=-1) - 1).max() < 1e-9
    assert sequential.min() > 0
    assert np.array_equal(progression(FITTED).prior, progression().prior)


def test_after_two_diseases_the_next_result_follows_the_older_one() -> None:
    """.15 as at first sight; of the rest .9 as after the older result alone."""
    group, older, last = 4, value("liver F2"), value("sepsis SIRS")
    model = progression(FITTED)
    alone = (model.sequential[group, NONE] - 0.15 * model.prior[group]) / 0.85
    expected = 0.85 * (0.9 * alone[older] + 0.1 * alone[last]) + 0.15 * model.prior[group]
    assert model.sequential[group, older, last] == pytest.approx(expected)


def test_chronic_diseases_move_half_as_fast_in_the_fitted_course() -> None:
    move = [
        progression(course).sequential[4, NONE, value("liver F0"), value("liver F1")]
        for course in (COURSES["recreated"], FITTED)
    ]
    assert (move[1] - 0.15 * progression().prior[4, value("liver F1")]) / 0.85 == pytest.approx(move[0] / 2)
