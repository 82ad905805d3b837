"""What a recipient is told about a release: `about.json`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import republish
from republish.grouping import Grouping
from republish.policy import Policy
from republish.publishers import parameters_of
from republish.release.r_script import R_SCRIPT
from republish.release.release import Release
from republish.release.two_tables import BATCHES_CSV, AnyRelease
from republish.schema import Schema

_BLIND = "value-blind"


class Size(NamedTuple):
    """How large a release is: its rows, counterfeits included, its groups, and the rows of the view it leaves out.

    In two tables rows are people, groups are those of people, and rows left out are people without a batch. People who
    are `waiting` are not of the release at all.
    """

    rows: int
    groups: int
    suppressed: int
    counterfeits: int
    batches: int | None = None
    waiting: int = 0

    @classmethod
    def of(cls, release: AnyRelease, grouping: Grouping) -> Size:
        """The size of a release of a grouping."""
        batches = None if isinstance(release, Release) else release.values.group_count
        groups = release.people.group_count
        return cls(release.rows, groups, grouping.suppressed, grouping.counterfeits, batches)


def about_release(
    policy: Policy, number: int, as_of: str, size: Size, *, adopted: int = 0, text: bool = True
) -> dict[str, Any]:
    """A JSON document with numbers, promises and columns, and nothing of the seed, the secret or the people.

    `adopted` is the number of releases that other tools made before. `text` says whether two tables lie there as text
    too, with a script that reads them.

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
        **({} if not _hides_new_values(policy) else {"waiting_rows": size.waiting}),
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
        "promised_over_the_series": promises["series"],
        "not_promised_over_the_series": [
            *limits_of_one_release(policy),
            *limits_of(policy),
            *limits_of_adopted(adopted),
        ],
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


def limits_of_adopted(adopted: int) -> list[str]:
    """What is not promised where other tools made the first releases of a series."""
    if not adopted:
        return []
    which = "Release 1 was" if adopted == 1 else f"Releases 1 to {adopted} were"
    return [
        f"{which} made by another tool before this series began, and nothing is promised of what they give away, alone "
        f"or together. Promises over the series hold from release {adopted + 1} on, and count with earlier groups as "
        "far as these could be kept; cells of people of earlier releases may cross later ones."
    ]


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
        "Whoever knows a person's quasi-identifiers sees which batches people like her are in, so fewer values come "
        "into question than in the whole release. What is promised of batches holds for somebody who knows the batch "
        "of everyone."
    ),
}
_HIDDEN_BATCH = {
    "what_it_shows_more": (
        "All people of a cell are in one batch, and the cells of every batch are the whole space: whoever knows a "
        "person's quasi-identifiers finds one cell of each batch that she fits and can exclude none, unless a "
        "quasi-identifier is missing. Cells that are small around her make their batch likelier. What is promised of "
        "batches holds for somebody who knows the batch of everyone."
    ),
}


def limits_of_one_release(policy: Policy) -> list[str]:
    """What is not promised where nothing is promised of sensitive values over the series."""
    if policy.publisher.series_promises:
        return []
    if policy.form is None:
        return [f"Nothing is promised over the series: {_ALONE}"]
    found = [
        f"Of sensitive values nothing is promised over the series: {_ALONE}",
        "Batches are cut anew with every release, and each is one more equation about the people who stay.",
    ]
    binding = [requirement.text for requirement in policy.requirements if requirement.needs_sensitive]
    if policy.bt is not None:
        binding.append(policy.bt.text)
    if binding:
        found.append(
            f"Where batches are cut depends on values, for each must satisfy {', '.join(binding)}: a cut that is "
            "missing tells whoever knows the program that one side of it would not have."
        )
    return found


_ALONE = "each release is protected alone, and whoever keeps several may put them together."

_CLOCKED = {
    "values": (
        "How often each sensitive value occurred in a batch when it was last counted. Whoever left or changed since is "
        "counted as before (held); counterfeit_rows and counterfeits.csv say how many."
    ),
    BATCHES_CSV: (
        "as_of is the release in which a batch was last counted; waiting is how many of its people came or changed "
        "since and are not counted yet."
    ),
}


def limits_of(policy: Policy) -> list[str]:
    """What one might read into the promises over the series, and is not promised."""
    promises = policy.promises["series"]
    returns = (
        "People who come back after an absence are treated as newcomers: the groups they were in before it and "
        "after it can be compared, which may leave them fewer values than each group alone."
    )
    found = [returns] if takes_returns_for_new(promises) else []
    return [
        *found,
        *limits_of_new_values(policy),
        *(limits_of_batches(policy) if _BLIND in promises else []),
        *limits_of_beliefs(promises),
    ]


def takes_returns_for_new(promises: Iterable[str]) -> bool:
    """Whether people who come back are treated as newcomers."""
    return any(promise.startswith("m-invariance=") for promise in promises)


def limits_of_batches(policy: Policy) -> list[str]:
    """What value-blind batches do not hide."""
    linking = (
        "Insensitive columns are published as they are and can link the rows of one person over releases, which tells "
        "the batch of whoever is recognised by them."
    )
    return [
        "Somebody who has learned elsewhere which values go with which quasi-identifiers may be surer of a person's "
        "value than the shares of the batch say.",
        "Somebody who knows how values follow each other may weigh all releases together and be surer than the shares "
        "say; the larger the batches, the less so.",
        "A value after which nobody comes again, such as deceased or discharged, is the likely one of whoever stays "
        "away, and no batch hides that.",
        "A batch that is not counted anew because a value would be too frequent in it, or too many could be "
        "determined, waits for a reason in its values, and its waiting can be seen.",
        *([linking] if policy.schema.insensitive else []),
    ]


def limits_of_beliefs(promises: Iterable[str]) -> list[str]:
    """What a limit on beliefs before each release does not cover; docs/frontier.md has the figures."""
    names = {promise.partition("=")[0] for promise in promises}
    if "similarity" not in names:
        return []
    together = (
        "What is believed before each release is limited, not what somebody believes who keeps all releases and weighs "
        "them together. On a generated hospital series of 24 releases she came .31 of the way from what a group shows "
        "to certainty with crowds of 32 in one table, and .14 with crowds of 170 in two."
    )
    events = (
        "Somebody who also knows whose value changed when came .62 and .24 of the way there: the larger the crowds, "
        "the less."
    )
    if "withstand-events" in names:
        return []
    return [events] if "withstand" in names else [together, events]


def limits_of_new_values(policy: Policy) -> list[str]:
    """What counterfeits cannot hide: they bear values that are known, and a value that is new is none of them."""
    promises = policy.promises["series"]
    pads = any(one.startswith(("tau-safety=", "determined=")) for one in promises) and _BLIND not in promises
    if not policy.schema.has_open_list or not pads or _hides_new_values(policy):
        return []
    return [
        "Counterfeits have values that were published before or are in the view. A value that appears for the first "
        "time belongs to a real person of its group, who hides among the other real people of the group alone; a list "
        "of values in the schema (domain) or the parameter newcomers avoids this."
    ]


def _hides_new_values(policy: Policy) -> bool:
    return any(promise.startswith("new-values=") for promise in policy.promises["series"])


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
