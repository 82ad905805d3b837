"""Knowledge: checked, completed, truncated, aligned, each against a slow twin."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.random_knowledge import TWO, Knowledges, random_knowledge
from republish import PolicyError
from republish.knowledge import Classes, Knowledge

Row = np.ndarray
Context = tuple[int, ...]


def row_of(knowledge: Knowledge, group: int, context: Context) -> Row:
    """The distribution after a context, oldest value first, the last value last; m = no value."""
    assert knowledge.sequential is not None
    number = 0
    for code in context[:-1]:
        number = number * (knowledge.size + 1) + code
    return knowledge.sequential[group, number, context[-1]]


def contexts(knowledge: Knowledge) -> list[Context]:
    m = knowledge.size
    every = product(*[range(m + 1)] * (knowledge.order - 1), range(m))
    return [context for context in every if m not in context[context.count(m) :]]


def naive_shorter(table: dict[Context, Row], m: int) -> dict[Context, Row]:
    short = {}
    for context in {key[1:] for key in table}:
        start = table[(m, *context)]
        rows = [table.get((b, *context), np.zeros(m)) for b in range(m)]
        seen = [row for row in rows if row.any()]
        short[context] = start if start.any() else sum(seen) / len(seen) if seen else np.zeros(m)
    return short


def naive_complete(knowledge: Knowledge, group: int) -> dict[Context, Row]:
    """Every context by walking down its back-off chain."""
    m = knowledge.size
    levels = [{context: row_of(knowledge, group, context) for context in contexts(knowledge)}]
    for _ in range(knowledge.order - 1):
        levels.append(naive_shorter(levels[-1], m))
    result = {}
    for context in levels[0]:
        chain = [level[context[age:]] for age, level in enumerate(levels)]
        end = np.zeros(m) if context[-1] in knowledge.terminal else knowledge.prior[group]
        result[context] = next((row for row in chain if row.any()), end)
    return result


def naive_steps(knowledge: Knowledge, group: int, d: int, appearances: int) -> dict[Context, Row]:
    """Expected successions after d values, by walking every possible sequence."""
    m = knowledge.size
    rows = naive_complete(knowledge, group)
    mass: dict[Context, Row] = {}

    def walk(path: tuple[int, ...], weight: float) -> None:
        if len(path) == appearances or weight == 0:
            return
        full = ((m,) * knowledge.order + path)[-knowledge.order :]
        chances = rows[full]
        short = ((m,) * d + path)[-d:]
        mass[short] = mass.get(short, np.zeros(m)) + weight * chances
        for code in range(m):
            walk((*path, code), weight * chances[code])

    for code in range(m):
        walk((code,), knowledge.prior[group, code])
    return {context: row / row.sum() for context, row in mass.items() if row.sum() > 0}


@given(Knowledges)
def test_complete_follows_the_chain_of_shorter_contexts(knowledge: Knowledge) -> None:
    complete = knowledge.complete()
    for group in range(2):
        for context, row in naive_complete(knowledge, group).items():
            assert np.allclose(row_of(complete, group, context), row)


def test_an_unseen_context_takes_the_row_of_new_people_else_the_average_else_the_prior() -> None:
    table = np.zeros((1, 3, 2, 2))
    table[0, 2, 0] = [0.9, 0.1]  # nothing, then a
    table[0, 0, 1] = [0.2, 0.8]  # a, then b
    knowledge = Knowledge(pl.Series("s", ["a", "b"]), Classes.everyone(), np.array([[0.6, 0.4]]), table, 2)
    complete = knowledge.complete().sequential
    assert complete is not None
    assert complete[0, 1, 0].tolist() == [0.9, 0.1]
    assert complete[0, 2, 1].tolist() == [0.2, 0.8]
    table[0, 0, 1] = 0
    complete = Knowledge(knowledge.values, knowledge.classes, knowledge.prior, table, 2).complete().sequential
    assert complete is not None
    assert complete[0, 1, 1].tolist() == [0.6, 0.4]


@pytest.mark.parametrize("order", [1, 2, 3])
def test_rows_after_a_terminal_value_stay_zero(order: int) -> None:
    complete = random_knowledge(5, 3, order, gaps=0.9, terminal=(1,)).complete().sequential
    assert complete is not None
    assert not complete[:, :, 1].any()
    possible = (
        [0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15] if order == 3 else slice(None)
    )  # not (value, none)
    assert np.allclose(complete[:, possible][:, :, [0, 2]].sum(axis=-1), 1)
    if order == 3:
        assert not complete[:, [3, 7, 11]].any()


@given(Knowledges, st.integers(1, 2), st.integers(2, 5))
def test_steps_average_by_expected_contexts(knowledge: Knowledge, d: int, appearances: int) -> None:
    short = knowledge.steps(d, appearances)
    if d >= knowledge.order:
        assert short is knowledge
        return
    assert short.order == d
    for group in range(2):
        for context, row in naive_steps(knowledge, group, d, appearances).items():
            assert np.allclose(row_of(short, group, context), row)


def test_nothing_is_filled_in_where_unseen_contexts_are_zero() -> None:
    knowledge = replace(random_knowledge(5, 3, 2, gaps=0.5), unseen="zero")
    assert knowledge.complete() is knowledge


def test_sequences_end_in_unseen_contexts_that_are_zero() -> None:
    """Order 2 over a, b: a first is followed by b; after (a, b) nothing was seen, after b first comes a."""
    table = np.zeros((1, 3, 2, 2))
    table[0, 2, 0, 1] = table[0, 2, 1, 0] = table[0, 1, 0, 0] = 1.0  # (a) b, (b) a, (b, a) a
    known = Knowledge(pl.Series(["a", "b"]), Classes.everyone(), np.array([[0.5, 0.5]]), table, 2)
    short = replace(known, unseen="zero").steps(1, 5).sequential
    assert short is not None
    assert short[0, 0].tolist() == [[0.5, 0.5], [1.0, 0.0]]  # after a: once b, once a; (a, a) ends
    filled = known.steps(1, 5).sequential
    assert filled is not None
    assert filled[0, 0, 0].tolist() == pytest.approx([0.4, 0.6])  # (a, a) goes on as a first does


def test_an_unknown_word_for_unseen_contexts_is_refused() -> None:
    with pytest.raises(PolicyError, match="unseen must be one of shorter, zero"):
        replace(random_knowledge(1), unseen="never")


def test_steps_end_with_terminal_values() -> None:
    knowledge = random_knowledge(3, 3, 2, gaps=0.0, terminal=(2,))
    short = knowledge.steps(1, 6)
    for context, row in naive_steps(knowledge, 1, 1, 6).items():
        assert np.allclose(row_of(short, 1, context), row)
    assert short.sequential is not None
    assert not short.sequential[:, :, 2].any()


def test_a_context_that_is_never_expected_is_shortened_as_for_back_off() -> None:
    table = np.zeros((1, 3, 2, 2))
    table[0, 2, 0] = [1, 0]
    table[0, 0, 0] = [1, 0]
    table[0, 0, 1] = [0.2, 0.8]
    table[0, 1, 1] = [0.4, 0.6]
    knowledge = Knowledge(pl.Series("s", ["a", "b"]), Classes.everyone(), np.array([[1.0, 0.0]]), table, 2)
    short = knowledge.steps(1).sequential
    assert short is not None
    assert np.allclose(short[0, 0], [[1, 0], [0.3, 0.7]])


def test_a_snapshot_has_a_prior_alone() -> None:
    knowledge = random_knowledge(1)
    snapshot = knowledge.steps(0)
    assert snapshot.sequential is None
    assert snapshot.order == 0
    assert np.array_equal(snapshot.prior, knowledge.prior)
    assert snapshot.complete() is snapshot


@pytest.mark.parametrize("arguments", [(-1,), (1, 1)])
def test_steps_out_of_range_are_refused(arguments: tuple[int, ...]) -> None:
    with pytest.raises(PolicyError, match="steps must be"):
        random_knowledge(1).steps(*arguments)


def test_the_last_row_is_the_average_of_the_classes_that_saw_a_context() -> None:
    knowledge = random_knowledge(7)
    assert knowledge.sequential is not None
    assert knowledge.prior.shape == (3, 3)
    assert np.allclose(knowledge.prior[2], knowledge.prior[:2].mean(axis=0))
    seen = knowledge.sequential[:2].any(axis=-1)
    one = seen[0] & ~seen[1]
    both = seen[0] & seen[1]
    assert one.any()
    assert np.array_equal(knowledge.sequential[2][one], knowledge.sequential[0][one])
    assert np.allclose(knowledge.sequential[2][both], knowledge.sequential[:2].mean(axis=0)[both])


@given(Knowledges, st.permutations(range(3)))
def test_a_permutation_moves_every_chance_and_back(knowledge: Knowledge, order: list[int]) -> None:
    order = [code for code in order if code < knowledge.size]
    moved = knowledge.aligned(knowledge.values.gather(order))
    m = knowledge.size
    place = [*order, m]
    for group in range(2):
        assert np.array_equal(moved.prior[group], knowledge.prior[group, order])
        for context in contexts(knowledge):
            old = tuple(place[code] for code in context)
            assert np.array_equal(row_of(moved, group, context), row_of(knowledge, group, old)[order])
    assert moved.aligned(knowledge.values).digest() == knowledge.digest()


@given(Knowledges)
def test_an_unmentioned_value_has_an_equal_share_everywhere(knowledge: Knowledge) -> None:
    m = knowledge.size
    values = pl.Series(["new", *knowledge.values.to_list(), None])
    wide = knowledge.aligned(values)
    M = m + 2
    assert wide.values.to_list() == values.to_list()
    assert np.allclose(wide.prior[:, [0, M - 1]], 1 / M)
    assert np.allclose(wide.prior[:, 1:-1], knowledge.prior * m / M)
    for context in contexts(knowledge):
        old = row_of(knowledge, 1, context)
        new = row_of(wide, 1, tuple(M if code == m else code + 1 for code in context))
        assert np.allclose(new[1:-1], old * m / M)
        assert np.allclose(new[[0, -1]], 1 / M if old.any() else 0)
    assert wide.sequential is not None
    assert not wide.sequential[:, :, [0, M - 1]].any()


def test_values_left_out_give_their_share_to_the_others() -> None:
    table = np.zeros((1, 1, 3, 3))
    table[0, 0] = [[0.5, 0.25, 0.25], [0, 0, 1], [1, 0, 0]]
    values = pl.Series("s", ["a", "b", "c"])
    knowledge = Knowledge(values, Classes.everyone(), np.array([[0.25, 0.25, 0.5]]), table, 1, (1, 2))
    narrow = knowledge.aligned(pl.Series(["b", "a"]))
    assert narrow.sequential is not None
    assert narrow.prior.tolist() == [[0.5, 0.5]]
    assert np.allclose(narrow.sequential[0, 0], [[0, 0], [1 / 3, 2 / 3]])
    assert narrow.terminal == (0,)
    assert narrow.values.name == "s"
    alone = Knowledge(values, Classes.everyone(), np.array([[0.0, 0.0, 1.0]])).aligned(pl.Series(["b", "a"]))
    assert alone.prior.tolist() == [[0.5, 0.5]]


def test_the_missing_value_is_a_value() -> None:
    prior = np.array([[0.25, 0.75]])
    knowledge = Knowledge(pl.Series("s", ["a", None]), Classes.everyone(), prior)
    assert knowledge.aligned(pl.Series([None, "a"])).prior.tolist() == [[0.75, 0.25]]


def test_values_of_another_type_are_refused() -> None:
    with pytest.raises(PolicyError, match="values of type String"):
        random_knowledge(1).aligned(pl.Series([1.0]))


def test_the_same_values_change_nothing() -> None:
    knowledge = random_knowledge(1)
    assert knowledge.aligned(knowledge.values.rename("")) is knowledge


@pytest.mark.parametrize(
    "prior, message",
    [
        ([[0.5, 0.5], [0.5, 0.4]], "1 of 2 distributions do not"),
        ([[0.5, 0.5], [1.5, -0.5]], "1 of 4 are not"),
        ([[0.5, 0.5], [np.nan, 1.0]], "1 of 4 are not"),
        ([[0.5, 0.5], [0.0, 0.0]], "1 of 2 classes have none"),
        ([[0.5, 0.5]], r"must have the shape \(2, 2\)"),
        ([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]], r"must have the shape \(2, 2\)"),
    ],
)
def test_what_is_no_prior_is_refused(prior: list[list[float]], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        Knowledge(pl.Series(["a", "b"]), TWO, np.array(prior))


def test_what_is_no_sequential_knowledge_is_refused() -> None:
    values, everyone, prior = pl.Series(["a", "b"]), Classes.everyone(), np.array([[0.5, 0.5]])
    with pytest.raises(PolicyError, match="1 of 2 distributions"):
        Knowledge(values, everyone, prior, np.array([[[[0.5, 0.4], [0.0, 0.0]]]]), 1)
    with pytest.raises(PolicyError, match=r"must have the shape \(1, 3, 2, 2\)"):
        Knowledge(values, everyone, prior, np.zeros((1, 1, 2, 2)), 2)
    with pytest.raises(PolicyError, match="order is"):
        Knowledge(values, everyone, prior, order=1)
    with pytest.raises(PolicyError, match="terminal"):
        Knowledge(values, everyone, prior, terminal=(2,))
    with pytest.raises(PolicyError, match="each once"):
        Knowledge(pl.Series(["a", "a"]), everyone, prior)


def test_a_table_that_does_not_fit_in_memory_is_refused_before_it_is_made() -> None:
    wide = pl.Series("result", [f"v{code}" for code in range(5000)])
    with pytest.raises(PolicyError, match="lower the order, or merge values"):
        random_knowledge(1).aligned(wide)


def test_sums_close_to_one_are_made_exact() -> None:
    prior = np.array([[0.5, 0.5000005]])
    knowledge = Knowledge(pl.Series(["a", "b"]), Classes.everyone(), prior)
    assert abs(knowledge.prior.sum() - 1) < 1e-15
    assert prior.tolist() == [[0.5, 0.5000005]]
    assert not knowledge.prior.flags.writeable


def test_a_digest_changes_with_anything_known() -> None:
    one = random_knowledge(1)
    assert one.sequential is not None
    others = [
        random_knowledge(2),
        Knowledge(one.values, one.classes, one.prior, one.sequential, 2, (1,)),
        Knowledge(one.values.reverse(), one.classes, one.prior, one.sequential, 2),
        replace(one, unseen="zero"),
        one.complete(),
        one.steps(1),
        one.steps(0),
    ]
    digests = [knowledge.digest() for knowledge in (one, *others)]
    assert len(set(digests)) == len(digests)
    assert random_knowledge(1).digest() == one.digest()
