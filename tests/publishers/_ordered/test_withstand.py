"""Groups that withstand an adversary who weighs all releases together: what is promised, measured anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from attacks.enumeration import lasting_knowledge
from publishers.believing import SCHEMA, SECRET, random_frame
from republish import PolicyError, read_view
from republish.grouping import Grouping
from republish.inference import UNTOLD, Compromised, posterior
from republish.inference.joint import withstand as joint_withstand
from republish.inference.joint._sightings import looping
from republish.inference.joint.messages import together
from republish.inference.joint.trail import CODES, GROUPS, KINDS, trail, trail_codes
from republish.inference.joint.withstand import (
    NUDGE,
    judged,
    nobody_shown,
    sighting,
    strays,
    with_changes,
    without_it,
)
from republish.inference.revision import Revision
from republish.knowledge import Extracted, Knowledge
from republish.memory.memory import Memory, read_memory, sight
from republish.microdata import Microdata
from republish.publishers import BayFrame, JSReduce, Publisher, make_publisher
from republish.publishers._ordered.mending import divergences
from republish.publishers._ordered.withstand import influences
from republish.verify.check import Check
from republish.verify.similarity import Shown
from republish.verify.withstand import TrailWalk, from_memory

LIMIT = 0.25


def known(stay: float = 0.85) -> Knowledge:
    return replace(lasting_knowledge(1, 3, 1, stay), values=pl.Series("result", ["v0", "v1", "v2"]))


def views(count: int, seed: int = 4, names: int = 60) -> list[Microdata]:
    """People whose values last; most of them are in each view."""
    rng = np.random.default_rng(seed)
    first = random_frame(rng, names, share=1.0)
    value = first["result"].to_numpy().copy()
    found = []
    for _ in range(count):
        changed = rng.random(names) < 0.15
        value[changed] = rng.choice(["v0", "v1", "v2"], int(changed.sum()))
        there = rng.random(names) < 0.85
        frame = first.with_columns(pl.Series("result", value)).filter(pl.Series(there))
        found.append(read_view(frame, SCHEMA, pl.Series(["v0", "v1", "v2"])).pseudonymous(SECRET))
    return found


def published(publisher: Publisher, given: Sequence[Microdata]) -> tuple[list[Grouping], Memory]:
    memory, groupings = Memory.empty(), []
    for number, view in enumerate(given, 1):
        grouping = publisher.publish(view, memory, np.random.default_rng(0))
        seen = sight(view, np.zeros(view.rows, np.uint64), grouping.group + 1, number, memory)
        memory = publisher.remember(view, grouping, memory.merged(seen))
        groupings.append(grouping)
    return groupings, memory


def seen_by_all(given: Sequence[Microdata], groupings: Sequence[Grouping], knowledge: Knowledge):  # type: ignore[no-untyped-def]
    """The releases as an adversary sees them, people numbered through the series; and how many people there are."""
    words = [tuple(row) for view in given for row in view.people.tolist()]  # type: ignore[union-attr]
    number = {word: i for i, word in enumerate(dict.fromkeys(words))}
    revision = Revision(knowledge.aligned(given[-1].values))
    sightings = []
    for view, grouping in zip(given, groupings, strict=True):
        person = np.array([number[tuple(row)] for row in view.people.tolist()])  # type: ignore[union-attr]
        shown = grouping.group >= 0
        group = grouping.group.astype(np.int64)
        sightings.append(
            sighting(person, np.zeros(view.rows, np.int64), revision, group, group[shown], view.codes[shown])
        )
    return sightings, len(number)


@pytest.mark.parametrize(("kind", "events"), [(JSReduce, None), (BayFrame, None), (JSReduce, True)])
def test_no_release_takes_anybody_beyond_the_limit(
    kind: type[JSReduce | BayFrame], events: bool | None
) -> None:
    """Judged from the groupings alone; without the option the same series is beyond it."""
    given = views(5)
    broken = {}
    for limit in (0.0, LIMIT):
        publisher = kind(knowledge=known(), crowd=4.0, withstand=limit, event_lists=events)
        groupings, _ = published(publisher, given)
        sightings, people = seen_by_all(given, groupings, known())
        if events:
            sightings = with_changes(sightings, [view.codes for view in given], people)
        broken[limit] = sum(
            int(one.sum())
            for i in range(len(given))
            for one in judged(sightings[:i], sightings[i], people, LIMIT).blamed
        )
        assert sum(grouping.groups for grouping in groupings) > 5
    assert broken[0.0] > 0
    assert broken[LIMIT] == 0


def test_changes_are_those_since_the_last_view() -> None:
    given = views(3)
    groupings, memory = published(JSReduce(knowledge=known(), crowd=4.0, withstand=1.0), given)
    sightings, people = seen_by_all(given, groupings, known())
    codes = [view.codes.astype(np.int64) for view in given]
    last: dict[int, int] = {}
    for one, code in zip(with_changes(sightings, codes, people), codes, strict=True):
        assert one.changed is not None
        for who, mark, now in zip(one.person.tolist(), one.changed.tolist(), code.tolist(), strict=True):
            assert mark == (int(now != last[who]) if who in last else UNTOLD)
            last[who] = now
    for kept, one in zip(trail_codes(memory), trail(memory, sightings[0].revision), strict=True):
        assert len(kept) == len(one.person)


def test_other_promises_hold_as_before() -> None:
    publisher = JSReduce(knowledge=known(), crowd=4.0, withstand=LIMIT)
    assert publisher.series_promises == ("similarity=0.6", "withstand=0.25")
    assert replace(publisher, event_lists=True).series_promises == ("similarity=0.6", "withstand-events=0.25")
    for grouping in published(publisher, views(4))[0]:
        sizes = np.bincount(grouping.group[grouping.group >= 0])
        assert (sizes >= 3).all()


def test_a_limit_that_nothing_meets_leaves_everybody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the first release a group is all that is known; the second says more of both."""
    monkeypatch.setattr(joint_withstand, "NUDGE", 0.0)  # else a few people may be shown who change little
    publisher = JSReduce(knowledge=known(0.99), crowd=4.0, withstand=1e-9)
    (first, second), memory = published(publisher, views(2))
    assert first.suppressed == 0
    assert second.suppressed == len(second.group)
    assert (memory.columns[GROUPS][:, 1] <= 1).all()


