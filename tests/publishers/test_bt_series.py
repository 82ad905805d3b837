"""(B,t)-privacy in a series: kept in its policy, checked when published, not claimed by `verify` later."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from republish import BrokenPromise, BTPrivacy, Mondrian, PolicyError, Series, read_schema
from republish.cli import app
from republish.grouping import Grouping
from republish.publishers import make_publisher, parameters_of


@pytest.fixture
def made(tmp_path, hospital_folder):
    schema = read_schema(hospital_folder / "schema.toml")
    series = Series.create(
        tmp_path / "s", schema, Mondrian(2, bt=BTPrivacy(0.5, 0.6)), seed=1, one_table=True
    )
    yield series
    series.ledger.close()


def test_it_is_part_of_the_policy(made, views):
    made.publish(views[0])
    made.publish(views[1])
    again = Series.open(made.root)
    assert again.policy.publisher == Mondrian(2, bt=BTPrivacy(0.5, 0.6))
    assert again.policy.promises["when_published"] == ["bt=0.5/0.6"]
    assert again.publish(views[2]).number == 3
    again.ledger.close()


def test_it_is_checked_when_published(made, views, monkeypatch):
    published = made.publish(views[0])
    (check,) = [check for check in published.verification.checks if check.promise == "bt=0.5/0.6"]
    assert check.holds
    assert 0 < check.reached <= 0.6 + 1e-9
    pairs = lambda self, view, *_: Grouping(np.arange(view.rows) // 2)  # noqa: E731
    monkeypatch.setattr(Mondrian, "publish", pairs)
    with pytest.raises(BrokenPromise, match=r"bt=0\.5/0\.6: does not hold"):
        made.publish(views[1])


def test_verify_says_that_it_cannot_be_recomputed(made, views):
    made.publish(views[0])
    found = made.verify()
    assert found.holds
    assert found.not_recomputable == ("bt=0.5/0.6",)
    assert not any("bt" in check.promise for check in found.releases[1].checks)
    said = CliRunner().invoke(app, ["verify", str(made.root)])
    assert said.exit_code == 0
    assert "but not bt=0.5/0.6" in said.output
    document = json.loads(CliRunner().invoke(app, ["verify", str(made.root), "--json"]).output)
    assert document["not_recomputable"] == ["bt=0.5/0.6"]


def test_text_makes_the_publisher_and_back():
    made = make_publisher("mondrian", {"k": "1", "bt": "0.5/0.8"})
    assert made == Mondrian(1, bt=BTPrivacy(0.5, 0.8))
    assert parameters_of(made) == {"k": 1, "strict": True, "bt": "0.5/0.8"}
    assert parameters_of(Mondrian(1)) == {"k": 1, "strict": True}
    with pytest.raises(PolicyError, match="written B/t"):
        make_publisher("mondrian", {"bt": "0.5"})
