"""Where a view is refused, what would pass is tried and said; newcomers who are held come with a later release."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from republish import (
    CannotPublish,
    Category,
    Gate,
    LimitBroken,
    MInvariance,
    Mondrian,
    Number,
    PolicyError,
    Schema,
    Series,
    ValueBlind,
)
from republish.cli import app
from republish.publishing import remedies
from republish.publishing.init_command import init_command
from republish.publishing.result import Published, ReleaseOptions
from republish.publishing.stronger import larger
from republish.release.forms import TwoTables

SCHEMA = Schema("id", [Number("age")], Category("dx"))
FIRST = pl.DataFrame({"id": list("pqrs"), "age": [1, 2, 8, 9], "dx": list("abcd")})
NEW = pl.DataFrame({"id": list("tu"), "age": [1, 2], "dx": list("cd")})  # they part p from q
OFFER = (
    "Tried: without the 2 people who are new in it the view would pass; `republish publish --hold-newcomers`"
)


@pytest.fixture
def series(tmp_path: Path) -> Series:
    """A gate that lets nobody be determined."""
    gate = Gate(attacks=("intersection",), max_determined=0.0)
    made = Series.create(tmp_path / "s", SCHEMA, Mondrian(2), seed=1, one_table=True, gate=gate)
    made.publish(FIRST)
    return made


def test_a_gate_that_refuses_offers_what_would_pass(series: Series) -> None:
    with pytest.raises(LimitBroken, match=OFFER):
        series.publish(pl.concat([FIRST, NEW]))
    assert len(series.records) == 1


def test_what_is_offered_passes_and_is_told(series: Series) -> None:
    done = series.publish(pl.concat([FIRST, NEW]), hold_newcomers=True)
    assert (done.rows, done.waiting, done.arrivals.new) == (4, 2, 0)
    about = json.loads((series.root / "releases/0002/about.json").read_text())
    assert about["waiting_rows"] == 2
    assert about["newcomers"].startswith(
        "Held: nobody who would be new is in this release, whatever their values"
    )
    assert series.verify().holds
    assert series.memory().size == 4


def test_who_was_held_comes_with_the_same_view(tmp_path: Path) -> None:
    made, both = Series.create(tmp_path / "s", SCHEMA, Mondrian(2), one_table=True), pl.concat([FIRST, NEW])
    made.publish(FIRST)
    assert made.publish(both, hold_newcomers=True).rows == 4
    assert made.publish(both).arrivals.new == 2


def test_who_waits_does_not_hang_on_values(series: Series) -> None:
    other = NEW.with_columns(dx=pl.Series(list("dc")))
    shown = [
        series.publish(pl.concat([FIRST, one]), hold_newcomers=True, dry_run=True) for one in (NEW, other)
    ]
    first, second = (one.preview.tables[0] for one in shown if one.preview is not None)
    assert first.equals(second)


def test_a_trial_says_the_same_and_commits_nothing(series: Series) -> None:
    done = series.publish(pl.concat([FIRST, NEW]), dry_run=True)
    assert done.gate is not None and not done.gate.passed
    assert done.remedy.startswith(OFFER) and done.as_dict()["remedy"] == done.remedy
    assert len(series.records) == 1


@pytest.mark.parametrize("newcomers", [0, 2])
def test_nothing_is_offered_that_would_be_refused_too(series: Series, newcomers: int) -> None:
    moved = FIRST.with_columns(age=pl.Series([1, 8, 2, 9]))
    with pytest.raises(LimitBroken) as refused:
        series.publish(pl.concat([moved, NEW.head(newcomers)]))
    assert "--hold-newcomers" not in str(refused.value)


def test_where_the_gate_refuses_that_too_nothing_is_offered(
    series: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Published] = []

    def offered(options: ReleaseOptions, releases: int, released: Callable[..., Published]) -> str:
        def noted(other: ReleaseOptions) -> Published:
            tried.append(released(other))
            return tried[-1]

        return remedies.offered(options, releases, noted)

    monkeypatch.setattr("republish.publishing.run.offered", offered)
    moved = pl.concat([FIRST.with_columns(age=pl.Series([1, 8, 2, 9])), NEW])
    with pytest.raises(LimitBroken) as refused:
        series.publish(moved)
    (without,) = tried  # it was tried, and refused by the gate, not for another reason
    assert (without.rows, without.waiting) == (4, 2)
    assert without.gate is not None and not without.gate.passed
    assert "--hold-newcomers" not in str(refused.value) and "would let it pass" in str(refused.value)
    assert "--hold-newcomers" not in series.publish(moved, dry_run=True).remedy
    assert len(series.records) == 1


@pytest.fixture
def unborn(tmp_path: Path) -> Series:
    """Groups of two, each of one value at most half the time, and a gate that is against that."""
    gate = Gate(attacks=("intersection",), max_above_half=0.0, max_mean_confidence=0.3)
    return Series.create(tmp_path / "my series", SCHEMA, Mondrian(2), seed=1, one_table=True, gate=gate)


def test_before_the_first_release_larger_groups_are_tried(unborn: Series) -> None:
    with pytest.raises(LimitBroken, match="Tried: with k=4 the view would pass; nothing is published yet"):
        unborn.publish(FIRST)
    assert unborn.publish(FIRST, dry_run=True).remedy.startswith("Tried: with k=4 ")
    assert not unborn.records and not list((unborn.root / "private" / "staging").iterdir())


def test_the_command_that_is_offered_makes_a_series_that_passes(unborn: Series, tmp_path: Path) -> None:
    offer = unborn.publish(FIRST, dry_run=True).remedy
    words = shlex.split(offer.split("`")[1])
    assert words[:2] == ["republish", "init"]
    made = CliRunner().invoke(app, words[1:])
    assert made.exit_code == 0, made.output
    begun = Series.open(f"{unborn.root}-2")
    assert begun.publisher == Mondrian(4)
    assert begun.policy.gate == unborn.policy.gate
    assert begun.publish(FIRST).number == 1


def test_later_larger_groups_are_offered_as_a_new_series(series: Series) -> None:
    moved = FIRST.with_columns(age=pl.Series([1, 8, 2, 9]))
    with pytest.raises(LimitBroken) as refused:
        series.publish(moved)
    said = str(refused.value)
    assert (
        "Tried: as the first release of a new series with k=4 the view would pass; `republish init " in said
    )
    assert "does not count the releases of this one" in said
    assert len(series.records) == 1


def test_larger_groups_that_would_be_refused_too_are_not_offered(tmp_path: Path) -> None:
    gate = Gate(attacks=("intersection",), max_mean_confidence=0.2)
    strict = Series.create(tmp_path / "s", SCHEMA, Mondrian(2), seed=1, one_table=True, gate=gate)
    assert strict.publish(FIRST, dry_run=True).remedy == ""


def test_a_command_says_all_of_a_policy_that_is_not_as_usual(tmp_path: Path) -> None:
    gate = Gate(attacks=("linear",), compromised=0.1, cascade=False, max_determined=0.5)
    made = Series.create(
        tmp_path / "s",
        SCHEMA,
        ValueBlind(size=20, n=4, m=2),
        gate=gate,
        form=TwoTables(k=3, presence="public"),
    )
    (_, publisher), *_ = larger(made.publisher)
    words = shlex.split(
        init_command(replace(made.policy, publisher=publisher), Path(f"{made.root}-2"), made.root, made.root)
    )
    assert CliRunner().invoke(app, words[1:]).exit_code == 0
    begun = Series.open(f"{made.root}-2").policy
    assert (begun.publisher, begun.gate, begun.form) == (
        publisher.in_two_tables(),
        made.policy.gate,
        made.policy.form,
    )


def test_a_publisher_that_cannot_place_newcomers_offers_to_hold_them(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "m", SCHEMA, MInvariance(2), seed=1)
    series.publish(FIRST)
    alike = NEW.with_columns(dx=pl.lit("a"))
    with pytest.raises(CannotPublish, match=OFFER):
        series.publish(pl.concat([FIRST, alike]))
    assert series.publish(pl.concat([FIRST, alike]), hold_newcomers=True).waiting == 2
    assert series.verify().holds


def test_a_first_release_has_nobody_else(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "f", SCHEMA, Mondrian(2), one_table=True)
    with pytest.raises(CannotPublish, match="nobody in the view was in a release before"):
        series.publish(FIRST, hold_newcomers=True)


def test_the_command_holds_newcomers(series: Series, tmp_path: Path) -> None:
    view = tmp_path / "v.csv"
    pl.concat([FIRST, NEW]).write_csv(view)
    tried = CliRunner().invoke(app, ["publish", str(series.root), str(view), "--dry-run"])
    assert tried.exit_code == 1 and OFFER in " ".join(tried.output.split())
    assert (
        CliRunner().invoke(app, ["publish", str(series.root), str(view), "--hold-newcomers"]).exit_code == 0
    )
    assert len(Series.open(series.root).records) == 2
    history = CliRunner().invoke(app, ["history", str(series.root), "--json"])
    assert [line.get("waiting") for line in json.loads(history.output)["releases"]] == [None, 2]
    assert "to come" in CliRunner().invoke(app, ["history", str(series.root)]).output


def test_newcomers_are_held_in_one_process_only(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "e", SCHEMA, Mondrian(2), one_table=True)
    series.publish(FIRST)
    from republish.parts.in_process import Here

    with pytest.raises(PolicyError, match="newcomers are held in one process only; publish without --engine"):
        series.publish(FIRST, engine=Here(), hold_newcomers=True)
