"""The belief attack against enumeration, on the papers' example, and on a stored series."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks.histories import Series as Example
from attacks.histories import array, random_history
from republish import PolicyError, Series, read_schema
from republish.attacks import (
    Adversary,
    BeliefResult,
    History,
    Register,
    Table,
    Told,
    attack_beliefs,
    beliefs,
    granted_view,
    history_of,
    register_of,
)
from republish.attacks.believing.beliefs import walk
from republish.attacks.confidence import Sureness, absolute_gain, signed_gain
from republish.inference import CHANGED, UNTOLD, Reasoning
from republish.knowledge import Bands, Classes, Extracted, Knowledge, Listed, learn, read_knowledge
from republish.memory.memory import Memory
from republish.microdata import read_view
from republish.publishers.js_reduce import JSReduce
from republish.publishing.maintenance import forget

TWO = Classes((Listed("sex", ("F", "M")),))


def random_knowledge(seed: int, values: int, order: int, classes: Classes = TWO) -> Knowledge:
    """Any chances, none of them 0."""
    rng = np.random.default_rng(seed)
    names = pl.Series("value", [f"v{i}" for i in range(values)])
    prior = rng.dirichlet(np.ones(values), classes.count)
    table = rng.dirichlet(np.full(values, 0.3), (classes.count, (values + 1) ** max(order - 1, 0), values))
    table = 0.99 * table + 0.01 / values
    return Knowledge(names, classes, prior, table if order else None, order)


def whole_register(history: History, knowledge: Knowledge, seed: int) -> Register:
    """Everyone in every view, in any order and class; those left out too, with any codes."""
    assert history.events is not None
    assert history.truth is not None
    rng = np.random.default_rng(seed)
    person, codes = [], []
    for i in range(history.releases):
        here = np.flatnonzero(history.events.run[:, i] >= 0)
        here = rng.permutation(here)
        known = dict(
            zip(history.person[history.release == i], history.truth[history.release == i], strict=True)
        )
        person.append(here)
        codes.append(array([known.get(who, rng.integers(knowledge.size)) for who in here]))
    classes = tuple(rng.integers(0, knowledge.classes.count, len(who)) for who in person)
    return Register(knowledge.values, tuple(person), classes, tuple(codes))


def naive_walk(
    history: History, knowledge: Knowledge, register: Register, told: np.ndarray
) -> Iterator[np.ndarray]:
    """The posteriors of everyone in the register: beliefs as dictionaries, groups by all their bijections.

    Of whoever is `told` [release, person] the value is certain. Where the register says whether values changed, other
    steps weigh nothing.
    """
    m, order = knowledge.size, knowledge.order
    belief: dict[int, dict[tuple[int, ...], float]] = {}
    for i in range(history.releases):
        expected, prior, after = {}, {}, {}
        codes = dict(zip(register.person[i].tolist(), register.codes[i].tolist(), strict=True))
        unknown = np.full(len(register.person[i]), UNTOLD)
        marks = dict(
            zip(
                register.person[i].tolist(),
                (unknown if register.changed is None else register.changed[i]).tolist(),
                strict=True,
            )
        )
        for who, number in zip(register.person[i].tolist(), register.classes[i].tolist(), strict=True):
            flow: dict[tuple[int, ...], float] = {}
            for context, weight in belief.get(who, {}).items():
                older = 0
                for value in context[:-1]:
                    older = older * (m + 1) + value
                for x in range(m):
                    if marks[who] != UNTOLD and (x != context[-1]) != (marks[who] == CHANGED):
                        continue
                    key = (*context[1:], x)
                    step = weight * float(knowledge.sequential[number, older, context[-1], x])  # type: ignore[index]
                    flow[key] = flow.get(key, 0.0) + step
            if not flow:
                flow = {
                    (*[m] * (order - 1), x)[-max(order, 1) :]: float(knowledge.prior[number, x])
                    for x in range(m)
                }
            expected[who] = np.array([sum(w for key, w in flow.items() if key[-1] == x) for x in range(m)])
            prior[who] = np.eye(m)[codes[who]] if told[i, who] else expected[who]
            after[who] = flow
        posterior = {who: p / p.sum() for who, p in prior.items()}
        for g in range(history.group_start[i], history.group_start[i + 1]):
            members = history.person[history.member_start[g] : history.member_start[g + 1]].tolist()
            shown = slice(history.value_start[g], history.value_start[g + 1])
            rows = np.repeat(history.value_code[shown], history.value_count[shown]).tolist()
            found = {who: np.zeros(m) for who in members}
            for handed in permutations(rows, len(members)):
                weight = float(np.prod([prior[who][x] for who, x in zip(members, handed, strict=True)]))
                for who, x in zip(members, handed, strict=True):
                    found[who][x] += weight
            posterior |= {who: p / p.sum() for who, p in found.items()}
        for who, flow in after.items() if order else ():
            belief[who] = {
                key: w * posterior[who][key[-1]] / expected[who][key[-1]] for key, w in flow.items() if w
            }
        yield np.array([posterior[who] for who in register.person[i].tolist()]).reshape(-1, m)


@given(
    seed=st.integers(0, 10_000),
    order=st.sampled_from([0, 1, 2, 3]),
    steps=st.sampled_from([None, 0, 1, 2]),
    share=st.sampled_from([0.0, 0.3]),
    events=st.booleans(),
)
def test_beliefs_are_those_of_enumeration(
    seed: int, order: int, steps: int | None, share: float, events: bool
) -> None:
    history = random_history(seed, people=6, values=3, releases=4, change=0.5)
    knowledge = random_knowledge(seed, 3, order)
    register = whole_register(history, knowledge, seed)
    if events:
        assert history.events is not None
        register = register.with_events(history.events)
    seen = knowledge if steps is None else knowledge.steps(steps)
    told = np.random.default_rng(seed).random((4, 6)) < share
    expected = list(naive_walk(history, seen, register, told))
    found = list(walk(history, Reasoning(knowledge, steps=steps), register, Told(told, 1.0)))
    assert len(found) == 4
    for step, p in zip(found, expected, strict=True):
        assert step.posterior.p == pytest.approx(p, abs=1e-5)
    result = beliefs(history, Reasoning(knowledge, steps=steps), register, Told(told, 1.0))
    assert history.truth is not None
    sure = np.concatenate([p[step.row] for p, step in zip(expected, found, strict=True)])
    assert result.confidence == pytest.approx(sure[np.arange(len(sure)), history.truth], abs=1e-5)


# The papers ---------------------------------------------------------------------------------------

VALUES = ["BCM-pos", "BS-neg", "CX-neg", "CX-pos", "MAM-pos", "PNE-pos"]
FIRST = {"BCM-pos": 0.001, "BS-neg": 0.2, "CX-neg": 0.05, "CX-pos": 0.0003, "MAM-pos": 0.002}
NEXT = {"MAM-pos": (0.6, 0.02), "CX-neg": (0.02, 0.08), "CX-pos": (0.02, 0.6), "BS-neg": (0.02, 0.02)}


@pytest.fixture
def weeks() -> Example:
    """Table 1 of JS-reduce: two weeks, the women whom the example follows."""
    first = [
        ({"Alice": "MAM-pos", "Betty": "CX-neg"}, []),
        ({"Carol": "CX-pos", "Doris": "BS-neg"}, []),
    ]
    made = Example([first, [({"Alice": "BCM-pos", "Carol": "PNE-pos"}, [])]])
    assert made.values == VALUES
    return made


@pytest.fixture
def exams() -> Knowledge:
    """Table 3; what it does not say of is put on values that no woman of the example may have then."""
    prior = np.array([[FIRST.get(value, 0.0) for value in VALUES]])
    prior[0, VALUES.index("PNE-pos")] = 1 - prior.sum()
    table = np.zeros((1, 1, 6, 6))
    for value, (marker, pneumonia) in NEXT.items():
        row = table[0, 0, VALUES.index(value)]
        row[VALUES.index("BCM-pos")], row[VALUES.index("PNE-pos")] = marker, pneumonia
        row[VALUES.index("BS-neg")] = 1 - marker - pneumonia
    return Knowledge(pl.Series(VALUES), Classes.everyone(), prior, table, 1)


@pytest.mark.parametrize(
    "method, alice, carol", [("additive", 62 / 69, 62 / 69), ("omega", 0.871, 0.934), ("exact", 0.990, 0.990)]
)
def test_the_example_of_js_reduce(
    weeks: Example, exams: Knowledge, method: str, alice: float, carol: float
) -> None:
    """Tables 1, 3 and 4: halves in the first week, .9 in the second; event lists are not in the paper."""
    adversary = Adversary(knowledge=exams, posterior=method, event_lists=False)
    result = attack_beliefs(weeks.history, adversary)
    assert result.confidence == pytest.approx([0.5] * 4 + [alice, carol], abs=5e-4)
    assert result.releases[0].everyone.gain == pytest.approx(0.0)
    assert result.releases[1].everyone.gain == pytest.approx(alice + carol - 1, abs=1e-3)
    assert result.overall.used == {method: 1.0}


def test_a_snapshot_has_no_history(weeks: Example, exams: Knowledge) -> None:
    alone = attack_beliefs(weeks.history, Adversary(knowledge=exams, steps=0))
    assert alone.confidence == pytest.approx([0.5] * 6)
    assert [part.everyone.gain for part in alone.releases] == pytest.approx([0.0, 0.0])
    assert alone.label == "snapshot"


def test_more_steps_than_the_knowledge_has_are_full_knowledge(weeks: Example, exams: Knowledge) -> None:
    full, three = (attack_beliefs(weeks.history, Adversary(knowledge=exams, steps=d)) for d in (None, 3))
    assert full.releases == three.releases
    assert (full.label, three.label) == ("full", "3-step")


# Figures ------------------------------------------------------------------------------------------


def test_gain_is_signed_in_one_paper_and_absolute_in_the_other() -> None:
    p, f = np.array([0.9, 0.25, 0.5, 1.0, 0.8]), np.array([0.5, 0.5, 0.5, 1.0, 1.0])
    assert signed_gain(p, f) == pytest.approx([0.8, -0.5, 0.0, 0.0, 0.0])
    assert absolute_gain(p, f) == pytest.approx([0.8, 0.5, 0.0, 0.0, 0.2])


def test_sureness_in_figures() -> None:
    p, f = np.array([0.1, 0.5, 0.6, 0.95]), np.full(4, 0.5)
    assert Sureness.of(p, f) == Sureness(
        rows=4,
        gain=pytest.approx((-0.8 + 0 + 0.2 + 0.9) / 4),
        absolute_gain=pytest.approx((0.8 + 0 + 0.2 + 0.9) / 4),
        mean_confidence=pytest.approx(0.5375),
        confidence_95=pytest.approx(0.6 + 0.85 * 0.35),
        above_half=0.5,
        above_nine_tenths=0.25,
        worst_confidence=0.95,
    )
    assert Sureness.of(p[:0], f[:0]).rows == 0


def test_shares_are_those_of_published_rows_counterfeits_included() -> None:
    one = Example([[({"x": "a", "y": "b"}, ["a", "c"])]])
    prior = np.array([[0.2, 0.3, 0.5]])
    result = beliefs(one.history, Reasoning(Knowledge(pl.Series(one.values), Classes.everyone(), prior)))
    assert result.share.tolist() == [0.5, 0.25]


def test_figures_over_the_series_count_people_once(weeks: Example, exams: Knowledge) -> None:
    result = attack_beliefs(weeks.history, Adversary(knowledge=exams))
    assert result.overall.everyone.rows == 6
    assert result.people == 4
    assert result.ever_above_half == 0.5
    assert result.ever_above_nine_tenths == 0.5


def test_the_document_names_nobody(weeks: Example, exams: Knowledge) -> None:
    document = attack_beliefs(weeks.history, Adversary(knowledge=exams)).as_dict()
    assert json.loads(json.dumps(document)) == document
    assert document["attack"] == "beliefs"
    assert document["steps"] == "full"
    assert [part["release"] for part in document["releases"]] == [1, 2]
    assert set(document["releases"][0]) == {
        "release", "rows", "gain", "absolute_gain", "mean_confidence", "confidence_95", "above_half",
        "above_nine_tenths", "worst_confidence", "uncompromised", "used", "fallbacks", "unsettled",
    }  # fmt: skip
    assert document["overall"]["uncompromised"] is None


def test_without_true_values_the_figures_are_of_the_likeliest(weeks: Example, exams: Knowledge) -> None:
    blind = attack_beliefs(replace(weeks.history, truth=None), Adversary(knowledge=exams))
    assert blind.confidence[4:] == pytest.approx([0.990] * 2, abs=5e-4)


def test_what_the_knowledge_rules_out_is_counted() -> None:
    one = Example([[({"x": "a", "y": "b"}, [])]])
    sure = Knowledge(pl.Series(one.values), Classes.everyone(), np.array([[1.0, 0.0]]))
    result = beliefs(one.history, Reasoning(sure))
    assert result.overall.fallbacks == 1.0
    assert result.confidence.tolist() == [0.5, 0.5]


# Compromised people -------------------------------------------------------------------------------


def test_who_is_known_for_certain_gives_the_other_away(weeks: Example, exams: Knowledge) -> None:
    result = attack_beliefs(weeks.history, Adversary([weeks.who("Betty")], knowledge=exams))
    first = result.releases[0]
    assert result.confidence[:4] == pytest.approx([1.0, 1.0, 0.5, 0.5])
    assert first.uncompromised is not None
    assert first.uncompromised.rows == 3
    assert first.uncompromised.gain == pytest.approx(1 / 3)
    assert first.used == {"certain": 0.25, "exact": 0.75}
    assert result.people == 3


@pytest.mark.parametrize("cascading", ["prior", "posterior"])
def test_less_than_certain_enters_the_prior(weeks: Example, exams: Knowledge, cascading: str) -> None:
    """Alice has MAM-pos with .9: the prior becomes .9002 and .005, and Betty's stays .002 and .05."""
    told = Adversary([weeks.who("Alice")], knowledge=exams, certainty=0.9, cascading=cascading)
    result = attack_beliefs(weeks.history, told)
    right, wrong = (0.9 + 0.1 * 0.002) * 0.05, 0.1 * 0.05 * 0.002
    assert result.confidence[:2] == pytest.approx([right / (right + wrong)] * 2, abs=1e-6)


