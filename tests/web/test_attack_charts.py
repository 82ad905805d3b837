"""What the desk makes of attacks: the strongest is named by how sure it is, also where nobody is determined."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from desk_client import SCHEMA, desk, view
from republish import Series, TauSafety
from republish.attacks.assessments import Assessment, keep
from republish.attacks.summary import Summary
from republish.web import attack_charts


def summary(determined: float, above: float, mean: float) -> Summary:
    return Summary(100, round(100 * determined), determined, above, above, mean, max(mean, above), None)


def assessed(
    made_at: str = "2026-01-02T03:04:05", head: str = "", **found: tuple[float, float, float]
) -> Assessment:
    """An assessment of one release in which each attack found these figures."""
    known: dict[str, Any] = {"compromised": 0, "event_lists": True, "cascade": True}
    return Assessment(
        made_at, head, 1, known, {name: (summary(*figures),) for name, figures in found.items()}, {}, {}
    )


SURE = assessed(linear=(0.0, 0.01, 0.3), gathering=(0.0, 0.6, 0.7))


def test_an_attack_that_is_nearly_sure_is_named_although_nobody_is_determined() -> None:
    shown = attack_charts.assessment(SURE, True, None)
    assert [shown[key] for key in ("strongest_name", "determined", "above")] == ["gathering", 0.0, 0.6]
    assert shown["text"].startswith("gathering: ")


def test_the_surest_attack_is_named_before_one_that_determines_more() -> None:
    shown = attack_charts.assessment(assessed(tau=(0.02, 0.02, 0.4), gathering=(0.0, 0.6, 0.7)), True, None)
    assert shown["strongest_name"] == "gathering"


def test_where_no_values_were_sought_none_is_named() -> None:
    shown = attack_charts.assessment(assessed(), True, None)
    assert [shown[key] for key in ("strongest_name", "above", "strongest")] == [
        "none sought values",
        None,
        [],
    ]


@pytest.mark.parametrize(("above", "colour"), [(0.6, "warn"), (0.0, "good")])
def test_a_limit_on_certainty_makes_no_attack_green_that_is_nearly_sure(above: float, colour: str) -> None:
    (row,) = attack_charts.assessment(assessed(gathering=(0.0, above, 0.5)), True, 0.01)["rows"]
    assert row["status"] == colour


def test_attacks_are_compared_by_those_of_whom_they_are_nearly_sure() -> None:
    shown = [
        attack_charts.assessment(one, True, None)
        for one in (SURE, assessed("2026-02-03T04:05:06", tau=(0.0, 0.1, 0.2)))
    ]
    drawn = attack_charts.compared(shown)
    assert drawn is not None
    assert [one["values"] for one in drawn["series"]] == [[0.6], [0.1]]


def test_pages_show_the_nearly_sure_beside_the_determined(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "desk" / "sure", SCHEMA, TauSafety(m=3), seed=5)
    series.publish(view())
    keep(series, assessed(head=series.ledger.head.digest, linear=(0.0, 0.01, 0.3), gathering=(0.0, 0.6, 0.7)))
    series.ledger.close()
    with desk(tmp_path / "desk") as client:
        home, page, attack = (client.get(path).text for path in ("/", "/s/sure", "/s/sure/attack"))
    assert "surer than 90 % of 60" in home
    assert "<dt>Surer than 90 %</dt><dd>60" in page and "gathering: surer than 90 %" in page
    assert '<td data-label="Strongest attack">gathering</td>' in attack
    assert '<td class="n" data-label="Surer than 90 %">60' in attack
