"""Promises over a series: a hand-made violation of each is found, when it is made and afterwards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from republish import BrokenPromise, LedgerError, Number, Schema, Series, read_schema
from republish.attacks import history_of, measure_series
from republish.grouping import Grouping
from republish.inference.hc_safety import hc_unsafe
from republish.memory.membership import Membership
from republish.memory.memory import Memory
from republish.microdata import Microdata
from republish.publishers import CorSplit, MInvariance, Publisher, TauSafety, parameters_of
from republish.publishing.maintenance import forget
from republish.verify.check import Check
from republish.verify.promises import AuditedRelease, Before, Signatures, equal_or_disjoint, hc_safe
from republish.verify.series import SeriesVerification

SCHEMA = Schema("id", [Number("age")], "dx")


def scripted(claims: Publisher, *scripts: dict[str, int]) -> Publisher:
    """A publisher that claims to be another one and groups people (named by one letter) as it is told."""
    remaining = list(scripts)

    def publish(self: Publisher, view: Microdata, memory: Memory, rng: np.random.Generator) -> Grouping:
        script = remaining.pop(0)
        return Grouping(np.array([script[chr(int(age))] for age in view.points[0]], dtype=np.int32))

    kind = type("Scripted", (type(claims),), {"publish": publish})
    made: Publisher = kind(**parameters_of(claims))
    return made


def week(**people: str) -> pl.DataFrame:
    ages = {name: ord(name) for name in people}
    return pl.DataFrame({"id": list(people), "age": list(ages.values()), "dx": list(people.values())})


def publish(root: Path, claims: Publisher, *weeks: tuple[pl.DataFrame, dict[str, int]]) -> Series:
    """Publish weeks with the groups given for each person (named by one letter)."""
    series = Series.create(root / "s", SCHEMA, claims, seed=1)
    object.__setattr__(series.policy, "publisher", scripted(claims, *(groups for _, groups in weeks)))
    for view, _ in weeks:
        series.publish(view, meant=["same-view"])
    return series


def swap_groups(series: Series, number: int) -> None:
    """Edit the stored membership of a release of two groups: everyone is in the other one."""
    path = series.ledger.path(series.membership_files(number)[0])
    path.chmod(0o600)
    pl.read_parquet(path).with_columns(group=3 - pl.col("group")).write_parquet(path)


def broken_promises(found: SeriesVerification, number: int) -> set[str]:
    return {check.promise for check in found.releases[number].checks if not check.holds}


MAYBE_SIGNATURE = st.none() | st.sets(st.integers(0, 12), min_size=1)
FIRST = (week(a="flu", b="hiv", c="flu", d="cold"), {"a": 0, "b": 0, "c": 1, "d": 1})


@pytest.mark.parametrize("claims", [MInvariance(m=2), TauSafety(m=2)])
def test_a_changed_signature_is_refused_when_it_is_made(tmp_path: Path, claims: Publisher) -> None:
    crossed = (FIRST[0], {"a": 0, "d": 0, "c": 1, "b": 1})
    with pytest.raises(BrokenPromise, match="constant signatures: does not hold in 2 groups with 2 rows"):
        publish(tmp_path, claims, FIRST, crossed)
    assert len(Series.open(tmp_path / "s").records) == 1


def test_a_changed_value_is_a_new_life(tmp_path: Path) -> None:
    changed = (
        week(a="flu", b="cold", c="hiv", d="cold", e="hiv", f="flu"),
        {"a": 0, "e": 0, "b": 2, "c": 2, "d": 1, "f": 1},
    )
    series = publish(tmp_path, TauSafety(m=2), FIRST, changed)
    found = series.verify()
    assert found.holds
    assert found.new_lives == 2


DISJOINT = TauSafety(m=2, signatures="equal-or-disjoint")
PAIR = (week(a="flu", b="hiv", c="flu", d="hiv"), {"a": 0, "b": 0, "c": 1, "d": 1})
OVERLAPPING = (  # a moves from {flu, hiv} to {cold, hiv}
    week(a="cold", b="hiv", c="flu", d="hiv", e="flu", f="hiv"),
    {"a": 0, "f": 0, "b": 1, "e": 1, "c": 2, "d": 2},
)
APART = (  # a moves from {flu, hiv} to {cold, gout}, b keeps {flu, hiv} with the other value of it
    week(a="cold", b="flu", c="flu", d="hiv", e="hiv", f="gout"),
    {"a": 0, "f": 0, "b": 1, "e": 1, "c": 2, "d": 2},
)
OVERLAP = "disjoint-updates: equal or disjoint signatures"


def test_an_overlapping_signature_after_an_update_is_refused_when_it_is_made(tmp_path: Path) -> None:
    with pytest.raises(BrokenPromise, match=f"{OVERLAP}: does not hold in 1 groups with 1 rows"):
        publish(tmp_path, DISJOINT, PAIR, OVERLAPPING)
    assert len(Series.open(tmp_path / "s").records) == 1


def test_an_absence_does_not_permit_an_overlap(tmp_path: Path) -> None:
    away = (week(c="flu", d="hiv"), {"c": 0, "d": 0})
    with pytest.raises(BrokenPromise, match=OVERLAP):
        publish(tmp_path, DISJOINT, PAIR, away, OVERLAPPING)


def test_an_equal_and_a_disjoint_signature_after_an_update_hold(tmp_path: Path) -> None:
    series = publish(tmp_path, DISJOINT, PAIR, APART)
    found = series.verify()
    assert found.holds
    assert found.new_lives == 2
    assert OVERLAP in {check.promise for check in found.releases[2].checks}


def test_an_overlap_that_was_not_refused_is_found_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("republish.publishing.steps.check_against_memory", lambda *_: ())
    found = publish(tmp_path, DISJOINT, PAIR, OVERLAPPING).verify()
    assert broken_promises(found, 1) == set()
    assert broken_promises(found, 2) == {OVERLAP}


def test_who_never_promised_disjoint_updates_may_overlap(tmp_path: Path) -> None:
    series = publish(tmp_path, TauSafety(m=2), PAIR, OVERLAPPING)
    assert series.verify().holds


def test_an_edited_membership_breaks_disjoint_updates(tmp_path: Path) -> None:
    series = publish(tmp_path, DISJOINT, FIRST, FIRST)
    assert series.verify().holds
    swap_groups(series, 2)
    assert broken_promises(series.verify(), 2) == {"membership", "tau-safety=2: constant signatures", OVERLAP}


def nothing_believed(promise: str) -> Check:
    raise AssertionError(promise)


@given(st.lists(st.tuples(MAYBE_SIGNATURE, st.sets(st.integers(0, 12), min_size=1)), max_size=20))
def test_overlaps_are_those_that_sets_show(people: list[tuple[set[int] | None, set[int]]]) -> None:
    """Everyone in a group of her own, so that broken groups and rows are the same number."""
    spelled = [None if last is None else ",".join(map(str, sorted(last))) for last, _ in people]
    now = AuditedRelease(
        2,
        Membership(
            np.arange(2 * len(people), dtype=np.uint64).reshape(-1, 2),
            np.arange(1, len(people) + 1),
            np.zeros(len(people), dtype=np.int32),
        ),
        Signatures(
            pl.Series([",".join(map(str, sorted(codes))) for _, codes in people], dtype=pl.String),
            13,
            pl.DataFrame(),
        ),
    )
    before = Before(
        pl.DataFrame({"signature": pl.Series(spelled, dtype=pl.String)}), list, nothing_believed, list
    )
    expected = sum(bool(last and last != codes and last & codes) for last, codes in people)
    check = equal_or_disjoint("disjoint-updates", now, before)
    assert (check.holds, check.groups, check.rows) == (expected == 0, expected, expected)


WITHOUT = (week(a="flu", b="hiv"), {"a": 0, "b": 0})
RETURNED = (week(a="flu", b="hiv", c="flu", e="hiv"), {"a": 0, "b": 0, "c": 1, "e": 1})


def test_a_return_is_a_new_life_to_m_invariance(tmp_path: Path) -> None:
    assert publish(tmp_path, MInvariance(m=2), FIRST, WITHOUT, RETURNED).verify().holds


@pytest.mark.parametrize(
    "claims, promise", [(TauSafety(m=2), "tau-safety=2"), (CorSplit(m=2, n=1), "weak-m-invariance=2")]
)
def test_a_return_with_the_same_value_must_keep_its_signature(
    tmp_path: Path, claims: Publisher, promise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        BrokenPromise, match=f"{promise}: constant signatures: does not hold in 1 groups with 1 rows"
    ):
        publish(tmp_path, claims, FIRST, WITHOUT, RETURNED)
    monkeypatch.setattr("republish.publishing.steps.check_against_memory", lambda *_: ())
    found = publish(tmp_path / "unchecked", claims, FIRST, WITHOUT, RETURNED).verify()
    assert broken_promises(found, 3) == {f"{promise}: constant signatures"}


# c comes back with hiv. Hidden in {flu, cold} before, it may not share a group with flu.
FOUR = (
    week(a="flu", b="hiv", c="flu", d="cold", e="gout", f="hiv"),
    {"a": 0, "b": 0, "c": 1, "d": 1, "e": 2, "f": 2},
)
AWAY = (week(a="flu", b="hiv"), {"a": 0, "b": 0})
OVERLAPPING_RETURN = (week(a="flu", b="hiv", c="hiv", g="flu"), {"a": 0, "b": 0, "c": 1, "g": 1})
APART_RETURN = (week(a="flu", b="hiv", c="hiv", e="gout"), {"a": 0, "b": 0, "c": 1, "e": 1})
EQUAL_RETURN = (week(a="flu", b="hiv", c="cold", g="flu"), {"a": 0, "b": 0, "c": 1, "g": 1})
RETURNS = "tau-safety=2: returns"


def test_a_changed_return_may_not_overlap_its_old_signature(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BrokenPromise, match=f"{RETURNS}: does not hold in 1 groups with 1 rows"):
        publish(tmp_path, TauSafety(m=2), FOUR, AWAY, OVERLAPPING_RETURN)
    monkeypatch.setattr("republish.publishing.steps.check_against_memory", lambda *_: ())
    found = publish(tmp_path / "unchecked", TauSafety(m=2), FOUR, AWAY, OVERLAPPING_RETURN).verify()
    assert broken_promises(found, 3) == {RETURNS}


@pytest.mark.parametrize("last", [APART_RETURN, EQUAL_RETURN])
def test_a_changed_return_may_be_apart_or_keep_its_signature(
    tmp_path: Path, last: tuple[pl.DataFrame, dict[str, int]]
) -> None:
    assert publish(tmp_path, TauSafety(m=2), FOUR, AWAY, last).verify().holds


def test_a_changed_return_may_overlap_where_too_few_values_are_known(tmp_path: Path) -> None:
    """Of flu, hiv and cold only one lies outside {flu, cold}."""
    series = publish(tmp_path, TauSafety(m=2), FIRST, AWAY, OVERLAPPING_RETURN)
    found = series.verify()
    assert found.holds
    (check,) = (check for check in found.releases[3].checks if check.promise == RETURNS)
    assert "For 1 people fewer than 2 values lie outside the old one" in check.meaning


def hidden(series: Series, column: str, change: pl.Expr) -> Series:
    """The series with a column of its stored memory edited, its own check of files aside."""
    path = series.ledger.path(list(series.memory_files())[-1])
    path.chmod(0o600)
    pl.read_parquet(path).with_columns(change.alias(column)).write_parquet(path)
    return series


@pytest.mark.parametrize(
    "column, change",
    [
        ("code", pl.lit(0, dtype=pl.Int32)),
        ("group", pl.col("group") + 1),
        ("last", pl.lit(1, dtype=pl.Int32)),
        ("first", pl.lit(2, dtype=pl.Int32)),
        ("row", pl.col("row") + 1),
        ("signature", pl.lit([0, 1], dtype=pl.List(pl.Int32))),
    ],
)
def test_a_memory_that_memberships_do_not_bear_out_is_found(
    tmp_path: Path, column: str, change: pl.Expr, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = publish(tmp_path, TauSafety(m=2), FIRST, FIRST)
    assert series.verify().holds
    monkeypatch.setattr("republish.ledger.Ledger.check", lambda _: [])
    monkeypatch.setattr("republish.ledger.Ledger.intact", lambda ledger, name: ledger.path(name))
    (problem,) = hidden(series, column, change).verify().problems
    assert problem.startswith(f"the memory has another {column} of ")


def test_people_lost_from_the_memory_or_added_to_it_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = publish(tmp_path, TauSafety(m=2), FIRST, FIRST)
    path = series.ledger.path(list(series.memory_files())[-1])
    path.chmod(0o600)
    stored = pl.read_parquet(path)
    other = stored[:1].with_columns(person_low=pl.col("person_low") ^ 1)
    pl.concat([stored[1:], other]).write_parquet(path)
    monkeypatch.setattr("republish.ledger.Ledger.check", lambda _: [])
    monkeypatch.setattr("republish.ledger.Ledger.intact", lambda ledger, name: ledger.path(name))
    assert series.verify().problems == (
        "the memory lacks 1 of 4 people who are in the memberships",
        "the memory holds 1 people who are in no membership",
    )


@pytest.mark.parametrize("publisher", [TauSafety(m=2), MInvariance(m=2), CorSplit(m=2, n=2)])
def test_a_memory_that_contradicts_itself_is_refused_and_nothing_is_written(
    tmp_path: Path, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = Series.create(tmp_path / "s", SCHEMA, publisher, seed=1)
    series.publish(crowd(0))
    monkeypatch.setattr("republish.ledger.Ledger.intact", lambda ledger, name: ledger.path(name))
    monkeypatch.setattr("republish.ledger.Ledger.require_present", lambda _: None)
    hidden(series, "code", pl.lit(7, dtype=pl.Int32))
    before = sorted(path for path in series.root.rglob("*") if path.is_file())
    with pytest.raises(
        LedgerError, match="of 60 people remembered 60 contradict that; the memory is damaged"
    ):
        series.publish(crowd(0), meant=["same-view"])
    assert len(series.records) == 1
    assert sorted(path for path in series.root.rglob("*") if path.is_file()) == before


def test_earlier_groups_in_the_memory_are_compared_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = publish(tmp_path, CorSplit(m=2, n=2), FIRST, FIRST)
    assert series.verify().holds
    monkeypatch.setattr("republish.ledger.Ledger.check", lambda _: [])
    monkeypatch.setattr("republish.ledger.Ledger.intact", lambda ledger, name: ledger.path(name))
    hidden(series, "group@1", 3 - pl.col("group@1"))
    assert series.verify().problems == (
        "the memory has other earlier groups of 4 people than the memberships",
    )


@pytest.mark.parametrize("recorded", [[], ["tau-safety=1"]])
def test_promises_are_those_of_the_policy_whatever_a_release_records(
    tmp_path: Path, recorded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    series = publish(tmp_path, TauSafety(m=2), FIRST, FIRST)
    entries = series.ledger.entries()
    for entry in entries:
        if entry.kind == "release":
            entry.payload["promises"] = {"one_table": "", "series": recorded}
    monkeypatch.setattr("republish.ledger.Ledger.entries", lambda _: entries)
    swap_groups(series, 2)
    monkeypatch.setattr("republish.ledger.Ledger.check", lambda _: [])
    found = series.verify()
    assert found.problems[:2] == (
        "release 1 records other promises than the policy makes",
        "release 2 records other promises than the policy makes",
    )
    assert "tau-safety=2: constant signatures" in broken_promises(found, 2)


def test_nobody_may_be_in_a_membership_twice(tmp_path: Path) -> None:
    series = publish(tmp_path, TauSafety(m=2), FIRST, FIRST)
    path = series.ledger.path(series.membership_files(2)[0])
    path.chmod(0o600)
    stored = pl.read_parquet(path)
    same = stored.filter(pl.col("code") == stored["code"].mode()[0])  # two people with flu
    keys = [pl.lit(same[key][0], dtype=pl.UInt64).alias(key) for key in ("person_high", "person_low")]
    pl.concat([stored.join(same, on="person_low", how="anti"), same.with_columns(keys)]).write_parquet(path)
    found = series.verify()
    (check,) = (check for check in found.releases[2].checks if check.promise == "membership")
    assert (check.holds, check.rows) == (False, 2)


@st.composite
def hc_cases(draw: st.DrawFn) -> tuple[list[int], list[list[int]], list[int], int]:
    """Everyone's group now and in earlier releases, counterfeits of each group, a degree."""
    people, releases = draw(st.integers(0, 14)), draw(st.integers(0, 3))
    line = st.lists(st.integers(0, 3), min_size=people, max_size=people)
    counterfeits = draw(st.lists(st.integers(0, 3), min_size=3, max_size=3))
    return draw(line), [draw(line) for _ in range(releases)], counterfeits, draw(st.integers(1, 5))