def test_the_estimator_of_bayframe_tells_the_two_cascadings_apart(weeks: Example, exams: Knowledge) -> None:
    found = [
        attack_beliefs(
            weeks.history,
            Adversary([0], knowledge=exams, posterior="bayes", certainty=0.9, cascading=cascading),
        )
        for cascading in ("prior", "posterior")
    ]
    assert not np.allclose(found[0].confidence, found[1].confidence)


def test_compromised_people_are_drawn_anew_in_every_release() -> None:
    history = random_history(5, people=300, releases=3)
    told = Adversary(0.2, seed=2).told(history)
    assert told is not None
    assert told.people.shape == (3, 300)
    assert all(30 < row.sum() < 90 for row in told.people)
    assert not np.array_equal(told.people[0], told.people[1])
    assert Adversary(0.0).told(history) is None


def test_the_same_draw_gives_the_same_figures() -> None:
    history = random_history(8, people=60, releases=4)
    knowledge = random_knowledge(8, 4, 2, Classes.everyone())
    found = [
        attack_beliefs(history, Adversary(0.2, seed=seed, knowledge=knowledge, certainty=0.9))
        for seed in (1, 1, 2)
    ]
    assert found[0].as_dict() == found[1].as_dict()
    assert found[0].as_dict() != found[2].as_dict()


