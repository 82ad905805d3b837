"""Counts become knowledge: learned from a corpus, extracted from the views, against dictionaries."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from republish import Category, PolicyError, Schema, ViewError, read_schema, read_view
from republish.datasets import hospital
from republish.datasets.progression import NONE, progression
from republish.knowledge import Classes, Extracted, Knowledge, Listed, Transitions, learn, read_knowledge

VALUES = ("a", "b", "c")
SCHEMA = Schema("id", [Category("sex")], Category("result", domain=VALUES))
BY_SEX = Classes((Listed("sex", ("F", "M")),))

# A view is, for each of six people, nothing or a sex and a value.
Rows = st.lists(
    st.none() | st.tuples(st.sampled_from(["F", "M"]), st.sampled_from(VALUES)), min_size=6, max_size=6
)
Views = st.lists(Rows, min_size=1, max_size=6)


def frame(rows: list[tuple[str, str] | None]) -> pl.DataFrame:
    there = [(str(i), *row) for i, row in enumerate(rows) if row is not None]
    return pl.DataFrame(there, schema=dict.fromkeys(("id", "sex", "result"), pl.String), orient="row")


def naive_counts(views: list[list[tuple[str, str] | None]], order: int) -> Counter[tuple[int, ...]]:
    """(class, older..., last, next) -> number, -1 for no value."""
    history: dict[int, list[int]] = defaultdict(lambda: [-1] * order)
    counts: Counter[tuple[int, ...]] = Counter()
    for view in views:
        for person, row in enumerate(view):
            if row is not None:
                code = VALUES.index(row[1])
                counts[("FM".index(row[0]), *history[person][-order:], code)] += 1
                history[person].append(code)
    return counts


def extracted(source: Extracted, views: list[pl.DataFrame], schema: Schema) -> Knowledge:
    """What a series does: each person's last codes are remembered, counts grow view by view."""
    counts = source.start()
    last: dict[str, list[int]] = {}
    values = pl.Series([], dtype=pl.String)
    for table in views:
        view = read_view(table, schema, values if len(values) else None)
        values = view.values
        assert view.identifiers is not None
        people = view.identifiers.to_list()
        history = np.array([last.get(person, [-1] * 3) for person in people], dtype=np.int32).reshape(-1, 3).T
        counts = counts.add(source.classes.of(view), list(history), view.codes)
        last |= {p: [int(c), *last.get(p, [-1] * 3)][:3] for p, c in zip(people, view.codes, strict=True)}
    return source.knowledge(counts, values)


@given(Views, st.integers(1, 3))
def test_learned_shares_are_those_of_the_counts(
    views: list[list[tuple[str, str] | None]], order: int
) -> None:
    knowledge = learn([frame(view) for view in views], SCHEMA, BY_SEX, order)
    counts = naive_counts(views, order)
    m = len(VALUES)
    prior = np.zeros((2, m))
    later = np.zeros((2, *[m + 1] * (order - 1), m, m))
    for (group, *context, code), number in counts.items():
        if context[-1] == -1:
            prior[group, code] += number
        else:
            later[(group, *context, code)] += number
    overall = prior.sum(axis=0) / prior.sum() if prior.any() else np.full(m, 1 / m)
    expected = [row / row.sum() if row.any() else overall for row in prior]
    assert np.allclose(knowledge.prior[:2], expected)
    total = np.maximum(later.sum(axis=-1, keepdims=True), 1)
    assert knowledge.sequential is not None
    assert np.allclose(knowledge.sequential[:2], (later / total).reshape(2, -1, m, m))
    assert knowledge.values.name == "result"


@given(Views, st.integers(0, 3), st.sampled_from([0.0, 2.0]))
def test_extracted_knowledge_is_what_is_learned_from_the_same_views(
    views: list[list[tuple[str, str] | None]], order: int, smoothing: float
) -> None:
    frames = [frame(view) for view in views]
    learned = learn(frames, SCHEMA, BY_SEX, order, smoothing, terminal=("c",))
    found = extracted(Extracted(order, BY_SEX, ("c",), smoothing), frames, SCHEMA)
    assert found.digest() == learned.digest()


