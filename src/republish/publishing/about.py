"""What a recipient is told about a release: `about.json`."""

from __future__ import annotations

from typing import Any, NamedTuple

import republish
from republish.grouping import Grouping
from republish.policy import Policy
from republish.publishers import stored_parameters
from republish.publishing.limits import hides_new_values, limits_of, limits_of_adopted
from republish.release.r_script import R_SCRIPT
from republish.release.release import Release
from republish.release.two_tables import BATCHES_CSV, AnyRelease
from republish.schema import Schema


class Size(NamedTuple):
    """How large a release is: its rows, counterfeits included, its groups, and the rows of the view it leaves out.

    In two tables rows are people, groups are those of people, and rows left out are people without a batch. People who
    are `waiting` are not of the release at all; where newcomers are held they are among these.
    """

    rows: int
    groups: int
    suppressed: int
    counterfeits: int
    batches: int | None = None
    waiting: int = 0
    newcomers_held: bool = False

    @classmethod
    def of(cls, release: AnyRelease, grouping: Grouping) -> Size:
        """The size of a release of a grouping."""
        batches = None if isinstance(release, Release) else release.values.group_count
        groups = release.people.group_count
        return cls(release.rows, groups, grouping.suppressed, grouping.counterfeits, batches)


def about_release(
    policy: Policy,
    number: int,
    as_of: str,
    size: Size,
    *,
    adopted: int = 0,
    text: bool = True,
    corrects: int | None = None,
) -> dict[str, Any]:
    """A JSON document with numbers, promises and columns, and nothing of the seed, the secret or the people.

    `adopted` is the number of releases that other tools made before. `text` says whether two tables lie there as text
    too, with a script that reads them. `corrects` is the release that this one takes the place of.

    Of the gate it says what was asked of the release, and that it passed, for no other release is committed. What the
    attacks found is not told: it would say how far the release is from the limit.
    """
    publisher, promises = policy.publisher, policy.promises
    document = {
        "release": number,
        "as_of": as_of,
        **({} if corrects is None else {"corrects": {"release": corrects, "says": _CORRECTS}}),
        "rows": size.rows,
        "groups": size.groups,
        "suppressed_rows": size.suppressed,
        "counterfeit_rows": size.counterfeits,
        **({"waiting_rows": size.waiting} if hides_new_values(policy) or size.newcomers_held else {}),
        **({"newcomers": _HELD} if size.newcomers_held else {}),
        "publisher": {
            "name": publisher.name,
            "paper": publisher.paper,
            "parameters": stored_parameters(publisher),
        },
        "every_group_satisfies": [
            *(requirement.describe() for requirement in policy.requirements),
            *([policy.bt.describe()] if policy.bt else []),
            *([policy.possible.describe()] if policy.possible else []),
        ],
        "requirements": promises["one_table"],
        "promised_over_the_series": promises["series"],
        "not_promised_over_the_series": [*limits_of(policy), *limits_of_adopted(adopted)],
        "columns": _columns(policy.schema),
        "tool": f"republish {republish.__version__}",
    }
    if policy.form is not None:
        document["form"] = {**policy.form.document(), "batches": size.batches, **_TWO_TABLES}
        document["form"] |= _CLOCKED if publisher.keeps_counts else {}
        document["form"] |= _HIDDEN_BATCH if policy.form.hide_batch else {}
        document["form"] |= {R_SCRIPT: _READS} if text else {}
        document["every_cell_of_people_satisfies"] = [policy.form.requirement.describe()]
    return document if policy.gate is None else document | {"gate": {**policy.gate.public(), "passed": True}}


def about_adopted(policy: Policy, number: int, as_of: str, size: Size) -> dict[str, Any]:
    """A JSON document about a release that another tool made: its numbers, and that nothing is promised of it."""
    return {
        "release": number,
        "as_of": as_of,
        "adopted": (
            "Another tool made this release before the series began. It is kept here in the form of this tool, so that "
            "later releases count with it; what was handed out is what that tool wrote."
        ),
        "rows": size.rows,
        "groups": size.groups,
        "every_group_satisfies": [],
        "requirements": "",
        "promised_over_the_series": [],
        "columns": _columns(policy.schema),
        "tool": f"republish {republish.__version__}",
    } | ({} if size.batches is None else {"batches": size.batches})


_CORRECTS = "That release was made of a wrong view and is withdrawn; use this one in its place."
_HELD = "Held: nobody who would be new is in this release, whatever their values; they come with a later one."
_READS = "Reads both tables with R and counts; in Python republish.read_received(folder) does."
_TWO_TABLES = {
    "people": (
        "One line a person: quasi-identifiers as fine as k allows, insensitive columns, the number of a batch. A cell "
        "such as <=23 or >=61 is open: it does not say where it ends, and has no low or high end in Parquet."
    ),
    "values": "How often each sensitive value occurs in a batch, counterfeits included.",
    "how_to_read": (
        "A person of a batch has each of its values with the share that the batch counts; which person has which is "
        "not said. Numbers of groups and batches mean nothing in another release."
    ),
    "what_it_shows_more": (
        "An adversary who knows a person's quasi-identifiers sees which batches people like her are in, so fewer "
        "values come into question than in the whole release. What is promised of batches holds against an adversary "
        "who knows the batch of everyone."
    ),
}
_HIDDEN_BATCH = {
    "what_it_shows_more": (
        "All people of a cell are in one batch, and the cells of every batch are the whole space: an adversary who "
        "knows a person's quasi-identifiers finds one cell of each batch that she fits and can exclude none, unless a "
        "quasi-identifier is missing. Cells that are small around her make their batch likelier. What is promised of "
        "batches holds against an adversary who knows the batch of everyone."
    ),
}


_CLOCKED = {
    "values": (
        "How often each sensitive value occurred in a batch when it was last counted. A person who left or changed "
        "since then is counted as before (held); counterfeit_rows and counterfeits.csv, so called for every publisher, "
        "say how many. None of them is made up."
    ),
    BATCHES_CSV: (
        "as_of is the release in which a batch was last counted; waiting is how many of its people came or changed "
        "since and are not counted yet."
    ),
}


def _columns(schema: Schema) -> list[dict[str, str]]:
    sensitive = schema.sensitive
    every = [
        *(
            {"name": column.name, "role": "quasi-identifier", "kind": column.kind}
            for column in schema.quasi_identifiers
        ),
        *({"name": name, "role": "insensitive"} for name in schema.insensitive),
        *([{"name": sensitive.name, "role": "sensitive", "kind": sensitive.kind}] if sensitive else []),
    ]
    words = {"label": dict(schema.labels), "description": dict(schema.descriptions)}
    return [
        column | {what: said[column["name"]] for what, said in words.items() if column["name"] in said}
        for column in every
    ]