def test_what_she_is_told_lasts() -> None:
    """Values hardly change, so who was told once is nearly known a release later."""
    one = Example([[({"x": "a", "y": "b"}, [])], [({"x": "a", "y": "b"}, [])]])
    stay = np.array([[[[0.99, 0.01], [0.01, 0.99]]]])
    lazy = Knowledge(pl.Series(one.values), Classes.everyone(), np.full((1, 2), 0.5), stay, 1)
    first = np.array([[True, False], [False, False]])
    result = beliefs(one.history, Reasoning(lazy), told=Told(first, 1.0))
    assert result.confidence == pytest.approx([1, 1, *[0.99**2 / (0.99**2 + 0.01**2)] * 2])
    assert result.releases[1].uncompromised is None


# A stored series ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(hospital_folder: Path) -> Path:
    return hospital_folder


@pytest.fixture(scope="module")
def knowledge(folder: Path) -> Knowledge:
    found = read_knowledge(folder / "knowledge", read_schema(folder / "schema.toml"))
    assert isinstance(found, Knowledge)
    return found


@pytest.fixture(scope="module")
def raw(folder: Path) -> list[Path]:
    return sorted((folder / "views").iterdir())[:3]


def made(root: Path, folder: Path, raw: list[Path], publisher: JSReduce) -> Series:
    series = Series.create(root, read_schema(folder / "schema.toml"), publisher, seed=3)
    for week, view in enumerate(raw, 1):
        series.publish(view, as_of=f"2026-03-{week:02d}")
    return series


