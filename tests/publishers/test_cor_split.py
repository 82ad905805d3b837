"""Cor-Split: weak m-invariance and hc-safety over random series, and the paper's example."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from republish import (
    CannotPublish,
    Category,
    KAnonymity,
    LDiversity,
    Number,
    PolicyError,
    Schema,
    TCloseness,
    read_view,
)
from republish.grouping import Grouping
from republish.inference.hc_safety import hc_unsafe
from republish.memory.memory import Memory, sight
from republish.microdata import Microdata
from republish.publishers import make_publisher, stored_parameters
from republish.publishers.cor_split import CorSplit
from republish.secret import Secret

WAYS = ({"membership": "nearest"}, {}, {"zone": 6}, {"membership": "nearest", "cell": 8, "assignment": "new"})

SCHEMA = Schema("id", [Number("age"), Number("zip"), Category("gender")], "dx")
SECRET = Secret.from_text("the same for all tests of cor-split")
Person = tuple[int, int, str, str]


def naive_unsafe(group: set[str], size: int, earlier: Iterable[dict[str, int]], n: int) -> bool:
    """Fig. 6 word by word: people of a group, its size with counterfeits, everyone's group in each release.

    Nobody in common is no correlation, which the figure takes for granted: its n is never above |Q|.
    """
    for release in earlier:
        together = Counter(release[person] for person in group if person in release)
        most = max(together.values(), default=0)
        if max(size - n, 0) < most < size:
            return True
    return False


@dataclass
class Run:
    """A series of releases by one publisher, with all that was ever published.

    `releases` holds everyone's groups while they live the life they live now.
    """

    publisher: CorSplit
    memory: Memory = field(default_factory=Memory.empty)
    values: pl.Series | None = None
    releases: list[dict[str, int]] = field(default_factory=list)
    codes: list[dict[int, list[int]]] = field(default_factory=list)
    grouping: Grouping | None = None
    value: dict[str, str] = field(default_factory=dict)

    def view(self, people: dict[str, Person]) -> Microdata:
        columns = ("age", "zip", "gender", "dx")
        frame = pl.DataFrame(
            {"id": list(people), **{c: [p[i] for p in people.values()] for i, c in enumerate(columns)}},
            schema={"id": pl.String, "age": pl.Int64, "zip": pl.Int64, "gender": pl.String, "dx": pl.String},
        )
        return read_view(frame, SCHEMA, self.values)

    def publish(self, people: dict[str, Person], seed: int = 0) -> Grouping:
        plain = self.view(people)
        view = plain.pseudonymous(SECRET)
        grouping = self.publisher.publish(view, self.memory, np.random.default_rng(seed))
        number = len(self.releases) + 1
        seen = sight(view, view.row_digests(SECRET), grouping.group + 1, number, self.memory)
        memory = replace(self.memory.merged(seen), release=number)
        self.memory = self.publisher.remember(view, grouping, memory)
        self.values = view.values
        assert plain.identifiers is not None
        names = plain.identifiers.to_list()
        assert view.people is not None
        place = Memory(view.people, {}).find(SECRET.pseudonyms(plain.identifiers))
        group = grouping.group[place]
        for name in names:
            if self.value.setdefault(name, people[name][3]) != people[name][3]:
                self.value[name] = people[name][3]
                self.releases = [{k: g for k, g in r.items() if k != name} for r in self.releases]
        self.releases.append({name: int(g) for name, g in zip(names, group, strict=True)})
        rows: dict[int, list[int]] = {}
        for g, code in zip(
            [*grouping.group, *grouping.counterfeit_group],
            [*view.codes, *grouping.counterfeit_code],
            strict=True,
        ):
            rows.setdefault(int(g), []).append(int(code))
        self.codes.append(rows)
        self.grouping = grouping
        return grouping

    def members(self) -> dict[int, set[str]]:
        found: dict[int, set[str]] = {}
        for person, group in self.releases[-1].items():
            found.setdefault(group, set()).add(person)
        return found

    def signature(self, release: int, person: str) -> set[int]:
        return set(self.codes[release][self.releases[release][person]])

    def check(self, people: dict[str, Person]) -> None:
        """All that the last release promises."""
        m, n = self.publisher.m, self.publisher.n
        assert set(self.releases[-1]) == set(people)
        assert sorted(self.codes[-1]) == list(range(len(self.codes[-1])))
        for group, codes in self.codes[-1].items():
            counts = Counter(codes)
            assert len(counts) >= m
            assert len(set(counts.values())) == 1
            everyone = self.members()[group]  # a group of counterfeits alone would fail here
            assert not naive_unsafe(everyone, len(codes), self.releases[:-1], n)
        for person in people:
            earlier = [i for i, release in enumerate(self.releases) if person in release]
            assert len({frozenset(self.signature(i, person)) for i in earlier}) == 1


# ---- the example of the paper

FIRST = {
    "Alice": (33, 12000, "Female", "cancer"),
    "Betty": (31, 11000, "Female", "bronchitis"),
    "Carl": (35, 12000, "Male", "AIDS"),
    "Doris": (40, 13000, "Female", "cancer"),
    "Erica": (41, 14000, "Female", "AIDS"),
    "Fiona": (37, 13000, "Female", "bronchitis"),
}
SECOND = {
    **{name: FIRST[name] for name in ("Carl", "Doris", "Fiona", "Erica")},
    "Grace": (42, 13000, "Female", "bronchitis"),
    "Hanna": (42, 13000, "Female", "cancer"),
}
PRINTED_FIRST = {"Alice": 1, "Betty": 1, "Carl": 1, "Doris": 2, "Erica": 2, "Fiona": 2}
PRINTED_SECOND = [{"Carl", "Doris", "Fiona"}, {"Erica", "Grace", "Hanna"}]


def printed(n: int) -> list[bool]:
    """Whether the groups of the paper's second release are unsafe."""
    names = sorted(set().union(*PRINTED_SECOND))
    history = np.array([[PRINTED_FIRST.get(name, 0)] for name in names], dtype=np.int32)
    members = np.array([names.index(name) for group in PRINTED_SECOND for name in sorted(group)])
    return list(hc_unsafe(np.array([0, 3, 6]), members, history, np.array([3, 3]), n))