def test_a_limit_that_everything_meets_changes_nothing() -> None:
    given = views(3)
    plain, _ = published(JSReduce(knowledge=known(), crowd=4.0), given)
    withstanding, _ = published(JSReduce(knowledge=known(), crowd=4.0, withstand=1.0), given)
    for one, other in zip(plain, withstanding, strict=True):
        assert (one.group == other.group).all()


def test_the_memory_holds_the_trail_of_everyone(tmp_path) -> None:  # type: ignore[no-untyped-def]
    given = views(3)
    groupings, memory = published(JSReduce(knowledge=known(), crowd=4.0, withstand=1.0), given)
    for i, (view, grouping) in enumerate(zip(given, groupings, strict=True)):
        entries = memory.find(view.people)  # type: ignore[arg-type]
        assert (memory.columns[GROUPS][entries, i] == grouping.group + 2).all()
        assert (memory.columns[CODES][entries, i] == view.codes).all()
        assert (memory.columns[KINDS][entries, i] == 0).all()
        assert np.count_nonzero(memory.columns[GROUPS][:, i]) == view.rows
    memory.write(tmp_path / "memory.parquet")
    stored = read_memory([tmp_path / "memory.parquet"], memory.release)
    assert (stored.columns[GROUPS] == memory.columns[GROUPS]).all()


def test_without_the_option_no_trail_is_kept() -> None:
    _, memory = published(JSReduce(knowledge=known(), crowd=4.0), views(2))
    assert GROUPS not in memory.columns


