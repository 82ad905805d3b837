"""What earlier versions called banga, and policies that still say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from republish import BangA, Mondrian, PenaltyTree, Series
from republish.policy import FILE, policy_from_mapping, read_policy
from republish.publishers import stored_parameters
from republish.publishers.renamed import named_formerly, named_now
from republish.schema import Category, Number, Schema

OLD = {"k": 7, "m": 1, "merge": "penalty", "bits": 8, "scales": "none", "incremental": False, "shape": "box"}
SCHEMA = Schema("id", [Number("age")], Category("dx"))
MEANT = [
    (OLD, PenaltyTree(7, bits=8)),
    (OLD | {"m": 3, "incremental": True}, PenaltyTree(7, m=3, bits=8, incremental=True)),
    (OLD | {"shape": "region"}, BangA(7, m=7, split=14, bits=8, compact=False)),
    (OLD | {"shape": "region", "m": 7, "incremental": True}, BangA(7, m=7, split=14, bits=8, compact=False)),
    (OLD | {"merge": "density", "m": 3}, BangA(7, m=3, split=6, bits=8)),
]


def policy_of(stored: dict[str, object]):
    return policy_from_mapping(
        {
            "publisher": {"name": "banga", **stored},
            "schema": {
                "columns": {
                    "id": {"role": "identifier"},
                    "age": {"role": "quasi-identifier", "kind": "number"},
                }
            },
        },
        Path(),
    )


@pytest.mark.parametrize(("stored", "meant"), MEANT)
def test_an_earlier_policy_means_what_it_did(stored, meant) -> None:
    assert policy_of(stored).publisher == meant


@pytest.mark.parametrize(("stored", "meant"), MEANT)
def test_what_was_stored_is_among_what_may_have_been(stored, meant) -> None:
    assert ("banga", stored) in named_formerly(meant.name, stored_parameters(meant))


def test_a_policy_of_today_is_taken_at_its_word() -> None:
    assert policy_of({"k": 7}).publisher == BangA(7)
    assert named_now("mondrian", {"k": 7, "shape": "box"}) == ("mondrian", {"k": 7, "shape": "box"})


@pytest.mark.parametrize("publisher", [BangA(7), BangA(7, insert_only=True), Mondrian(7)])
def test_nothing_else_was_ever_called_otherwise(publisher) -> None:
    assert list(named_formerly(publisher.name, stored_parameters(publisher))) == []


def test_a_policy_is_written_under_its_name_of_today(tmp_path: Path) -> None:
    made = Series.create(tmp_path / "s", SCHEMA, PenaltyTree(3), seed=1, one_table=True)
    made.ledger.close()
    assert 'name = "penalty-tree"' in (tmp_path / "s" / FILE).read_text()
    assert read_policy(tmp_path / "s").publisher == PenaltyTree(3)
    assert read_policy(tmp_path / "s").digest() in read_policy(tmp_path / "s").digests()