def test_the_second_release_of_the_paper_relates_erica_to_carl_alone() -> None:
    """Examples 1 to 4: Doris and Fiona stay together, and Carl takes the place of Erica."""
    assert printed(1) == [False, False]
    assert printed(2) == [True, False]
    # Group 4 kept nobody but Erica: Doris and Fiona are related to Grace and Hanna, which are two.
    assert printed(3) == [True, True]


@pytest.mark.parametrize("n", [2, 3])
def test_our_second_release_of_the_paper_relates_nobody_to_so_few(n: int) -> None:
    run = Run(CorSplit(m=3, n=n, pad=True))
    for view in (FIRST, SECOND):
        run.publish(view)
        run.check(view)


@pytest.mark.parametrize("seed", range(6))
def test_erica_stays_uncertain_when_the_paper_s_first_release_is_continued(seed: int) -> None:
    """From exactly the groups that the paper published first."""
    run = Run(CorSplit(m=3, n=2, pad=True))
    run.publish(FIRST)
    groups = np.array([PRINTED_FIRST[name] for name in FIRST], dtype=np.int32)
    view = run.view(FIRST)
    assert view.identifiers is not None
    entries = run.memory.find(SECRET.pseudonyms(view.identifiers))
    column = np.zeros(run.memory.size, dtype=np.int32)
    column[entries] = groups
    run.memory = replace(run.memory, columns={**run.memory.columns, "group@1": column})
    run.releases[0] = dict(PRINTED_FIRST)
    run.codes[0] = {group: [0, 1, 2] for group in (1, 2)}
    run.publish(SECOND, seed)
    run.check(SECOND)


