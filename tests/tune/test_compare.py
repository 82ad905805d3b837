"""Publishers side by side: what each gives away, what is recommended by which answers, and the gate that passes."""

from __future__ import annotations

import numpy as np
import pytest

from republish import Answers, Mondrian, Recommendation, TauSafety, ValueBlind, recommend
from republish.attacks import Adversary, attack
from republish.policy import Policy
from republish.release.forms import TwoTables
from republish.tune.compare import COMPROMISED, TriedPolicy, compared, determined
from republish.tune.rehearsal import Rehearsal
from republish.tune.views import past_views
from tune.panel import SCHEMA, panel

VIEWS = panel(120, 3)


@pytest.fixture(scope="module")
def usual() -> Recommendation:
    return recommend(VIEWS, SCHEMA)


def test_the_recommended_line_is_the_first_and_gives_least_away(usual: Recommendation) -> None:
    first, *others = usual.compared
    assert first.recommended and not any(line.recommended for line in others)
    assert first.publisher == usual.publisher and isinstance(usual.publisher, ValueBlind)
    assert first.worst == 0.0
    assert {line.publisher.name for line in others} == {"tau-safety", "cohorts", "mondrian"}
    alone = next(line for line in others if line.publisher.name == "mondrian")
    assert alone.worst == max(alone.found.values()) > 0.3


def test_what_was_compared_is_said(usual: Recommendation) -> None:
    assert "note: compared on 8 views, 5 of them simulated" in usual.notes
    assert usual.as_dict()["compared"][0]["recommended"] is True
    assert usual.as_dict()["answers"]["again"] == "yes"


def test_the_recommended_gate_was_tried(usual: Recommendation) -> None:
    assert usual.gate is not None
    assert (usual.gate.attacks, usual.gate.compromised) == (("linear",), 0.04)
    assert usual.gate.max_determined == 0.01


def test_what_is_published_once_is_one_table_and_its_repetition_is_told() -> None:
    found = recommend(VIEWS[:1], SCHEMA, answers=Answers(again=False))
    assert isinstance(found.publisher, Mondrian) and found.form is None and found.gate is None
    assert [one.text for one in found.publisher.require] == ["l=3"]
    assert "what would be found out were it published again" in found.notes[-1]
    assert found.compared[0].recommended and found.compared[0].worst > 0.3


def test_who_needs_one_table_is_told_what_it_gives_away() -> None:
    found = recommend(VIEWS, SCHEMA, answers=Answers(one_table=True))
    assert found.form is None and found.publisher.name in ("tau-safety", "cohorts")
    assert found.compared[0].faked <= 0.25
    assert (
        found.why[-1].startswith("one table was asked for: ")
        and "two tables (value-blind) 0.0%" in found.why[-1]
    )


def test_where_values_follow_an_order_who_knows_it_is_let_loose_too() -> None:
    found = recommend(VIEWS, SCHEMA, answers=Answers(order=True))
    assert all("order" in line.found for line in found.compared if not line.refused)
    assert any(line.publisher.name == "js-reduce" for line in found.compared)
    assert any(
        note.startswith("note: the answer order=yes is not what the views say: of ") for note in found.notes
    )


def test_an_order_cannot_be_learned_from_one_view_and_it_is_said() -> None:
    found = recommend(VIEWS[:1], SCHEMA, answers=Answers(order=True))
    assert "learned from at least two past views, and there is one" in found.why[-1]


def test_answers_make_batches_closed() -> None:
    found = recommend(panel(600, 1), SCHEMA, answers=Answers(change=False, back=False), compared=False)
    assert found.answers.change is False
    assert (
        "closed batches, for so it was answered" in found.why[1]
        or "open batches, for of so few" in found.why[1]
    )


def test_a_publisher_that_cannot_publish_the_views_says_why() -> None:
    views = past_views(VIEWS, SCHEMA).past
    line = compared(TriedPolicy(Mondrian(500), None), views, None)
    assert line.refused and not line.found and line.as_dict()["worst"] is None


def test_a_rehearsal_is_attacked_as_a_series_is() -> None:
    """The quick attack finds who is determined as the whole one does."""
    views = past_views(VIEWS, SCHEMA).past
    series = Rehearsal.of(Policy(SCHEMA, TauSafety(2), 0), views)
    (whole,) = attack(series, Adversary(compromised=COMPROMISED), ["linear"])
    assert whole.summary.determined_share is not None and whole.summary.determined_share > 0
    assert determined(series, 3, 0) == pytest.approx(whole.summary.determined_share)


def test_a_rehearsal_in_two_tables_remembers() -> None:
    views = past_views(VIEWS, SCHEMA).past
    series = Rehearsal.of(Policy(SCHEMA, ValueBlind(size=60, m=2), 0, form=TwoTables()), views)
    assert [one.rows for one in series.made] == [view.height for view in VIEWS]
    assert series.memory.size == len(np.unique(np.concatenate([view["person"].to_numpy() for view in VIEWS])))
