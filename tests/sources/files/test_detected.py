from __future__ import annotations

from pathlib import Path

import pytest

from republish.schema import Dialect
from republish.sources.files.detected import detected
from republish.sources.tables import read_table


@pytest.mark.parametrize(
    ("text", "files", "sentence"),
    [
        ("a,b\n1,2\n", Dialect(), "a CSV file in UTF-8, columns between commas"),
        ("a;b\n1,5;2\n", Dialect(), "a CSV file in UTF-8, columns between semicolons"),
        ("a\tb\n1\t2\n", Dialect(), "a CSV file in UTF-8, columns between tabs"),
        (
            "a, in euro, or not;b\n1;2\n3;4\n",
            Dialect(separator=";"),
            "a CSV file in UTF-8, columns between semicolons",
        ),
    ],
)
def test_only_what_the_first_line_does_not_show_is_kept(
    tmp_path: Path, text: str, files: Dialect, sentence: str
) -> None:
    view = tmp_path / "v.csv"
    view.write_text(text)
    assert detected(view) == (files, sentence)


def test_a_separator_that_is_kept_splits_the_columns(tmp_path: Path) -> None:
    view = tmp_path / "v.csv"
    view.write_text("a, in euro, or not;b\n1;2\n3;4\n")
    assert read_table(view, files=Dialect(separator=";")).rows() == [("1", "2"), ("3", "4")]


def test_a_file_of_another_separator_is_read_by_its_own(tmp_path: Path) -> None:
    view = tmp_path / "v.csv"
    view.write_text("a,b\n1,2\n")
    assert read_table(view, files=Dialect(separator=";")).rows() == [("1", "2")]
