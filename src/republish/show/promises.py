"""Words on what is promised of groups and cells, for terminal, notebook, report and desk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def promised_of_groups(promises: Mapping[str, Any]) -> str:
    """What every group satisfies, in two tables those of people and the batches."""
    if "people" not in promises:
        return f"every group satisfies {promises['one_table']}"
    return (
        f"every group of people satisfies {promises['people']}, every batch of values {promises['one_table']}"
    )


def bounds_in(checks: Iterable[Mapping[str, Any]]) -> list[str]:
    """What recorded checks say of how many people could be determined at most, on average and the worst placed."""
    return [check["meaning"] for check in checks if "ways out" in check["promise"]]


def extended_words(people: int) -> str:
    """What is said of people whose cells extend over a cut that died."""
    who = (
        "1 person is in a cell that extends" if people == 1 else f"{people:,} people are in cells that extend"
    )
    return f"{who} over a cut that died; such cells may cross those of other releases"
