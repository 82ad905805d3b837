"""What a policy refuses before a series is made."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import polars as pl
import pytest

from republish import (
    BangA,
    BayFrame,
    Category,
    Cohorts,
    CorSplit,
    JSReduce,
    MInvariance,
    Mondrian,
    Number,
    PolicyError,
    Schema,
    Series,
    TauSafety,
    ValueBlind,
)
from republish.policy import SITUATION, Policy, policy_from_mapping
from republish.publishers import Publisher
from republish.publishing.limits import limits_of
from republish.release.forms import TwoTables
from republish.requirements import LDiversity, Requirement
from republish.schema import Column, Ordered
from republish.schema.files import schema_to_mapping
from republish.tune.situation import QUESTIONS

DOMAIN = ("a", "b", "c", "d", "e")


@pytest.mark.parametrize("publisher", [MInvariance(6), TauSafety(6), CorSplit(6, 3)])
@pytest.mark.parametrize("column", [Category("dx", domain=DOMAIN), Ordered("dx", order=DOMAIN)])
def test_m_above_a_closed_domain_makes_no_series(
    tmp_path: Path, publisher: Publisher, column: Column
) -> None:
    schema = Schema("id", [Number("age")], column)
    with pytest.raises(
        PolicyError,
        match=r"needs 6 values for groups of m=6 .* the schema lists 5 for dx; choose a smaller m",
    ):
        Series.create(tmp_path / "s", schema, publisher)
    assert not (tmp_path / "s").exists()


def test_signatures_apart_need_twice_m_values(tmp_path: Path) -> None:
    schema = Schema("id", [Number("age")], Category("dx", domain=DOMAIN))
    with pytest.raises(PolicyError, match=r"needs 6 values for a new signature .* lists 5 .*signatures=any"):
        Series.create(tmp_path / "s", schema, TauSafety(3, signatures="equal-or-disjoint"))
    Series.create(tmp_path / "s", schema, TauSafety(2, signatures="equal-or-disjoint"))


@pytest.mark.parametrize(
    ("publisher", "column"),
    [
        (TauSafety(5), Category("dx", domain=DOMAIN)),
        (TauSafety(6), Category("dx")),
        (TauSafety(6), Number("dx", domain=(1, 5))),
        (Mondrian(6), Category("dx", domain=DOMAIN)),
    ],
)
def test_what_may_suffice_is_accepted(tmp_path: Path, publisher: Publisher, column: Column) -> None:
    Series.create(tmp_path / "s", Schema("id", [Number("age")], column), publisher)


@pytest.mark.parametrize(
    ("publisher", "limits", "others"),
    [
        (MInvariance(2), 1, 0),
        (TauSafety(2), 0, 1),
        (CorSplit(2, 2), 0, 0),
        (Cohorts(2, 4, 2, max_determined=0.9), 0, 1),
    ],
)
def test_about_says_what_m_invariance_and_its_kin_do_not_promise(
    tmp_path: Path, publisher: Publisher, limits: int, others: int
) -> None:
    series = Series.create(tmp_path / "s", Schema("id", [Number("age")], "dx"), publisher)
    series.publish(pl.DataFrame({"id": ["p", "q"], "age": [1, 2], "dx": ["flu", "cold"]}))
    about = json.loads((tmp_path / "s/releases/0001/about.json").read_text(encoding="utf-8"))
    said = about["not_promised_over_the_series"]
    words = (
        "becomes certain",
        "follow each other",
        "where counterfeits stand in",
        "come back",
        "for the first time",
    )
    assert [sum(word in limit for limit in said) for word in words] == [1, 1, 1, limits, others]


@pytest.mark.parametrize("kind", [MInvariance, TauSafety, CorSplit, Cohorts])
def test_a_policy_that_says_nothing_of_membership_is_older_and_means_nearest(
    tmp_path: Path, kind: type[Publisher]
) -> None:
    schema = Schema("id", [Number("age")], "dx")
    said = {
        way: Policy(schema, kind(membership=way), 0).document()["publisher"] for way in ("random", "nearest")
    }
    assert said["random"] == said["nearest"] | {"membership": "random"}
    for way, publisher in said.items():
        read = policy_from_mapping(
            {"publisher": publisher, "schema": schema_to_mapping(schema, {})}, tmp_path
        )
        assert read.publisher == kind(membership=way)
    assert kind() == kind(membership="random")


@pytest.mark.parametrize(("way", "told"), [("random", 0), ("nearest", 1)])
def test_about_says_what_membership_by_distance_tells(tmp_path: Path, way: str, told: int) -> None:
    series = Series.create(
        tmp_path / "s", Schema("id", [Number("age")], "dx"), MInvariance(2, membership=way)
    )
    series.publish(pl.DataFrame({"id": ["p", "q"], "age": [1, 2], "dx": ["flu", "cold"]}))
    about = json.loads((tmp_path / "s/releases/0001/about.json").read_text(encoding="utf-8"))
    said = about["not_promised_over_the_series"]
    assert sum("an adversary who knows the program" in limit for limit in said) == told
    assert (series.policy.publisher.told_by_choices is None) == (told == 0)


@pytest.mark.parametrize(("insensitive", "said"), [((), 5), (("ward",), 6)])
def test_about_says_what_value_blind_batches_do_not_hide_and_how_to_read_their_clocks(
    tmp_path: Path, insensitive: tuple[str, ...], said: int
) -> None:
    schema = Schema("id", [Number("age")], "dx", insensitive=insensitive)
    series = Series.create(tmp_path / "s", schema, ValueBlind(size=20, m=2), form=TwoTables(2))
    frame = pl.DataFrame({"id": range(20), "age": range(20), "dx": ["flu", "cold"] * 10, "ward": ["a"] * 20})
    series.publish(frame.select(schema.columns))
    about = json.loads((tmp_path / "s/releases/0001/about.json").read_text(encoding="utf-8"))
    limits = about["not_promised_over_the_series"]
    assert len(limits) == said
    for word in (
        "learned elsewhere",
        "follow each other",
        "deceased",
        "waits for a reason in its values",
        "Zones that are one batch",
    ):
        assert sum(word in limit for limit in limits) == 1
    assert "waiting is how many" in about["form"]["batches.csv"] and "(held)" in about["form"]["values"]


@pytest.mark.parametrize(("domain", "told"), [(None, True), (DOMAIN, False)])
def test_about_says_that_counterfeits_do_not_hide_new_values(
    tmp_path: Path, domain: tuple[str, ...] | None, told: bool
) -> None:
    schema = Schema("id", [Number("age")], Category("dx", domain=domain))
    series = Series.create(tmp_path / "s", schema, TauSafety(2))
    values = list(DOMAIN)[:2]
    series.publish(pl.DataFrame({"id": ["p", "q"], "age": [1, 2], "dx": values}))
    about = json.loads((tmp_path / "s/releases/0001/about.json").read_text(encoding="utf-8"))
    assert any("for the first time" in limit for limit in about["not_promised_over_the_series"]) == told


@pytest.mark.parametrize(
    ("require", "said"),
    [((), [True, True, False]), ((LDiversity(2),), [True, True, True])],
    ids=["k alone", "l too"],
)
def test_about_says_what_batches_that_are_cut_do_not_promise(
    tmp_path: Path, require: tuple[Requirement, ...], said: list[bool]
) -> None:
    schema = Schema("id", [Number("age")], "dx")
    series = Series.create(tmp_path / "s", schema, Mondrian(2, require), form=TwoTables(2))
    series.publish(pl.DataFrame({"id": ["p", "q"], "age": [1, 2], "dx": ["flu", "cold"]}))
    about = json.loads((tmp_path / "s/releases/0001/about.json").read_text(encoding="utf-8"))
    found = about["not_promised_over_the_series"]
    beginnings = (
        "Of sensitive values nothing",
        "Batches are cut anew",
        "Where batches are cut depends on values",
    )
    assert [any(limit.startswith(begin) for limit in found) for begin in beginnings] == said
    assert about["promised_over_the_series"] == ["kept-cuts"]


def test_about_says_of_whom_nothing_is_promised_against_event_lists(tmp_path: Path) -> None:
    schema = Schema("id", [Number("age")], "dx")
    series = Series.create(tmp_path / "s", schema, JSReduce(2, 0.9, withstand=0.5, event_lists=True))
    series.publish(pl.DataFrame({"id": range(6), "age": range(6), "dx": ["flu", "cold"] * 3}))
    about = json.loads((tmp_path / "s/releases/0001/about.json").read_text(encoding="utf-8"))
    assert sum("foreseen" in one for one in about["not_promised_over_the_series"]) == 1


@pytest.mark.parametrize(("withstand", "said"), [(0.0, 2), (0.5, 1)])
def test_about_says_how_sure_somebody_is_who_weighs_all_releases(
    tmp_path: Path, withstand: float, said: int
) -> None:
    schema = Schema("id", [Number("age")], "dx")
    series = Series.create(tmp_path / "s", schema, JSReduce(2, 0.9, withstand=withstand))
    series.publish(pl.DataFrame({"id": range(6), "age": range(6), "dx": ["flu", "cold"] * 3}))
    about = json.loads((tmp_path / "s/releases/0001/about.json").read_text(encoding="utf-8"))
    limits = about["not_promised_over_the_series"]
    assert [sum(word in one for one in limits) for word in ("weighs them together", "changed when")] == [
        said - 1,
        1,
    ]
    assert sum("of the way there" in one for one in limits) == said - 1  # it goes on from the sentence before
    assert sum("nothing is promised any more" in one for one in limits) == 2 - said


def said_of(publisher: Publisher, form: TwoTables | None = None) -> list[str]:
    """What a series does not promise, by the policy alone."""
    return limits_of(Policy(Schema("id", [Number("age")], "dx"), publisher, 0, form=form))


@pytest.mark.parametrize(
    ("publisher", "early", "mended", "margin"),
    [
        (JSReduce(), 0, 0, 1),
        (BayFrame(), 0, 0, 1),
        (JSReduce.as_published(), 1, 0, 0),
        (BayFrame.as_published(), 1, 0, 0),
        (JSReduce(withstand=0.5), 0, 1, 0),
        (JSReduce(cut="greedy", withstand=0.5), 1, 1, 0),
    ],
)
def test_publishers_that_cut_an_order_say_what_the_program_tells(
    publisher: Publisher, early: int, mended: int, margin: int
) -> None:
    said = " ".join(said_of(publisher))
    words = (
        "ends as soon as its values allow it",
        "so that withstand holds depends on values",
        "Where a limit binds",
    )
    assert [said.count(word) for word in words] == [early, mended, margin]
    assert (publisher.told_by_choices is None) == bool(margin)
    assert "an adversary who knows the program" in said


@pytest.mark.parametrize(("require", "told"), [((), 0), ((LDiversity(2),), 1)])
@pytest.mark.parametrize("kind", [Mondrian, BangA])
def test_groups_of_one_table_that_must_be_diverse_say_that_a_missing_cut_tells(
    kind: type[Publisher], require: tuple[Requirement, ...], told: int
) -> None:
    said = said_of(kind(k=3, require=require))
    assert said[0].startswith("Nothing is promised over the series")
    assert (
        sum("groups are divided depends on values, for each must satisfy l=2" in one for one in said) == told
    )


@pytest.mark.parametrize(("require", "told"), [((), 0), ((LDiversity(2),), 1)])
def test_groups_that_only_grow_promise_neither_that_nothing_is_certain_nor_odds(
    require: tuple[Requirement, ...], told: int
) -> None:
    said = said_of(BangA(3, insert_only=True, require=require))
    words = ("groups only grow", "becomes certain is not promised", "follow each other", "groups are divided")
    assert [sum(word in one for one in said) for word in words] == [1, 1, 1, told]


@pytest.mark.parametrize(
    ("publisher", "held"), [(Cohorts(2, 4, 2), 1), (CorSplit(2, 2), 0), (MInvariance(2), 0)]
)
def test_cohorts_say_that_waiting_for_the_bound_can_be_seen(publisher: Publisher, held: int) -> None:
    assert sum("A cohort that does not change" in one for one in said_of(publisher)) == held


@pytest.mark.parametrize(("m", "told"), [(3, 1), (1, 0)])
def test_zones_are_joined_only_where_values_must_be_diverse(m: int, told: int) -> None:
    said = said_of(ValueBlind(size=20, m=m), TwoTables(2))
    assert sum("Zones that are one batch" in one for one in said) == told


def test_labels_may_come_after_the_first_release_and_about_tells_them(tmp_path: Path) -> None:
    bare = Policy(Schema("id", [Number("age")], "dx"), Mondrian(2), 0)
    told = Policy(Schema("id", [Number("age")], "dx", labels={"age": "Age in years"}), Mondrian(2), 0)
    assert told.document() != bare.document() and told.digest() == bare.digest()
    series = Series.create(tmp_path / "s", told.schema, Mondrian(2))
    series.publish(pl.DataFrame({"id": ["p", "q"], "age": [1, 2], "dx": ["flu", "cold"]}))
    about = json.loads((tmp_path / "s/releases/0001/about.json").read_text(encoding="utf-8"))
    assert about["columns"] == [
        {"name": "age", "role": "quasi-identifier", "kind": "number", "label": "Age in years"},
        {"name": "dx", "role": "sensitive", "kind": "category"},
    ]


def test_the_answers_by_which_a_publisher_was_chosen_stay_with_the_series(tmp_path: Path) -> None:
    schema = Schema("id", [Number("age")], Category("dx"))
    plain = Policy(schema, TauSafety(2), 1)
    assert "situation" not in plain.document()
    series = Series.create(
        tmp_path / "s", schema, TauSafety(2), seed=1, situation={"order": True, "again": True}
    )
    kept = Series.open(tmp_path / "s").policy
    assert kept.situation == {"order": True, "again": True}
    assert kept.digest() == plain.digest()  # nothing that is promised depends on it
    file = series.root / "series.toml"
    for wrong in ('order = "yes"', "colour = true"):
        with pytest.raises(
            PolicyError, match=r"\[situation\] may have again, change, back, order, one_table"
        ):
            policy_from_mapping(kept.document() | {"situation": tomllib.loads(wrong)}, series.root)
    file.write_text(file.read_text().replace("order = true", "order = false"))
    series.publish(pl.DataFrame({"id": ["a", "b"], "age": [1, 2], "dx": ["x", "y"]}))
    assert Series.open(tmp_path / "s").verify().holds


def test_the_answers_are_those_of_the_questions() -> None:
    assert [one.name for one in QUESTIONS] == list(SITUATION)
