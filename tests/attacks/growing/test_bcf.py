"""BCF attacks: rows cracked by comparing counts, worked through by hand and against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.growing.releases import Release, bundles, cells_of, comparable, drawn, group_in, published
from republish.attacks import Adversary, Corresponding, IdentityResult, Target, run
from republish.attacks.growing.bcf import bcf


def figures(releases: list[Release], k: int | None = None) -> Corresponding:
    found = bcf(*published(releases), k).overall
    assert isinstance(found, Corresponding)
    return found


FIRST: Release = [
    (("ann", 20, "n", "flu"), 0),
    (("bea", 22, "n", "flu"), 0),
    (("cat", 24, "n", "hiv"), 0),
    (("dan", 40, "n", "flu"), 1),
    (("eve", 42, "n", "hiv"), 1),
    (("fay", 44, "n", "hiv"), 1),
]


def test_forward_and_cross_leave_what_both_groups_hold() -> None:
    """Ann's groups are {flu, flu, hiv} and {flu, hiv, hiv}: one flu and one hiv may be hers in either."""
    second: Release = [
        (("ann", 20, "n", "flu"), 0),
        (("cat", 24, "n", "hiv"), 0),
        (("eve", 42, "n", "hiv"), 0),
        (("bea", 22, "n", "flu"), 1),
        (("dan", 40, "n", "flu"), 1),
        (("fay", 44, "n", "hiv"), 1),
    ]
    found = figures([FIRST, second])
    assert (found.people, found.k, found.fewest_left) == (6, 3, 2)
    # Eve's {flu, hiv, hiv} and {flu, hiv, hiv} leave three; bea's leave flu, flu and hiv; dan and fay flu and hiv.
    assert (found.forward, found.cross, found.backward) == (pytest.approx(4 / 6), pytest.approx(4 / 6), None)
    assert found.below_k == pytest.approx(4 / 6)
    assert found.one_value == 0


def test_backward_takes_the_rows_that_were_there_before_from_a_newcomer() -> None:
    """Gus joins dan, eve and fay, whose rows came from a cell comparable with theirs alone: one row is left, his."""
    second: Release = [*FIRST, (("gus", 43, "n", "flu"), 1)]
    found = figures([FIRST, second])
    assert found.fewest_left == 1
    assert found.backward == 1.0  # one newcomer
    assert found.forward == 0.0
    assert found.one_value == pytest.approx(1 / 7)
    assert bcf(*published([FIRST, second])).summary.determined == 1


def test_rows_of_a_comparable_group_may_have_gone_elsewhere() -> None:
    """Cells of the second release overlap, so that of flu three of four rows are old and any may be elsewhere."""
    second: Release = [
        (("ann", 20, "n", "flu"), 0),
        (("cat", 24, "n", "hiv"), 0),
        (("dan", 40, "n", "flu"), 0),
        (("bea", 22, "n", "flu"), 1),
        (("eve", 42, "n", "hiv"), 1),
        (("fay", 44, "n", "hiv"), 1),
        (("gus", 43, "n", "flu"), 1),
    ]
    # flu: A = 3 of both groups, C = 4, b = 2 in gus's group: 1 cracked. hiv: A = 3, C = 3, b = 2: 2 cracked.
    found = bcf(*published([FIRST, second]))
    last = found.releases[1]
    assert isinstance(last, Corresponding)
    assert last.backward == 1.0
    assert last.fewest_left == 1


def test_where_somebody_left_nothing_is_concluded_of_newcomers() -> None:
    second: Release = [*FIRST[1:], (("gus", 43, "n", "flu"), 1)]
    assert figures([FIRST, second]).backward is None


def test_where_a_row_was_nobodys_nothing_is_concluded_of_newcomers() -> None:
    second: Release = [*FIRST, (("gus", 43, "n", "flu"), 1)]
    found = bcf(*published([FIRST, second], counterfeits=(0,))).overall
    assert isinstance(found, Corresponding)
    assert found.backward is None
    assert found.forward is not None


def test_where_a_quasi_identifier_changed_nothing_is_concluded_of_newcomers() -> None:
    second: Release = [(("ann", 21, "n", "flu"), 0), *FIRST[1:], (("gus", 43, "n", "flu"), 1)]
    assert figures([FIRST, second]).backward is None


def test_without_event_lists_each_release_stands_alone() -> None:
    history, sightings = published([FIRST, [*FIRST, (("gus", 43, "n", "flu"), 1)]])
    target = Target(history, sightings=tuple(sightings))
    known = run(target, Adversary(), "bcf")
    alone = run(target, Adversary(event_lists=False), "bcf")
    assert isinstance(known, IdentityResult) and isinstance(alone, IdentityResult)
    assert (known.summary.determined, alone.summary.determined) == (1, 0)


def test_one_release_leaves_everybody_her_group() -> None:
    found = figures([FIRST])
    assert (found.fewest_left, found.below_k, found.forward, found.cross) == (3, 0.0, None, None)


def naive(releases: list[Release]) -> dict[tuple[str, int], tuple[int, int]]:
    """Rows and values left of everyone in every release, straight from the definitions."""
    found = {}
    for i, release in enumerate(releases):
        here = bundles(release)
        for person, group in release:
            own = {value: rows for (place, value), rows in here.items() if place == group}
            options = [own]
            for j in (i - 1, i + 1):
                other = group_in(releases[j], person[0]) if 0 <= j < len(releases) else None
                if other is not None:
                    there = bundles(releases[j])
                    options.append({v: min(rows, there.get((other, v), 0)) for v, rows in own.items()})
            before = releases[i - 1] if i else []
            grown = bool(before) and {one for one, _ in before} <= {one for one, _ in release}
            if grown and group_in(before, person[0]) is None:
                options.append(newcomers(before, release, group))
            left = [{v: rows for v, rows in option.items() if rows} for option in options]
            found[person[0], i] = (min(sum(o.values()) for o in left), min(len(o) for o in left))
    return found


def newcomers(before: Release, release: Release, group: int) -> dict[str, int]:
    """Rows of a group that somebody new may have, by value."""
    old, new, cells, was = bundles(before), bundles(release), cells_of(release), cells_of(before)
    found = {}
    for (place, value), rows in new.items():
        if place != group:
            continue
        near = [g for (g, v) in old if v == value and comparable(was[g], cells[group])]
        reach = {h for (h, v) in new if v == value and any(comparable(was[g], cells[h]) for g in near)}
        taken = sum(old[g, value] for g in near) - (sum(new[h, value] for h in reach) - rows)
        found[value] = rows - max(0, taken) if near else rows
    return found


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.2]))
@settings(max_examples=80, deadline=None)
def test_what_is_left_is_what_the_definitions_say(seed: int, leaving: float) -> None:
    releases = drawn(seed, leaving)
    expected, found = naive(releases), bcf(*published(releases), k=3)
    for i, part in enumerate(found.releases):
        rows = np.array([left for (_, release), (left, _) in expected.items() if release == i])
        kinds = np.array([left for (_, release), (_, left) in expected.items() if release == i])
        assert isinstance(part, Corresponding)
        assert (part.people, part.fewest_left, part.median_left) == (len(rows), rows.min(), np.median(rows))
        assert part.below_k == pytest.approx(np.mean(rows < 3))
        assert part.one_value == pytest.approx(np.mean(kinds <= 1))
        assert found.by_release[i].mean_confidence == pytest.approx(np.mean(1 / np.maximum(rows, 1)))
    assert found.overall.people == len({person for person, _ in expected})