# ---- hc-safety against its twin


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[list[int]], list[list[int]], list[int], int]:
    """Where people were, who is in which group, how many counterfeits each group has, and a degree."""
    people, releases = draw(st.integers(1, 14)), draw(st.integers(0, 3))
    line = st.lists(st.integers(0, 3), min_size=releases, max_size=releases)
    history = [draw(line) for _ in range(people)]
    group = [draw(st.integers(0, 2)) for _ in range(people)]
    members = [[p for p in range(people) if group[p] == g] for g in range(3)]
    counterfeits = [draw(st.integers(0, 3)) for _ in range(3)]
    return history, members, counterfeits, draw(st.integers(1, 5))


@settings(max_examples=200, deadline=None)
@given(histories())
def test_hc_safety_is_that_of_figure_6(case: tuple[list[list[int]], list[list[int]], list[int], int]) -> None:
    history, members, counterfeits, n = case
    sizes = [len(group) + false for group, false in zip(members, counterfeits, strict=True)]
    releases = len(history[0])
    earlier = [{str(p): line[r] for p, line in enumerate(history) if line[r]} for r in range(releases)]
    found = hc_unsafe(
        np.cumsum([0, *map(len, members)]),
        np.array([p for group in members for p in group]),
        np.array(history, dtype=np.int32).reshape(len(history), releases),
        np.array(sizes),
        n,
    )
    expected = [
        naive_unsafe({str(p) for p in group}, size, earlier, n)
        for group, size in zip(members, sizes, strict=True)
    ]
    assert found.tolist() == expected


# ---- random series


def crowd(rng: np.random.Generator, first: int, count: int, values: int) -> dict[str, Person]:
    """People with values as equal in number as can be, so that they are m-eligible."""
    return {
        f"p{first + i}": (
            int(rng.integers(20, 60)),
            int(rng.integers(10, 20)),
            str(rng.choice(["f", "m"])),
            f"v{(first + i) % values}",
        )
        for i in range(count)
    }


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(1, 5), st.floats(0, 0.6), st.sampled_from(WAYS)
)
def test_every_release_of_a_random_series_keeps_the_promises(
    seed: int, m: int, n: int, churn: float, way: dict[str, int | str]
) -> None:
    rng = np.random.default_rng(seed)
    values = m + int(rng.integers(0, 3))
    run = Run(CorSplit(m, min(n, m), pad=True, **way))
    present = crowd(rng, 0, values * int(rng.integers(1, 12)), values)
    born = len(present)
    for release in range(5):
        run.publish(present, release)
        run.check(present)
        present = {name: person for name, person in present.items() if rng.random() >= churn}
        arrivals = crowd(rng, born, int(rng.integers(0, 2 * values)), values)
        born += len(arrivals)
        present |= arrivals


@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_single_place_refilled_costs_as_many_counterfeits_as_there_are_values(n: int) -> None:
    """Four people, one of whom is replaced: nothing but counterfeits can hide who took whose place."""
    rng = np.random.default_rng(0)
    run = Run(CorSplit(m=4, n=n, pad=True))
    people = crowd(rng, 0, 4, 4)
    run.publish(people)
    del people["p0"]
    people |= crowd(rng, 4, 1, 4)
    run.publish(people)
    run.check(people)
    assert run.grouping is not None
    assert run.grouping.counterfeits == 4


def test_groups_are_merged_where_no_swap_helps() -> None:
    """Of two pairs one place is refilled: any pair with the newcomer would tell, all four together do not."""
    rng = np.random.default_rng(0)
    run = Run(CorSplit(m=2, n=2, pad=True))
    people = crowd(rng, 0, 4, 2)
    run.publish(people)
    del people["p0"]
    people |= crowd(rng, 4, 1, 2)
    run.publish(people)
    run.check(people)
    assert len(run.codes[0]) == 2
    assert {group: sorted(codes) for group, codes in run.codes[1].items()} == {0: [0, 0, 1, 1]}


def test_signatures_of_many_values_are_dealt_too() -> None:
    rng = np.random.default_rng(3)
    run = Run(CorSplit(m=11, n=6, pad=True))
    people = crowd(rng, 0, 88, 11)
    for release in range(6):
        run.publish(people, release)
        run.check(people)
        gone = rng.choice(sorted(people), 8, replace=False)
        people = {k: v for k, v in people.items() if k not in gone}
        people |= crowd(rng, 100 * (release + 1), 8, 11)


