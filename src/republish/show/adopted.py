"""What is said of a release that another tool made, from what the ledger recorded of its adoption."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from republish.show.numbers import number, percent

_COUNTED = {
    "left_out": "people of the view are in no group",
    "nobodys": "published values belong to nobody in the view and count as counterfeits",
    "starred": "rows of the table say nothing but * and were left out",
    "without_role": "columns of the table have no role and were left out",
    "anew": "people hid in too few values to keep them; what is promised over the series begins anew for them",
}


def assumed(found: Mapping[str, Any]) -> list[str]:
    """What was assumed of who is in which group, and what could not be taken in, a clause each."""
    if found["stated"]:
        said = ["who was in which group is as the view says"]
    elif found["elsewhere"]:
        said = [
            f"{number(found['elsewhere'])} people could be in another group too; one way to put everyone was taken"
        ]
    else:
        said = ["everyone fits one group alone"]
    said += [f"{number(found[key])} {words}" for key, words in _COUNTED.items() if found[key]]
    return said


def kept_and_found(found: Mapping[str, Any]) -> list[str]:
    """Which promises an adopted release does not keep, and what attacks found on all releases until then."""
    broken = [
        f"{one['promise']} does not hold for {number(one['rows'])} rows in {number(one['groups'])} groups"
        for one in found["promises"]
        if not one["holds"]
    ]
    attacks = [
        f"{name} determined {number(one['determined'])} of {number(one['people'])} people when it was adopted, with a "
        f"mean confidence of {percent(one['mean_confidence'])}"
        for name, one in found["attacks"].items()
    ]
    limits = [f"the gate would refuse every release that follows: {one}" for one in found["gate"]]
    return [*(broken or ["it keeps what the series promises of its own releases"]), *attacks, *limits]