def test_a_release_of_nobody_is_part_of_the_trail() -> None:
    given = views(3)
    none = read_view(random_frame(np.random.default_rng(0), 1).clear(), SCHEMA, given[0].values)
    given[1] = none.pseudonymous(SECRET)
    groupings, memory = published(JSReduce(knowledge=known(), crowd=4.0, withstand=LIMIT), given)
    assert [grouping.groups > 0 for grouping in groupings][:2] == [True, False]
    assert memory.columns[GROUPS].shape[1] == 3
    assert not memory.columns[GROUPS][:, 1].any()


def test_counted_knowledge_serves_as_well() -> None:
    publisher = JSReduce(knowledge=Extracted(1), crowd=4.0, withstand=0.5)
    groupings, _ = published(publisher, views(3))
    assert groupings[0].groups > 1


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"rest": "counterfeit"}, "without counterfeits"),
        ({"posterior": "omega"}, "exact, bp, sinkhorn"),
        ({"form": "product"}, "form joint"),
        ({"distance": "ks"}, "let distance be js"),
        ({"against": "view"}, "against be release"),
        ({"withstand": -1.0}, "withstand"),
    ],
)
def test_what_cannot_be_measured_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        JSReduce(**{"withstand": 0.5, **settings})  # type: ignore[arg-type]


def test_compromised_records_are_refused() -> None:
    (view,) = views(1)
    entries = Compromised(np.array([0]), np.array([1]), np.array([0.5]))
    publisher = BayFrame(knowledge=known(), withstand=0.5)
    with pytest.raises(PolicyError, match="told of nobody"):
        publisher.publish(replace(view, compromised=entries), Memory.empty(), np.random.default_rng(0))


def test_the_option_is_a_parameter_like_others() -> None:
    made = make_publisher("js-reduce", {"withstand": "0.5"})
    assert isinstance(made, JSReduce)
    assert made.withstand == 0.5


# What is verified ---------------------------------------------------------------------------------


def audited(
    publisher: JSReduce, given: Sequence[Microdata], promise: str
) -> tuple[list[Check], TrailWalk, Memory]:
    """The checks of every release: against the memory, then from the releases alone."""
    walk, memory, checks = TrailWalk("exact"), Memory.empty(), []
    for number, view in enumerate(given, 1):
        grouping = publisher.publish(view, memory, np.random.default_rng(0))
        shown = grouping.group >= 0
        group = grouping.group + 1
        released = Shown(publisher.reasoning.respondents(view), group[shown], view.codes[shown])
        checks.append(from_memory(promise, publisher.reasoning, released, group, memory))
        revision = publisher.reasoning.thoughts(released.people, memory).revision
        checks.append(walk.look(released, group, revision)(promise))
        seen = sight(view, np.zeros(view.rows, np.uint64), group, number, memory)
        memory = publisher.remember(view, grouping, memory.merged(seen))
    return checks, walk, memory


def test_the_promise_is_verified_from_the_memory_and_from_the_releases() -> None:
    publisher = JSReduce(knowledge=known(), crowd=4.0, withstand=LIMIT)
    checks, walk, memory = audited(publisher, views(4), "withstand=0.25")
    assert all(check.holds for check in checks)
    assert walk.differences(memory) == []
    trail = memory.columns[GROUPS].copy()
    trail[:2, 0] += 1
    wrong = replace(memory, columns={**memory.columns, GROUPS: trail})
    # two are in another group, so everyone who was with them, then or now, has other companions
    assert walk.differences(wrong) == ["the memory holds another trail of 16 people than the memberships"]
    gone = replace(memory, columns={name: c for name, c in memory.columns.items() if name != KINDS})
    assert "a trail of 0 releases" in walk.differences(gone)[0]


def test_a_broken_promise_is_found_by_both() -> None:
    publisher = JSReduce(knowledge=known(), crowd=4.0, withstand=1.0)
    checks, _, _ = audited(publisher, views(5), "withstand=0.25")
    broken = [not check.holds for check in checks]
    assert any(broken)
    assert broken[::2] == broken[1::2]
    first = next(check for check in checks if not check.holds)
    assert first.reached is not None
    assert first.reached > LIMIT
    assert 0 < first.groups <= first.rows