def test_the_same_people_may_stay_together_for_ever() -> None:
    people = crowd(np.random.default_rng(0), 0, 6, 6)
    run = Run(CorSplit(m=6, n=3))
    for release in range(4):
        run.publish(people, release)
        run.check(people)
        assert run.grouping is not None
        assert run.grouping.counterfeits == 0


def test_someone_who_returns_with_the_same_value_has_the_same_signature() -> None:
    rng = np.random.default_rng(5)
    people = crowd(rng, 0, 60, 8)
    run = Run(CorSplit(m=4, n=2, pad=True))
    absent = dict(list(people.items())[:20])
    for view in (people, {k: v for k, v in people.items() if k not in absent}, people):
        run.publish(view)
        run.check(view)


def test_a_changed_value_is_a_new_life() -> None:
    rng = np.random.default_rng(6)
    people = crowd(rng, 0, 80, 8)
    run = Run(CorSplit(m=4, n=2, pad=True))
    run.publish(people)
    changed = {f"p{i}" for i in range(24)}
    after = {k: (*v[:3], f"v{(int(v[3][1:]) + 3) % 8}") if k in changed else v for k, v in people.items()}
    run.publish(after, 1)
    assert set(run.releases[-1]) == set(people)
    assert all(run.signature(0, k) == run.signature(1, k) for k in people if k not in changed)


