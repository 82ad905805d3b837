"""Promises over a series: a hand-made violation of each is found, when it is made and afterwards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from republish import BrokenPromise, Number, Schema, Series, read_schema
from republish.grouping import Grouping
from republish.memory import Memory
from republish.microdata import Microdata
from republish.publishers import CorSplit, MInvariance, Publisher, TauSafety, parameters_of

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
        series.publish(view)
    return series


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


def test_a_return_must_keep_its_signature_under_tau_safety_only(tmp_path: Path) -> None:
    without = (week(a="flu", b="hiv"), {"a": 0, "b": 0})
    returned = (week(a="flu", b="hiv", c="flu", e="hiv"), {"a": 0, "b": 0, "c": 1, "e": 1})
    series = publish(tmp_path, MInvariance(m=2), FIRST, without, returned)
    assert series.verify().holds
    with pytest.raises(
        BrokenPromise, match="tau-safety=2: constant signatures: does not hold in 1 groups with 1 rows"
    ):
        publish(tmp_path / "tau", TauSafety(m=2), FIRST, without, returned)


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
    path = series.ledger.path(series.membership_file(2))
    path.chmod(0o600)
    frame = pl.read_parquet(path)
    swapped = frame.with_columns(group=pl.when(pl.col("group") == 1).then(2).otherwise(1).cast(pl.Int32))
    swapped.write_parquet(path)
    broken = {check.promise for check in series.verify().releases[2].checks if not check.holds}
    assert broken == {"membership", "tau-safety=2: constant signatures"}


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