@pytest.fixture(scope="module")
def guarded(
    tmp_path_factory: pytest.TempPathFactory, folder: Path, raw: list[Path], knowledge: Knowledge
) -> Iterator[Series]:
    """Three releases of the paper's JS-reduce, with people left out."""
    publisher = JSReduce.as_published(knowledge=knowledge)
    series = made(tmp_path_factory.mktemp("guarded") / "series", folder, raw, publisher)
    yield series
    series.ledger.close()


def replayed(series: Series, raw: list[Path], reasoning: Reasoning) -> list[np.ndarray]:
    """What the publisher's own reasoning says of the true value of everyone in a group, sorted."""
    memory, found = Memory.empty(), []
    for number, view in enumerate(raw, 1):
        data = read_view(view, series.schema, series.known_values()).pseudonymous(series.secret())
        assert data.people is not None
        seen = series.appearances(number)
        people = granted_view(series, number, view, reasoning.knowledge.classes)
        group = people.join(seen, on="person", how="left", maintain_order="left")["group"].to_numpy() - 1
        thoughts = reasoning.thoughts(reasoning.respondents(data), memory)
        shown = data.codes[group >= 0]
        assert series.release(number).rows == len(shown)
        p = reasoning.inferred(thoughts, group, group[group >= 0], shown).p
        found.append(np.sort(p[np.arange(len(p)), data.codes][group >= 0]))
        memory = memory.merged(
            Memory(data.people, {"last": np.full(data.rows, number, np.int32)}, release=number)
        )
        memory = reasoning.remembered(thoughts, p, memory)
    return found