@given(hc_cases())
def test_correlations_are_counted_as_the_definition_says_and_as_the_kernel_does(
    case: tuple[list[int], list[list[int]], list[int], int],
) -> None:
    group, earlier, counterfeits, n = case
    sizes = np.array([group.count(g) + counterfeits[g - 1] for g in (1, 2, 3)])
    people = np.arange(1, 2 * len(group) + 1, dtype=np.uint64).reshape(-1, 2)
    now = AuditedRelease(
        4,
        Membership(people, np.array(group, dtype=np.int32), np.zeros(len(group))),
        Signatures(pl.Series([""] * 3), 1, pl.DataFrame()),
    )
    unsafe = 0
    for g in (1, 2, 3):
        members = [p for p in range(len(group)) if group[p] == g]
        shared = [sum(then[p] == h for p in members) for then in earlier for h in (1, 2, 3)]
        unsafe += any(max(sizes[g - 1] - n, 0) < count < sizes[g - 1] for count in shared)
    check = hc_safe(f"hc-safety={n}", now, [np.array(then, dtype=np.int32) for then in earlier], sizes)
    assert (check.holds, check.groups) == (unsafe == 0, unsafe)
    order = np.argsort(np.array(group, dtype=np.int64), kind="stable")
    inside = order[np.count_nonzero(np.array(group) == 0) :]
    offsets = np.cumsum([0, *(group.count(g) for g in (1, 2, 3))])
    history = np.array(earlier, dtype=np.int32).reshape(len(earlier), len(group)).T
    assert int(hc_unsafe(offsets, inside, history, sizes, n).sum()) == unsafe