def test_where_gaps_count_only_views_in_a_row_are_successions() -> None:
    """One person: a, a, absent, b, a. Over the absence nothing follows, and after it b is no first value."""
    frames = [
        frame([("F", "a")]),
        frame([("F", "a")]),
        frame([None]),
        frame([("F", "b")]),
        frame([("F", "a")]),
    ]
    skipping, counting = (learn(frames, SCHEMA, BY_SEX, 2, gaps=gaps) for gaps in ("skip", "count"))
    assert skipping.sequential is not None and counting.sequential is not None
    a, b, none = 0, 1, 3
    assert skipping.sequential[0, a, a].tolist() == [0, 1, 0]
    assert skipping.sequential[0, a, b].tolist() == [1, 0, 0]
    assert not counting.sequential[0, a].any()
    assert counting.sequential[0, none, [a, b]].tolist() == [[1, 0, 0], [1, 0, 0]]
    assert counting.prior[0].tolist() == [1, 0, 0]
    assert (skipping.gaps, counting.gaps) == ("skip", "count")


def test_new_values_get_codes_as_they_come() -> None:
    schema = Schema("id", [Category("sex")], "result")
    frames = [frame([("F", "b"), None]), frame([("F", "a"), ("M", "c")]), frame([None, ("M", "b")])]
    learned = learn(frames, schema, order=1)
    assert learned.values.to_list() == ["b", "a", "c"]
    assert learned.prior.tolist() == [[0.5, 0, 0.5]]
    assert extracted(Extracted(1), frames, schema).digest() == learned.digest()


def test_a_long_series_teaches_its_model(hospital_folder: Path) -> None:
    corpus = hospital(views=24, rows=5000, seed=21)
    schema = read_schema(hospital_folder / "schema.toml")
    classes = read_knowledge(hospital_folder / "knowledge", schema).classes
    exact = progression()
    learned = learn(corpus.views, schema, classes, order=2)
    assert np.abs(learned.prior[:18] - exact.prior).sum(axis=1).mean() / 2 < 0.08
    assert learned.sequential is not None
    first = learned.sequential[:18, -1, :NONE]
    assert np.abs(first - exact.sequential[:, NONE]).sum(axis=-1).mean() / 2 < 0.12
    seen = learned.sequential[:18, :NONE, :NONE].any(axis=-1)
    # Nothing was seen that the model excludes, and chronic patients who stayed, most people, are known well.
    assert not (seen & ~exact.sequential[:, :NONE].any(axis=-1)).any()
    stays = np.arange(12)
    error = np.abs(learned.sequential[:18, stays, stays] - exact.sequential[:, stays, stays]).sum(axis=-1) / 2
    assert error.mean() < 0.04


def test_smoothing_draws_rare_contexts_to_the_common_ones() -> None:
    counts = Transitions.empty(2).add(
        np.array([0, 0, 0, 0, 1, 1]),
        [np.array([-1, 0, 0, 0, 0, 0]), np.array([-1, -1, -1, 1, -1, -1])],
        np.array([0, 0, 1, 1, 1, 1]),
    )
    knowledge = counts.to_knowledge(pl.Series(["a", "b"]), BY_SEX, smoothing=3)
    assert knowledge.sequential is not None
    everywhere = np.array([1, 4]) / 5  # after a, in both classes
    women = (np.array([1, 2]) + 3 * everywhere) / 6  # after a
    assert np.allclose(knowledge.sequential[0, 1, 0], (np.array([0, 1]) + 3 * women) / 4)  # after b, a
    assert np.allclose(knowledge.sequential[0, 0, 0], women)  # after a, a: never seen
    assert not knowledge.sequential[:, :, 1].any()  # after b, which nothing followed
    assert np.allclose(knowledge.prior[1], [1, 0])


