"""A gate that limits whose rows can be followed, and of whom it is certain that they are there or not."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from republish import Gate, LimitBroken, Mondrian, PolicyError, Series, TauSafety
from republish.attacks import Adversary, IdentityResult, attack
from republish.gate.limits import LIMITS, parse_gate
from republish.gate.run import judge_again
from republish.gate.verdict import verdict_from
from republish.release.forms import TwoTables
from two_tables import SCHEMA, view


def gated(root: Path, **limits: float) -> Series:
    return Series.create(root / "s", SCHEMA, TauSafety(m=3), seed=5, form=TwoTables(k=5), gate=Gate(**limits))


def published(series: Series, weeks: int) -> list[pl.DataFrame]:
    views = [view(week) for week in range(1, weeks + 1)]
    for i, one in enumerate(views):
        series.publish(one, as_of=f"2026-01-{i + 2:02d}", truth=views[:i])
    return views


@pytest.mark.parametrize(
    "limits, attacks",
    [
        ({"max_alone": 0.1}, ("linkage",)),
        ({"max_shown_absent": 0.1, "max_below_k": 0.2}, ("linkage", "presence")),
        ({"max_determined": 0.1, "max_shown_present": 0.2}, ("linear", "presence")),
        ({"max_cracked": 0.1, "max_traced": 0.2}, ("bcf", "tracing")),
    ],
)
def test_without_names_the_attacks_are_those_that_limits_are_about(
    limits: dict[str, float], attacks: tuple[str, ...]
) -> None:
    assert set(Gate(**limits).suiting(None, sensitive=True).attacks) == set(attacks)


@pytest.mark.parametrize(
    "text, message",
    [
        ("max_alone=0.1,attacks=presence", "presence cannot give; add the attack linkage"),
        ("max_determined=0.1,attacks=linkage", "linkage cannot give; add the attack linear"),
        ("max_shown_present=0.1,attacks=linear+linkage", "add the attack presence"),
    ],
)
def test_a_limit_needs_the_attack_that_gives_its_figure(text: str, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        parse_gate(text)


def test_figures_are_those_of_the_attacks_on_all_releases(tmp_path: Path) -> None:
    series = gated(tmp_path, max_alone=1.0, max_shown_present=1.0, max_shown_absent=1.0, max_cracked=1.0)
    views = published(series, 3)
    verdict = verdict_from(series.records[-1].payload["gate"])
    assert verdict == judge_again(series, views=views)
    for name, limits in {
        "linkage": ["max_alone"],
        "presence": ["max_shown_present", "max_shown_absent"],
        "bcf": ["max_cracked"],
    }.items():
        (found,) = attack(series, Adversary(), [name], views=views)
        assert isinstance(found, IdentityResult)
        assert verdict.worst()[name] == {limit: getattr(found.overall, LIMITS[limit]) for limit in limits}
    assert series.verify().holds
    series.ledger.close()


def test_raw_views_of_all_earlier_releases_are_needed_before_anything_is_grouped(tmp_path: Path) -> None:
    series = gated(tmp_path, max_alone=1.0)
    steps: list[str] = []
    series.publish(view(1), as_of="2026-01-02")
    with pytest.raises(PolicyError, match=r"each of 2 releases, and there are 1; .* \(--truth DIR\)"):
        series.publish(view(2), as_of="2026-01-03", progress=steps.append)
    assert (steps, len(series.records)) == ([], 1)
    with pytest.raises(PolicyError, match="each of 1 releases, and there are 0"):
        judge_again(series)
    series.ledger.close()


def test_a_release_that_shows_too_much_of_presence_is_refused(tmp_path: Path) -> None:
    series = gated(tmp_path, max_shown_present=0.01)
    series.publish(view(1), as_of="2026-01-02")  # nobody of the register is absent, and presence is no news
    few = view(1).filter(pl.col("age") < 50)
    with pytest.raises(LimitBroken, match=r"presence: \d+ of \d+ people \(.*\) are present for certain"):
        series.publish(few, as_of="2026-01-03", truth=[view(1)])
    assert len(series.records) == 1
    series.ledger.close()


def test_one_table_can_be_gated_so_too(tmp_path: Path) -> None:
    series = Series.create(
        tmp_path / "s", SCHEMA, Mondrian(5), seed=1, one_table=True, gate=Gate(max_alone=0.9)
    )
    views = published(series, 2)
    assert judge_again(series, views=views).passed
    series.ledger.close()
