"""What a publisher's choices give away, against a plain enumeration of inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish import CannotPublish, LDiversity, MInvariance, Mondrian, Number, PolicyError, Schema, read_view
from republish.attacks import Adversary
from republish.attacks.replaying.input_enumeration import Options, Rerun, minimality, suppression, try_inputs
from republish.grouping import Grouping, Regions
from republish.memory.memory import Memory, sight
from republish.microdata import Microdata
from republish.publishers import Publisher
from republish.schema import Category
from republish.secret import Secret

SECRET = Secret.from_text("the same for all tests of inputs")


def schema(values: Sequence[str]) -> Schema:
    return Schema("id", [Number("age")], Category("dx", domain=tuple(values)))


@dataclass(frozen=True)
class Replay:
    """A publisher in a series that is kept in memory alone."""

    publisher: Publisher

    def __call__(
        self, views: Sequence[Microdata], earlier: Sequence[Grouping], rng: np.random.Generator
    ) -> Grouping:
        memory = Memory.empty()
        for number, (view, grouping) in enumerate(zip(views, earlier, strict=False), start=1):
            seen = sight(view, view.row_digests(SECRET), grouping.group + 1, number, memory)
            memory = self.publisher.remember(view, grouping, memory.merged(seen))
        return self.publisher.publish(views[-1], memory, rng)


def cautious(views: Sequence[Microdata], earlier: Sequence[Grouping], rng: np.random.Generator) -> Grouping:
    """One group an age; left out where more than half of it has the first value. Memory and chance play no part."""
    del earlier, rng
    view = views[-1]
    group = np.unique(view.points[0], return_inverse=True)[1]
    often = np.bincount(group, weights=view.codes == 0) * 2 > np.bincount(group)
    kept = np.cumsum(~often) - 1
    return Grouping(np.where(often[group], -1, kept[group]).astype(np.int32))


def tossing(views: Sequence[Microdata], earlier: Sequence[Grouping], rng: np.random.Generator) -> Grouping:
    """One group; a coin decides whether whoever has the first value is left out."""
    del earlier
    left_out = (views[-1].codes == 0) & (rng.random() < 0.5)
    return Grouping(np.where(left_out, -1, 0).astype(np.int32))


def moody(views: Sequence[Microdata], earlier: Sequence[Grouping], rng: np.random.Generator) -> Grouping:
    """One group an age where each has two different values and chance allows it, which it does less and less often."""
    view = views[-1]
    group = np.unique(view.points[0], return_inverse=True)[1]
    kinds = [len(np.unique(view.codes[group == g])) for g in range(int(group.max(initial=-1)) + 1)]
    apart = min(kinds, default=0) > 1 and rng.random() < 0.7 / (1 + sum(one.groups for one in earlier) / 4)
    return Grouping((group if apart else np.zeros_like(group)).astype(np.int32))


def viewed(
    ages: Sequence[int], values: Sequence[str], domain: Sequence[str], names: Sequence[int] | None = None
) -> Microdata:
    """Made-up people; rows come in the order of pseudonyms."""
    frame = pl.DataFrame(
        {"id": [f"p{i}" for i in (names or range(len(ages)))], "age": ages, "dx": values},
        schema={"id": pl.String, "age": pl.Int64, "dx": pl.String},
    )
    return read_view(frame, schema(domain)).pseudonymous(SECRET)


def published(rerun: Rerun, views: list[Microdata]) -> list[Grouping]:
    """What is published under the first of the seeds that are tried."""
    made: list[Grouping] = []
    for number in range(1, len(views) + 1):
        made.append(rerun(views[:number], made, np.random.default_rng([0, number, 0])))
    return made


def shown(codes: np.ndarray, grouping: Grouping) -> Counter:
    """Groups as members and values."""
    groups = []
    for g in range(grouping.groups):
        rows = np.flatnonzero(grouping.group == g)
        values = [*codes[rows].tolist(), *grouping.counterfeit_code[grouping.counterfeit_group == g].tolist()]
        groups.append((tuple(rows.tolist()), tuple(sorted(values))))
    return Counter(groups)


def enumerated(
    rerun: Rerun, views: list[Microdata], made: list[Grouping], draws: int
) -> tuple[list[dict], list[dict], list[list[int]]]:
    """Probability of each value of everybody in each view, without and with the publisher; by plain enumeration."""
    values = len(views[0].values)
    life: dict[tuple[int, tuple], int] = {}
    of_row: list[list[int]] = []
    last: dict[tuple, tuple[int, int]] = {}
    previous: dict[int, int] = {}
    for view in views:
        rows = []
        for person, code in zip(map(tuple, view.people.tolist()), view.codes.tolist(), strict=True):
            if person not in last or last[person][1] != code:
                number = len(life)
                life[number, person] = number
                if person in last:
                    previous[number] = last[person][0]
                last[person] = (number, code)
            rows.append(last[person][0])
        of_row.append(rows)
    expected = [shown(view.codes, grouping) for view, grouping in zip(views, made, strict=True)]
    before: list[dict[int, float]] = [Counter() for _ in life]
    after: list[dict[int, float]] = [Counter() for _ in life]
    for world in product(range(values), repeat=len(life)):
        if any(world[a] == world[b] for a, b in previous.items()):
            continue
        codes = [np.array([world[u] for u in rows], dtype=np.int32) for rows in of_row]
        if not all(map(fits, codes, made, expected)):
            continue
        inputs = [replace(view, codes=code) for view, code in zip(views, codes, strict=True)]
        likely, earlier = 1.0, []
        for number in range(len(views)):
            same = []
            for draw in range(draws):
                try:
                    found = rerun(inputs[: number + 1], earlier, np.random.default_rng([0, number + 1, draw]))
                except CannotPublish:
                    continue
                left_out = np.array_equal(found.group < 0, made[number].group < 0)
                if left_out and shown(codes[number], found) == expected[number]:
                    same.append(found)
            likely *= len(same) / draws
            if not same:
                break
            earlier.append(same[0])
        for u, code in enumerate(world):
            before[u][code] += 1.0
            after[u][code] += likely
    return before, after, of_row


def fits(codes: np.ndarray, grouping: Grouping, expected: Counter) -> bool:
    """Whether members can have these values by what their groups show."""
    return all(not Counter(codes[list(rows)].tolist()) - Counter(values) for rows, values in expected)


def compared(rerun: Rerun, views: list[Microdata], made: list[Grouping], draws: int) -> None:
    tried = try_inputs(rerun, views, made, Options(draws))
    before, after, of_row = enumerated(rerun, views, made, draws)
    for late, weights in ((False, before), (True, after)):
        found = tried.posterior(late)
        for own, expected in zip(tried.case.life, of_row, strict=True):
            for u, v in zip(own.tolist(), expected, strict=True):
                shares = [weights[v][code] / sum(weights[v].values()) for code in range(found.shape[1])]
                assert found[u] == pytest.approx(shares)


@st.composite
def small_series(
    draw: st.DrawFn, rows: int = 6, releases: int = 2, balanced: bool = False
) -> list[Microdata]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    domain = "abc"[: draw(st.integers(2, 3))]
    ages = rng.choice([20, 30, 40], rows).tolist()
    values = rng.permutation(np.resize(list(domain), rows)) if balanced else rng.choice(list(domain), rows)
    views = []
    for _ in range(draw(st.integers(1, releases))):
        values = np.where(rng.random(rows) < 0.1, rng.choice(list(domain), rows), values)
        there = np.flatnonzero(rng.random(rows) < 0.9).tolist()
        views.append(viewed([ages[i] for i in there], [str(values[i]) for i in there], domain, there))
    return views


@given(small_series())
@settings(max_examples=40)
def test_a_publisher_without_chance_is_as_plain_enumeration_has_it(views: list[Microdata]) -> None:
    rerun = Replay(Mondrian(2, (LDiversity(2),)))
    try:
        made = published(rerun, views)
    except CannotPublish:
        return
    compared(rerun, views, made, 1)


@given(small_series(balanced=True))
@settings(max_examples=25)
def test_a_publisher_with_counterfeits_is_as_plain_enumeration_has_it(views: list[Microdata]) -> None:
    rerun = Replay(MInvariance(2))
    try:
        made = published(rerun, views)
    except CannotPublish:
        return
    compared(rerun, views, made, 3)


def test_counterfeits_of_two_releases_are_tried() -> None:
    views = [
        viewed([20, 21, 30, 31], ["a", "b", "a", "b"], "abc", [0, 1, 2, 3]),
        viewed([20, 30, 31], ["a", "a", "b"], "abc", [0, 2, 3]),
    ]
    rerun = Replay(MInvariance(2))
    made = published(rerun, views)
    assert sum(grouping.counterfeits for grouping in made) > 0
    compared(rerun, views, made, 3)


@given(small_series(balanced=True))
@settings(max_examples=30)
def test_chances_of_several_releases_are_multiplied(views: list[Microdata]) -> None:
    compared(moody, views, published(moody, views), 5)


@given(small_series())
@settings(max_examples=40)
def test_people_left_out_are_as_plain_enumeration_has_them(views: list[Microdata]) -> None:
    compared(cautious, views, published(cautious, views), 1)


MERGED = viewed(
    [20, 20, 30, 30, 30, 30],
    ["hiv", "hiv", "flu", "cold", "none", "pox"],
    ["cold", "flu", "hiv", "none", "pox"],
)


def test_groups_that_were_joined_say_why() -> None:
    # Two people of 20 would be a group of their own if their values differed, and only hiv occurs twice.
    rerun = Replay(Mondrian(2, (LDiversity(2),)))
    made = published(rerun, [MERGED])
    assert made[0].groups == 1
    tried = try_inputs(rerun, [MERGED], made)
    young = np.flatnonzero(MERGED.points[0] == 20)
    hiv = MERGED.values.to_list().index("hiv")
    lives = tried.case.life[0][young]
    assert tried.posterior(after=False)[lives, hiv] == pytest.approx([1 / 3, 1 / 3])
    assert tried.posterior()[lives, hiv] == pytest.approx([1.0, 1.0])
    result = tried.minimality()
    assert (result.inputs, result.kept, result.lives) == (360, 24, 6)
    assert (result.before.determined, result.after.determined) == (0, 2)
    assert result.gain > 0.3
    assert result.as_dict() == minimality(rerun, [MERGED], made).as_dict()


def test_a_publisher_that_does_not_look_at_values_gives_nothing_away() -> None:
    rerun = Replay(Mondrian(2))
    result = minimality(rerun, [MERGED], published(rerun, [MERGED]))
    assert result.gain == pytest.approx(0.0)
    assert result.kept == result.inputs


def test_who_is_left_out_alone_has_the_value_that_leaves_her_out() -> None:
    view = viewed([20, 20, 50, 30, 30], ["a", "b", "a", "b", "c"], ["a", "b", "c"])
    made = published(cautious, [view])
    assert made[0].suppressed == 1
    result = suppression(cautious, [view], made)
    assert (result.lives, result.before.determined, result.after.determined) == (1, 0, 1)
    assert result.before.mean_confidence == pytest.approx(1 / 3)
    assert result.after.mean_confidence == pytest.approx(1.0)
    assert result.mean_share == pytest.approx(1 / 4)
    assert result.gain == pytest.approx(1.0)


def test_frequent_values_can_be_likelier_beforehand() -> None:
    view = viewed([20, 20, 50, 30, 30], ["a", "b", "a", "b", "c"], ["a", "b", "c"])
    result = suppression(cautious, [view], published(cautious, [view]), Options(prior="published"))
    assert result.before.mean_confidence == pytest.approx(2 / 7)
    assert result.after.determined == 1


def test_where_nobody_is_left_out_nothing_is_inferred_from_it() -> None:
    view = viewed([20, 20], ["b", "c"], ["a", "b", "c"])
    result = suppression(cautious, [view], published(cautious, [view]))
    assert (result.lives, result.gain, result.after.worst_confidence) == (0, 0.0, 0.0)


def test_seeds_are_averaged_over() -> None:
    # Under half of the seeds nobody is left out, whatever the values: only then the first value is possible here.
    view = viewed([20, 20, 20], ["a", "b", "b"], ["a", "b"])
    made = [Grouping(np.zeros(3, dtype=np.int32))]
    few = try_inputs(tossing, [view], made, Options(draws=64))
    assert few.posterior()[:, 0] == pytest.approx([1 / 3] * 3)
    share = few.after[0]
    assert 0.3 < share < 0.7
    gone = [Grouping(np.where(view.codes == 0, -1, 0).astype(np.int32))]
    result = suppression(tossing, [view], gone, Options(draws=64))
    assert (result.inputs, result.kept, result.after.determined) == (2, 1, 1)


def test_regions_are_part_of_what_is_shown() -> None:
    def telling(views: Sequence[Microdata], earlier: object, rng: object) -> Grouping:
        """A region that ends where the first value begins."""
        view = views[-1]
        end = view.points[0][view.codes == 0].max(initial=0.0)
        level = np.zeros(1, dtype=np.int32)
        return Grouping(
            np.zeros(view.rows, dtype=np.int32), regions=Regions(np.zeros((1, 1)), np.array([[end]]), level)
        )

    view = viewed([20, 30, 40], ["b", "a", "b"], ["a", "b"])
    result = minimality(telling, [view], published(telling, [view]))
    assert (result.inputs, result.kept, result.after.determined) == (3, 1, 3)


def test_known_people_make_fewer_inputs() -> None:
    rerun = Replay(Mondrian(2, (LDiversity(2),)))
    made = published(rerun, [MERGED])
    tried = try_inputs(rerun, [MERGED], made, known=Adversary([0, 1]).known)
    assert len(tried.worlds) < 360
    assert tried.minimality().lives == 4


def test_too_many_inputs_are_refused_with_their_number() -> None:
    rerun = Replay(Mondrian(2, (LDiversity(2),)))
    made = published(rerun, [MERGED])
    with pytest.raises(PolicyError, match="at most 100 inputs can be tried, and 360 fit"):
        minimality(rerun, [MERGED], made, Options(limit=100))
    with pytest.raises(PolicyError, match="at most 2 inputs can be tried, and at least 100 fit"):
        minimality(rerun, [MERGED], made, Options(limit=2))


def test_releases_that_no_input_makes_are_refused() -> None:
    made = [Grouping(np.array([0, 0, 0, 1, 1, 1], dtype=np.int32))]
    with pytest.raises(PolicyError, match=r"none of .* inputs makes these releases"):
        minimality(Replay(Mondrian(2)), [MERGED], made)


def test_what_cannot_be_tried_is_refused() -> None:
    rerun = Replay(Mondrian(2))
    with pytest.raises(PolicyError, match="there are 1 and 0"):
        minimality(rerun, [MERGED], [])
    with pytest.raises(PolicyError, match="views with pseudonyms"):
        minimality(rerun, [replace(MERGED, people=None)], published(rerun, [MERGED]))
    with pytest.raises(PolicyError, match="of the one before"):
        other = viewed([20], ["a"], ["a", "b"])
        minimality(
            rerun, [other, MERGED], [Grouping(np.zeros(1, dtype=np.int32)), *published(rerun, [MERGED])]
        )
    with pytest.raises(PolicyError, match="even, published"):
        Options(prior="true")
    with pytest.raises(PolicyError, match="at least one seed"):
        Options(draws=0)


def test_the_document_names_nobody() -> None:
    rerun = Replay(Mondrian(2, (LDiversity(2),)))
    document = minimality(rerun, [MERGED], published(rerun, [MERGED])).as_dict()
    assert document["attack"] == "minimality"
    assert document["after"] == {
        "determined": 2,
        "mean_confidence": document["after"]["mean_confidence"],
        "worst_confidence": 1.0,
    }
    assert "confidence" not in document
