"""What a recipient is told about a release: `about.json`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import republish
from republish.policy import Policy
from republish.publishers import parameters_of
from republish.schema import Schema


class Size(NamedTuple):
    """How large a release is: its rows, counterfeits included, its groups, and the rows of the view it leaves out."""

    rows: int
    groups: int
    suppressed: int
    counterfeits: int


def about_release(policy: Policy, number: int, as_of: str, size: Size) -> dict[str, Any]:
    """A JSON document with numbers, promises and columns, and nothing of the seed, the secret or the people.

    Of the gate it says what was asked of the release, and that it passed, for no other release is committed. What the
    attacks found is not told: it would say how far the release is from the limit.
    """
    publisher, promises = policy.publisher, policy.promises
    document = {
        "release": number,
        "as_of": as_of,
        "rows": size.rows,
        "groups": size.groups,
        "suppressed_rows": size.suppressed,
        "counterfeit_rows": size.counterfeits,
        "publisher": {
            "name": publisher.name,
            "paper": publisher.paper,
            "parameters": parameters_of(publisher),
        },
        "every_group_satisfies": [
            *(requirement.describe() for requirement in policy.requirements),
            *([policy.bt.describe()] if policy.bt else []),
        ],
        "requirements": promises["one_table"],
        "promised_over_the_series": promises["series"] or ["nothing: each release is protected alone"],
        "not_promised_over_the_series": limits_of(promises["series"]),
        "columns": _columns(policy.schema),
        "tool": f"republish {republish.__version__}",
    }
    return document if policy.gate is None else document | {"gate": {**policy.gate.public(), "passed": True}}


def limits_of(promises: Iterable[str]) -> list[str]:
    """What one might read into promises over the series, and is not promised."""
    if not any(promise.startswith("m-invariance=") for promise in promises):
        return []
    return [
        "People who come back after an absence are treated as newcomers: the groups they were in before it and "
        "after it can be compared, which may leave them fewer values than each group alone."
    ]


def _columns(schema: Schema) -> list[dict[str, str]]:
    sensitive = schema.sensitive
    return [
        *(
            {"name": column.name, "role": "quasi-identifier", "kind": column.kind}
            for column in schema.quasi_identifiers
        ),
        *({"name": name, "role": "insensitive"} for name in schema.insensitive),
        *([{"name": sensitive.name, "role": "sensitive", "kind": sensitive.kind}] if sensitive else []),
    ]
