"""Tables of what outsiders know of single people: how they are read and what is refused, without showing a cell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from publishers.believing import SCHEMA, SECRET
from republish import LDiversity, Mondrian, PolicyError, RepublishError, ViewError, read_view
from republish.policy import Policy
from republish.publishers import JSReduce
from republish.publishing.compromised_records import compromised_table, with_compromised

VIEW = pl.DataFrame(
    {
        "id": ["ann", "bob", "cat", "dan"],
        "age": [31, 42, 53, 64],
        "sex": ["F", "M", "F", "M"],
        "town": ["n", "s", "n", "s"],
        "result": ["flu", "gout", None, "flu"],
    }
)
POLICY = Policy(SCHEMA, JSReduce(), 1)


def told(table: object) -> dict[tuple[int, int], float]:
    """Row and code of every entry, with its confidence."""
    view = read_view(VIEW, SCHEMA).pseudonymous(SECRET)
    found = with_compromised(view, table, POLICY, SECRET).compromised
    assert found is not None
    return {(int(r), int(c)): float(p) for r, c, p in zip(*found, strict=True)}


def place(name: str, value: str | None) -> tuple[int, int]:
    view = read_view(VIEW, SCHEMA).pseudonymous(SECRET)
    row = view.people.tolist().index(SECRET.pseudonyms([name]).tolist()[0])  # type: ignore[union-attr]
    return row, view.values.to_list().index(value)


def table(*rows: tuple[str | None, str | None, object]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["id", "result", "p"], orient="row", infer_schema_length=None)


def test_entries_find_their_rows_and_codes(tmp_path: Path) -> None:
    entries = table(("cat", None, 0.25), ("ann", "flu", 1.0), ("bob", "flu", 0.5), ("bob", "gout", 0.5))
    expected = {
        place("cat", None): 0.25,
        place("ann", "flu"): 1.0,
        place("bob", "flu"): 0.5,
        place("bob", "gout"): 0.5,
    }
    assert told(entries) == expected
    entries.write_csv(tmp_path / "known.csv")
    assert told(tmp_path / "known.csv") == expected
    entries.write_parquet(tmp_path / "known.parquet")
    assert told(tmp_path / "known.parquet") == expected


def test_a_table_without_rows_says_nothing() -> None:
    assert told(pl.DataFrame(schema={"id": pl.String, "result": pl.String, "p": pl.Float64})) == {}


def test_it_is_kept_under_pseudonyms() -> None:
    view = read_view(VIEW, SCHEMA).pseudonymous(SECRET)
    kept = compromised_table(with_compromised(view, table(("bob", "gout", 0.5)), POLICY, SECRET))
    words = SECRET.pseudonyms(["bob"])
    assert kept.rows() == [(int(words[0, 0]), int(words[0, 1]), place("bob", "gout")[1], 0.5)]


@pytest.mark.parametrize(
    "wrong, message",
    [
        (table(("zoltan", "flu", 0.5), ("ann", "flu", 0.5)), "people in the view; 1 of 2 rows are not"),
        (table((None, "flu", 0.5)), "1 rows have no identifier"),
        (table(("ann", "leprosy", 0.5)), "sensitive values of the series; 1 of 1 rows name others"),
        (table(("ann", "flu", 1.5)), "confidence in a compromised record must lie between 0 and 1"),
        (table(("ann", "flu", -0.1)), "confidence in a compromised record must lie between 0 and 1"),
        (table(("ann", "flu", float("nan"))), "confidence in a compromised record must lie between 0 and 1"),
        (table(("ann", "flu", "sure")), "1 rows have no number in column p"),
        (table(("ann", "flu", None)), "1 rows have no number in column p"),
        (table(("ann", "flu", 0.7), ("ann", "gout", 0.6)), "about one person may not sum above 1; 1 do"),
        (
            table(("ann", "flu", 0.3), ("ann", "flu", 0.3)),
            "one entry about a compromised record, not several",
        ),
        (
            table(("ann", "gout", 1.0), ("bob", "gout", 1.0)),
            "of 2 compromised records with p = 1, 1 name another",
        ),
        (table(("ann", "flu", 0.5)).drop("p"), "need the columns id, result, p; p is missing"),
        (table(("ann", "flu", 0.5)).drop("id", "result"), "id, result is missing"),
    ],
)
def test_bad_tables_are_refused_and_show_nobody(wrong: pl.DataFrame, message: str) -> None:
    with pytest.raises(RepublishError, match=message) as refused:
        told(wrong)
    for cell in ("ann", "zoltan", "flu", "leprosy", "gout", "0.7"):
        assert cell not in str(refused.value)


def test_whoever_does_not_think_makes_no_use_of_it() -> None:
    view = read_view(VIEW, SCHEMA).pseudonymous(SECRET)
    policy = Policy(SCHEMA, Mondrian(2, (LDiversity(2),)), 1)
    with pytest.raises(PolicyError, match="mondrian makes no use of compromised records"):
        with_compromised(view, table(("ann", "flu", 0.5)), policy, SECRET)


def test_a_view_keeps_its_rows() -> None:
    view = read_view(VIEW, SCHEMA).pseudonymous(SECRET)
    known = with_compromised(view, table(("ann", "flu", 0.5)), POLICY, SECRET)
    assert np.array_equal(known.codes, view.codes)
    assert view.compromised is None
    with pytest.raises(ViewError):
        with_compromised(view, table(("zoe", "flu", 0.5)), POLICY, SECRET)
