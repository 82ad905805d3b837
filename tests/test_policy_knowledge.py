"""The policy of a publisher that thinks as an adversary: what is written, read back and refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge.random_knowledge import TWO, random_knowledge
from publishers.believing import SCHEMA
from republish import Category, Mondrian, Number, PolicyError, Schema
from republish.knowledge import Extracted, Knowledge
from republish.policy import Policy, read_policy
from republish.publishers import BayFrame, JSReduce


@given(st.integers(0, 2**32), st.integers(1, 3))
@settings(max_examples=15)
def test_a_policy_is_read_back_with_its_knowledge(
    tmp_path_factory: pytest.TempPathFactory, seed: int, order: int
) -> None:
    folder = tmp_path_factory.mktemp("policy")
    policy = Policy(SCHEMA, JSReduce(steps=1, knowledge=random_knowledge(seed, order=order)), 3)
    policy.write(folder)
    again = read_policy(folder)
    assert again.digest() == policy.digest()
    assert again.document() == policy.document()
    assert again.reasoning is not None and again.reasoning.steps == 1


ENDING = random_knowledge(1, terminal=(0,))


@pytest.mark.parametrize(
    "source",
    [
        Extracted(),
        Extracted(3, TWO, ("v0",), 2.0),
        Extracted(2, TWO, prior=ENDING),
        Extracted(2, TWO, sequential=ENDING),
    ],
)
def test_so_is_knowledge_that_will_be_counted(tmp_path: Path, source: Extracted) -> None:
    policy = Policy(SCHEMA, BayFrame(cascade="posterior", knowledge=source), 3)
    policy.write(tmp_path)
    again = read_policy(tmp_path)
    assert again.digest() == policy.digest()
    assert isinstance(again.knowledge, Extracted)
    assert again.reasoning is not None and again.reasoning.cascade == "posterior"


def test_knowledge_of_which_both_parts_are_given_is_not_counted() -> None:
    with pytest.raises(PolicyError, match="nothing is counted"):
        Extracted(2, TWO, prior=ENDING, sequential=random_knowledge(2))


def test_other_knowledge_is_another_policy() -> None:
    base = Policy(SCHEMA, JSReduce(knowledge=random_knowledge(1)), 3)
    digests = {base.digest()}
    digests.add(replace(base, publisher=JSReduce(knowledge=random_knowledge(2))).digest())
    digests.add(replace(base, publisher=JSReduce(knowledge=Extracted())).digest())
    digests.add(replace(base, publisher=JSReduce(knowledge=Extracted(1))).digest())
    digests.add(replace(base, publisher=JSReduce(knowledge=random_knowledge(1), form="product")).digest())
    assert len(digests) == 5


def test_a_publisher_that_does_not_think_has_no_knowledge(tmp_path: Path) -> None:
    policy = Policy(SCHEMA, Mondrian(), 1)
    policy.write(tmp_path)
    assert policy.knowledge is policy.reasoning is None
    assert "knowledge" not in policy.document()
    assert not (tmp_path / "knowledge").exists()


def test_classes_must_fit_the_schema() -> None:
    known = Knowledge(pl.Series("result", ["v0"]), TWO, np.ones((2, 1)))
    with pytest.raises(PolicyError, match="the schema has none called sex"):
        Policy(Schema("id", [Number("age")], "result"), JSReduce(knowledge=known), 1)
    with pytest.raises(PolicyError, match="class column sex"):
        Policy(Schema("id", [Number("sex")], "result"), JSReduce(knowledge=Extracted(2, TWO)), 1)


def test_a_sensitive_column_is_needed() -> None:
    with pytest.raises(PolicyError, match="needs a sensitive column"):
        Policy(Schema("id", [Category("town")]), JSReduce(), 1)


@pytest.mark.parametrize(
    "section", ['"knowledge"', "3", "{path = 3}", '{path = "knowledge", more = 1}', "{}"]
)
def test_a_knowledge_section_has_a_path_alone(tmp_path: Path, section: str) -> None:
    Policy(SCHEMA, JSReduce(), 1).write(tmp_path)
    text = (tmp_path / "series.toml").read_text()
    lines = text.replace('[knowledge]\npath = "knowledge"\n', "")
    (tmp_path / "series.toml").write_text(f"knowledge = {section}\n{lines}")
    with pytest.raises(PolicyError, match="has one setting: path"):
        read_policy(tmp_path)


def test_knowledge_that_is_gone_is_missed(tmp_path: Path) -> None:
    Policy(SCHEMA, JSReduce(), 1).write(tmp_path)
    (tmp_path / "knowledge" / "knowledge.toml").unlink()
    with pytest.raises(PolicyError, match=r"knowledge\.toml"):
        read_policy(tmp_path)