def crowd(swaps: int) -> pl.DataFrame:
    """Twenty families of three; in the first of them two members have swapped values."""
    values = [f"v{i % 3}" for i in range(60)]
    for i in range(0, 3 * swaps, 3):
        values[i : i + 3] = (
            [values[i + 1], values[i], values[i + 2]] if i % 2 else [values[i], values[i + 2], values[i + 1]]
        )
    return pl.DataFrame(
        {"id": [f"p{i}" for i in range(60)], "age": [i // 3 for i in range(60)], "dx": values}
    )


def test_publisher_verifier_and_measures_agree_on_whose_past_counts(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "s", SCHEMA, CorSplit(m=3, n=3, pad=True), seed=3)
    for swaps in (0, 9, 3, 12):
        series.publish(crowd(swaps))
    assert series.verify().holds
    assert [part.hc_unsafe for part in measure_series(history_of(series), 3).releases] == [0, 0, 0, 0]


def test_a_forgotten_person_does_not_break_hc_safety(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "s", SCHEMA, CorSplit(m=3, n=3, pad=True), seed=3)
    for _ in range(3):
        series.publish(crowd(0), meant=["same-view"])
    forget(series, pl.DataFrame({"id": ["p7"]}))
    series.publish(crowd(0).filter(pl.col("id") != "p8"))
    found = series.verify()
    assert found.holds
    notes = [check.meaning for check in found.releases[2].checks if check.promise.startswith("hc-safety")]
    assert notes == [
        "No comparison of two groups of different releases relates fewer than 3 people. 1 groups hold people who "
        "were forgotten and cannot be checked."
    ]
    assert [part.hc_unsafe for part in measure_series(history_of(series), 3).releases] == [0, 0, 0, 0]


def test_a_small_historical_correlation_is_refused(tmp_path: Path) -> None:
    """Cor-Split's own example: the second table relates Carl and Erica alone."""
    values = {"a": "cancer", "b": "bronchitis", "c": "AIDS", "d": "cancer", "e": "AIDS", "f": "bronchitis"}
    first = (week(**values), {"a": 0, "b": 0, "c": 0, "d": 1, "e": 1, "f": 1})
    later = {**{k: values[k] for k in "cdef"}, "g": "bronchitis", "h": "cancer"}
    second = (week(**later), {"c": 0, "d": 0, "f": 0, "e": 1, "g": 1, "h": 1})
    with pytest.raises(
        BrokenPromise, match="hc-safety=2: historical correlations: does not hold in 1 groups"
    ):
        publish(tmp_path, CorSplit(m=3, n=2), first, second)


def test_an_edited_membership_is_found_afterwards(tmp_path: Path) -> None:
    series = publish(tmp_path, TauSafety(m=2), FIRST, FIRST)
    assert series.verify().holds
    swap_groups(series, 2)
    assert broken_promises(series.verify(), 2) == {"membership", "tau-safety=2: constant signatures"}


def test_an_auditor_and_the_memory_agree(tmp_path: Path, hospital_folder: Path, views: list[Path]) -> None:
    series = Series.create(
        tmp_path / "h", read_schema(hospital_folder / "schema.toml"), CorSplit(m=3, n=2), seed=1
    )
    steady = pl.read_csv(views[0], infer_schema=False)
    for share in (1.0, 0.8, 0.6):
        done = series.publish(steady.head(int(steady.height * share)))
        assert {c.promise for c in done.verification.checks if ":" in c.promise} == {
            "weak-m-invariance=3: constant signatures",
            "hc-safety=2: historical correlations",
        }
    assert series.verify().holds