def test_where_people_were_forgotten_nothing_is_checked() -> None:
    given = views(1)
    walk = TrailWalk("exact")
    publisher = JSReduce(knowledge=known(), crowd=4.0, withstand=LIMIT)
    now = publisher.reasoning.respondents(given[0])
    people = now.people.copy()
    people[0] = 0
    group = np.ones(len(people), np.int64)
    check = walk.look(Shown(now._replace(people=people), group, given[0].codes), group, Revision(known()))
    assert check("withstand=0.25").unchecked == 1


@settings(max_examples=8, deadline=None)
@drawn(seed=st.integers(0, 1_000), limit=st.sampled_from([0.1, 0.25, 0.4]), events=st.booleans())
def test_whatever_is_published_verifies(seed: int, limit: float, events: bool) -> None:
    """Also where groups were joined and people left out; the other promises hold too."""
    publisher = JSReduce(knowledge=known(), crowd=4.0, withstand=limit, event_lists=events)
    given_views = views(4, seed=seed, names=40)
    checks, _, _ = audited(publisher, given_views, publisher.series_promises[1])
    assert [check for check in checks if not check.holds] == []
    memory = Memory.empty()
    for number, view in enumerate(given_views, 1):
        thoughts = publisher.reasoning.thoughts(publisher.reasoning.respondents(view), memory)
        grouping = publisher.publish(view, memory, np.random.default_rng(0))
        shown = grouping.group >= 0
        apart = divergences(thoughts.prior[shown], grouping.group[shown], grouping.groups)
        assert apart.max(initial=0.0) <= 0.6 + 1e-9
        assert (np.bincount(grouping.group[shown], minlength=1) >= 3 * bool(shown.any())).all()
        seen = sight(view, np.zeros(view.rows, np.uint64), grouping.group + 1, number, memory)
        memory = publisher.remember(view, grouping, memory.merged(seen))


def test_nothing_but_the_group_at_fault_is_mended() -> None:
    """Everybody stays what they are, and of person 0 the second release shows it: person 1 can have one value alone."""
    revision = Revision(known(1.0))
    first = sighting(
        np.arange(6),
        np.zeros(6, np.int64),
        revision,
        array([0, 0, 1, 1, 1, 1]),
        *shown_as([0, 1, 0, 1, 2, 2]),
    )
    second = sighting(
        array([0, 2, 3]),
        np.zeros(3, np.int64),
        revision,
        array([0, 1, 1]),
        array([0, 1, 1]),
        array([0, 0, 1]),
    )
    alone = without_it([first], second, 6)
    found = judged([first], second, 6, 0.2, without=alone)
    causes = influences([first, second], found, alone, 6)
    blamed = np.unique(np.concatenate([first.person[found.blamed[0]], second.person[found.blamed[1]]]))
    assert {0, 1} <= set(blamed.tolist())
    assert causes[blamed.tolist().index(0)].argmax() == 0
    assert causes[blamed.tolist().index(1)].argmax() == 0


# What is measured ---------------------------------------------------------------------------------


def test_a_talk_goes_on_with_another_last_release_as_if_it_had_been_there() -> None:
    given = views(3)
    groupings, _ = published(JSReduce(knowledge=known(), crowd=4.0), given)
    sightings, people = seen_by_all(given, groupings, known())
    alone = without_it(sightings[:2], sightings[2], people)
    looped = looping(sightings, people)
    went = alone.talk.with_last(sightings[2], looped)
    went.rounds(300, 1e-9)
    anew = together(sightings, people, rounds=300, tolerance=1e-9)
    for found, right in zip(went.posteriors(), anew.posteriors, strict=True):
        assert found.p == pytest.approx(right.p, abs=1e-4)
    nobody = nobody_shown(sightings[2])
    again = alone.talk.with_last(nobody, looping([*sightings[:2], nobody], people))
    again.rounds(4)
    for found, one in zip(again.posteriors(), alone.beliefs, strict=True):
        assert (found.p == one).all()  # the talk that others go on from stays as it is