def test_who_changed_was_with_nobody_before() -> None:
    """Families of three stay together while two of them swap values: what was before relates the third to nobody."""
    rng = np.random.default_rng(5)
    people = {f"p{i}": (20 + i // 3, 10, "f", f"v{i % 3}") for i in range(60)}
    run = Run(CorSplit(m=3, n=3, pad=True))
    for release in range(5):
        run.publish(people, release)
        run.check(people)
        for family in rng.choice(20, 9, replace=False):
            one, other = (f"p{3 * family + i}" for i in rng.choice(3, 2, replace=False))
            a, b = people[one], people[other]
            people[one], people[other] = (*a[:3], b[3]), (*b[:3], a[3])


def test_a_new_life_leaves_its_earlier_groups_behind() -> None:
    people = crowd(np.random.default_rng(9), 0, 24, 4)
    run = Run(CorSplit(m=4, n=2, pad=True))
    run.publish(people)
    run.publish({**people, "p0": (*people["p0"][:3], "v1")})
    run.publish(people | {"p1": (*people["p1"][:3], "v0")})
    entry = dict(zip(("p0", "p1", "p2"), run.memory.find(SECRET.pseudonyms(["p0", "p1", "p2"])), strict=True))
    groups = np.column_stack([run.memory.columns[f"group@{r}"] for r in (1, 2, 3)]) > 0
    assert groups[entry["p0"]].tolist() == [False, False, True]
    assert groups[entry["p1"]].tolist() == [False, False, True]
    assert groups[entry["p2"]].tolist() == [True, True, True]


def test_padding_lets_every_newcomer_fill_a_gap() -> None:
    people = crowd(np.random.default_rng(0), 0, 8, 4)
    run = Run(CorSplit(m=4, n=1, pad=True))
    run.publish(people)
    left = {k: v for k, v in people.items() if v[3] != "v0"}
    left |= {f"q{i}": (30, 12, "f", "v0") for i in range(2)}  # of one value, so never m-eligible
    run.publish(left)
    assert run.grouping is not None
    assert run.grouping.counterfeits == 0


def test_an_empty_release_is_passed_over() -> None:
    people = crowd(np.random.default_rng(7), 0, 24, 4)
    run = Run(CorSplit(m=4, n=2))
    for view in (people, {}, people):
        run.publish(view)
        run.check(view)


def test_it_is_a_function_of_view_memory_and_seed() -> None:
    rng = np.random.default_rng(8)
    first = crowd(rng, 0, 120, 8)
    second = {**dict(list(first.items())[30:]), **crowd(rng, 120, 30, 8)}
    runs = [Run(CorSplit(m=4, n=2, pad=True)) for _ in range(2)]
    for run in runs:
        run.publish(first, 1)
        run.publish(second, 2)
    assert runs[0].releases == runs[1].releases
    assert runs[0].codes == runs[1].codes


def test_groups_of_all_earlier_releases_are_remembered() -> None:
    people = crowd(np.random.default_rng(9), 0, 24, 4)
    later = dict(list(people.items())[4:])
    run = Run(CorSplit(m=4, n=2))
    run.publish(people)
    run.publish(later)
    assert (run.memory.columns["group@1"] > 0).sum() == 24
    assert (run.memory.columns["group@2"] > 0).sum() == 20
    assert run.memory.columns["group@2"].dtype == np.int32


def test_newcomers_that_are_not_m_eligible_are_refused_unless_padded() -> None:
    people = {f"p{i}": (30 + i, 10, "f", "v0" if i < 8 else f"v{i}") for i in range(12)}
    with pytest.raises(
        CannotPublish, match="choose a smaller m, pad=true, which adds counterfeits, or merge"
    ):
        Run(CorSplit(m=3, n=2)).publish(people)
    run = Run(CorSplit(m=3, n=2, pad=True))
    run.publish(people)
    run.check(people)


# ---- parameters


def test_p_l_and_h_choose_the_degree_of_n_choose() -> None:
    assert CorSplit(p=0.04, L=24, h=0.1).n == 3
    assert CorSplit(p=0.04, L=21, h=0.1).n == 2
    assert CorSplit(p=0.04, L=21, h=0.1, n=4).n == 4
    assert CorSplit(6) == CorSplit(6, 3)
    with pytest.raises(PolicyError, match="raise m"):
        CorSplit(m=3, p=0.3, L=24, h=0.01)


def test_what_p_l_and_h_promise_can_be_said_again() -> None:
    chosen = CorSplit(p=0.04, L=24, h=0.1)
    assert chosen.series_promises == (
        "weak-m-invariance=6",
        "hc-safety=3",
        "pvr-safety=0.1@0.04",
        "lifespan=24",
    )
    assert make_publisher("cor-split", {k: str(v) for k, v in stored_parameters(chosen).items()}) == chosen


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"p": 0.04}, "p, L and h must be given together, found p alone"),
        ({"L": 24, "h": 0.1}, "found L and h alone"),
        ({"p": 0.04, "L": 24, "h": 0.1, "n": 2}, "n must be at least 3"),
        ({"p": 1.5, "L": 24, "h": 0.1}, "p must be a probability"),
        ({"p": 0.04, "L": 0, "h": 0.1}, "L must be a whole number of at least 1"),
        ({"p": 0.04, "L": 2.5, "h": 0.1}, "L a whole number"),
        ({"p": True, "L": 24, "h": 0.1}, "p and h must be numbers"),
        ({"p": 0.04, "L": 24, "h": 0.0}, "h must lie above 0"),
        ({"retire": 1}, "retire must be true or false"),
        ({"cell": 0}, "cell must be a whole number of at least 1"),
        ({"assignment": "nearest"}, "assignment must be existing or new"),
    ],
)
def test_wrong_p_l_and_h_are_refused(wrong: dict[str, float], why: str) -> None:
    with pytest.raises(PolicyError, match=why):
        CorSplit(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong", [{"m": 1}, {"m": 2.5}, {"n": 0}, {"n": 7}, {"n": 2.0}, {"n": True}, {"pad": 1}]
)
def test_parameters_out_of_range_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(PolicyError):
        CorSplit(**wrong)  # type: ignore[arg-type]


def test_only_what_the_groups_imply_may_be_required() -> None:
    assert CorSplit(4, 2, require=(KAnonymity(4), LDiversity(3))).require == (KAnonymity(4), LDiversity(3))
    for beyond in (KAnonymity(5), LDiversity(5), TCloseness(0.2)):
        with pytest.raises(PolicyError):
            CorSplit(4, 2, require=(beyond,))


def test_it_says_what_holds_over_the_series() -> None:
    assert CorSplit(5, 2).series_promises == ("weak-m-invariance=5", "hc-safety=2")
