"""Some tests of engines take seconds each and say what others here say of another part: `make test-long` runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
SLOW = {
    "test_a_promise_that_was_broken_unrefused_is_found",
    "test_a_release_of_parts_is_checked_for_what_one_process_wrote_besides",
    "test_a_release_that_cannot_be_read_is_reported_and_the_others_are_checked",
    "test_a_withdrawn_release_is_verified_like_any",
    "test_beliefs_after_people_were_forgotten",
    "test_classes_that_the_series_keeps_go_with_people",
    "test_compromised_people_can_be_named",
    "test_nobody_hides_behind_people_who_were_forgotten",
    "test_people_treated_as_newcomers_are_counted",
    "test_promises_are_those_of_the_policy_whatever_a_release_records",
    "test_rounds_go_on_until_nothing_is_excluded",
    "test_series_hold_what_makes_attacks_differ",
    "test_the_command_attacks_with_an_engine",
    "test_the_command_looks_at_as_many_values_as_it_is_told",
    "test_the_command_measures_with_an_engine",
    "test_the_number_of_parts_changes_nothing",
    "test_what_should_be_left_can_be_given",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE) and item.name.partition("[")[0] in SLOW:
            item.add_marker(pytest.mark.long)