def test_who_foresees_a_value_is_not_blamed_on_the_release_that_shows_it() -> None:
    """With event lists: everybody stays what they are, and the first release shows each of them alone."""
    revision = Revision(known(0.85))
    alone = sighting(
        array([0, 1, 2]), np.zeros(3, np.int64), revision, *[array([0, 1, 2])] * 2, array([0, 1, 1])
    )
    again = one_group([0, 1, 1], [0, 1, 2], revision)
    codes = [array([0, 1, 1])] * 2
    for events in (False, True):
        first, second = with_changes([alone, again], codes, 3) if events else (alone, again)
        assert judged([first], second, 3, 0.2).blamed[1].any() != events


def array(numbers: list[int]) -> np.ndarray:  # type: ignore[type-arg]
    return np.array(numbers, dtype=np.int64)


def shown_as(codes: list[int]):  # type: ignore[no-untyped-def]
    return array([0, 0, 1, 1, 1, 1]), array(codes)


def one_group(codes: list[int], person: list[int], revision: Revision):  # type: ignore[no-untyped-def]
    group = np.zeros(len(codes), np.int64)
    who = np.array(person)
    return sighting(who, np.zeros(len(who), np.int64), revision, group, group, np.array(codes))


def strayed(sightings, people: int):  # type: ignore[no-untyped-def]
    """How far she strays who weighs all releases together."""
    found = together(sightings, people, rounds=10)
    return [strays(one, posterior.p) for one, posterior in zip(sightings, found.posteriors, strict=True)]


def test_straying_is_the_divergence_of_posterior_and_shares() -> None:
    knowledge = known()
    revision = Revision(knowledge)
    now = one_group([0, 1, 1], [0, 1, 2], revision)
    mine = posterior(np.repeat(knowledge.prior, 3, axis=0), [0, 1, 1])
    assert mine == pytest.approx(np.tile([1 / 3, 2 / 3, 0.0], (3, 1)))
    assert strayed([now], 3)[0] == pytest.approx(np.zeros(3), abs=1e-9)
    alone = one_group([0], [0], revision)
    (first, second) = strayed([now, alone], 3)
    p, f = known(1.0), np.array([1 / 3, 2 / 3, 0.0])
    assert p.sequential is not None
    assert second == pytest.approx([0.0])
    assert 0 < first[1] < first[0] < 1
    certain = Revision(p)
    (first, _) = strayed([now._replace(revision=certain), alone._replace(revision=certain)], 3)
    bits = lambda q: -sum(x * np.log2(x) for x in q if x > 0)  # noqa: E731
    sure = np.array([1.0, 0.0, 0.0])
    assert first[0] == pytest.approx(bits((sure + f) / 2) - bits(f) / 2, abs=1e-6)


def test_a_release_is_not_blamed_for_what_is_beyond_help() -> None:
    """Everybody stays what they are. Of two, one is shown alone: then both are known, whatever comes next."""
    revision = Revision(known(1.0))
    first = one_group([0, 1], [0, 1], revision)
    second = one_group([0], [0], revision)
    blamed = judged([first], second, 2, 0.2)
    assert [one.tolist() for one in blamed.blamed] == [[True, True], [False]]
    assert blamed.beyond_help == 0
    third = one_group([1], [1], revision)
    later = judged([first, second], third, 2, 0.2)
    assert not any(one.any() for one in later.blamed)
    assert later.beyond_help == 2
    assert without_it([first], second, 2).strays[0] == pytest.approx([0.0, 0.0], abs=1e-9)
    assert len(nobody_shown(second).row) == 0


def test_who_is_close_to_the_limit_may_be_pushed_a_little() -> None:
    revision = Revision(known())
    first, second = one_group([0, 1, 1], [0, 1, 2], revision), one_group([0], [0], revision)
    alone = without_it([first], second, 3)
    far = float(strays(first, judged([first], second, 3, 1.0, without=alone).beliefs[0])[0])
    almost = alone._replace(strays=[np.full(3, far - NUDGE / 2)])
    assert not judged([first], second, 3, far - NUDGE / 4, without=almost).blamed[0][0]
    nowhere = alone._replace(strays=[np.zeros(3)])
    assert judged([first], second, 3, far - NUDGE / 4, without=nowhere).blamed[0][0]
