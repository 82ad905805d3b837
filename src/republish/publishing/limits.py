"""What is not promised over a series: what one might read into the promises, and what a stronger adversary knows."""

from __future__ import annotations

from collections.abc import Iterable

from republish.policy import Policy

_BLIND, _GROWING = "value-blind", "growing-groups"
_NEWCOMERS = (
    "Promised is that groups only grow and that each has k rows. An adversary who subtracts a group from the one it "
    "grew into sees the values of those who joined it since, and where one person joined, hers. The attack "
    "differencing counts them."
)
_NOT_CERTAIN = (
    "That nobody's value becomes certain is not promised: all rows of a group may show one value where nothing else is "
    "required of groups, and what several releases show of one person may leave one value."
)
_ALONE = "each release is protected alone, and an adversary who keeps several may put them together."
_ONLY_CERTAINTY = (
    "Promised is that nobody's value becomes certain by what is named there. How sure an adversary may be short of "
    "that is not promised; the attacks measure it."
)
_ODDS = (
    "An adversary who knows how values follow each other, or has learned elsewhere which go with which "
    "quasi-identifiers, may weigh all releases together and be nearly sure where the releases alone leave several "
    "values."
)
_COUNTERFEITS = (
    "Which values groups show, how far apart their people may be so that there are enough values, and where "
    "counterfeits stand in, depends on values and can be seen. An adversary who has read the program and knows the "
    "values of some people may conclude from it on others: of those who are alone with counterfeits among the same "
    "values, one may tell the values of the rest. In 24 releases of a generated hospital, whose values change, an "
    "adversary who knew 4 % of the people determined 1.4 % of the others so under tau-safety with m = 4, and fewer "
    "with larger zones; in a generated census, whose values do not change, nobody."
)
_CUT = (
    "Each group is cut so that its values keep limits, and rows that fit in no group are left out. Where a limit "
    "binds, an adversary who knows the program may exclude worlds in which it would not. On a generated hospital "
    "series the swap test distinguished none of 40 exchanged pairs by default; other data and parameters may tell more."
)
_HELD = (
    "A cohort that does not change because too many could be determined waits for a reason in its values, and its "
    "waiting can be seen."
)
_JOINED = (
    "Zones that are one batch because a value would be too frequent in one of them, and batches that wait for such a "
    "reason, depend on values: an adversary who knows the program may exclude worlds in which they would not be "
    "joined. Chance joins some too, so that none of it is certain."
)
_RETURNS = (
    "People who come back after an absence are treated as newcomers: the groups they were in before it and after it "
    "can be compared, which may leave them fewer values than each group alone."
)


def limits_of(policy: Policy) -> list[str]:
    """What one might read into the promises of a series, and is not promised."""
    promises = policy.promises["series"]
    if not policy.publisher.series_promises:
        return _of_one_release(policy)
    if _GROWING in promises:
        return [_NEWCOMERS, _NOT_CERTAIN, _ODDS, *_of_choices(policy, "groups are divided")]
    if _BLIND in promises:
        return _of_batches(policy)
    thinks = policy.publisher.reasoning is not None
    told = policy.publisher.told_by_choices or (_CUT if thinks else None)
    return [
        *([told] if told else []),
        *(_of_beliefs(promises) if thinks else [_ONLY_CERTAINTY, _ODDS, _COUNTERFEITS]),
        *([_HELD] if any(promise.startswith("determined=") for promise in promises) else []),
        *_of_views(promises),
        *([_RETURNS] if takes_returns_for_new(promises) else []),
        *_of_new_values(policy),
    ]


def weighed_together(policy: Policy) -> list[str]:
    """The limits on beliefs that have figures: how far an adversary came who weighs all releases together."""
    return _of_beliefs(policy.promises["series"])


def _of_one_release(policy: Policy) -> list[str]:
    """What is not promised where nothing is promised of sensitive values over the series."""
    if policy.form is None:
        return [f"Nothing is promised over the series: {_ALONE}", *_of_choices(policy, "groups are divided")]
    return [
        f"Of sensitive values nothing is promised over the series: {_ALONE}",
        "Batches are cut anew with every release, and each is one more equation about the people who stay.",
        *_of_choices(policy, "batches are cut"),
    ]


