"""JS-reduce: what every group satisfies, what becomes of the rest, what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.adversary import Adversary, entropy
from knowledge.random_knowledge import random_knowledge
from publishers.believing import SCHEMA, SECRET, Options, Walk, promised, random_frame
from republish import LDiversity, PolicyError, Schema, read_schema, read_view
from republish.datasets import hospital
from republish.knowledge import Extracted, Knowledge, read_knowledge
from republish.memory.memory import Memory
from republish.publishers import JSReduce, make_publisher


def walk_of(publisher: JSReduce, knowledge: Knowledge | None) -> Walk:
    kept = promised(publisher)
    adversary = None if knowledge is None else Adversary(knowledge, publisher.form)
    viewed = publisher.against == "view"
    t = kept["view-t" if viewed else "t"]
    return Walk(publisher, kept["similarity"], int(kept["k"]), t=t, adversary=adversary, against_view=viewed)


@given(st.integers(0, 2**32), Options, st.sampled_from([0.3, 0.6]), st.integers(1, 3))
@settings(max_examples=40)
def test_every_group_keeps_what_is_declared(
    seed: int, options: dict[str, object], t: float, order: int
) -> None:
    """k, t and the divergence are recomputed from the published rows and by a plain adversary."""
    knowledge = random_knowledge(seed, m=3, order=order, gaps=0.2)
    rng = np.random.default_rng(seed)
    publisher = JSReduce(t=t, knowledge=knowledge, **options)  # type: ignore[arg-type]
    walk = walk_of(publisher, knowledge)
    walk.values = knowledge.values.rename("")
    for _ in range(3):
        grouping = walk.publish(random_frame(rng))
        assert not grouping.counterfeits or options["rest"] == "counterfeit"


@given(st.integers(0, 2**32), Options)
@settings(max_examples=15)
def test_counted_knowledge_serves_as_well(seed: int, options: dict[str, object]) -> None:
    rng = np.random.default_rng(seed)
    walk = walk_of(JSReduce(t=0.6, **options), None)  # type: ignore[arg-type]
    for m in (2, 3, 4):
        walk.publish(random_frame(rng, m=m))
    assert walk.memory.counts is not None


def left_out(publisher: JSReduce, schema: Schema, views: list[pl.DataFrame]) -> list[int]:
    """How many rows of every view are left out."""
    walk, found = walk_of(publisher, None), []
    walk.schema = schema
    for view in views:
        found.append(walk.publish(view).suppressed)
    return found


def test_the_paper_collapses_where_the_default_does_not(tmp_path: Path) -> None:
    """Once a run of rows violates j the greedy walk does not recover."""
    hospital(views=4, rows=300, seed=11).write(tmp_path)
    schema = read_schema(tmp_path / "schema.toml")
    knowledge = read_knowledge(tmp_path / "knowledge", schema)
    views = [pl.read_csv(view, infer_schema=False) for view in sorted((tmp_path / "views").iterdir())]
    assert sum(left_out(JSReduce.as_published(knowledge=knowledge), schema, views)) > 250
    assert sum(left_out(JSReduce(knowledge=knowledge), schema, views)) == 0


def test_as_published_is_the_paper() -> None:
    made = JSReduce.as_published(k=4, t=0.3, j=0.2, steps=1)
    assert (made.k, made.t, made.j, made.steps) == (4, 0.3, 0.2, 1)
    assert (made.cut, made.rest, made.crowd, made.keep) == ("greedy", "suppress", 0.0, 0.0)
    assert (made.order, made.posterior, made.form) == ("hilbert", "omega", "product")
    assert [r.text for r in made.requirements] == ["k=4"]
    assert made.series_promises == ("similarity=0.2", "view-t=0.3")


# The rest ----------------------------------------------------------------------------------------


def two_kinds(left: int = 1) -> tuple[pl.DataFrame, Knowledge]:
    """Men who never have v0, and among them, at the end, women who always have; nothing unites them under a small j."""
    values = pl.Series("result", ["v0", "v1"])
    knowledge = Knowledge(values, random_knowledge(0).classes, np.array([[0.9, 0.1], [0.3, 0.7]]))
    men = 8
    frame = pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(men + left)],
            "age": list(range(20, 20 + men + left)),
            "sex": ["M"] * men + ["F"] * left,
            "town": ["n"] * (men + left),
            "result": ["v0", "v1"] * (men // 2) + ["v0"] * left,
        }
    )
    return frame, knowledge


def published(rest: str, j: float, left: int = 1, **options: object) -> tuple[JSReduce, np.ndarray, int]:
    """The publisher, the groups in the order of age, and how many counterfeits there are."""
    frame, knowledge = two_kinds(left)
    options = {"k": 2, "t": 0.9, "j": j, "crowd": 0.0, "rest": rest, "knowledge": knowledge, **options}
    publisher = JSReduce(**options)  # type: ignore[arg-type]
    walk = walk_of(publisher, knowledge)
    grouping = walk.publish(frame)
    view = read_view(frame, SCHEMA).pseudonymous(SECRET)
    return publisher, grouping.group[np.argsort(view.points[0])], grouping.counterfeits


def test_suppress_leaves_the_rest_out() -> None:
    _, group, fakes = published("suppress", 0.01)
    assert (group < 0).tolist() == [False] * 8 + [True]
    assert fakes == 0


def test_insert_takes_in_whom_a_group_admits() -> None:
    assert published("insert", 0.01)[1][-1] == -1
    assert sorted(published("insert", 0.3, cut="greedy")[1].tolist()) == [0, 0, 1, 1, 2, 2, 3, 3, 3]
    assert sorted(published("suppress", 0.3, cut="greedy")[1].tolist()) == [-1, 0, 0, 1, 1, 2, 2, 3, 3]


def test_relax_groups_the_rest_under_eased_bounds_and_says_so() -> None:
    publisher, group, _ = published("relax", 0.2, slack=1.5, left=3)
    assert publisher.series_promises == ("similarity=0.3",)
    assert [r.text for r in publisher.requirements] == ["k=2", "t=1"]
    assert (group >= 0).all()


def test_relax_may_ease_k_and_says_so() -> None:
    """Two women under j for three: groups of 3 hold the men, and the women are a group of their own."""
    publisher, group, _ = published("relax", 0.01, slack=1.0, left=2, k=3, least_k=2)
    assert [r.text for r in publisher.requirements] == ["k=2", "t=0.9"]
    assert (group >= 0).all()
    assert group[8] == group[9] and (group[:8] != group[8]).all()
    assert (published("relax", 0.01, slack=1.0, left=2, k=3)[1][8:] == -1).all()


def test_counterfeit_puts_a_row_in_the_nearest_group_for_each_left_out() -> None:
    _, group, fakes = published("counterfeit", 0.01)
    assert (group < 0).tolist() == [False] * 8 + [True]
    assert fakes == 1


@pytest.mark.parametrize("against, left", [("release", 4), ("view", 2)])
def test_a_group_that_no_longer_resembles_the_table_is_left_out_too(against: str, left: int) -> None:
    """t is kept against the published rows, of which some are left out, or against the view, once."""
    frame, knowledge = two_kinds(left=6)
    frame = frame.with_columns(result=pl.Series([f"v{code}" for code in "11000000100000"]))
    options = {"k": 2, "t": 0.3, "j": 0.01, "crowd": 0.0, "rest": "suppress", "cut": "greedy"}
    publisher = JSReduce(knowledge=knowledge, against=against, **options)  # type: ignore[arg-type]
    assert walk_of(publisher, knowledge).publish(frame).suppressed == left


# Corners -----------------------------------------------------------------------------------------


def test_one_row_is_left_out() -> None:
    walk = walk_of(JSReduce(), None)
    assert walk.publish(random_frame(np.random.default_rng(0), names=1, share=1.0)).suppressed == 1


def test_nobody_comes_and_then_somebody() -> None:
    walk = walk_of(JSReduce(k=2, t=1.0), None)
    rng = np.random.default_rng(0)
    assert walk.publish(random_frame(rng, share=0.0)).groups == 0
    assert walk.publish(random_frame(rng)).suppressed == 0
    assert walk.publish(random_frame(rng, share=0.0)).groups == 0
    assert walk.publish(random_frame(rng)).suppressed == 0


def test_equal_rows_are_one_crowd_or_several() -> None:
    same = pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(40)],
            "age": [30] * 40,
            "sex": ["F"] * 40,
            "town": ["n"] * 40,
            "result": ["v0", "v1"] * 20,
        }
    )
    assert walk_of(JSReduce(crowd=40.0), None).publish(same).groups == 1
    several = walk_of(JSReduce(k=4, crowd=0.0), None).publish(same)
    assert (several.suppressed, np.bincount(several.group).min()) == (0, 4)


def test_a_crowd_larger_than_the_view_is_the_view() -> None:
    walk = walk_of(JSReduce(crowd=1000.0, t=1.0, j=5.0), None)
    assert walk.publish(random_frame(np.random.default_rng(0))).groups == 1


def aged(ages: list[int], result: str = "v0") -> pl.DataFrame:
    """Women of one town with these ages and one value."""
    return pl.DataFrame({"age": ages}).select(
        id=pl.Series([f"p{i}" for i in range(len(ages))]),
        age="age",
        sex=pl.lit("F"),
        town=pl.lit("n"),
        result=pl.lit(result),
    )


@pytest.mark.parametrize("keep, together", [(0.0, [3, 3]), (5.0, [2, 2, 2])])
def test_people_stay_together_where_parting_has_a_price(keep: float, together: list[int]) -> None:
    """Three pairs; then two of different pairs move apart, and triples are the cheaper groups."""
    walk = walk_of(JSReduce(k=2, t=1.0, j=5.0, crowd=0.0, keep=keep), None)
    assert np.bincount(walk.publish(aged([1, 2, 11, 12, 21, 22])).group).tolist() == [2, 2, 2]
    assert np.bincount(walk.publish(aged([1, 2, 3, 20, 21, 22])).group).tolist() == together


def test_groups_grow_as_beliefs_sharpen() -> None:
    """All had the same value, which hardly ever changes: each counts half as much as somebody new."""
    table = np.array([[[[0.99, 0.01], [0.01, 0.99]]]] * 2)
    even = np.full((2, 2), 0.5)
    knowledge = Knowledge(pl.Series("result", ["v0", "v1"]), random_knowledge(0).classes, even, table, 1)
    walk = walk_of(JSReduce(k=2, t=1.0, j=5.0, crowd=4.0, keep=0.0, knowledge=knowledge), knowledge)
    walk.values = knowledge.values.rename("")
    assert np.bincount(walk.publish(aged(list(range(16)))).group).tolist() == [4] * 4
    weight = 2 ** (entropy([0.99, 0.01]) - 1)
    assert 7 < 4 / weight < 8
    assert np.bincount(walk.publish(aged(list(range(16)))).group).tolist() == [8] * 2


def test_knowledge_of_other_values_is_spread_over_those_there_are() -> None:
    other = Knowledge(pl.Series("result", ["gone", "v1"]), random_knowledge(0).classes, np.full((2, 2), 0.5))
    walk = walk_of(JSReduce(k=2, t=1.0, knowledge=other), None)
    walk.publish(random_frame(np.random.default_rng(0)))
    view = read_view(random_frame(np.random.default_rng(0)), SCHEMA, walk.values).pseudonymous(SECRET)
    reasoning = walk.publisher.reasoning  # type: ignore[attr-defined]
    prior = reasoning.thoughts(reasoning.respondents(view), Memory.empty()).prior
    assert prior[0] == pytest.approx([1 / 3] * 3)


def test_more_requirements_are_kept_too() -> None:
    publisher = make_publisher("js-reduce", {"k": "2", "crowd": "0"}, (LDiversity(2),))
    assert [r.text for r in publisher.requirements] == ["k=2", "t=0.5", "l=2"]
    view = read_view(random_frame(np.random.default_rng(1)), SCHEMA).pseudonymous(SECRET)
    grouping = publisher.publish(view, Memory.empty(), np.random.default_rng(0))
    for g in range(grouping.groups):
        assert len(set(view.codes[grouping.group == g].tolist())) >= 2


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"k": 0}, "k must be a whole number"),
        ({"t": 1.5}, "t must lie between 0 and 1"),
        ({"j": 0}, "j must be above 0"),
        ({"j": float("nan")}, "j must be a finite number"),
        ({"slack": 0.5}, "slack must be at least 1"),
        ({"least_k": 4}, "least_k, .* must lie between 2 and k"),
        ({"least_k": 1}, "least_k, .* must lie between 2 and k"),
        ({"distance": "far"}, "distance must be one of js, ks"),
        ({"against": "world"}, "against must be one of release, view"),
        ({"crowd": -1}, "crowd must be at least 0"),
        ({"crowd": "many"}, "crowd must be a finite number"),
        ({"keep": float("inf")}, "keep must be a finite number"),
        ({"order": "random"}, "order must be one of hilbert, nearest"),
        ({"cut": "some"}, "cut must be one of optimal, greedy"),
        ({"rest": "forget"}, "rest must be one of insert, suppress, relax, counterfeit"),
        ({"posterior": "guess"}, "posterior must be one of"),
        ({"form": "path"}, "form must be one of"),
        ({"steps": "many"}, "steps must be full or a whole number from 0"),
        ({"steps": -1}, "steps must be full or a whole number from 0"),
        ({"steps": True}, "steps must be full or a whole number from 0"),
        ({"require": ("l=2",)}, "require must list requirements"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        JSReduce(**wrong)  # type: ignore[arg-type]


def test_texts_become_parameters() -> None:
    made = make_publisher("js-reduce", {"steps": "1", "j": "0.2", "k": "4"})
    assert isinstance(made, JSReduce)
    assert (made.steps, made.j, made.k) == (1, 0.2, 4)
    assert isinstance(made.knowledge, Extracted)
    with pytest.raises(PolicyError, match="mondrian makes no use of knowledge; bayframe and js-reduce do"):
        make_publisher("mondrian", {}, (), Extracted())
