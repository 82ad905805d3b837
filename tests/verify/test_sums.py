"""The checks of the pieces of a release as those of the whole: numbers are added, sentences are made afterwards."""

from __future__ import annotations

from republish.verify.check import Check, Verification
from republish.verify.sums import CheckedPieces

NOTE = "{} groups hold people who were forgotten and cannot be checked."


def piece(noted: int, rows: int = 0) -> Verification:
    checks = (
        Check("counterfeit statistics", True, "Counts fit."),
        Check("membership", True, "Every row belongs to one person.", rows=rows),
        Check("hc-safety=2", True, "Nobody is related.", note=NOTE, noted=noted),
    )
    return Verification(rows=10, groups=3, suppressed=0, checks=checks)


def test_numbers_of_a_note_are_added_up() -> None:
    found = CheckedPieces([piece(0), piece(2), piece(11)], (), 0, 0).together()
    assert found.checks[2].meaning == f"Nobody is related. {NOTE.format(13)}"
    assert (found.rows, found.groups) == (30, 9)


def test_a_number_in_a_promise_is_no_number_of_a_note() -> None:
    one = Check("tau-safety=3", True, "For 3 people fewer than 3 values.", note="For {} people.", noted=1)
    both = CheckedPieces([Verification(1, 1, 0, (one,))] * 2, (), 0, 0).together()
    assert both.checks[0].meaning == "For 3 people fewer than 3 values. For 2 people."


def test_without_anything_to_note_a_check_says_its_promise() -> None:
    found = CheckedPieces([piece(0)], (), 0, 0).together()
    assert found == piece(0)
    assert found.checks[2].meaning == "Nobody is related."


def test_who_is_named_twice_breaks_the_membership() -> None:
    found = CheckedPieces([piece(0), piece(0, rows=1)], (), 0, repeated=2).together()
    assert (found.checks[1].holds, found.checks[1].rows) == (False, 3)


def test_the_check_of_the_csv_table_stands_where_one_process_has_it() -> None:
    same = Check("same tables", True, "Both say the same.")
    found = CheckedPieces([piece(0)], (), 0, 0, [same]).together()
    assert [check.promise for check in found.checks][:2] == ["same tables", "counterfeit statistics"]


def test_a_document_holds_the_sentence_and_no_part_of_it() -> None:
    document = piece(4).as_dict()
    assert document["checks"][2]["meaning"].endswith(NOTE.format(4))
    assert set(document["checks"][2]) == {
        "promise",
        "holds",
        "meaning",
        "reached",
        "groups",
        "rows",
        "unchecked",
    }