def test_a_class_in_which_nobody_began_has_the_prior_of_all() -> None:
    counts = Transitions.empty(1).add(np.array([0, 0, 2]), [np.array([-1, -1, -1])], np.array([0, 1, 1]))
    knowledge = counts.to_knowledge(pl.Series(["a", "b"]), BY_SEX)
    assert knowledge.prior.tolist() == [[0.5, 0.5]] * 3


def test_counts_do_not_depend_on_how_they_were_added() -> None:
    rng = np.random.default_rng(5)
    columns = [rng.integers(-1, 3, 200) for _ in range(3)]
    group, following = rng.integers(0, 2, 200), rng.integers(0, 3, 200)
    whole = Transitions.empty(2).add(group, columns, following)
    parts = Transitions.empty(2)
    for part in np.array_split(rng.permutation(200), 7):
        parts = parts.add(group[part], [column[part] for column in columns], following[part])
    assert parts.table.equals(whole.table)
    assert whole.table["count"].sum() == 200


def test_counts_are_kept_as_a_table(tmp_path: Path) -> None:
    counts = Transitions.empty(2).add(np.array([1]), [np.array([0]), np.array([-1])], np.array([2]))
    assert counts.table.rows() == [(1, -1, 0, 2, 1)]
    counts.table.write_parquet(tmp_path / "counts.parquet")
    again = Transitions(2, pl.read_parquet(tmp_path / "counts.parquet"))
    assert again.table.equals(counts.table)


def test_counts_of_another_form_are_refused() -> None:
    with pytest.raises(PolicyError, match="have the columns class, last1, next, count"):
        Transitions(1, pl.DataFrame({"class": [1]}))
    with pytest.raises(PolicyError, match="1 value or more"):
        Transitions.empty(0)
    with pytest.raises(PolicyError, match="need 2 last values"):
        Transitions.empty(2).add(np.array([0]), [np.array([0])], np.array([0]))
    counts = Transitions.empty(1).add(np.array([0]), [np.array([0])], np.array([5]))
    with pytest.raises(PolicyError, match="codes beyond the values"):
        counts.to_knowledge(pl.Series(["a", "b"]), BY_SEX)


@pytest.mark.parametrize(
    "arguments",
    [
        {"order": 4},
        {"order": -1},
        {"smoothing": -1.0},
        {"unseen": "never"},
        {"gaps": "never"},
        {"prior": Knowledge(pl.Series(["a"]), BY_SEX, np.ones((2, 1)))},
    ],
)
def test_a_source_out_of_range_is_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(PolicyError):
        Extracted(**arguments)  # type: ignore[arg-type]


def test_a_source_has_a_digest() -> None:
    sources = [
        Extracted(),
        Extracted(1),
        Extracted(classes=BY_SEX),
        Extracted(terminal=("a",)),
        Extracted(smoothing=1),
        Extracted(unseen="zero"),
        Extracted(gaps="count"),
    ]
    assert len({source.digest() for source in sources}) == len(sources)
    assert Extracted().digest() == Extracted().digest()


def test_learning_needs_views_with_people_and_values() -> None:
    table = frame([("F", "a")])
    with pytest.raises(PolicyError, match="one view or more"):
        learn([], SCHEMA)
    with pytest.raises(PolicyError, match="0, 1, 2 or 3"):
        learn([table], SCHEMA, order=4)
    with pytest.raises(PolicyError, match="identifier and a sensitive"):
        learn([table], Schema(None, [Category("sex")], "result", dropped=["id"]))
    with pytest.raises(PolicyError, match="none called age"):
        learn([table], SCHEMA, Classes((Listed("age", ("1",)),)))


def test_views_that_hold_nobody_teach_nothing() -> None:
    with pytest.raises(ViewError, match="the views hold nobody"):
        learn([frame([])], Schema("id", [Category("sex")], "result"))