def by_release(result: BeliefResult, history: History) -> list[np.ndarray]:
    return [np.sort(result.confidence[history.release == i]) for i in range(history.releases)]


@pytest.mark.parametrize("gaps", ["skip", "count"])
def test_she_thinks_what_the_publisher_takes_her_to_think(
    guarded: Series, raw: list[Path], knowledge: Knowledge, gaps: str
) -> None:
    knowledge = replace(knowledge, gaps=gaps)
    assert sum(record.payload["suppressed"] for record in guarded.records) > 0
    history = history_of(guarded)
    result = beliefs(history, Reasoning(knowledge), register_of(guarded, history, knowledge.classes))
    for found, expected in zip(
        by_release(result, history), replayed(guarded, raw, Reasoning(knowledge)), strict=True
    ):
        assert found == pytest.approx(expected, abs=1e-5)


def test_gaps_that_count_make_another_belief(guarded: Series, knowledge: Knowledge) -> None:
    history = history_of(guarded)
    register = register_of(guarded, history, knowledge.classes)
    skip, count = (
        beliefs(history, Reasoning(replace(knowledge, gaps=gaps)), register).confidence
        for gaps in ("skip", "count")
    )
    first = history.release < 2  # nobody was absent between the first two releases
    assert (skip[first] == count[first]).all() and not np.allclose(skip[~first], count[~first])