def _of_choices(policy: Policy, done: str) -> list[str]:
    """What it tells who knows the program that each group or batch satisfies requirements on values."""
    binding = [requirement.text for requirement in policy.requirements if requirement.needs_sensitive]
    if policy.bt is not None:
        binding.append(policy.bt.text)
    if not binding:
        return []
    return [
        f"Where {done} depends on values, for each must satisfy {', '.join(binding)}: a cut that is missing tells an "
        "adversary who knows the program that one side of it would not satisfy this."
    ]


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


def takes_returns_for_new(promises: Iterable[str]) -> bool:
    """Whether people who come back are treated as newcomers."""
    return any(promise.startswith("m-invariance=") for promise in promises)


def _of_batches(policy: Policy) -> list[str]:
    """What value-blind batches do not hide."""
    linking = (
        "Insensitive columns are published as they are and can link the rows of one person over releases, which tells "
        "the batch of a person who is recognised by them."
    )
    return [
        "An adversary who has learned elsewhere which values go with which quasi-identifiers may be surer of a "
        "person's value than the shares of the batch say.",
        "An adversary who knows how values follow each other may weigh all releases together and be surer than the "
        "shares say; the larger the batches, the less so.",
        "A value after which nobody comes again, such as deceased or discharged, is the likely one of a person who "
        "stays away, and no batch hides that.",
        "A batch that is not counted anew because a value would be too frequent in it, or too many could be "
        "determined, waits for a reason in its values, and its waiting can be seen.",
        *([_JOINED] if any(one.needs_sensitive and one.bound > 1 for one in policy.requirements) else []),
        *([linking] if policy.schema.insensitive else []),
    ]


def _of_beliefs(promises: Iterable[str]) -> list[str]:
    """What a limit on beliefs before each release does not cover; docs/frontier.md has the figures."""
    names = {promise.partition("=")[0] for promise in promises}
    if not names & {"similarity", "ks-similarity"}:
        return []
    together = (
        "What is believed before each release is limited, not what an adversary believes who keeps all releases and "
        "weighs them together. On a generated hospital series of 24 releases she came .31 of the way from what a group "
        "shows to certainty with crowds of 32 in one table, and .14 with crowds of 170 in two."
    )
    events = (
        "An adversary who also knows whose value changed when came .62 and .24 of the way there: the larger the "
        "crowds, the less."
    )
    beyond = (
        "Of people about whom earlier releases, and who is in the view, give away more than the limit allows, nothing "
        "is promised any more."
    )
    changes = (
        "The limit is not on what an adversary believes who also knows whose value changed when. On a generated "
        "hospital series of 24 releases with a limit of .5 she came .41 of the way from what a group shows to "
        "certainty."
    )
    foreseen = (
        f"{beyond[:-1]}; with event lists, neither of values that are foreseen because they did not change."
    )
    if "withstand-events" in names:
        return [foreseen]
    if "withstand" in names:
        return [beyond, changes]
    return [together, events]


def _of_views(promises: Iterable[str]) -> list[str]:
    """What is not promised of a table whose groups were compared with the view."""
    if not any(promise.startswith("view-") for promise in promises):
        return []
    return [
        "How near the values of a group are to those of all people is promised of all people in the view, those who "
        "were left out included; nothing of the kind is promised of the published table."
    ]


def _of_new_values(policy: Policy) -> list[str]:
    """What counterfeits cannot hide: they bear values that are known, and a value that is new is none of them."""
    promises = policy.promises["series"]
    pads = any(one.startswith(("tau-safety=", "determined=")) for one in promises) and _BLIND not in promises
    if not policy.schema.has_open_list or not pads or hides_new_values(policy):
        return []
    return [
        "Counterfeits have values that were published before or are in the view. A value that appears for the first "
        "time belongs to a real person of its group, who hides among the other real people of the group alone; a list "
        "of values in the schema (domain) or the parameter newcomers avoids this."
    ]


def hides_new_values(policy: Policy) -> bool:
    """Whether values that are new wait until they give nobody away."""
    return any(promise.startswith("new-values=") for promise in policy.promises["series"])