@pytest.mark.parametrize("order, gaps", [(2, "skip"), (2, "count"), (3, "count")])
def test_knowledge_counted_from_the_views_grows_with_them(
    guarded: Series, raw: list[Path], knowledge: Knowledge, order: int, gaps: str
) -> None:
    counted = Extracted(order, knowledge.classes, ("deceased", "discharged"), gaps=gaps)
    history = history_of(guarded)
    result = beliefs(history, Reasoning(counted), register_of(guarded, history, counted.classes))
    for found, expected in zip(
        by_release(result, history), replayed(guarded, raw, Reasoning(counted)), strict=True
    ):
        assert found == pytest.approx(expected, abs=1e-5)


def test_classes_are_stored_or_found_in_raw_views(
    guarded: Series, raw: list[Path], knowledge: Knowledge
) -> None:
    history = history_of(guarded)
    views = [granted_view(guarded, i, view, knowledge.classes) for i, view in enumerate(raw, 1)]
    stored = register_of(guarded, history, knowledge.classes)
    given_ = register_of(guarded, history, knowledge.classes, views)
    for parts in zip(stored.person, stored.classes, stored.codes, strict=True):
        assert len(parts[0]) == 400
    for one, other in ((stored.classes, given_.classes), (stored.codes, given_.codes)):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    assert attack_beliefs(guarded, truth=views).as_dict() == attack_beliefs(guarded).as_dict()


def test_knowledge_of_one_class_needs_no_views(guarded: Series, raw: list[Path]) -> None:
    everyone = learn(raw, guarded.schema, order=1)
    result = attack_beliefs(guarded, Adversary(knowledge=everyone))
    assert result.overall.everyone.rows == sum(guarded.release(i).rows for i in (1, 2, 3))


def test_other_classes_need_the_raw_views(guarded: Series, raw: list[Path]) -> None:
    halves = Classes((Bands("age", (0, 60, 200)),))
    other = learn(raw, guarded.schema, halves, order=1)
    with pytest.raises(PolicyError, match=r"found from quasi-identifiers.*--truth DIR"):
        attack_beliefs(guarded, Adversary(knowledge=other))
    views = [granted_view(guarded, i, view, halves) for i, view in enumerate(raw, 1)]
    assert attack_beliefs(guarded, Adversary(knowledge=other), views).overall.everyone.rows > 0


def test_without_event_lists_nobody_left_out_is_known(guarded: Series, knowledge: Knowledge) -> None:
    history = history_of(guarded)
    register = register_of(guarded, history, knowledge.classes)
    seen = register.published(history)
    assert sum(map(len, seen.person)) == len(history.person) < sum(map(len, register.person))
    known, unknown = (
        attack_beliefs(guarded, Adversary(event_lists=events, knowledge=knowledge))
        for events in (True, False)
    )
    assert known.releases[0] == unknown.releases[0]
    assert known.releases[1] != unknown.releases[1]


def test_forgotten_people_are_nobody_to_her(series: Series, raw: list[Path]) -> None:
    for week, view in enumerate(raw[:2], 1):
        series.publish(view, as_of=f"2026-03-{week:02d}")
    everyone = Adversary(knowledge=learn(raw, series.schema, order=1))
    before = attack_beliefs(series, everyone)
    assert series.schema.identifier is not None
    forget(series, pl.read_csv(raw[0], infer_schema_length=0).select(series.schema.identifier).head(1))
    after = attack_beliefs(series, everyone)
    assert after.people == before.people - 1
    assert after.releases[0].everyone.rows == before.releases[0].everyone.rows - 1


def test_a_series_without_knowledge_needs_some(series: Series, raw: list[Path]) -> None:
    series.publish(raw[0])
    with pytest.raises(PolicyError, match="belief attack needs knowledge"):
        attack_beliefs(series)


# Arrays of other tools, and wrong use -------------------------------------------------------------


def test_tables_of_another_tool(exams: Knowledge) -> None:
    """Somebody left out of the second table still moves on; classes are given by hand."""
    tables = [
        Table(array([0, 1]), array([0, 0]), array([0, 0]), array([0, 1])),
        Table(array([0, 1]), array([-1, 0]), array([0]), array([1])),
    ]
    truth = [array([0, 1]), array([0, 1])]
    history = History.of(2, 6, tables, truth=truth)
    register = Register.of_tables(exams.values, tables, codes=truth)
    result = beliefs(history, Reasoning(exams), register)
    assert result.releases[1].everyone.rows == 1
    assert result.confidence[2] == 1.0
    with pytest.raises(PolicyError, match="a class and a code for every member"):
        Register.of_tables(exams.values, tables, classes=truth[:1])


def test_nothing_was_published(exams: Knowledge) -> None:
    empty = beliefs(History.of(0, 6, []), Reasoning(exams))
    assert empty.releases == ()
    assert empty.overall.everyone.rows == empty.people == 0
    nothing = array([])
    one = beliefs(History.of(0, 6, [Table(nothing, nothing, nothing, nothing)]), Reasoning(exams))
    assert one.releases[0].everyone.rows == 0


def test_wrong_use_is_refused(weeks: Example, exams: Knowledge) -> None:
    history = weeks.history
    with pytest.raises(PolicyError, match="belief attack needs knowledge"):
        attack_beliefs(history)
    with pytest.raises(PolicyError, match="posterior must be one of"):
        attack_beliefs(history, Adversary(knowledge=exams, posterior="magic"))
    with pytest.raises(PolicyError, match="cascade must be one of prior, posterior"):
        attack_beliefs(history, Adversary(knowledge=exams, cascading="magic"))
    with pytest.raises(PolicyError, match="steps must be a whole number"):
        attack_beliefs(history, Adversary(knowledge=exams, steps=-1))
    with pytest.raises(PolicyError, match="certainty must be a confidence from 0 to 1"):
        Adversary(certainty=1.5)
    with pytest.raises(PolicyError, match="true values are needed"):
        attack_beliefs(replace(history, truth=None), Adversary([0], knowledge=exams))
    with pytest.raises(PolicyError, match="several classes of people; give a register"):
        attack_beliefs(history, Adversary(knowledge=random_knowledge(1, 6, 1)))
    with pytest.raises(PolicyError, match="must name the 6 values"):
        attack_beliefs(history, Adversary(knowledge=random_knowledge(1, 3, 1, Classes.everyone())))
    with pytest.raises(PolicyError, match="must name the 6 values"):
        attack_beliefs(history, Adversary(knowledge=Extracted()))


def test_a_register_must_fit_the_history(weeks: Example, exams: Knowledge) -> None:
    history = weeks.history
    nobody = array([])
    with pytest.raises(PolicyError, match="must hold 2 releases and 6 values; found 1 and 6"):
        beliefs(history, Reasoning(exams), Register(exams.values, (nobody,), (nobody,), (nobody,)))
    empty = ((nobody, nobody),) * 3
    with pytest.raises(PolicyError, match="everyone in a group; 4 of 4 people are missing"):
        beliefs(history, Reasoning(exams), Register(exams.values, *empty))
    everyone = (history.person[:4], history.person[4:])
    zeros = tuple(np.zeros_like(who) for who in everyone)
    register = Register(exams.values, everyone, zeros, tuple(who * 0 - 1 for who in everyone))
    with pytest.raises(PolicyError, match="counted from the views needs their true values"):
        beliefs(history, Reasoning(Extracted(order=1)), register)
